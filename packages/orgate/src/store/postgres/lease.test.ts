// @module-tag postgres
import { opened } from "@orgate/core/testing";
import { millis, seq, sessionId } from "@orgate/core/vocab";
import { expect, test } from "vitest";
import { noteOf } from "../fixtures/store.ts";
import { createSchema } from "./fixtures/schemas.ts";

test("W-30 a process tells others what it holds and how it commits: sessions that append at once share a commit", async () => {
  const place = await createSchema();
  try {
    const [driving, looking] = [await place.open({ leaseMs: 300 }), await place.open()]; // renewed every 100 ms
    const sessions = Array.from({ length: 40 }, (_, i) => sessionId(`s_telling${String(i).padStart(4, "0")}`));
    const holds = await Promise.all(sessions.map((session) => driving.journal.take(session)));
    await Promise.all(
      holds.map((hold, i) =>
        driving.journal.append({
          ...{ stream: hold.session, after: seq(0), hold, consumes: [], unlessHalted: [] },
          events: [{ at: millis(1_000 - i), event: opened("clerk") }],
        }),
      ),
    );
    const find = async () => (await looking.processes()).find(({ writer }) => writer === driving.slot.writer);
    while ((await find())?.appends !== 40) await new Promise((resolve) => setTimeout(resolve, 20));
    const found = await find();
    expect(found?.holds).toBe(40);
    expect(found?.commits).toBeLessThan(20);
    expect(found?.quietest.map(({ session }) => session)).toEqual(sessions.slice(20).reverse());
    expect(found?.heardMs).toBeLessThan(300);
    await place.kill(driving);
    expect(await find()).toBe(undefined);
  } finally {
    await place.drop();
  }
});

test("W-30 a process tells with its lease how it does, and how far behind the journal it is is counted where all of it is; what an earlier one under its name told is not its own", async () => {
  const place = await createSchema();
  try {
    const [driving, looking] = [await place.open({ leaseMs: 300 }), await place.open()];
    const figures = async (name: string) => (await looking.processes()).find(({ writer }) => writer === name)?.figures;
    expect(await figures(driving.slot.writer)).toBe(null); // a run tells nothing
    const session = sessionId("s_telling-all");
    const hold = await driving.journal.take(session);
    const events = [opened("clerk"), noteOf("one"), noteOf("two")].map((event) => ({ at: millis(1_000), event }));
    await driving.journal.append({ stream: session, after: seq(0), hold, consumes: [], unlessHalted: [], events });
    let seen = 1;
    await driving.play("worker", () => ({ driven: 4, queued: 3, seen, delayMs: 21, rssBytes: 180_000_000 }));
    const told = { driven: 4, queued: 3, delayMs: 21, rssBytes: 180_000_000 };
    await expect.poll(() => figures(driving.slot.writer)).toEqual({ ...told, lag: 2 });
    seen = 3;
    await expect.poll(() => figures(driving.slot.writer)).toEqual({ ...told, lag: 0 });
    await place.kill(driving);
    const next = await place.open();
    expect(next.slot.writer).toBe(driving.slot.writer);
    await place.link.query(
      `UPDATE "${place.schema}".writers SET told = '{"incarnation": 1, "driven": 9, "queued": 9, "lag": 9, "delayMs": 9, "rssBytes": 9}'
      WHERE writer = $1`,
      [next.slot.writer],
    ); // as a process of an older version leaves it
    expect(await figures(next.slot.writer)).toBe(null);
  } finally {
    await place.drop();
  }
});
