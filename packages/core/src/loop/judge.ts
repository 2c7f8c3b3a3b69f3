/**
 * One action, decided: its contract first, then the gate, then what the runtime itself insists on.
 * G-3 any error denies. G-4 rule 4: while an unknown is open, in any session, a look-alike asks, whatever the policy permits.
 * Rule: Q-1.
 */
import { applyContract, applyEdits, type ContractCheck, createActionDigester } from "../gate/request.ts";
import type { Orders } from "../journal/orders.ts";
import { isSameCall, type OpenUnknown } from "../journal/unknowns.ts";
import { cut } from "../observe/observe.ts";
import {
  type Action,
  type ActionId,
  type ActionText,
  type Ask,
  DEFAULT_KNOWLEDGE,
  DEFAULT_TERMS,
  type Digest,
  digestJson,
  ESCALATED,
  type Facts,
  findAgentHalt,
  type GateDecided,
  type Hash,
  HUMAN_APPROVAL,
  type Millis,
  type PolicyId,
  policyId,
  principalName,
  printActionId,
  type Tool,
  toCallSubject,
  toCanonicalJson,
  toDecisionTime,
  UNKNOWN_OPEN,
  type Verdict,
  ZERO,
} from "../vocab/index.ts";
import { type Breaker, breakersOfModel, breakersOfTool } from "./calls/breakers.ts";
import { delegateContract } from "./calls/delegate.ts";
import { ageOf, findRecords } from "./calls/record-facts.ts";
import { createTargetFacts, type ReadTargetFacts } from "./calls/target-facts.ts";
import type { LateAnswers } from "./late-answers.ts";
import { toRememberAction } from "./memory/remember.ts";
import { currentModel } from "./model/retry.ts";
import { currentSummariser } from "./model/summary-fallback.ts";
import { findAnswered, findCall } from "./people/approval-state.ts";
import { withGrant } from "./people/grants.ts";
import type { Ports } from "./ports.ts";
import { behind, type FactsFor, isCounted, sessionFacts } from "./session-facts.ts";
import { type Answered, answerIn, callsIn, findRecipient, type Gated, runningTool, type State, type Turn, UNDECIDED } from "./state.ts";

/** Without a turn only an old unknown can be asked about. */
export type Judge = (s: State, t: Turn | null, id: ActionId) => GateDecided;

type Needs = Pick<
  Ports,
  | "gate"
  | "tools"
  | "model"
  | "fallbacks"
  | "summariser"
  | "children"
  | "hash"
  | "orders"
  | "journal"
  | "breakers"
  | "modelBreaker"
  | "counts"
>;

/** `now` is the driver's own time, so that what `next` calls due is due here too, whatever is done to the clock. */
type Looks = Readonly<{
  late: Pick<LateAnswers, "decide">;
  toolDigest: (tool: Tool) => Digest;
  digestAction: (action: Action) => Digest;
  now: () => Millis;
}>;

export function createJudge(p: Needs, { late, toolDigest, digestAction, now }: Looks): Judge & Readonly<{ factsFor: FactsFor }> {
  const aimsOf = createTargetFacts(p);
  const factsOf: FactsFor = (s, t, id) => (action) => factsFor(p, s, t, { id, action, counted: true, now: now(), aimsOf, answered: null });
  const decide: Judge = (s, t, id) => {
    const text = printActionId(id);
    const at = now();
    const { action, refused, gated, modified, counted, usedAnswer } = toAction({ p, s, t, toolDigest, now: at }, id);
    const digest = digestAction(action);
    const answered = t === null ? null : (findAnswered(t, gated) ?? usedAnswer);
    const isSame =
      t !== null && answered?.digest === approvalDigest(t, action, digest, p.hash) && answered.subject === (s.subject?.id ?? null);
    const covering = isSame ? answered : null;
    const { verdict, slice, read, shadow } =
      refused === null
        ? late.decide(text, () =>
            p.gate.decide(action, factsFor(p, s, t, { id: text, action, counted, now: at, aimsOf, answered: covering })),
          )
        : { verdict: refused, slice: ZERO, read: {}, shadow: null };
    const timely = notForEver(modifiedOnce(verdict, action, modified), gated, t, at);
    const halted = withHalts(timely, action, s.agent.name, p.orders.now());
    const doubted = id.kind === "reconcile" ? halted : withUnknowns(halted, alikeTo(p, s, action, digest));
    const careful = withHumanApproval(withEscalation(doubted, t, text), p, id, action);
    const given = withAnswer(careful, { answered, covering, slice });
    const granted = t === null ? given : withGrant(given, { p, s, t, action, digest, slice, now: at });
    return {
      kind: "gate.decided",
      id: text,
      action,
      digest,
      slice,
      verdict: t === null ? granted : withBreakers(granted, action, p, `${s.session}/${text}`),
      read,
      shadow,
    };
  };
  return Object.assign(decide, { factsFor: factsOf });
}

