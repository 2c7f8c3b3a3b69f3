/**
 * Delegation: another agent does it, in a session of its own, with its own tools and policies and a share of what this turn has left.
 * D-1 a delegation is decided like a call, as `delegate`; the gate learns to whom, never what. Depth, cycles and budgets are its contract.
 * D-2 the parent's `child.opened` and the delegate's first entries are one transaction; so are the delegate's ending and the word of it to the parent.
 * D-3 labels go down when it opens and come back on every ending. D-4 a turn ends after its delegates, whatever ends it.
 */
import { toDelegation } from "../../agents/delegate-tool.ts";
import { applyContract, type ContractCheck } from "../../gate/request.ts";
import type { SessionStart } from "../../journal/port.ts";
import {
  type Action,
  countNoun,
  DELEGATE,
  type Digest,
  FaultError,
  type Intent,
  type IntentBody,
  isFault,
  type JournalEvent,
  type Limits,
  MICROS_PER_CENT,
  type Millis,
  type Outcome,
  type Reservation,
  type SessionId,
  type Tool,
  type Verdict,
} from "../../vocab/index.ts";
import { allot, chargeFor, isWorthwhile, limitsWithin, ownShare, remaining } from "../limits/budgets.ts";
import { firstTurnEvents, openedEvent } from "../open.ts";
import type { Delegate, Ports } from "../ports.ts";
import { readState } from "../resume.ts";
import { asProposedToRun, type Call, callsIn, isDelegated, runningTool, type State, type Turn } from "../state.ts";
import { CALLED_OFF, callOffReason, isBeaten, lateReason } from "./race.ts";

// ── may it be ──

type Delegating = Extract<Action, { kind: "delegate" }>;
export type ContractedCall =
  | ContractCheck
  | Readonly<{ kind: "fits"; action: Delegating }>
  | Readonly<{ kind: "refused"; action: Delegating; verdict: Extract<Verdict, { kind: "deny" }> }>;

export type Contracting = Readonly<{
  p: Pick<Ports, "tools" | "children">;
  s: State;
  t: Turn | null;
  toolDigest: (tool: Tool) => Digest;
  now: Millis;
}>;

/** A call against its tool's contract; a delegation against the lineage and the budget of its session too. */
export function delegateContract({ p, s, t, toolDigest, now }: Contracting, call: Call): ContractedCall {
  const tool = p.tools.find(runningTool(call));
  const contracted = applyContract(asProposedToRun(call), tool, tool === null ? null : toolDigest(tool), call.edited);
  const { args } = contracted.action;
  if (runningTool(call) !== DELEGATE || args === null || t === null) return contracted;
  const { agent: to } = toDelegation(args);
  const found = p.children.find(to);
  const action: Delegating = { kind: "delegate", call: call.proposed.id, to, agentDigest: found?.facts.digest ?? null, args };
  const reason =
    (isBeaten(t, call) ? `it is no longer wanted: ${callOffReason(t)}` : null) ??
    whyNot(p, s, to) ??
    (found === null ? `there is no agent \`${to}\` that could be run` : tooSmall({ s, t, now }, action, found));
  if (reason === null) return { kind: "fits", action };
  return { kind: "refused", action, verdict: { kind: "deny", by: "contract", because: [], faults: [], reason } };
}

function whyNot({ children }: Pick<Ports, "children">, s: State, to: string): string | null {
  if (!children.delegates.includes(to)) return `\`${to}\` is not among the delegates of \`${s.agent.name}\``;
  if (lineageBelow(s).includes(to)) return `\`${to}\` is at work above already: a delegation does not come back to it`;
  const [depth, deepest] = [depthBelow(s), deepestBelow(s, children.maxDepth)];
  return depth > deepest ? `it would be level ${depth} of delegates, and there may be ${deepest}` : null;
}

function tooSmall(at: Sharing, action: Delegating, found: Delegate): string | null {
  const { allotment } = shareFor(at, action, found);
  const { tokens, iterations } = allotment;
  return isWorthwhile(allotment)
    ? null
    : `the budget is too small for a delegate: ${countNoun(iterations, "model call")} and ${countNoun(tokens, "token")} would be its share of what is left`;
}

const lineageBelow = (s: State): readonly string[] => [...(s.parent?.lineage ?? []), s.agent.name];
const depthBelow = (s: State): number => (s.parent?.depth ?? 0) + 1;
/** Each agent says how many levels there may be below it; the strictest of those above counts. */
const deepestBelow = (s: State, maxDepth: number): number =>
  Math.min(s.parent?.deepest ?? Number.POSITIVE_INFINITY, (s.parent?.depth ?? 0) + maxDepth);

