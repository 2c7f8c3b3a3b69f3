/** Delegates in real processes: killed at any point, and their questions answered by a process that never saw their parent. */
import { join } from "node:path";
import { type Entry, fold } from "@orgate/core";
import { checkSession, isEffect, readEntries, type Violation, verifyJournal, withOpenProject } from "../checks.ts";
import type { Plan, Stand, Victim } from "../stand/stand.ts";
import type { Job, Line } from "../stand/wire.ts";
import { type Bench, inLanes, type Suite } from "../suite.ts";
import { killed } from "./kill-points.ts";

const PROGRAM = join(import.meta.dirname, "..", "stand", "family.ts");
const EVERY = { short: 6, long: 1 } as const;

type More = Partial<Plan> & Readonly<{ asks?: boolean }>;
function start(stand: Stand, directory: string, jobs: readonly Job[], { asks = false, ...more }: More = {}): Promise<Victim> {
  const argv = asks ? [PROGRAM, "asks"] : [PROGRAM];
  return stand.start({ directory, jobs, ...more }, { argv, cwd: stand.scratch, home: join(stand.scratch, "home") });
}

async function over(victim: Victim): Promise<Victim> {
  const how = await victim.gone;
  if (how !== "0") throw new Error(`${victim.name} ended (${how}): ${victim.complaint()}`);
  return victim;
}

type Family = Readonly<{ session: string; agent: string; parent: string | null; entries: readonly Entry[] }>;

const familyOf = (directory: string): Promise<readonly Family[]> =>
  withOpenProject(directory, async (store) => {
    const page = await store.journal.sessions({ state: null, agent: null, before: null, most: 100 });
    return Promise.all(
      page.map(async ({ session, agent, parent }) => ({ session, agent, parent, entries: await readEntries(store, session) })),
    );
  });

/** All checks of a run of `boss`, however its processes ended. */
async function findings(directory: string, lines: readonly Line[]): Promise<readonly Violation[]> {
  const family = await familyOf(directory);
  const found: Violation[] = [...(await withOpenProject(directory, async (store) => verifyJournal(store, directory)))];
  if (family.length === 0) return found; // killed before anything of it was durable
  const must = (holds: boolean, violation: Violation): void => void (holds || found.push(violation));
  for (const { session, entries } of family) found.push(...checkSession(session, entries, lines));
  must(
    family
      .map((f) => f.agent)
      .sort()
      .join() === "boss,clerk,hand,hand",
    `D-2 these have worked: ${family.map((f) => f.agent).join()}`,
  );
  for (const { session, parent, entries } of family) {
    if (parent === null) continue;
    const above = family.find((f) => f.session === parent)?.entries ?? [];
    const opened = above.filter(({ event: e }) => e.kind === "child.opened" && e.child === session).length;
    const ended = above.filter(({ event: e }) => e.kind === "child.ended" && e.child === session).length;
    must(opened === 1 && ended === 1, `D-2 ${session} was opened ${opened} times and its ending told ${ended} times`);
    const lost = [...(fold(entries)?.labels ?? [])].filter((l) => !fold(above)?.labels.has(l));
    must(lost.length === 0, `D-3 labels of ${session} have not come back: ${lost.join()}`);
  }
  const shots = lines.filter(isEffect).map((e) => e.n);
  must(new Set(shots).size === shots.length, `L-7 fired more than once: ${shots.join()}`);
  const root = family.find((f) => f.parent === null);
  const last = root?.entries.findLast(({ event }) => event.kind === "turn.ended")?.event;
  must(
    last?.kind === "turn.ended" && last.ending === "completed" && last.output === "boss is done",
    `L-4 it ended ${JSON.stringify(last)}`,
  );
  return found;
}

const isPoint = (line: Line): boolean => "point" in line && line.kind !== "reached";

/** Delegates work side by side: two commits of a calm run may be one of the next, so the last points are not always there. It then ends as ever. */
async function reached(victim: Victim): Promise<boolean> {
  const how = await Promise.race([
    victim.until("reached").then(
      () => null,
      () => victim.gone,
    ),
    victim.gone,
  ]);
  if (how !== null && how !== "0") throw new Error(`${victim.name} ended (${how}): ${victim.complaint()}`);
  return how === null;
}

