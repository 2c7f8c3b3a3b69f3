/** The proof that the proof can fail: builds broken on purpose, put through the very same kills and checks. */
import type { Violation } from "../checks.ts";
import { seeded } from "../seeded.ts";
import { makeDesk } from "../stand/desk.ts";
import type { Stand } from "../stand/stand.ts";
import type { Broken } from "../stand/wire.ts";
import { type Bench, inLanes, lanes, type Suite } from "../suite.ts";
import { killedBeforeGrant } from "./answer-crashes.ts";
import { inTime, otherWayRound } from "./answers.ts";
import { findings, type KillPoint, killAt, resumeAll } from "./kill-points.ts";
import { hunt, measured, type Toll } from "./random-kills.ts";
import { dueSoon, killedFiring } from "./served.ts";

/** About one in five of them makes an effect take place twice. */
const KILLS = 40;

type Expected = Readonly<{ broken: Broken; point: string; finds: readonly RegExp[] }>;

const EXPECTED: readonly Expected[] = [
  {
    broken: "append-after-effect",
    point: "call 1.0#1 sent",
    finds: [/^L-5 .* took effect without a durable allow/, /^L-7 fire 1 took effect 2 times/],
  },
  {
    broken: "append-after-effect",
    point: "call 3.0#1 got",
    finds: [/^L-5 .* took effect without a durable allow/, /^L-7 fire 6 took effect 2 times/],
  },
  { broken: "repeats-once", point: "call 1.0#1 sent", finds: [/^L-7 fire 1 took effect 2 times/] },
  { broken: "asks-again", point: "call 2.0#1 sent", finds: [/^M-4 the recorded reply 2 was requested again/] },
];

/** Violations of a broken build that is killed there and resumed. A build that cannot continue at all is detected too, but not by these checks. */
async function verdictOn({ stand }: Bench, broken: Broken, at: KillPoint): Promise<readonly Violation[]> {
  const directory = stand.project();
  const victim = await killAt(stand, directory, at, { broken });
  const fresh = await resumeAll(stand, directory, broken);
  return findings(directory, [...victim.lines, ...fresh.lines]);
}

type Answering = Readonly<{ broken: Broken; put(stand: Stand): Promise<readonly Violation[]>; finds: RegExp }>;

/** Builds that go wrong with answers, put through the suites of the command line. */
const ANSWERING: readonly Answering[] = [
  {
    broken: "uses-up-nothing",
    put: async (stand) => otherWayRound((await makeDesk(stand)).copy("uses-up-nothing")),
    finds: /^Q-3 call .* was started in an append that uses 0 answers/,
  },
  {
    broken: "expires-by-reading",
    put: async (stand) => {
      const desk = await makeDesk(stand);
      return inTime(() => desk.copy("expires-by-reading"));
    },
    finds: /^Q-18 there is no `approval.answered`/,
  },
  { broken: "forgets-grants", put: (stand) => killedBeforeGrant(stand, "forgets-grants"), finds: /^Q-9 the grant was given 0 times/ },
];

type Firing = Readonly<{ broken: Broken; event: string; step: "commit" | "committed"; finds: readonly RegExp[] }>;

/** Builds that go wrong with due times, killed at the points of the real one. */
const FIRING: readonly Firing[] = [
  {
    broken: "opens-before-firing",
    event: "schedule.fired",
    step: "commit",
    finds: [/^Z-3 it was fired 0 times/, /^Z-3 sessions .+ and firings .* are not the same/],
  },
  { broken: "opens-after-firing", event: "schedule.fired", step: "committed", finds: [/^Z-3 it was fired 1 times, and ended lost/] },
  { broken: "forgets-firings", event: "schedule.ended", step: "commit", finds: [/^Z-3 it was fired 1 times, and ended never/] },
  {
    broken: "fires-again",
    event: "schedule.fired",
    step: "committed",
    finds: [/^Z-3 a due time of tick was fired twice/, /^Z-3 the model was asked 2 times/],
  },
];

/** Expected violations that were not found. */
const missing = (found: readonly Violation[], finds: readonly RegExp[]): readonly Violation[] =>
  finds
    .filter((pattern) => !found.some((f) => pattern.test(f)))
    .map((pattern) => `nothing like ${pattern} was found, but: ${found.join("; ")}`);

export const brokenBuilds: Suite = {
  name: "broken builds are found out",
  async run(bench) {
    const { stand, seed, judge, say } = bench;
    const due = await dueSoon(stand); // by the time it is wanted, its time has come
    for (const { broken, point, finds } of EXPECTED)
      await judge(`L-7 the build \`${broken}\`, killed at ${point}, fails the checks`, async () => {
        return missing(await verdictOn(bench, broken, { kind: "frozen", point }), finds);
      });
    for (const { broken, put, finds } of ANSWERING)
      await judge(`Q-3 the build \`${broken}\` fails the checks of answers`, async () => {
        return missing(await put(stand), [finds]);
      });
    await inLanes(FIRING, ({ broken, event, step, finds }) =>
      judge(`Z-3 the build \`${broken}\`, killed at the ${step} of ${event}, fails the checks of due times`, async () =>
        missing(await killedFiring(due.copy(broken), { kind: "writes", event, step }), finds),
      ),
    );
    await judge(`L-7 the build \`append-after-effect\` fails the random kills as well (seed ${seed})`, async () => {
      const toll: Toll = { kills: 0, aimed: 0, survived: 0, histogram: new Map(), lengthMs: await measured(stand, seed) };
      const goOn = (): boolean => toll.kills < KILLS;
      const found = await Promise.all(
        lanes().map(async (lane) => {
          const directory = stand.project();
          return findings(
            directory,
            await hunt({ stand, directory, random: seeded(seed + lane), toll, broken: "append-after-effect", goOn }),
          );
        }),
      );
      const twice = found.flat().filter((f) => /^L-7 .* took effect \d+ times/.test(f));
      say(
        `append-after-effect, ${toll.kills} random kills: ${found.flat().length} violations, ${twice.length} of them effects that took place twice`,
      );
      return twice.length > 0 ? [] : ["no effect took place twice: the checks cannot be trusted"];
    });
  },
};
