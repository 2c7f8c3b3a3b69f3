/** Lasting failures, with real processes: a breaker that other processes see and a restart keeps, and a retry that a kill does not double. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { readEntries, type Violation, verifyJournal, withOpenProject } from "../checks.ts";
import { type Desk, makeDesk } from "../stand/desk.ts";
import { PERSON } from "../stand/script.ts";
import type { Victim } from "../stand/stand.ts";
import { decode } from "../stand/wire.ts";
import type { Bench, Suite } from "../suite.ts";
import { ended } from "./answers.ts";
import { killed } from "./kill-points.ts";

type Outcome = Readonly<{ session: string; ending: string; told: readonly string[] }>;
type Breaker = Readonly<{ breaker: string; state: string; failures: number }>;

const linesOf = (desk: Desk, file: string): readonly string[] => {
  const path = join(desk.root, file);
  return existsSync(path) ? readFileSync(path, "utf8").trimEnd().split("\n") : [];
};
const write = (desk: Desk, file: string): void => writeFileSync(join(desk.root, file), "");
const flaky = (desk: Desk, ...args: readonly string[]): Promise<Victim> => desk.program("flaky.ts", args);
const outcomeOf = async (victim: Victim): Promise<Outcome> => decode<Outcome>((await ended(victim, 0)).output());

/** Limited, so that an event that never comes fails the suite. */
async function until<T>(what: string, look: () => T | null | Promise<T | null>): Promise<T> {
  for (let looks = 0; looks < 1_500; looks += 1) {
    const found = await look();
    if (found !== null) return found;
    await sleep(20);
  }
  throw new Error(`${what} did not come about`);
}

const must = (holds: boolean, violation: Violation): readonly Violation[] => (holds ? [] : [violation]);

async function breakerIsShared(bench: Bench): Promise<readonly Violation[]> {
  const desk = await makeDesk(bench.stand);
  const other = await flaky(desk, "fetch", "others-turn"); // alive before anything has failed
  await until("the other process", () => (linesOf(desk, "ready.log").length === 1 ? true : null));
  const first = await outcomeOf(await flaky(desk, "fetch"));
  const ran = linesOf(desk, "runs.log").length;
  const [open] = await desk.json<readonly Breaker[]>(["breakers", "list"]);
  write(desk, "others-turn");
  const second = await outcomeOf(other);
  const third = await outcomeOf(await flaky(desk, "fetch")); // a process that was not there when it opened
  const refused = linesOf(desk, "runs.log").length - ran;
  write(desk, "up");
  await desk.json(["breakers", "set", "tool:fetch", "half-open", "--reason", "it is up", "--as", PERSON]); // no need to wait an hour
  const fourth = await outcomeOf(await flaky(desk, "fetch"));
  const [closed] = await desk.json<readonly Breaker[]>(["breakers", "list"]);
  bench.say(
    `three failures opened it; ${second.told.length + third.told.length} calls of two other processes were refused; two probes closed it`,
  );
  const isRefused = (text: string): boolean => text.startsWith("[not run] fetch") && text.includes("tool:fetch failed 3 times in a row");
  return [
    ...must(ran === 3 && first.told.filter(isRefused).length === 1, `F-7 of four calls ${ran} ran: ${first.told.join(" | ")}`),
    ...must(open?.breaker === "tool:fetch" && open.state === "open", `F-9 the list shows ${JSON.stringify(open)}`),
    ...must(second.told.length === 4 && second.told.every(isRefused), `F-9 the other process was not refused: ${second.told.join(" | ")}`),
    ...must(third.told.length === 4 && third.told.every(isRefused), `F-9 after a restart: ${third.told.join(" | ")}`),
    ...must(refused === 0, `F-9 ${refused} calls ran while it was open`),
    ...must(
      fourth.told.filter((text) => text.startsWith("fetched ")).length === 2 &&
        fourth.told.filter((text) => text.includes("is being tried")).length === 2,
      `F-7 half-open, two at a time may try: ${fourth.told.join(" | ")}`,
    ),
    ...must(closed?.state === "closed", `F-7 after enough successes it is ${closed?.state}`),
    ...[first, second, third, fourth].flatMap(({ ending }) => must(ending === "completed", `F-7 a turn ended \`${ending}\``)),
    ...(await withOpenProject(desk.directory, async (store) => verifyJournal(store, desk.directory))),
  ];
}

/** Killed while it waits to be run again, or in the midst of being run again. */
async function retryIsOnce(bench: Bench, when: "waiting" | "running"): Promise<readonly Violation[]> {
  const desk = await makeDesk(bench.stand);
  const victim = await flaky(desk, "put");
  const wanted = when === "waiting" ? 1 : 2;
  const session = await until("the session", () =>
    withOpenProject(
      desk.directory,
      async ({ journal }) => (await journal.sessions({ state: "running", agent: null, before: null, most: 1 }))[0]?.session ?? null,
    ),
  );
  const eventsNow = () => withOpenProject(desk.directory, (store) => readEntries(store, session));
  await until("its retry", async () => {
    const isDue = (await eventsNow()).some((e) => e.event.kind === "recovery.applied");
    return isDue && linesOf(desk, "runs.log").length >= wanted ? true : null;
  });
  victim.signal("SIGKILL");
  await killed(victim);
  write(desk, "up");
  const after = await outcomeOf(await flaky(desk, "resume"));
  const runs = linesOf(desk, "runs.log").map((line) => line.split(" "));
  const entries = await eventsNow();
  const due = entries.flatMap(({ event: e }) => (e.kind === "recovery.applied" ? [e.dueAt ?? 0] : []))[0] ?? 0;
  const starts = entries.filter((e) => e.event.kind === "act.started").map((e) => e.at);
  bench.say(`killed while ${when}: starts ${runs.map(([, , start]) => start).join(", ")}, one key`);
  return [
    ...must(new Set(runs.map(([, key]) => key)).size === 1, `F-4 the keys were ${runs.map(([, key]) => key).join()}`),
    ...must(
      runs.map(([, , start]) => start).join() === (when === "waiting" ? "1,2" : "1,2,3"),
      `F-4 the starts were ${runs.map(([, , start]) => start).join()}`,
    ),
    ...must((starts[1] ?? 0) >= due, `F-4 it ran again ${due - (starts[1] ?? 0)} ms before it was due`),
    ...must(
      after.ending === "completed" && after.told.join() === "put 1",
      `F-4 the turn ended \`${after.ending}\` with ${after.told.join()}`,
    ),
    ...(await withOpenProject(desk.directory, async (store) => verifyJournal(store, desk.directory))),
  ];
}

export const failures: Suite = {
  name: "what fails, and keeps failing",
  async run(bench) {
    await bench.judge("F-9 a breaker opens in one process, is seen in another, survives a restart, and closes", () =>
      breakerIsShared(bench),
    );
    for (const when of ["waiting", "running"] as const)
      await bench.judge(`F-4 a retry keeps its key and its time when its process is killed while ${when}`, () => retryIsOnce(bench, when));
  },
};
