/** Who may answer what: the policies' decision about a person, and the tool's check of edited arguments. `admit` gets these facts of the session. */
import { findAnswerable, isSameGrant, refuseGrant } from "../../gate/approvals.ts";
import { failClosed, groupsFor } from "../../gate/fail-closed.ts";
import { computeActionDigest } from "../../gate/request.ts";
import type { MayAnswer, Standing } from "../../inbox/admit.ts";
import {
  type CallId,
  type Digest,
  firingPrefix,
  type IntentBody,
  isForRequester,
  isGoverning,
  type JsonObject,
  type Limits,
  principalName,
  REQUESTER,
  type Resource,
  type Tool,
  toAnswerAct,
  toCallSubject,
  type UserAct,
} from "../../vocab/index.ts";
import { delegateContract } from "../calls/delegate.ts";
import type { Ports } from "../ports.ts";
import { actingFor, type Call, callsIn, isDelegated, type Question, runningTool, type State } from "../state.ts";
import { listModels } from "./conversation-settings.ts";

type Needs = Pick<Ports, "gate" | "tools" | "hash" | "clock" | "children">;

export function toStanding(p: Needs, s: State, limits: Limits, toolDigest: (tool: Tool) => Digest): Standing {
  const questionOf = (approval: string): Question | null =>
    [...(s.turn?.questions.values() ?? [])].find((q) => q.approval === approval) ?? null;
  return {
    turns: s.turns,
    running: s.turn !== null,
    delegated: s.parent !== null && s.turn?.number === 1,
    queued: s.followUps.length,
    closed: s.closed,
    limits,
    tokens: s.window.tokens,
    models: listModels(s.agent),
    question(approval) {
      const q = questionOf(approval);
      return q === null ? null : { digest: q.digest, expiresAt: q.expiresAt, answer: q.answer, voters: q.votes.map((v) => v.by) };
    },
    mayAnswer(user, wish) {
      const question = questionOf(wish.approval);
      return question === null ? no("there is no such approval request") : mayAnswer({ p, s, toolDigest }, question, user, wish);
    },
    mayResolve(user, call) {
      const unknown = [...s.unknowns.values()].find((u) => u.call === call);
      const act: UserAct = { kind: "resolve", call, agent: s.agent.name, tool: unknown?.tool ?? s.deadLetters.get(call) ?? "" };
      const denied = deniedTo(p, user, act);
      return denied === null ? { kind: "may" } : no(denied);
    },
    maySend: (user, kind) => maySend(p, s, user, kind),
    hasLabel: (label) => s.labels.has(label),
    mayUnlabel(user, label) {
      const denied = deniedTo(p, user, { kind: "remove-label", label, session: s.session, agent: s.agent.name });
      return denied === null ? { kind: "may" } : no(denied);
    },
    isUnknown: (call: CallId) => s.unknowns.has(call),
    isOpenChild: (call, child) => callsIn(s.turn).some((c) => c.proposed.id === call && isDelegated(c) && c.child.session === child),
    isSetAside: (call: CallId) => s.deadLetters.has(call),
    firesFor: (intent) => (s.origin?.kind === "schedule" && intent.startsWith(firingPrefix(s.origin.schedule)) ? s.principal : null),
  };
}

/**
 * Q-22 A person who may run the agent may speak in the session that was opened for them, unless a policy forbids just that: a run begins with its
 * first words, and needs no `say`.
 */
function maySend(p: Needs, s: State, user: string, kind: "say" | "steer" | "cancel"): ReturnType<Standing["maySend"]> {
  const { name: agent } = s.agent;
  const isOwn = s.principal.kind === "user" && s.principal.id === user;
  const act: UserAct = {
    kind,
    session: s.session,
    agent,
    requester: s.principal.kind === "user" ? s.principal.id : principalName(s.principal),
  };
  const denied = deniedTo(p, user, act);
  if (denied === null) return { kind: "may" };
  const { verdict } = failClosed(() => p.gate.decideFor(user, act));
  const isOpen = verdict.kind === "deny" && verdict.because.length === 0 && verdict.faults.length === 0;
  const isRun = kind === "say" && isOwn && isOpen && deniedTo(p, user, { kind: "run", agent }) === null;
  return isRun ? { kind: "may" } : no(denied);
}

const no = (reason: string) => ({ kind: "may-not", reason }) as const;

type At = Readonly<{ p: Needs; s: State; toolDigest: (tool: Tool) => Digest }>;

