/** The kill switch: several busy processes are halted, and nothing starts after the commit of the halt. */

import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { type Violation, verifyJournal, withOpenProject } from "../checks.ts";
import { type RawEntry, readRows } from "../rows.ts";
import { type Desk, makeDesk, runArgs } from "../stand/desk.ts";
import { PERSON } from "../stand/script.ts";
import type { Victim } from "../stand/stand.ts";
import type { Broken, Line } from "../stand/wire.ts";
import type { Bench, Suite } from "../suite.ts";
import { ended } from "./answers.ts";
import { killed } from "./kill-points.ts";

const MILLS = [7, 7, 6] as const;
const SESSIONS = MILLS.reduce((sum: number, n) => sum + n, 0);
const BEGINNINGS = ["act.started", "model.asked"];

/** In the order in which they were committed: SQLite has one writer at a time, and numbers the rows as they come. */
const rowsOf = (desk: Desk): readonly RawEntry[] => readRows(desk.directory);

/** Everything that started between the commit of the halt and the commit that lifts it. */
function begunWhileHalted(rows: readonly RawEntry[]): readonly RawEntry[] {
  const from = rows.findIndex((r) => r.kind === "work.halted");
  if (from < 0) throw new Error("nothing was halted");
  const to = rows.findIndex((r) => r.kind === "work.resumed");
  return rows.slice(from, to < 0 ? undefined : to).filter((r) => BEGINNINGS.includes(r.kind));
}

