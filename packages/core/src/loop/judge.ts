/**
 * One action, decided: its contract first, then the gate, then what the runtime itself insists on.
 * G3 any error denies. G4 rule 4: while an unknown is open, a look-alike asks, whatever the policy permits.
 * Q1 an answer counts only for the digest and the policies it was given for; otherwise the question is asked afresh.
 */
import { actionDigest, type Contracted, contract, withEdits } from "../gate/request.ts";
import {
  type Action,
  type ActionId,
  type Answer,
  type Ask,
  canonical,
  type Decided,
  type Decision,
  type Digest,
  digestOf,
  type Facts,
  type Hash,
  PLAIN_TERMS,
  principalName,
  type Tool,
  totalTokens,
  UNKNOWN_OPEN,
  type Verdict,
  ZERO,
} from "../vocab/index.ts";
import type { Ports } from "./ports.ts";
import type { Answered, Gated, State, Turn, Unknown } from "./state.ts";

export type Judge = (s: State, t: Turn, id: ActionId) => Decided;

export function judge(p: Pick<Ports, "gate" | "tools" | "model" | "hash">, toolDigest: (tool: Tool) => Digest): Judge {
  return (s, t, id) => {
    const { action, refused, gated, modified, counted } = toAction(p, s, t, id, toolDigest);
    const digest = digestOfAction(s, p.hash)(action);
    const { verdict, slice, read, shadow } =
      refused === null ? ask(p, action, factsFor(s, t, action, counted)) : { verdict: refused, slice: ZERO, read: {}, shadow: null };
    const careful = withUnknowns(modifiedOnce(verdict, action, modified), action, digest, s.unknowns.values());
    const answered = gated.kind === "undecided" ? gated.answered : null;
    return {
      kind: "gate.decided",
      id,
      action,
      digest,
      slice,
      verdict: withAnswer(careful, answered, () => questionDigest(t, action, digest, p.hash), slice),
      read,
      shadow,
    };
  };
}

/** G5 a modified action is checked and gated again, once: what would change nothing is an allow, what would change it again is refused. */
function modifiedOnce(verdict: Verdict, action: Action, modified: boolean): Verdict {
  if (verdict.kind !== "modify") return verdict;
  const refuse = (reason: string): Verdict => ({ kind: "deny", by: "policy", because: verdict.because, faults: [], reason });
  if (action.kind !== "call" || action.args === null) return refuse("only the arguments of a call can be modified");
  if (canonical(withEdits(action.args, verdict.edits)) === canonical(action.args))
    return { kind: "allow", because: verdict.because, approval: null };
  return modified ? refuse("the modified call would be modified again") : verdict;
}

export const digestOfAction =
  (s: State, hash: Hash) =>
  (action: Action): Digest =>
    actionDigest(action, { agent: s.agent.name, onBehalfOf: principalName(s.principal) }, hash);

/** What a person is asked about. For an answer to be delivered it covers the text, which the gate itself never sees (rule 7). */
export const questionDigest = (t: Turn, action: Action, digest: Digest, hash: Hash): Digest =>
  action.kind === "respond" ? digestOf({ action: digest, text: t.answer }, hash) : digest;

/** Q20 a question is answered by a person whom the policies let approve, and who is in a group that it names; the holder decides it. */
export function whyNotAnswer(
  { gate }: Pick<Ports, "gate">,
  s: State,
  approval: string,
  { by, answer }: { readonly by: string; readonly answer: Answer },
): string | null {
  const question = [...(s.turn?.questions.values() ?? [])].find((q) => q.approval === approval);
  if (question === undefined) return `there is no open question \`${approval}\``;
  const call = s.turn?.calling.find((c) => (c.proposed.id as string) === question.action);
  const tool = call?.proposed.tool ?? question.action.split(":")[0] ?? "";
  const approvers = question.asks.map((a) => a.terms.approvers);
  const { verdict } = orDenied(() => gate.decideFor(by, { kind: "approve", approval, agent: s.agent.name, tool, approvers }));
  if (verdict.kind !== "allow")
    return `\`${by}\` may not answer it: ${verdict.kind === "deny" ? verdict.reason : "the policies do not simply allow it"}`;
  const quorum = Math.max(1, ...question.asks.map((a) => a.terms.quorum));
  // closed until answers are counted: one person is not two
  return answer.kind === "approve" && quorum > 1 ? `it takes ${quorum} people, and answers of several are not counted yet` : null;
}