/** G-5 a modified action is checked and gated again, once: what would change nothing is an allow, what would change it again is refused. */
function modifiedOnce(verdict: Verdict, action: Action, modified: boolean): Verdict {
  if (verdict.kind !== "modify") return verdict;
  const refuse = (reason: string): Verdict => ({ kind: "deny", by: "policy", because: verdict.because, faults: [], reason });
  if (action.kind !== "call" || action.args === null) return refuse("only the arguments of a call can be modified");
  if (toCanonicalJson(applyEdits(action.args, verdict.edits)) === toCanonicalJson(action.args))
    return { kind: "allow", because: verdict.because, approval: null };
  return modified ? refuse("the modified call would be modified again") : verdict;
}

export function createActionDigests(s: State, hash: Hash): (action: Action) => Digest {
  const digestOf = createActionDigester(hash);
  return (action) => digestOf(action, { agent: s.agent.name, onBehalfOf: principalName(behind(s, action)) });
}

/** The digest that an approval is bound to. For the delivery of an answer it covers the text, which the gate itself never sees (rule 7). */
export const approvalDigest = (t: Turn, action: Action, digest: Digest, hash: Hash): Digest =>
  action.kind === "respond" ? digestJson({ action: digest, text: answerIn(t) }, hash) : digest;

type Named = Readonly<{
  action: Action;
  refused: Extract<Verdict, { kind: "deny" }> | null;
  gated: Gated;
  modified: boolean;
  counted: boolean;
  /** The approval that a call used up when it first started. */
  usedAnswer: Answered | null;
}>;

type Naming = Readonly<{
  p: Pick<Ports, "tools" | "model" | "fallbacks" | "summariser" | "children" | "hash">;
  s: State;
  t: Turn | null;
  toolDigest: (tool: Tool) => Digest;
  now: Millis;
}>;

/** The action that an id names, as it stands now, and where it stands with the gate. */
function toAction({ p, s, t, toolDigest, now }: Naming, id: ActionId): Named {
  if (id.kind === "reconcile") {
    const unknown = s.unknowns.get(id.call);
    if (unknown === undefined) throw new Error(`call ${id.call} has no unknown outcome to ask about`);
    return { ...PLAIN, action: unknown.decided.action, gated: UNDECIDED, modified: true, counted: true };
  }
  if (t === null) throw new Error(`there is no turn to decide ${printActionId(id)} in`);
  switch (id.kind) {
    case "model":
      return { ...PLAIN, action: { kind: "model", model: currentModel(p, t).id }, gated: t.model };
    case "summary":
      return { ...PLAIN, action: { kind: "model", model: currentSummariser(p, s, t).id }, gated: t.summary.gated };
    case "respond":
      return { ...PLAIN, action: { kind: "respond", to: findRecipient(s) }, gated: t.respond };
    case "recall":
      return { ...PLAIN, action: { kind: "recall", scope: s.agent.knowledge?.scope ?? DEFAULT_KNOWLEDGE.scope }, gated: t.recall.gated };
    case "remember":
      return { ...PLAIN, action: toRememberAction(s, t, p.hash), gated: t.keep.gated };
    case "call": {
      const call = callsIn(t).find((c) => c.proposed.id === id.call);
      if (call === undefined) throw new Error(`there is no call ${id.call} to decide`);
      const contracted =
        t.finish === "length"
          ? cutOff(call.proposed, p.tools.find(runningTool(call)), toolDigest)
          : delegateContract({ p, s, t, toolDigest, now }, call);
      return {
        action: contracted.action,
        refused: contracted.kind === "refused" ? contracted.verdict : blockedBy(call.blocked),
        gated: call.gated,
        modified: call.modified,
        counted: isCounted(call),
        usedAnswer: call.starts > 0 ? call.usedAnswer : null,
      };
    }
  }
}

const PLAIN = { refused: null, modified: false, counted: false, usedAnswer: null } as const;

/** Middleware's word, given before the gate was asked: it can refuse, never permit. */
const blockedBy = (reason: string | null): Named["refused"] =>
  reason === null ? null : { kind: "deny", by: "middleware", because: [], faults: [], reason };

