/** A holder that is stopped (SIGSTOP) is not dead: nobody takes its session. Killed, it is, and its session is free at once. */
import { readFileSync } from "node:fs";
import { checkCompleted, checkSession, isEffect, readEntries, type Violation, verifyJournal, withOpenProject } from "../checks.ts";
import type { Stand, Victim } from "../stand/stand.ts";
import type { Did, Job, Line } from "../stand/wire.ts";
import type { Suite } from "../suite.ts";
import { findings, killed } from "./kill-points.ts";

type Held = Readonly<{ holder: Victim; directory: string; session: string }>;

/** In the middle of a turn: one call is under way, the one beside it has ended. */
async function stoppedHolder(stand: Stand): Promise<Held> {
  const directory = stand.project();
  const holder = await stand.start({ directory, jobs: [{ kind: "run" }], hold: ["call 1.0"] });
  const { pid } = await holder.until("hello");
  const { session } = await holder.until("effect", (e) => e.call === "1.0");
  await holder.until("mark", (m) => m.step === "committed" && m.written.some((e) => e.kind === "act.ended" && e.call === "1.1"));
  holder.signal("SIGSTOP");
  while (stateOf(pid) !== "T") await new Promise((resume) => setTimeout(resume, 2));
  return { holder, directory, session };
}

/** From /proc: the third field, after the name in parentheses. */
function stateOf(pid: number): string {
  const text = readFileSync(`/proc/${pid}/stat`, "utf8");
  return text.slice(text.lastIndexOf(")") + 2, text.lastIndexOf(")") + 3);
}

async function others(stand: Stand, directory: string, ...jobs: readonly Job[]): Promise<{ lines: readonly Line[]; did: readonly Did[] }> {
  const other = await stand.start({ directory, jobs });
  const how = await other.gone;
  if (how !== "0") throw new Error(`${other.name} ended (${how}): ${other.complaint()}`);
  return { lines: other.lines, did: other.lines.flatMap((l) => (l.kind === "did" ? [l.outcome] : [])) };
}

const unlessHeld = (did: Did | undefined): readonly Violation[] =>
  did?.kind === "fault" && did.fault.kind === "session-held"
    ? []
    : [`J-4 a stopped holder's session was not refused: ${JSON.stringify(did)}`];
const unlessPut = (did: Did | undefined): readonly Violation[] =>
  did?.kind === "put" && did.as === "new" ? [] : [`I-1 a wish could not be put: ${JSON.stringify(did)}`];
const unlessOnce = (lines: readonly Line[]): readonly Violation[] => {
  const twice = [...Map.groupBy(lines.filter(isEffect), (e) => e.key)].filter(([, same]) => same.length > 1);
  return twice.map(([key, same]) => `L-7 ${key} took effect ${same.length} times`);
};

const steered: (stand: Stand) => Promise<readonly Violation[]> = async (stand) => {
  const { holder, directory, session } = await stoppedHolder(stand);
  const steer = { kind: "wish", session, wish: { kind: "steer", text: "and be quick" } } as const;
  const { did, lines } = await others(stand, directory, { kind: "resume", session }, steer, { kind: "resume", session });
  holder.signal("SIGCONT");
  holder.answer("call 1.0");
  await holder.until("did");
  await holder.gone;
  const said = [...holder.lines, ...lines.filter((l) => l.kind !== "did")];
  return withOpenProject(directory, async (store) => {
    const entries = await readEntries(store, session);
    const taken = entries.filter(({ event }) => event.kind === "input.steered").length;
    const holds = entries.filter(({ event }) => event.kind === "hold.taken").length;
    return [
      ...unlessHeld(did[0]),
      ...unlessPut(did[1]),
      ...unlessHeld(did[2]),
      ...unlessOnce(said),
      ...checkSession(session, entries, said),
      ...checkCompleted(entries),
      ...verifyJournal(store, directory),
      ...(taken === 1 ? [] : [`I-2 the wish was taken ${taken} times`]),
      ...(holds === 1 ? [] : [`J-4 the session was held ${holds} times`]),
    ];
  });
};

const cancelled: (stand: Stand) => Promise<readonly Violation[]> = async (stand) => {
  const { holder, directory, session } = await stoppedHolder(stand);
  const cancel = { kind: "wish", session, wish: { kind: "cancel", reason: "enough" } } as const;
  const { did, lines } = await others(stand, directory, { kind: "resume", session }, cancel);
  holder.signal("SIGCONT"); // the call stays unanswered: only the cancellation can end it
  const { outcome } = await holder.until("did");
  await holder.gone;
  const said = [...holder.lines, ...lines.filter((l) => l.kind !== "did")];
  return withOpenProject(directory, async (store) => {
    const entries = await readEntries(store, session);
    const asked = entries.filter(({ event }) => event.kind === "turn.cancel-asked").length;
    const unknown = entries.some(({ event }) => event.kind === "act.ended" && event.outcome.kind === "unknown");
    return [
      ...unlessHeld(did[0]),
      ...unlessPut(did[1]),
      ...unlessOnce(said),
      ...checkSession(session, entries, said),
      ...verifyJournal(store, directory),
      ...(outcome.kind === "result" && outcome.ending === "cancelled" ? [] : [`L-4 it was not cancelled: ${JSON.stringify(outcome)}`]),
      ...(asked === 1 ? [] : [`I-2 the wish was taken ${asked} times`]),
      ...(unknown ? [] : ["L-7 a `once` call that was stopped half-way is not unknown"]),
    ];
  });
};

const freed: (stand: Stand) => Promise<readonly Violation[]> = async (stand) => {
  const { holder, directory, session } = await stoppedHolder(stand);
  const before = await others(stand, directory, { kind: "resume", session });
  holder.signal("SIGKILL"); // without SIGCONT: it never ran again
  await killed(holder);
  const after = await others(stand, directory, { kind: "resume", session });
  const [did] = after.did;
  return [
    ...unlessHeld(before.did[0]),
    ...(did?.kind === "result" && did.ending === "completed"
      ? []
      : [`J-4 a dead holder's session was not free at once: ${JSON.stringify(did)}`]),
    ...(await findings(directory, [...holder.lines, ...after.lines])),
  ];
};

export const stopped: Suite = {
  name: "SIGSTOP of a holder while another process wants its session",
  async run({ stand, judge }) {
    await judge("J-4 I-2 a stopped holder keeps its session; a steering wish waits, and is taken once it goes on", () => steered(stand));
    await judge("J-4 I-2 a stopped holder keeps its session; a cancel waits, and ends the turn once it goes on", () => cancelled(stand));
    await judge("J-4 kill -9 of a stopped holder frees its session at once", () => freed(stand));
  },
};