type Named = Readonly<{
  action: Action;
  refused: Extract<Verdict, { kind: "deny" }> | null;
  gated: Gated;
  modified: boolean;
  counted: boolean;
}>;

function toAction(p: Pick<Ports, "tools" | "model">, s: State, t: Turn, id: ActionId, toolDigest: (tool: Tool) => Digest): Named {
  if (id.startsWith("model:"))
    return { action: { kind: "model", model: p.model.id }, refused: null, gated: t.model, modified: false, counted: false };
  if (id.startsWith("respond:"))
    return { action: { kind: "respond", to: s.principal }, refused: null, gated: t.respond, modified: false, counted: false };
  const call = t.calling.find((c) => (c.proposed.id as string) === id);
  if (call === undefined) throw new Error(`there is no call ${id} to decide`);
  const tool = p.tools.find(call.proposed.tool);
  const contracted =
    t.finish === "length"
      ? cutOff(call.proposed, tool, toolDigest)
      : contract(call.proposed, tool, tool === null ? null : toolDigest(tool), call.edited);
  return {
    action: contracted.action,
    refused: contracted.kind === "refused" ? contracted.verdict : null,
    gated: call.gated,
    modified: call.modified,
    counted: call.gated.kind === "allowed" || call.starts > 0, // what has started stays counted, also while it is decided again
  };
}

/** Calls of a reply that was cut off are never run: their arguments may have been cut too. */
function cutOff(call: Parameters<typeof contract>[0], tool: Tool | null, toolDigest: (tool: Tool) => Digest): Contracted {
  const { action } = contract({ ...call, args: { kind: "not-json", detail: "cut off" } }, tool, tool === null ? null : toolDigest(tool));
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

/** Counters as the gate sees them: every call decided `allow` so far, the one in question not counted. */
function factsFor(s: State, t: Turn, action: Action, counted: boolean): Facts {
  const tool = action.kind === "call" && counted ? action.tool : null;
  const calls = (name: string) => {
    const own = name === tool ? 1 : 0;
    return { turn: (t.allowedCalls.get(name) ?? 0) - own, session: (s.allowedCalls.get(name) ?? 0) - own };
  };
  const turn = totalTokens(t.usage) + totalTokens(t.lost);
  return {
    agent: s.agent.name,
    onBehalfOf: s.principal,
    surface: s.surface,
    labels: [...s.labels],
    calls,
    spent: { turn, session: s.spent + turn },
  };
}

const ask = (p: Pick<Ports, "gate">, action: Action, facts: Facts): Decision => orDenied(() => p.gate.decide(action, facts));

/** Any error denies. */
function orDenied(decide: () => Decision): Decision {
  try {
    return decide();
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return {
      verdict: {
        kind: "deny",
        by: "policy",
        because: [],
        faults: [{ policy: null, message }],
        reason: `the policies could not be evaluated: ${message}`,
      },
      slice: ZERO,
      read: {},
      shadow: null,
    };
  }
}

function withUnknowns(verdict: Verdict, action: Action, digest: Digest, unknowns: Iterable<Unknown>): Verdict {
  if (action.kind !== "call" || (verdict.kind !== "allow" && verdict.kind !== "ask")) return verdict;
  for (const u of unknowns) {
    const alike =
      u.digest === digest || (u.tool === action.tool && u.resource.type === action.resource.type && u.resource.id === action.resource.id);
    if (!alike) continue;
    const question: Ask = {
      policy: UNKNOWN_OPEN,
      question: `an earlier call of ${u.tool} (${u.call}) may or may not have taken effect (${u.outcome.cause}): run this one all the same?`,
      terms: PLAIN_TERMS,
    };
    return {
      kind: "ask",
      because: [...verdict.because, UNKNOWN_OPEN],
      asks: verdict.kind === "ask" ? [...verdict.asks, question] : [question],
    };
  }
  return verdict;
}

function withAnswer(verdict: Verdict, answered: Answered | null, asked: () => Digest, slice: Digest): Verdict {
  if (answered === null || verdict.kind === "deny" || verdict.kind === "modify") return verdict;
  if (verdict.kind === "allow") return { ...verdict, approval: answered.approval };
  const covered =
    answered.digest === asked() && answered.slice === slice && verdict.asks.every((a) => answered.asks.some((b) => b.policy === a.policy));
  return covered ? { kind: "allow", because: verdict.because, approval: answered.approval } : verdict;
}
