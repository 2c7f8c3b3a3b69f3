/**
 * Due times and deliveries, under servers that are killed. Each leads to one session with one turn, whenever a server dies, and the journal names the due
 * time or delivery.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { type Violation, verifyJournal, withOpenProject } from "../checks.ts";
import { type Desk, makeDesk } from "../stand/desk.ts";
import { PERSON } from "../stand/script.ts";
import { deliver, eventsOf, furnish, openedByThemselves, pastOf, serve, type Up, until, up, WEBHOOK } from "../stand/served.ts";
import type { Stand } from "../stand/stand.ts";
import type { Stop } from "../stand/wire.ts";
import { type Bench, inLanes, type Suite } from "../suite.ts";
import { killed } from "./kill-points.ts";

async function kill({ victim }: Pick<Up, "victim">): Promise<void> {
  victim.signal("SIGKILL");
  await killed(victim);
}

const proved = (desk: Desk): Promise<readonly Violation[]> =>
  withOpenProject(desk.directory, async (store) => verifyJournal(store, desk.directory));

/** One firing, one session, of that due time, with one turn; and the model asked once for each. */
async function onceEach(desk: Desk, schedules: readonly string[]): Promise<readonly Violation[]> {
  const found: Violation[] = [];
  const sessions = (await openedByThemselves(desk)).filter(
    ({ entry }) => entry.event.kind === "session.opened" && entry.event.origin?.kind === "schedule",
  );
  for (const { session, turns } of sessions) if (turns !== 1) found.push(`Z-3 ${session} has ${turns} turns`);
  const told = sessions.flatMap(({ session, entry: { event } }) =>
    event.kind === "session.opened" && event.origin?.kind === "schedule"
      ? [`${event.origin.schedule} ${event.origin.dueAt} ${session}`]
      : [],
  );
  const fired: string[] = [];
  for (const schedule of schedules) {
    const due = eventsOf(await pastOf(desk, schedule), "schedule.fired");
    if (new Set(due.map(({ dueAt }) => dueAt)).size !== due.length) found.push(`Z-3 a due time of ${schedule} was fired twice`);
    fired.push(...due.map(({ dueAt, session }) => `${schedule} ${dueAt} ${session}`));
  }
  if ([...told].sort().join() !== [...fired].sort().join())
    found.push(`Z-3 sessions ${told.join()} and firings ${fired.join()} are not the same`);
  return found;
}

const POINTS: readonly Readonly<{ event: string; step: "commit" | "committed" }>[] = [
  { event: "schedule.fired", step: "commit" },
  { event: "schedule.fired", step: "committed" },
  { event: "model.asked", step: "committed" },
  { event: "schedule.ended", step: "commit" },
];

/** The server dies there; another comes, and by then the time has passed. */
export async function killedFiring(desk: Desk, stop: Stop): Promise<readonly Violation[]> {
  const first = await serve(desk, { stop });
  await first.until("reached");
  await kill({ victim: first });
  const second = await up(desk);
  const past = await until(async () => {
    const entries = await pastOf(desk, "tick");
    const isDone = eventsOf(entries, "schedule.ended").length > 0 || eventsOf(entries, "schedule.skipped").length > 0;
    return isDone ? entries : null;
  });
  await kill(second);
  const endings = eventsOf(past, "schedule.ended").map(({ ending }) => ending ?? "lost");
  return [
    ...(eventsOf(past, "schedule.fired").length === 1 && endings.join() === "completed"
      ? []
      : [`Z-3 it was fired ${eventsOf(past, "schedule.fired").length} times, and ended ${endings.join() || "never"}`]),
    ...(desk.requests() === 1 ? [] : [`Z-3 the model was asked ${desk.requests()} times`]),
    ...(await onceEach(desk, ["tick"])),
    ...(await proved(desk)),
  ];
}

/** With one due time that is yet to come. Who starts later than that is late, and fires it all the same. */
export async function dueSoon(stand: Stand): Promise<Desk> {
  const desk = await makeDesk(stand);
  furnish(desk, "");
  const at = new Date(Date.now() + 8_000).toISOString();
  await desk.json(["schedules", "add", "tick", "--agent", "clerk", "--at", at, "--input", "now", "--as", PERSON]);
  return desk;
}

async function everyPoint(bench: Bench): Promise<void> {
  const desk = await dueSoon(bench.stand);
  await inLanes([...POINTS], ({ event, step }) =>
    bench.judge(`Z-3 a server that fires is killed at the ${step} of ${event}: its due time is one session and one turn`, () =>
      killedFiring(desk.copy(), { kind: "writes", event, step }),
    ),
  );
}

const EACH_SECOND = (name: string, missed: string): string =>
  `[schedules.${name}]\nagent = "clerk"\ncron = "* * * * * *"\nmissed = "${missed}"\nmost_missed = 60\ngrace = "1s"\noverlap = "parallel"\nat_once = 60\nowner = "${PERSON}"\n`;