type Sharing = Readonly<{ s: State; t: Turn; now: Millis }>;
type Share = Readonly<{ allotment: Reservation; limits: Limits }>;

/** Its agent's own limits, within its share. Time is not divided: delegates run beside each other, and the turn waits for them. */
function shareFor({ s, t, now }: Sharing, action: Delegating, found: Delegate): Share {
  const { cents, ...wish } = toDelegation(action.args).budget ?? {};
  const toStart = callsIn(t).filter((c) => c.run.kind !== "running" && c.run.kind !== "ended" && c.gated.kind !== "denied");
  const tools = toStart.map(runningTool).filter((tool) => tool !== DELEGATE); // they may start in the same commit, or again
  const askers = Math.max(1, toStart.length - tools.length);
  const left = remaining(s, t, now);
  const own = ownShare(s, t, askers);
  const kept = { ...own, calls: own.calls + tools.length, micros: tools.reduce((n, tool) => n + chargeFor(s, tool), own.micros ?? 0) };
  const share = allot(left, askers, { ...wish, ...(cents === undefined ? {} : { micros: cents * MICROS_PER_CENT }) }, kept);
  const limits = limitsWithin(found.limits, { ...share, ms: left.ms });
  const micros = limits.cents === null ? share.micros : limits.cents * MICROS_PER_CENT;
  const { iterations, tokens, calls, turnMs: ms } = limits;
  return { allotment: { iterations, tokens, micros, calls, ms }, limits };
}

// ── its beginning ──

/** The events that open a sub-agent: in its parent's stream, and in its own. */
export type DelegateOpening = Readonly<{ child: SessionId; events: readonly JournalEvent[]; begin: SessionStart }>;

/** Null when there is no budget left for it after all: others of the same reply were first, and it is decided again. */
export function openDelegate(
  { p, s, t, now: at }: Sharing & Readonly<{ p: Pick<Ports, "children" | "ids"> }>,
  call: Call,
  action: Action,
): DelegateOpening | null {
  if (action.kind !== "delegate") return null;
  const found = p.children.find(action.to);
  if (found === null) return null;
  const { allotment, limits } = shareFor({ s, t, now: at }, action, found);
  if (!isWorthwhile(allotment)) return null;
  const child = p.ids.session();
  const opened = openedEvent({
    agent: found.facts,
    principal: s.principal,
    surface: s.surface,
    labels: [...s.labels],
    parent: {
      session: s.session,
      call: call.proposed.id,
      depth: depthBelow(s),
      lineage: lineageBelow(s),
      deepest: deepestBelow(s, p.children.maxDepth),
      speakers: [...t.speakers],
    },
    origin: s.origin,
    ...(s.subject === null ? {} : { subject: s.subject }),
  });
  const started = firstTurnEvents({ input: toDelegation(action.args).task, by: t.by, limits, output: found.output });
  return {
    child,
    events: [
      { kind: "child.opened", call: call.proposed.id, child, agent: action.to, allotment },
      { kind: "budget.reserved", call: call.proposed.id, amount: untimed(allotment) },
    ],
    begin: { session: child, events: [opened, ...started].map((event) => ({ at, event })) },
  };
}

/** Time is not reserved: the delegate's active time counts as active in the turn that waited for it. */
const untimed = (a: Reservation): Reservation => ({ ...a, ms: 0 });

// ── its ending ──

/**
 * The word of a delegate's ending, for the transaction that ends its turn. Later turns of its session are nobody's but its own.
 * Under an id that nobody can know before: an inbox takes an id once, and anybody who had used this one would have silenced it.
 */
export function endingIntents(p: Pick<Ports, "signAsWriter" | "ids">, s: State, at: Millis): readonly Intent[] {
  const { parent, last, session: child } = s;
  if (parent === null || last === null || last.turn !== 1) return [];
  const { ending, output, detail, activeMs } = last;
  const wish: IntentBody = {
    kind: "child-ended",
    call: parent.call,
    child,
    ending,
    output,
    detail,
    labels: [...s.labels],
    used: { ...s.used, ms: activeMs },
    lost: s.lost,
  };
  return [p.signAsWriter({ id: p.ids.intent(), session: parent.session, at, wish })];
}

