/** Every transaction, call and model call of the run, killed at each of its points; then the same with the process that resumes killed as well. */
import {
  checkCompleted,
  checkSession,
  countTail,
  readEntries,
  type Violation,
  verifySealed,
  verifyTail,
  withOpenProject,
} from "../checks.ts";
import { seeded } from "../seeded.ts";
import type { Stand, Victim } from "../stand/stand.ts";
import { type Broken, isSealAlone, type Line, type Stop } from "../stand/wire.ts";
import { type Bench, inLanes, type Suite } from "../suite.ts";
import { count, type Histogram, lastOf, shown, WINDOWS, windowOf } from "../windows.ts";

/** Frozen at a point of its own, or left waiting by the counter while the call beside it comes to its end. */
export type KillPoint = Readonly<{ kind: "frozen"; point: string } | { kind: "held"; call: string; beside: string }>;
export const pointName = (p: KillPoint): string => (p.kind === "frozen" ? p.point : `call ${p.call} held`);

type Tagged = Extract<Line, { point: string }>;
const isPoint = (line: Line): line is Exclude<Tagged, { kind: "reached" }> => "point" in line && line.kind !== "reached";

export async function runUndisturbed(stand: Stand, directory: string): Promise<readonly Line[]> {
  const calm = await stand.start({ directory, jobs: [{ kind: "run" }] });
  const { outcome } = await calm.until("did");
  if ((await calm.gone) !== "0" || outcome.kind !== "result")
    throw new Error(`the run does not work: ${calm.complaint()} ${JSON.stringify(outcome)}`);
  return calm.lines;
}

/** Without seals that come by themselves: they are no part of every run (`seals.ts` has them). */
export function pointsOf(lines: readonly Line[]): readonly KillPoint[] {
  const names = lines.filter(isPoint).filter((line) => line.kind !== "mark" || !isSealAlone(line));
  const frozen = [...new Set(names.map(({ point }) => point))].map((point): KillPoint => ({ kind: "frozen", point }));
  const held = lines.flatMap((line): KillPoint[] => {
    if (line.kind !== "effect") return [];
    const [iteration, place] = line.call.split(".");
    return [{ kind: "held", call: line.call, beside: `${iteration}.${place === "0" ? 1 : 0}` }];
  });
  return [...frozen, ...held];
}

/** Starts a process and kills it exactly there; rejects when it never gets there. `before` is done while it stands there. */
export async function killAt(
  stand: Stand,
  directory: string,
  at: KillPoint,
  { broken = null, before = async () => {} }: Killing = {},
): Promise<Victim> {
  const jobs = [{ kind: "run" }] as const;
  const hold = at.kind === "held" ? [`call ${at.call}`] : [];
  const stop: Stop | null = at.kind === "frozen" ? { kind: "at", point: at.point } : null;
  const victim = await stand.start({ directory, jobs, stop, hold, broken });
  if (at.kind === "frozen") await victim.until("reached");
  else {
    await victim.until("effect", (e) => e.call === at.call);
    await victim.until("mark", (m) => m.step === "committed" && m.written.some((e) => e.kind === "act.ended" && e.call === at.beside));
  }
  await before();
  victim.signal("SIGKILL");
  await killed(victim);
  return victim;
}

type Killing = Readonly<{ broken?: Broken | null; before?: () => Promise<unknown> }>;

export async function killed(victim: Victim): Promise<void> {
  const how = await victim.gone;
  if (how !== "SIGKILL") throw new Error(`${victim.name} was not killed but ended (${how}): ${victim.complaint()}`);
}

/** A process that takes up what is left, to the end. */
export async function resumeAll(stand: Stand, directory: string, broken: Broken | null = null): Promise<Victim> {
  const fresh = await stand.start({ directory, jobs: [{ kind: "resume-all" }], broken });
  const how = await fresh.gone;
  if (how !== "0") throw new Error(`${fresh.name}, which was to resume, ended (${how}): ${fresh.complaint()}`);
  return fresh;
}

export const sessionsIn = (lines: readonly Line[]): ReadonlySet<string> =>
  new Set(lines.flatMap((l) => (l.kind === "mark" ? l.written.flatMap((e) => (e.stream.startsWith("s_") ? [e.stream] : [])) : [])));

/** Sessions of which a commit came back: whatever happened afterwards, they are in the journal. */
const committedIn = (lines: readonly Line[]): ReadonlySet<string> =>
  sessionsIn(lines.filter((l) => l.kind === "mark" && l.step === "committed"));

