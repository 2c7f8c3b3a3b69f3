/** Clients always converge to the journal, whatever the sockets in between do to the messages. */
import type { Entry } from "@orgate/core";
import { S1, S2 } from "@orgate/core/testing";
import type { Following, Item } from "@orgate/protocol";
import fc from "fast-check";
import { expect, test } from "vitest";
import { type Crank, type Ground, type Mishap, openCrank, openGround, settle, type Way } from "./fixtures/crank.ts";

type Heard = { readonly items: Item[]; at: number; ended: number };

function listen(crank: Crank, to: Following, from: { after: number } | "now" = { after: 0 }): Heard {
  const heard: Heard = { items: [], at: 0, ended: 0 };
  crank.link.follow(to, from, {
    entries: (items, at) => {
      heard.items.push(...items);
      heard.at = at;
    },
    ended: () => {
      heard.ended += 1;
    },
  });
  return heard;
}

const entriesOf = ({ items }: Heard): readonly Entry[] => items.flatMap((item) => (item.kind === "entry" ? [item.entry] : []));
const onSession = { kind: "session", session: S1 } as const;
const onAll = { kind: "all" } as const;

/** No entry twice, none missing before another, none out of order: what was heard is where the journal began. */
async function expectPrefixes(ground: Ground, one: Heard, all: Heard): Promise<void> {
  const own = await ground.entries(S1);
  expect(entriesOf(one)).toEqual(own.slice(0, one.items.length));
  const written = await ground.journal.tail(0, 10_000);
  expect(all.items.map(({ position }) => position)).toEqual(written.slice(0, all.items.length).map(({ position }) => position));
}

async function expectAll(ground: Ground, one: Heard, all: Heard): Promise<void> {
  expect(entriesOf(one)).toEqual(await ground.entries(S1));
  const written = await ground.journal.tail(0, 10_000);
  expect(entriesOf(all)).toEqual(written.flatMap((w) => (w.kind === "entry" ? [w.entry] : [])));
}

const MISHAPS: readonly Mishap[] = ["drop", "double", "overtake", "delay", "cut"];
const WAYS: readonly Way[] = ["up", "down"];

type Step = Readonly<
  { kind: "deliver"; way: Way } | { kind: "mishap"; way: Way; what: Mishap } | { kind: "write"; session: 0 | 1 } | { kind: "tick" }
>;
const steps: fc.Arbitrary<readonly Step[]> = fc.array(
  fc.oneof(
    { weight: 6, arbitrary: fc.record({ kind: fc.constant("deliver" as const), way: fc.constantFrom(...WAYS) }) },
    {
      weight: 3,
      arbitrary: fc.record({ kind: fc.constant("mishap" as const), way: fc.constantFrom(...WAYS), what: fc.constantFrom(...MISHAPS) }),
    },
    { weight: 4, arbitrary: fc.record({ kind: fc.constant("write" as const), session: fc.constantFrom(0 as const, 1 as const) }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant("tick" as const) }) },
  ),
  { maxLength: 40 },
);

async function started(): Promise<Readonly<{ ground: Ground; crank: Crank; one: Heard; all: Heard }>> {
  const ground = openGround();
  await ground.open(S1);
  await ground.open(S2);
  const crank = openCrank(ground);
  const [one, all] = [listen(crank, onSession), listen(crank, onAll)];
  await settle();
  return { ground, crank, one, all };
}

test("W-24 whatever is dropped, doubled, delayed, overtaken or cut: what a client has is where the journal began, and in the end all of it", () =>
  fc.assert(
    fc.asyncProperty(steps, async (script) => {
      const { ground, crank, one, all } = await started();
      for (const [i, step] of script.entries()) {
        if (step.kind === "deliver") await crank.deliver(step.way);
        else if (step.kind === "mishap") await crank.mishap(step.way, step.what);
        else if (step.kind === "tick") await crank.tick();
        else await ground.note(step.session === 0 ? S1 : S2, `n${i}`);
        await expectPrefixes(ground, one, all);
      }
      await crank.calm();
      await expectAll(ground, one, all);
      crank.link.close();
    }),
    { numRuns: 200 },
  ));

/** A quiet afternoon of messages; something happens at the `n`th of one way. Returns how many there were. */
async function playedWith(at: number, way: Way, what: Mishap): Promise<number> {
  const { ground, crank, one, all } = await started();
  let delivered = 0;
  for (let round = 0; round < 6; round += 1) {
    await ground.note(round % 2 === 0 ? S1 : S2, `n${round}`);
    for (const direction of WAYS)
      while (crank.waiting(direction) > 0) {
        if (direction === way && delivered === at) await crank.mishap(way, what);
        if (direction === way) delivered += 1;
        if (crank.waiting(direction) > 0 && !(await crank.deliver(direction))) break; // what was dropped or held back is not delivered now
      }
    if (round > 1) await crank.tick();
  }
  await crank.calm();
  await expectAll(ground, one, all);
  crank.link.close();
  return delivered;
}

test.each(WAYS.flatMap((way) => MISHAPS.map((what) => [what, way] as const)))(
  "W-24 %s at every single message on its way %s: the client has the whole journal",
  async (what, way) => {
    const messages = await playedWith(-1, way, what);
    expect(messages).toBeGreaterThan(way === "up" ? 3 : 9);
    for (let at = 0; at < messages; at += 1) await playedWith(at, way, what);
  },
);

test("W-24 reconnecting tells exactly the entries that were missed", async () => {
  const { ground, crank, one } = await started();
  await crank.calm();
  const before = one.items.length;
  await crank.mishap("down", "cut");
  for (const value of ["a", "b", "c"]) await ground.note(S1, value);
  await crank.calm();
  expect(crank.connections()).toBe(2);
  expect(
    entriesOf(one)
      .slice(before)
      .map(({ event }) => event.kind === "note" && event.value),
  ).toEqual(["a", "b", "c"]);
});

test("W-24 a follower from now on is told what comes after its beginning, also over another connection", async () => {
  const { ground, crank } = await started();
  const late = listen(crank, onSession, "now");
  await crank.calm();
  await ground.note(S1, "a");
  await crank.calm();
  await crank.mishap("down", "cut");
  await ground.note(S1, "b");
  await crank.calm();
  expect(entriesOf(late).map(({ event }) => event.kind === "note" && event.value)).toEqual(["a", "b"]);
});

test("W-24 the end of a session is told once, after all its entries", async () => {
  const { ground, crank, one } = await started();
  await crank.calm();
  await ground.write(S1, { kind: "session.closed", by: { kind: "user", id: "ann" }, reason: "done" });
  await crank.calm();
  expect(entriesOf(one)).toEqual(await ground.entries(S1));
  expect(one.ended).toBe(1);
  await crank.mishap("down", "cut");
  await crank.calm();
  expect(one.ended).toBe(1);
});