/** Every second since it began was fired or skipped, once. */
async function dealtWith(desk: Desk, schedule: string): Promise<readonly Violation[]> {
  const past = await pastOf(desk, schedule);
  const fired = eventsOf(past, "schedule.fired").map(({ dueAt }) => ({ first: Number(dueAt), count: 1 }));
  const skipped = eventsOf(past, "schedule.skipped").map(({ first, count }) => ({ first: Number(first), count }));
  const spans = [...fired, ...skipped].sort((a, b) => a.first - b.first);
  const gap = spans.findIndex(({ first, count }, i) => i + 1 < spans.length && first + count * 1_000 !== spans[i + 1]?.first);
  return gap < 0 && skipped.length > 0 ? [] : [`Z-5 ${schedule}: a due time is missing or there twice: ${JSON.stringify(spans[gap])}`];
}

/** Nobody serves for a while; then two do at once. */
async function overANight(desk: Desk): Promise<readonly Violation[]> {
  furnish(desk, `${["skip", "once", "all"].map((missed) => EACH_SECOND(missed, missed)).join("")}${WEBHOOK}`);
  const firings = async (schedule: string) => eventsOf(await pastOf(desk, schedule), "schedule.fired");
  const atLeast = (schedule: string, least: number) => until(async () => ((await firings(schedule)).length >= least ? true : null));
  const first = await up(desk);
  await atLeast("all", 2);
  const answers = [await deliver(first.url, '{"n":1}', "d-1"), await deliver(first.url, '{"n":1}', "d-1")];
  await kill(first);
  const before = (await firings("all")).length;
  const from = Date.now();
  await sleep(4_000);
  const till = Date.now();
  const both = await Promise.all([up(desk), up(desk)]);
  for (const { url } of both) answers.push(await deliver(url, '{"n":1}', "d-2"));
  await atLeast("all", before + 6);
  for (const one of both) await kill(one);
  const all = (await firings("all")).map(({ dueAt }) => Number(dueAt));
  const [start = 0] = all;
  /** Due while nobody was there, for longer than the grace. */
  const madeUpFor = async (schedule: string) =>
    (await firings(schedule)).filter(({ dueAt }) => dueAt > from && dueAt < till - 1_000).length;
  const told = answers.map((answer) => answer?.said).join();
  const deliveries = (await openedByThemselves(desk)).filter(
    ({ entry }) => entry.event.kind === "session.opened" && entry.event.surface === "webhook",
  );
  return [
    ...(all.every((due, i) => due === start + i * 1_000) ? [] : [`Z-5 not each second was fired once, in order: ${all.join()}`]),
    ...((await madeUpFor("all")) >= 2 ? [] : ["Z-5 there was no night"]),
    ...((await madeUpFor("once")) <= 1 ? [] : [`Z-5 \`once\` made up for it ${await madeUpFor("once")} times`]),
    ...((await madeUpFor("skip")) === 0 ? [] : [`Z-5 \`skip\` made up for it ${await madeUpFor("skip")} times`]),
    ...(await dealtWith(desk, "once")),
    ...(await dealtWith(desk, "skip")),
    ...(told === "accepted,known,known,known" ? [] : [`Z-10 the delivery was answered ${told}`]),
    ...(deliveries.length === 1 ? [] : [`Z-10 one delivery opened ${deliveries.length} sessions`]),
    ...(await onceEach(desk, ["skip", "once", "all"])),
    ...(await proved(desk)),
  ];
}

/** The server dies before or after it answered a delivery: sent again, it leads to one session, and its turn runs. */
async function killedTaking(desk: Desk, step: "commit" | "committed"): Promise<readonly Violation[]> {
  const first = await up(desk, { stop: { kind: "writes", event: "turn.started", step } });
  const sent = deliver(first.url, '{"n":1}', "d-1");
  await first.victim.until("reached");
  await kill(first);
  const second = await up(desk);
  const unanswered = await sent;
  const again = await deliver(second.url, '{"n":1}', "d-1");
  const [one, ...more] = await until(async () => {
    const found = await openedByThemselves(desk);
    return found.length > 0 && found.every(({ state }) => state === "idle") ? found : null;
  });
  await kill(second);
  return [
    ...(unanswered === null ? [] : [`Z-11 it was answered (${unanswered.status}) before it was durable`]),
    ...(again?.said === (step === "commit" ? "accepted" : "known") ? [] : [`Z-10 sent again it was answered ${again?.said}`]),
    ...(one?.turns === 1 && more.length === 0 ? [] : [`Z-10 it opened ${more.length + 1} sessions`]),
    ...(desk.requests() === 1 ? [] : [`Z-10 the model was asked ${desk.requests()} times`]),
    ...(await proved(desk)),
  ];
}

export const served: Suite = {
  name: "what happens by itself: due times and deliveries",
  async run(bench) {
    await everyPoint(bench);
    const desk = await makeDesk(bench.stand);
    const hooked = desk.copy();
    furnish(hooked, WEBHOOK);
    await Promise.all([
      bench.judge(
        "Z-5 Z-10 a night without a server, then two at once: skipped, made up for once, or each; a replayed delivery does nothing",
        () => overANight(desk),
      ),
      inLanes(["commit", "committed"] as const, (step) =>
        bench.judge(`Z-10 a server that takes a delivery is killed at the ${step} of its session: sent again, it is one`, () =>
          killedTaking(hooked.copy(), step),
        ),
      ),
    ]);
  },
};