/** Of /proc: processes that belong to one of these groups, whoever started them. */
function membersOf(groups: ReadonlySet<number>): readonly number[] {
  return readdirSync("/proc").flatMap((name) => {
    if (!/^\d+$/.test(name)) return [];
    const text = statOf(name);
    const [state, , group] = text.slice(text.lastIndexOf(")") + 2).split(" ");
    return state !== "Z" && groups.has(Number(group)) ? [Number(name)] : [];
  });
}
function statOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/stat`, "utf8");
  } catch {
    return ""; // it ended between the two looks
  }
}

const groupsIn = (lines: readonly Line[]): readonly number[] => lines.flatMap((l) => (l.kind === "group" ? [l.group] : []));
const grindersOf = (sessions: number): number => Math.ceil(sessions / 3);

/** Every session has begun, and every grinder has its group. */
async function busy(desk: Desk, sessions: number, broken: Broken | null, started: Victim[]): Promise<Victim> {
  const mill = await desk.program("mill.ts", [String(sessions)], { broken });
  started.push(mill);
  const groups = new Set<number>();
  await mill.until("group", ({ group }) => groups.add(group).size === grindersOf(sessions));
  const seen = new Set<string>();
  const isThinking = (line: Extract<Line, { kind: "mark" }>): boolean => {
    if (line.step === "committed") for (const e of line.written) if (e.kind === "act.ended") seen.add(e.stream);
    return seen.size === sessions - grindersOf(sessions);
  };
  await mill.until("mark", isThinking);
  return mill;
}

/** By the command line, in a process of its own. */
const order = (desk: Desk, what: "halt" | "resume-work", reason: string): Promise<Victim> =>
  desk.cli([what, "all", "--reason", reason, "--as", PERSON, "--json"]);

type Halted = Readonly<{
  desk: Desk;
  mills: readonly Victim[];
  begun: readonly RawEntry[];
  groups: ReadonlySet<number>;
  alive: readonly number[];
}>;

/** Kills every group, however the suite ends. */
async function haltAll({ stand }: Bench, broken: Broken | null): Promise<Halted> {
  const desk = await makeDesk(stand);
  const mills: Victim[] = [];
  try {
    return await halted(desk, mills, broken);
  } finally {
    for (const mill of mills) mill.signal("SIGKILL");
    // As a group, not one by one: one of them may be about to start another.
    for (const group of new Set(mills.flatMap(({ lines }) => groupsIn(lines))))
      if (membersOf(new Set([group])).length > 0) process.kill(-group, "SIGKILL");
  }
}

/** A group is told of by its leader, a moment before its members are there; bounded, so that a group that never fills fails the suite. */
async function grinding(groups: ReadonlySet<number>): Promise<void> {
  for (let looks = 0; membersOf(groups).length < groups.size * 3; looks += 1) {
    if (looks === 200) throw new Error(`only ${membersOf(groups).length} processes grind`);
    await sleep(50);
  }
}

async function halted(desk: Desk, started: Victim[], broken: Broken | null): Promise<Halted> {
  const crashed = await busy(desk, 1, broken, started); // in the midst of a call when its process dies: nobody is there to hear of the halt
  crashed.signal("SIGKILL");
  await killed(crashed);
  for (const group of groupsIn(crashed.lines)) process.kill(-group, "SIGKILL"); // nobody else does: its process is dead
  const mills = await Promise.all(MILLS.map((sessions) => busy(desk, sessions, broken, started)));
  const groups = new Set(mills.flatMap((mill) => groupsIn(mill.lines)));
  await grinding(groups);
  await ended(await order(desk, "halt", "drill"), 0);
  await Promise.all(mills.map((mill) => ended(mill, 0)));
  return { desk, mills, begun: begunWhileHalted(rowsOf(desk)), groups, alive: membersOf(groups) };
}

const endingsOf = (lines: readonly Line[]): readonly string[] =>
  lines.flatMap((l) => (l.kind === "did" && l.outcome.kind === "result" ? [String(l.outcome.ending)] : []));

async function nothingBegins(bench: Bench): Promise<readonly Violation[]> {
  const { desk, mills, begun, groups, alive } = await haltAll(bench, null);
  const endings = mills.flatMap((mill) => endingsOf(mill.lines));
  const before = rowsOf(desk).length;
  const fresh = await ended(await desk.program("mill.ts", ["1", "and-what-is-left"]), 0); // takes up what the crashed one left, and begins one of its own
  const one = await ended(await desk.cli(runArgs("one")), 1);
  const refused = rowsOf(desk).slice(before);
  await ended(await order(desk, "resume-work", "the drill is over"), 0);
  await ended(await desk.cli(runArgs("one")), 3); // asked the model, and a person
  bench.say(`${SESSIONS} sessions in ${MILLS.length} processes, ${groups.size} groups of three processes; ${before} entries`);
  const closed = refused.filter((r) => r.kind === "turn.ended").length;
  return [
    ...begun.map((r) => `Q-13 ${r.kind} of ${r.stream} was committed after the halt`),
    ...alive.map((pid) => `Q-13 process ${pid} of a halted call is still there`),
    ...(endings.length === SESSIONS && endings.every((e) => e === "halted") ? [] : [`Q-13 the turns ended ${endings.join()}`]),
    ...(endingsOf(fresh.lines).join() === "halted,halted" ? [] : [`Q-13 after a restart: ${endingsOf(fresh.lines).join()}`]),
    ...(one.output().includes('"ending":"halted"') ? [] : [`Q-13 a new process was not halted: ${one.output()}`]),
    ...(closed === 3 ? [] : [`Q-13 ${closed} of the three turns after the restart ended`]),
    ...refused.filter((r) => BEGINNINGS.includes(r.kind)).map((r) => `Q-13 ${r.kind} of ${r.stream} after a restart`),
    ...begunWhileHalted(rowsOf(desk)).map((r) => `Q-13 ${r.kind} of ${r.stream} while work was halted`),
    ...(await withOpenProject(desk.directory, async (store) => verifyJournal(store, desk.directory))),
  ];
}

export const halts: Suite = {
  name: "the kill switch, with everything busy",
  async run(bench) {
    await bench.judge(
      `Q-13 ${SESSIONS} busy sessions in ${MILLS.length} processes are halted: nothing begins after that commit, groups are gone, a restart begins nothing`,
      () => nothingBegins(bench),
    );
    await bench.judge("Q-13 the build `ignores-halts`, which sees a halt a moment too late, is found out", async () => {
      const { begun } = await haltAll(bench, "ignores-halts");
      bench.say(`ignores-halts: ${begun.length} effects begun after the halt`);
      return begun.length > 0 ? [] : ["nothing began after the halt: the check cannot be trusted"];
    });
  },
};