/** The events in the parent that follow a sub-agent's ending: labels first, so that nothing is decided without them. */
export function withConsequences(s: State, event: JournalEvent, wish: IntentBody) {
  if (event.kind !== "child.ended" || wish.kind !== "child-ended") return [event];
  const call = callsIn(s.turn).find((c) => c.proposed.id === event.call);
  const fresh = wish.labels.filter((l) => !s.labels.has(l));
  const outcome = toDelegateOutcome(call, event, lateReason(s.turn, call));
  const events: JournalEvent[] = [
    ...(fresh.length === 0 ? [] : [{ kind: "labels.added", labels: fresh, from: event.call } as const]),
    event,
    { kind: "budget.settled", call: event.call, amount: untimed(event.used) },
  ];
  if (call !== undefined)
    events.push({
      kind: "act.ended",
      call: event.call,
      outcome,
      evidence: { durationMs: event.used.ms, starts: call.starts, proof: null },
      endsTurn: false,
      recovering: false,
    });
  return events;
}

/** `late`: it raced with another that was first. */
export function toDelegateOutcome(
  call: Call | undefined,
  { ending, output, detail }: Extract<JournalEvent, { kind: "child.ended" }>,
  late: string | null,
): Outcome {
  if (ending === "completed" && late === null) return { kind: "done", output: output ?? "" };
  const said = output === null ? "" : `; it had said: ${output}`;
  if (late !== null) return { kind: "failed", error: `${call?.child?.agent ?? "the delegate"} was ${late}${said}` };
  return {
    kind: "failed",
    error: `${call?.child?.agent ?? "the delegate"} ended \`${ending}\`${detail === null ? "" : ` (${detail})`}${said}`,
  };
}

// ── in between ──

const LOOK_EVERY_MS = 100;

/**
 * Sees to it that a delegate is driven until it has ended or waits for a person: here when nobody else does, else by waiting for who does.
 * `drive` takes the session and drives it. Once `stop` fires its turn is cancelled: here, or through its inbox.
 */
export async function followChild(
  p: Pick<Ports, "journal" | "inbox" | "clock" | "ids" | "signAsWriter">,
  child: SessionId,
  stop: AbortSignal,
  drive: (cancel: AbortSignal) => Promise<unknown>,
): Promise<void> {
  const cancel = new AbortController();
  const why = () => String(stop.reason);
  const onStop = () => cancel.abort(why().startsWith(CALLED_OFF) ? why() : `the turn that it works for was stopped (${why()})`);
  if (stop.aborted) onStop();
  stop.addEventListener("abort", onStop, { once: true });
  try {
    for (let asked = false; ; ) {
      const at = await p.journal.session(child);
      if (at === null) throw new FaultError({ kind: "session-unknown", session: child });
      if (at.state === "idle" || at.state === "closed" || at.turns > 1) return; // ended, and the parent has been told
      try {
        await drive(cancel.signal);
        return;
      } catch (error) {
        if (!isFault(error, "session-held")) throw error;
      }
      if (stop.aborted && !asked) {
        const wish: IntentBody = { kind: "cancel", reason: String(cancel.signal.reason) };
        await p.inbox.put(p.signAsWriter({ id: p.ids.intent(), session: child, at: p.clock.now(), wish }));
        asked = true;
      }
      await p.clock.sleep(LOOK_EVERY_MS, stop.aborted ? new AbortController().signal : stop);
    }
  } finally {
    stop.removeEventListener("abort", onStop);
  }
}

/**
 * A delegate has ended: its driver takes up the session it works for, and so on upwards, unless somebody holds that.
 * `takeUp` resolves with null when it will not: a driver that was stopped has stopped its sessions, and leaves those above as they are.
 */
export async function takeUpParents(
  p: Pick<Ports, "inbox">,
  s: State,
  takeUp: (session: SessionId) => Promise<State | null>,
): Promise<void> {
  for (let at = s; at.parent !== null && (at.turn === null || at.turns > 1); ) {
    const above = at.parent.session;
    if ((await p.inbox.pending(above)).length === 0) return; // its holder has heard of it already
    try {
      const taken = await takeUp(above);
      if (taken === null) return;
      at = taken;
    } catch (error) {
      if (isFault(error, "session-held")) return; // and hears of it now
      throw error;
    }
  }
}

/** The delegates that are at work for a session, and those that work for them, as they stand. */
export async function readOpenDelegates(p: { readonly journal: Pick<Ports["journal"], "read"> }, s: State): Promise<readonly State[]> {
  const found: State[] = [];
  for (const { child } of callsIn(s.turn).filter(isDelegated)) {
    const state = await readState(p, child.session);
    found.push(state, ...(await readOpenDelegates(p, state)));
  }
  return found;
}
