/** Sessions as a whole: opened without a turn, forked, closed. None of it runs anything, so none of it needs the agent's code. */

import type { SessionSummary } from "../../journal/summary.ts";
import { estimates } from "../../reason/tokens.ts";
import {
  FaultError,
  isFault,
  isSessionId,
  type JournalEvent,
  type Principal,
  type SessionId,
  type Subject,
  type Surface,
  seq,
  toCanonicalJson,
} from "../../vocab/index.ts";
import { checkHistory, toHistory } from "../model/history.ts";
import { beginSession, holdTakenEvent, type Opening } from "../open.ts";
import type { Ports } from "../ports.ts";
import { readState } from "../resume.ts";

type Founding = Pick<Ports, "journal" | "ids" | "clock">;

const EXTERNAL = /^[\p{L}\p{M}\p{N}\p{P}\p{S} ]{1,128}$/u;

/** H-6 the caller's own id: 1 to 128 characters that can be seen, not at its edges a space, and none that could be taken for ours. */
export function checkExternal(external: string): string {
  if (typeof external === "string" && EXTERNAL.test(external) && external.trim() === external && !isSessionId(external)) return external;
  throw new FaultError({
    kind: "usage",
    detail: `\`${String(external).slice(0, 140)}\` cannot be a session's own id`,
    hint: "use 1 to 128 printable characters, no space at either end, nothing that reads like `s_…`",
  });
}

/** H-6 the same id again is the same session, if it is for the same agent and principal; two that ask at once get the same one. */
export async function createSession(p: Founding, opening: Opening, model: string | null = null): Promise<SessionSummary> {
  const { external, principal } = opening;
  const checked = { ...opening, history: checkHistory(opening.history) };
  const make = () => found(p, checked, choiceOf(model, principal));
  const isMeant = async (one: SessionSummary): Promise<boolean> => (await isSame(opening)(one)) && servesSame(p, one, opening.subject);
  return external === null ? make() : onceFor(p, checkExternal(external), make, isMeant);
}

/** Chosen for a session as it is opened. */
const choiceOf = (model: string | null, by: Principal): readonly JournalEvent[] =>
  model === null ? [] : [{ kind: "model.chosen", model, by, intent: null }];

const isSame =
  ({ agent, principal }: Pick<Opening, "agent" | "principal">) =>
  async (one: SessionSummary): Promise<boolean> =>
    one.agent === agent.name && one.principal.kind === principal.kind && one.principal.id === principal.id;

/** Whom a session serves is said when it opens: who names another later does not mean that session. */
async function servesSame(
  { journal }: Pick<Founding, "journal">,
  { session }: SessionSummary,
  subject: Subject | undefined,
): Promise<boolean> {
  if (subject === undefined) return true;
  const [first] = await journal.read(session, seq(0), 1);
  const there = first?.event.kind === "session.opened" ? first.event.subject : undefined;
  return there !== undefined && toCanonicalJson(there) === toCanonicalJson(subject);
}

async function onceFor(
  { journal }: Founding,
  external: string,
  make: () => Promise<SessionSummary>,
  isMeant: (one: SessionSummary) => Promise<boolean>,
): Promise<SessionSummary> {
  const there = (await journal.find(external)) ?? (await make().catch(unlessTaken)) ?? (await journal.find(external));
  if (there === null) throw new Error(`session \`${external}\` is there and not there`);
  if (await isMeant(there)) return there;
  throw new FaultError({ kind: "external-taken", external, session: there.session });
}
const unlessTaken = (error: unknown): null => {
  if (isFault(error, "external-taken")) return null; // somebody else was first
  throw error;
};

async function found(p: Founding, opening: Opening, more: readonly JournalEvent[]): Promise<SessionSummary> {
  const { hold, begin } = await beginSession({ ...p, counters: estimates }, opening); // nothing of its state is used here
  const [opened, ...held] = begin;
  const events = [opened, ...more, ...held].flatMap((event) => (event === undefined ? [] : [{ at: p.clock.now(), event }]));
  try {
    await p.journal.append({ stream: hold.session, after: seq(0), hold, events, consumes: [], unlessHalted: [] });
  } finally {
    await p.journal.release(hold);
  }
  return summaryOf(p, hold.session);
}

async function summaryOf({ journal }: Pick<Founding, "journal">, session: SessionId): Promise<SessionSummary> {
  const summary = await journal.session(session);
  if (summary === null) throw new FaultError({ kind: "session-unknown", session });
  return summary;
}

export type Fork = Readonly<{
  /** The last entry that counts; null: all there are. */
  at: number | null;
  external: string | null;
  principal: Principal;
  surface: Surface;
}>;

/**
 * H-10 what was said up to an entry, with the labels of that moment, in a session of its own. The origin is only read: it may be held, parked or closed.
 * The model that was chosen there is chosen here too (M-19). Nothing else comes along: no question, no grant, no call, no follow-up, no parent.
 */
export async function forkSession(
  p: Founding & Pick<Ports, "counters">,
  from: SessionId,
  { at, external, principal, surface }: Fork,
): Promise<SessionSummary> {
  const origin = await summaryOf(p, from);
  const last = seq(at ?? origin.seq);
  if (!Number.isSafeInteger(last) || last < 1 || last > origin.seq)
    throw new FaultError({
      kind: "usage",
      detail: `session \`${from}\` has no entry ${last}`,
      hint: `it has 1 to ${origin.seq}: \`orgate sessions show ${from}\``,
    });
  const state = await readState(p, from, { upTo: last, counters: p.counters }); // what was cut to fit is cut as it was
  const { history, unknown } = toHistory(state);
  const forked = { kind: "session.forked", from, at: last, unknown } as const;
  const { agent, chosen } = state;
  const make = (): Promise<SessionSummary> =>
    found(p, { agent, principal, surface, labels: [...state.labels], history, external, parent: null, origin: null }, [
      forked,
      ...choiceOf(chosen, principal),
    ]);
  if (external === null) return make();
  return onceFor(p, checkExternal(external), make, async (one) => {
    const [, second] = await p.journal.read(one.session, seq(0), 2);
    const event = second?.event;
    return event?.kind === "session.forked" && event.from === from && event.at === last && isSame({ agent, principal })(one);
  });
}

/** H-9 for good: it takes no turn and no wish any more. A turn in progress is cancelled or waited for first. */
export async function closeSession(
  p: Pick<Ports, "journal" | "clock">,
  session: SessionId,
  by: Principal,
  reason: string,
): Promise<SessionSummary> {
  if ((await summaryOf(p, session)).state === "closed") return summaryOf(p, session);
  const hold = await p.journal.take(session);
  try {
    const state = await readState(p, session);
    if (state.turn !== null) throw new FaultError({ kind: "session-busy", session });
    const closed = { kind: "session.closed", by, reason: reason.toWellFormed() } as const;
    const events = [holdTakenEvent(p, hold), ...(state.closed ? [] : [closed])].map((event) => ({ at: p.clock.now(), event }));
    await p.journal.append({ stream: session, after: state.seq, hold, events, consumes: [], unlessHalted: [] });
  } finally {
    await p.journal.release(hold);
  }
  return summaryOf(p, session);
}