/** Calls of a reply that was cut off are never run: their arguments may have been cut too. */
function cutOff(call: Parameters<typeof applyContract>[0], tool: Tool | null, toolDigest: (tool: Tool) => Digest): ContractCheck {
  const { action } = applyContract(
    { ...call, text: "cut off" }, // no JSON, whatever is left of it
    tool,
    tool === null ? null : toolDigest(tool),
  );
  return {
    kind: "refused",
    action,
    verdict: {
      kind: "deny",
      by: "contract",
      because: [],
      faults: [],
      reason: "the reply was cut off at the output limit; propose it again",
    },
  };
}

function factsFor(
  p: Pick<Ports, "counts" | "tools" | "journal">,
  s: State,
  t: Turn | null,
  { id, action, counted, now, aimsOf, answered }: Asked,
): Facts {
  const read = p.counts.reader({ session: s.session, action: id }, now);
  const lately: Facts["lately"] = (counter) => read({ ...counter, agent: s.agent.name });
  const tool = action.kind === "call" ? p.tools.find(action.tool) : null;
  return {
    ...sessionFacts(s, t, action, counted),
    lately,
    aims: once(() => aimsOf(s, t, action, { lately, now })),
    records: once(() => findRecords({ p, s, now }, tool, action)),
    now: (zone) => toDecisionTime(now, zone),
    approval: answered?.answeredAt == null ? null : { ageSeconds: ageOf(answered.answeredAt, now) },
  };
}

type Asked = Readonly<{
  id: ActionText;
  action: Action;
  counted: boolean;
  now: Millis;
  aimsOf: ReadTargetFacts;
  /** The answer that covers this very action. */
  answered: Answered | null;
}>;

function once<T>(work: () => T): () => T {
  let found: { readonly value: T } | null = null;
  return () => {
    found ??= { value: work() };
    return found.value;
  };
}

/** Q-12 an action is deferred once: when its time is up and it still cannot be decided, it is denied. And only a limited number at a time. */
function notForEver(verdict: Verdict, gated: Gated, t: Turn | null, now: number): Verdict {
  if (verdict.kind !== "defer") return verdict;
  const refuse = (reason: string): Verdict => ({ kind: "deny", by: "expiry", because: verdict.because, faults: [], reason });
  if (gated.kind === "deferred") return now < gated.due ? verdict : refuse("it could not be decided in time");
  const others = callsIn(t).filter((c) => c.gated.kind === "deferred").length;
  return others < MAX_DEFERRED ? verdict : refuse(`${MAX_DEFERRED} other calls are deferred already`);
}
export const MAX_DEFERRED = 8;

/** Q-13 while work or a tool is halted its calls are refused, whatever the policy permits. */
function withHalts(verdict: Verdict, action: Action, agent: string, orders: Orders): Verdict {
  const doing = toCallSubject(action);
  if (doing === null || verdict.kind === "deny") return verdict;
  const all = findAgentHalt(orders, agent) ?? (action.kind === "delegate" ? findAgentHalt(orders, action.to) : null);
  const halt = all ?? orders.halts.get(`tool:${doing.tool}`);
  if (halt === undefined) return verdict;
  const what = all === null ? "calls of this tool are halted" : "work is halted";
  return { kind: "deny", by: "halt", because: verdict.because, faults: [], reason: `${what}: ${halt.reason}` };
}

/** F-7 what keeps failing is left alone, whatever the policy permits; no person is asked about it meanwhile, unless it is about that very failure. */
function withBreakers(verdict: Verdict, action: Action, p: Needs, key: string): Verdict {
  if (verdict.kind !== "allow" && verdict.kind !== "ask") return verdict;
  if (verdict.kind === "ask" && verdict.asks.some(({ policy }) => policy.startsWith(`${ESCALATED}/`))) return verdict; // by the time of the answer it may be tried again
  const breakers = breakersFor(action, p);
  const reason = breakers.map((b) => p.breakers.refusal(b, key)).find((why) => why !== null);
  if (reason != null) return { kind: "deny", by: "breaker", because: verdict.because, faults: [], reason };
  if (verdict.kind === "allow") for (const breaker of breakers) p.breakers.pass(breaker, key);
  return verdict;
}

function breakersFor(action: Action, p: Needs): readonly Breaker[] {
  if (action.kind === "model") return breakersOfModel(p, action.model);
  const tool = action.kind === "call" ? p.tools.find(action.tool) : null;
  return tool === null ? [] : breakersOfTool(tool);
}