function mayAnswer(at: At, q: Question, user: string, { answer }: Extract<IntentBody, { kind: "answer" }>): MayAnswer {
  const { p, s } = at;
  const call = callsIn(s.turn).find((c) => (c.proposed.id as string) === q.action) ?? null;
  const tool = call === null ? q.action : runningTool(call);
  const speakers = s.turn?.speakers ?? [actingFor(s).id];
  const about = { approval: q.approval, agent: s.agent.name, tool, forRequester: isForRequester(q.asks) };
  if (answer.kind === "withdraw") return mayWithdraw(p, user, { speakers, about, digest: q.digest });
  for (const requester of speakers) {
    const denied = deniedTo(p, user, { kind: toAnswerAct(answer), ...about, requester });
    if (denied !== null) return no(denied);
  }
  const isRequester = s.turn?.by.kind === "user" && speakers.every((one) => one === user); // of several people nobody's yes is that of all
  const counted = findAnswerable(q.asks, [
    ...groupsFor(p.gate, user).filter((group) => group !== REQUESTER),
    ...(isRequester ? [REQUESTER] : []),
  ]);
  if (answer.kind === "deny" && (counted.length > 0 || mayDenyAsSuch(p, user, speakers, about)))
    return { kind: "may", counts: counted, digest: q.digest, about: null };
  const gone = answer.kind === "deny" ? undefined : q.votes.find((v) => mayNoLonger(at, q, tool, v.by));
  if (gone !== undefined) return no(`${gone.by} said yes before and may not any more: somebody denies it, and it is asked afresh`);
  const counts = counted;
  if (counts.length === 0) return no(`it is for ${[...new Set(q.asks.flatMap((a) => a.terms.approvers))].join(", ")} to answer`);
  if (answer.kind === "grant") {
    if (call === null) return no("only an answer about a tool's call can be remembered");
    if (isGoverning(p.tools.find(runningTool(call))))
      return no("what changes agents, policies or tools is approved each time: no grant covers it");
    const wide = refuseGrant(q.asks, answer.grant, p.clock.now());
    if (wide !== null) return no(wide);
    if (q.votes.some((v) => !isSameGrant(v.grant, answer.grant)))
      return no("somebody before has not said yes to remembering it like that: approve it this once");
  }
  if (answer.kind !== "edit") return { kind: "may", counts, digest: q.digest, about: null };
  if (call === null) return no("there are no arguments to edit");
  if (call.starts > 0 && !(call.run.kind === "failed" && call.mending?.stage === "person"))
    return no("it had started and may have run with these arguments: approve it as it is, or deny it");
  const edited = editedDigest(at, call, answer.args);
  return "reason" in edited ? no(edited.reason) : { kind: "may", counts, ...edited };
}

type About = Readonly<{ approval: string; agent: string; tool: string; forRequester: boolean }>;

/** Q-21 Withdrawing is for those whose words the turn follows, where the policies let them; nobody else's groups matter to it. */
function mayWithdraw(
  p: Needs,
  user: string,
  { speakers, about, digest }: Readonly<{ speakers: readonly string[]; about: About; digest: Digest }>,
): MayAnswer {
  if (!speakers.includes(user)) return no("only the person who asked for it can withdraw it: deny it");
  const denied = deniedTo(p, user, { kind: "withdraw", ...about, requester: user });
  return denied === null ? { kind: "may", counts: [], digest, about: null } : no(denied);
}

/** Let by `Action::"deny"` itself, and not because they may approve: then no group of approvers is asked for. */
const mayDenyAsSuch = (p: Needs, user: string, speakers: readonly string[], about: About): boolean =>
  speakers.every((requester) => deniedTo(p, user, { kind: "approve", ...about, requester }) !== null);

/** S-18 whether the speakers may run an agent is checked when it is proposed: an answer changes the task, and never the agent. */
const OTHER_DELEGATE = "it would be another agent's: deny it, and say who is to do it";

function editedDigest({ p, s, toolDigest }: At, call: Call, args: JsonObject): { digest: Digest; about: Resource } | { reason: string } {
  const at = { p, s, t: s.turn, toolDigest, now: p.clock.now() };
  const contracted = delegateContract(at, { ...call, edited: args });
  if (contracted.kind === "refused") return { reason: contracted.verdict.reason };
  const before = delegateContract(at, call).action;
  if (before.kind === "delegate" && contracted.action.kind === "delegate" && before.to !== contracted.action.to)
    return { reason: OTHER_DELEGATE };
  const digest = computeActionDigest(contracted.action, { agent: s.agent.name, onBehalfOf: principalName(actingFor(s)) }, p.hash);
  return { digest, about: toCallSubject(contracted.action)?.resource ?? { type: "Action", id: call.proposed.id } };
}

/** An approval counts as long as its giver may give it. */
function mayNoLonger({ p, s }: At, q: Question, tool: string, by: string): boolean {
  const user = by.replace(/^user:/, "");
  const about = { approval: q.approval, agent: s.agent.name, tool, forRequester: isForRequester(q.asks) };
  return (s.turn?.speakers ?? []).some((requester) => deniedTo(p, user, { kind: "approve", ...about, requester }) !== null);
}

/** Null when the policies let this person do it. */
function deniedTo(p: Needs, user: string, act: UserAct): string | null {
  const { verdict } = failClosed(() => p.gate.decideFor(user, act));
  if (verdict.kind === "allow") return null;
  return `\`${user}\` may not ${act.kind} it: ${verdict.kind === "deny" ? verdict.reason : "the policies do not simply allow it"}`;
}
