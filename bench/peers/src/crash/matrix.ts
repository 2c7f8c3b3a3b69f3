/** One case of one framework: first without a kill, then with it. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Case } from "./cases.ts";
import { differences, type Finding, judge } from "./judge.ts";
import type { Run, Stand, Victim } from "./stand.ts";
import type { Outcome } from "./wire.ts";

/** What a framework still wanted to write when it came to a stop is written by then: the kill is no race against its buffers. */
const SETTLE_MS = 400;

const isLost = (o: Outcome | undefined): o is Extract<Outcome, { kind: "lost" }> => o?.kind === "lost";

async function finish(victim: Victim): Promise<Outcome> {
  const how = await victim.gone;
  if (!victim.isLoaded()) throw new Error(`the framework could not be loaded (${how}): ${victim.complaint().slice(-600)}`);
  const last = victim.outcomes.at(-1);
  if (last !== undefined && how === "0") return last;
  if (how === "late") return { kind: "lost", why: "it had not come to an end when its time was over" };
  return { kind: "lost", why: `the process ended (${how}): ${victim.complaint().slice(-300)}` };
}

/** Throws unless the work is what everybody's is: so many calls, so many effects, every result shown to the model, the same text. */
export async function control(stand: Stand, peer: string, crashed: Case): Promise<void> {
  const run = stand.open(peer, crashed, false);
  const victim = run.start(crashed.control, false);
  const outcome = await finish(victim);
  const problems = differences(crashed, run.lines, outcome);
  run.close();
  if (problems.length > 0) throw new Error(`${peer}, ${crashed.name}, without a kill: ${problems.join("; ")}\n${victim.complaint()}`);
}

export async function crash(stand: Stand, peer: string, crashed: Case): Promise<Finding> {
  const run = stand.open(peer, crashed, true);
  const first = run.start(crashed.before, true);
  await reached(run, first, crashed);
  await sleep(SETTLE_MS);
  await first.kill();
  await run.markKilled();
  const second = run.start(crashed.after, false);
  const outcome = await finish(second);
  const askedAgain = crashed.before.includes("answer") && second.outcomes.some(({ kind }) => kind === "parked");
  const finding = judge(run.lines, outcome, askedAgain);
  run.close();
  return finding;
}

/** The kill point: what is held is held, or the question is open. */
async function reached(run: Run, victim: Victim, { hold }: Case): Promise<void> {
  const failed = victim.until(isLost).then((o) => {
    throw new Error(`the kill point was not reached: ${isLost(o) ? o.why : ""}`);
  });
  const there = hold === null ? victim.until(({ kind }) => kind === "parked") : run.until((l) => l.kind === "held");
  await Promise.race([there, failed]);
  failed.catch(() => {});
}