type Doubt = Pick<OpenUnknown, "tool" | "cause"> & Readonly<{ name: string; policy: PolicyId }>;

/** Open unknowns that a call looks like: the session's own as it knows them, those of others as the journal lists them at this moment. */
function alikeTo(p: Pick<Ports, "journal">, s: State, action: Action, digest: Digest): readonly Doubt[] {
  if (action.kind !== "call") return [];
  const sought = { tool: action.tool, resource: action.resource, digest };
  const doubt = (name: string, tool: string, cause: Doubt["cause"]): Doubt => ({
    name,
    tool,
    cause,
    policy: policyId(`${UNKNOWN_OPEN}/${name}`),
  });
  const own = [...s.unknowns.values()].filter((u) => isSameCall(u, sought)).map((u) => doubt(u.call, u.tool, u.outcome.cause));
  const others = p.journal.unknownsLike(sought).filter((u) => u.session !== s.session);
  return [...own, ...others.map((u) => doubt(`${u.session}/${u.call}`, u.tool, u.cause))];
}

/** Whether the call still looks like those very unknowns that its decision has named: other sessions leave and settle theirs without a word to this one. */
export function isDoubtedAsBefore(p: Pick<Ports, "journal">, s: State, { action, digest, verdict }: GateDecided): boolean {
  const named = verdict.because.filter((policy) => policy.startsWith(`${UNKNOWN_OPEN}/`));
  const doubts = alikeTo(p, s, action, digest);
  return doubts.length === named.length && doubts.every((d, i) => d.policy === named[i]);
}

/** One question for each unknown that it looks like: an answer about one says nothing about another. */
function withUnknowns(verdict: Verdict, alike: readonly Doubt[]): Verdict {
  const questions = alike.map(
    ({ name, tool, cause, policy }): Ask => ({
      policy,
      question: `an earlier call of ${tool} (${name}) may or may not have taken effect (${cause}): run this one all the same?`,
      terms: DEFAULT_TERMS,
    }),
  );
  return withAsks(verdict, questions);
}

/** T-8 its definition wants a person asked, and no policy can say otherwise. To ask a tool for a call's outcome is no call. */
function withHumanApproval(verdict: Verdict, p: Pick<Ports, "tools">, id: ActionId, action: Action): Verdict {
  if (action.kind !== "call" || id.kind === "reconcile" || p.tools.find(action.tool)?.humanApproval !== true) return verdict;
  const question = `${action.tool} is run only when a person says so: run it?`;
  return withAsks(verdict, [{ policy: policyId(`${HUMAN_APPROVAL}/${action.tool}`), question, terms: DEFAULT_TERMS }]);
}

/** A call that failed and is for a person to decide about: asked whatever the policies permit. */
function withEscalation(verdict: Verdict, t: Turn | null, id: ActionText): Verdict {
  const call = t === null ? null : findCall(t, id);
  if (call?.run.kind !== "failed" || call.mending?.stage !== "person") return verdict;
  const effect = call.repeat === "once" ? ", and may have had an effect" : "";
  const question = `${runningTool(call)} failed${effect} (${cut(call.mending.error, 200)}): run it again?`;
  return withAsks(verdict, [{ policy: policyId(`${ESCALATED}/${id}/${call.starts}`), question, terms: DEFAULT_TERMS }]);
}

function withAsks(verdict: Verdict, questions: readonly Ask[]): Verdict {
  if (verdict.kind !== "allow" && verdict.kind !== "ask") return verdict;
  const [first, ...more] = [...(verdict.kind === "ask" ? verdict.asks : []), ...questions];
  if (questions.length === 0 || first === undefined) return verdict;
  return { kind: "ask", because: [...verdict.because, ...questions.map((q) => q.policy)], asks: [first, ...more] };
}

type Answers = Readonly<{ answered: Answered | null; covering: Answered | null; slice: Digest }>;

/** `covering`: the answer, if it was given to this very action while the session served whom it serves now. */
function withAnswer(verdict: Verdict, { answered, covering, slice }: Answers): Verdict {
  if (answered === null || (verdict.kind !== "allow" && verdict.kind !== "ask")) return verdict;
  if (verdict.kind === "allow") return { ...verdict, approval: answered.approval };
  const covered =
    covering !== null &&
    covering.slice === slice &&
    verdict.asks.every((a) => covering.asks.some((b) => b.policy === a.policy && b.question === a.question));
  return covered ? { kind: "allow", because: verdict.because, approval: covering.approval } : verdict;
}