async function killedAnywhere({ stand, say, long, judge }: Bench): Promise<void> {
  const calm = await over(await start(stand, stand.project(), [{ kind: "run" }]));
  const points = calm.lines.filter(isPoint).length;
  const nths = Array.from({ length: points }, (_, i) => i + 1).filter((nth) => nth % (long ? EVERY.long : EVERY.short) === 0);
  const missed: number[] = [];
  await inLanes(nths, (nth) =>
    judge(`D-6 killed at point ${nth} of ${points}: one delegate per call, one ending and one word each, nothing fired twice`, async () => {
      const directory = stand.project();
      const victim = await start(stand, directory, [{ kind: "run" }], { stop: { kind: "nth", nth } });
      if (!(await reached(victim))) missed.push(nth);
      else {
        victim.signal("SIGKILL");
        await killed(victim);
      }
      return findings(directory, [...victim.lines, ...(await goOn(stand, directory, [{ kind: "resume-all" }]))]);
    }),
  );
  await judge("D-6 nearly every point is reached, and killed at", async () =>
    missed.length * 10 <= nths.length ? [] : [`these were not reached: ${missed.join()} of ${points}`],
  );
  say(`${nths.length - missed.length} of ${points} points around four sessions`);
}

async function insideTheTool({ stand, judge }: Bench): Promise<void> {
  await judge(
    "D-6 the parent's process is killed while a delegate runs inside a tool: resuming the parent goes on with all of them",
    async () => {
      const directory = stand.project();
      const victim = await start(stand, directory, [{ kind: "run" }], { hold: ["call 1.0"] });
      await victim.until("effect", (e) => e.n === 3); // of the delegate's delegate
      victim.signal("SIGKILL");
      await killed(victim);
      const root = (await familyOf(directory)).find((f) => f.parent === null)?.session ?? "";
      const fresh = await over(await start(stand, directory, [{ kind: "resume", session: root }]));
      return findings(directory, [...victim.lines, ...fresh.lines]);
    },
  );
  await judge("D-6 resuming the delegate at the bottom alone goes on with those above it", async () => {
    const directory = stand.project();
    const victim = await start(stand, directory, [{ kind: "run" }], { hold: ["call 1.0"] });
    await victim.until("effect", (e) => e.n === 3);
    victim.signal("SIGKILL");
    await killed(victim);
    const family = await familyOf(directory);
    const clerk = family.find((f) => f.agent === "clerk")?.session ?? "";
    const bottom = family.find((f) => f.parent === clerk)?.session ?? "";
    return findings(directory, [...victim.lines, ...(await goOn(stand, directory, [{ kind: "resume", session: bottom }]))]);
  });
}

/** A process for these jobs, then one for each round of answers: a call that was lost makes its look-alikes ask (G-4). */
async function goOn(stand: Stand, directory: string, first: readonly Job[], asks = false): Promise<readonly Line[]> {
  const lines: Line[] = [];
  for (let jobs = first, rounds = 0; jobs.length > 0 && rounds < 6; rounds += 1) {
    lines.push(...(await over(await start(stand, directory, jobs, { asks }))).lines);
    jobs = await answersTo(directory);
  }
  return lines;
}

/** Open approval requests with their sessions, each approved. */
async function answersTo(directory: string): Promise<readonly Job[]> {
  const questions = await withOpenProject(directory, (store) => store.journal.questions({ after: 0, most: 100 }));
  return questions.flatMap(({ session, approval, digest }): readonly Job[] => [
    { kind: "wish", session, wish: { kind: "answer", approval, digest, answer: { kind: "approve" } } },
    { kind: "resume", session },
  ]);
}

async function answeredElsewhere({ stand, judge }: Bench): Promise<void> {
  await judge("D-5 a delegate's question is answered in another process, which drives it on, and then those above it", async () => {
    const directory = stand.project();
    const first = await over(await start(stand, directory, [{ kind: "run" }], { asks: true }));
    const { outcome } = await first.until("did");
    if (outcome.kind !== "result" || outcome.state !== "waiting") return [`D-5 it does not wait: ${JSON.stringify(outcome)}`];
    const jobs = await answersTo(directory);
    if (jobs.length !== 4) return [`D-5 ${jobs.length / 2} questions wait, not 2`];
    const second = await over(await start(stand, directory, jobs, { asks: true }));
    return findings(directory, [...first.lines, ...second.lines]);
  });
  await judge("D-5 who answers is killed inside the delegate's tool: the next one goes on, and nothing is fired twice", async () => {
    const directory = stand.project();
    const first = await over(await start(stand, directory, [{ kind: "run" }], { asks: true }));
    const second = await start(stand, directory, await answersTo(directory), { hold: ["call 1.0"], asks: true });
    await second.until("effect");
    second.signal("SIGKILL");
    await killed(second);
    const lines = [...first.lines, ...second.lines];
    lines.push(...(await goOn(stand, directory, [{ kind: "resume-all" }], true)));
    return findings(directory, lines);
  });
}

export const delegates: Suite = {
  name: "delegates",
  async run(bench) {
    await insideTheTool(bench);
    await answeredElsewhere(bench);
    await killedAnywhere(bench);
  },
};