/** Everything that must hold of a project in which processes with these lines ran. */
export function findings(directory: string, lines: readonly Line[]): Promise<readonly Violation[]> {
  return withOpenProject(directory, async (store) => {
    const found: Violation[] = [...verifySealed(store, directory)];
    for (const line of lines)
      if (line.kind === "did" && line.outcome.kind === "fault")
        found.push(`L-7 ${line.victim} could not go on: ${JSON.stringify(line.outcome.fault)}`);
    const durable = committedIn(lines);
    for (const session of sessionsIn(lines)) {
      const entries = await readEntries(store, session);
      if (entries.length === 0 && durable.has(session)) found.push(`J-1 session ${session} was committed and is not there`);
      found.push(...checkSession(session, entries, lines), ...checkCompleted(entries));
    }
    return found;
  });
}

async function everyPoint({ stand, say, judge }: Bench): Promise<void> {
  const reference = await runUndisturbed(stand, stand.project());
  const points = pointsOf(reference);
  const histogram: Histogram = new Map();
  let tails = 0;
  await inLanes(points, (at) =>
    judge(
      `L-7 J-31 killed at ${pointName(at)}: nothing twice, nothing unallowed, nothing lost, one ending, the tail counted and sealed`,
      async () => {
        const directory = stand.project();
        const victim = await killAt(stand, directory, at);
        count(histogram, at.kind === "held" ? "inside effect" : windowOf(lastOf(victim.lines)));
        const left = countTail(victim.lines);
        const before = await verifyTail(directory, { unsealed: left, recovered: 0 });
        if (left > 0) tails += 1;
        const fresh = await resumeAll(stand, directory);
        const after = await verifyTail(directory, { unsealed: 0, recovered: left > 0 ? 1 : 0 });
        return [...before, ...after, ...(await findings(directory, [...victim.lines, ...fresh.lines]))];
      },
    ),
  );
  const events = reference.flatMap((l) =>
    l.kind === "mark" && l.step === "committed" ? l.written.filter((e) => e.stream.startsWith("s_")) : [],
  );
  say(`${points.length} points around ${events.length} events: ${shown(histogram)}; ${tails} left an unsealed tail`);
  await judge("J-31 kills that leave an unsealed tail are among them", async () => (tails >= 10 ? [] : [`only ${tails} are`]));
  await judge("L-7 the points lie before, after and around every append and every effect", async () => {
    const missing = WINDOWS.filter((w) => (histogram.get(w) ?? 0) === 0);
    return missing.map((w) => `no point was \`${w}\``);
  });
}

/** The very first process of a project: its keys and their certificates. */
async function firstProcess({ stand, judge }: Bench): Promise<void> {
  const enrolment = (line: Line) => line.kind === "mark" && line.written.some((e) => e.stream === "keys");
  const reference = await runUndisturbed(stand, stand.bareProject());
  const begins = reference.findIndex(enrolment) - 1; // the mark before: nothing has been written yet
  const points = pointsOf(reference.filter((line, i) => i === begins || enrolment(line)));
  await inLanes(points, (at) =>
    judge(`J-12 a project whose first process was killed at ${pointName(at)} goes on and verifies`, async () => {
      const directory = stand.bareProject();
      const victim = await killAt(stand, directory, at);
      const lines = await runUndisturbed(stand, directory);
      return findings(directory, [...victim.lines, ...lines]);
    }),
  );
}

/** The process that resumes is killed too, at its nth point, and the one after it. */
async function again({ stand, seed, long, say, judge }: Bench): Promise<void> {
  const random = seeded(seed ^ 0xa9a1);
  const points = pointsOf(await runUndisturbed(stand, stand.project())).filter((p) => p.kind === "frozen");
  const plans = Array.from({ length: long ? 150 : 16 }, () => ({
    at: random.pick(points),
    nth: [1 + random.below(16), 1 + random.below(12)],
  }));
  let resumersKilled = 0;
  await inLanes(plans, ({ at, nth }) =>
    judge(`L-7 killed at ${pointName(at)}, then twice more while it was resumed (seed ${seed})`, async () => {
      const directory = stand.project();
      const lines: Line[] = [...(await killAt(stand, directory, at)).lines];
      for (const n of nth) {
        const resumer = await stand.start({ directory, jobs: [{ kind: "resume-all" }], stop: { kind: "nth", nth: n } });
        const reached = await resumer.until("reached").then(
          () => true,
          () => false, // it had nothing left to do by then
        );
        resumer.signal("SIGKILL");
        await resumer.gone;
        if (reached) resumersKilled += 1;
        lines.push(...resumer.lines);
      }
      lines.push(...(await resumeAll(stand, directory)).lines);
      return findings(directory, lines);
    }),
  );
  say(`${plans.length} sessions killed again while they were resumed (${resumersKilled} resuming processes killed)`);
  await judge("L-7 processes that resume were really killed", async () =>
    resumersKilled >= plans.length / 2 ? [] : [`only ${resumersKilled} resuming processes were killed`],
  );
}

export const killPoints: Suite = {
  name: "kill -9 at every point of a run of three iterations with two parallel calls",
  async run(bench) {
    await everyPoint(bench);
    await firstProcess(bench);
    await again(bench);
  },
};
