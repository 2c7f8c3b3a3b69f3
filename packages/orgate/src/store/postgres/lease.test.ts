// @module-tag postgres
import { opened } from "@orgate/core/testing";
import { millis, seq, sessionId } from "@orgate/core/vocab";
import { expect, test } from "vitest";
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
