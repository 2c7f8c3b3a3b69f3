/**
 * Killed at random moments. Each process first takes up what the one before it left, to the end, then starts a session of its own, made slow
 * by small random delays, and is killed in the midst of it: one start per kill, on one journal, as on a machine that keeps failing.
 */
import type { Violation } from "../checks.ts";
import { type Random, seeded } from "../seeded.ts";
import type { Stand, Victim } from "../stand/stand.ts";
import type { Broken, Line } from "../stand/wire.ts";
import { type Bench, lanes, type Suite } from "../suite.ts";
import { count, type Histogram, lastOf, shown, WINDOWS, type Window, windowOf } from "../windows.ts";
import { findings, resumeAll } from "./kill-points.ts";

const KILLS = { short: 200, long: 1_000 } as const;
const LEAST_PER_WINDOW = 20;
/** A window that lags behind is aimed at: the kill comes a random moment after the process has said that it is there. */
const AIM_MS = 5;

export type Toll = { kills: number; aimed: number; survived: number; readonly histogram: Histogram; lengthMs: number };
export type Hunt = Readonly<{ stand: Stand; directory: string; random: Random; toll: Toll; broken: Broken | null; goOn(): boolean }>;

/** Kills one process after another until it has been enough; all that they said. */
export async function hunt({ stand, directory, random, toll, broken, goOn }: Hunt): Promise<readonly Line[]> {
  const lines: Line[] = [];
  while (goOn()) {
    const victim = await stand.start({ directory, jobs: [{ kind: "resume-all" }, { kind: "run" }], seed: random.below(2 ** 31), broken });
    const begins = await victim.until("begins", (b) => b.job === "run");
    if (await struck(victim, random, toll)) {
      toll.kills += 1;
      count(toll.histogram, windowOf(lastOf(victim.lines)));
    } else {
      toll.survived += 1;
      toll.lengthMs = (victim.lines.at(-1)?.ms ?? begins.ms) - begins.ms; // the machine has become quicker, or slower
    }
    lines.push(...victim.lines);
  }
  lines.push(...(await resumeAll(stand, directory, broken)).lines);
  return lines;
}

/** Strikes at a random moment of the run. False when the process had ended by itself by then. */
async function struck(victim: Victim, random: Random, toll: Toll): Promise<boolean> {
  const aim = lagging(toll);
  const over = victim.until("did", (d) => d.job === "run").then(() => true);
  const target = aim !== null && random.below(4) > 0 ? aim : null;
  if (target !== null) toll.aimed += 1;
  const moment = target === null ? pause(random.between(0, toll.lengthMs)) : reached(victim, target, random);
  over.catch(() => {});
  if (!(await Promise.race([over, moment.then(() => false)]))) victim.signal("SIGKILL");
  const how = await victim.gone;
  if (how !== "SIGKILL" && how !== "0") throw new Error(`${victim.name} was not killed but ended (${how}): ${victim.complaint()}`);
  return how === "SIGKILL";
}

function lagging({ kills, histogram }: Toll): Window | null {
  const least = WINDOWS.toSorted((a, b) => (histogram.get(a) ?? 0) - (histogram.get(b) ?? 0))[0];
  return least !== undefined && (histogram.get(least) ?? 0) * 8 < Math.min(kills, LEAST_PER_WINDOW * 8) ? least : null;
}

async function reached(victim: Victim, window: Window, random: Random): Promise<void> {
  let left = random.below(5);
  const inside = (line: Line): boolean => windowOf(line) === window && left-- === 0;
  const kind = window === "inside effect" ? "effect" : "mark";
  await victim.until(kind, inside).catch(() => {});
  await pause(random.between(0, AIM_MS));
}

const pause = (ms: number): Promise<void> => new Promise((resume) => setTimeout(resume, ms));

/** How long a slow run takes here and now, when nobody kills it. */
export async function measured(stand: Stand, seed: number): Promise<number> {
  const victim = await stand.start({ directory: stand.project(), jobs: [{ kind: "run" }], seed });
  const begins = await victim.until("begins");
  const did = await victim.until("did");
  await victim.gone;
  return did.ms - begins.ms;
}

async function randomMoments({ stand, seed, long, say, judge }: Bench): Promise<void> {
  const wanted = long ? KILLS.long : KILLS.short;
  const toll: Toll = { kills: 0, aimed: 0, survived: 0, histogram: new Map(), lengthMs: await measured(stand, seed) };
  const enough = (): boolean => toll.kills >= wanted && WINDOWS.every((w) => (toll.histogram.get(w) ?? 0) >= LEAST_PER_WINDOW);
  const goOn = (): boolean => !enough() && toll.kills + toll.survived < wanted * 2;
  await Promise.all(
    lanes().map((lane) =>
      judge(
        `L-7 killed at random moments (lane ${lane}, seed ${seed}): nothing twice, nothing unallowed, nothing lost, one ending`,
        async () => {
          const directory = stand.project();
          const lines = await hunt({ stand, directory, random: seeded(seed + lane), toll, broken: null, goOn });
          return findings(directory, lines);
        },
      ),
    ),
  );
  say(
    `${toll.kills} kills, ${toll.aimed} of them aimed at a window that lagged behind; ${toll.survived} runs over before the kill came; a run takes about ${Math.round(toll.lengthMs)} ms`,
  );
  say(shown(toll.histogram));
  await judge(`L-7 at least ${wanted} kills, and ${LEAST_PER_WINDOW} in each window`, async (): Promise<readonly Violation[]> => {
    const few = WINDOWS.filter((w) => (toll.histogram.get(w) ?? 0) < LEAST_PER_WINDOW);
    return [...few.map((w) => `too few kills \`${w}\``), ...(toll.kills < wanted ? [`only ${toll.kills} kills`] : [])];
  });
}

export const randomKills: Suite = { name: "kill -9 at random moments", run: randomMoments };
