// @module-tag postgres
import type { Append, Hold } from "@orgate/core/journal";
import { opened } from "@orgate/core/testing";
import { millis, type SessionEvent, seq, sessionId } from "@orgate/core/vocab";
import { expect, test } from "vitest";
import { noteOf } from "../fixtures/store.ts";
import { createSchema, testUrl } from "./fixtures/schemas.ts";
import { openLink } from "./link.ts";

const S = sessionId("s_erase0001");
const append = (hold: Hold, after: number, event: SessionEvent): Append => ({
  ...{ stream: S, after: seq(after), hold, consumes: [], unlessHalted: [] },
  events: [{ at: millis(1_000), event }],
});

test("J-9 an erasure is done when its rows are, however long the tables take to be cleaned; what still lies in old pages is said", async () => {
  const place = await createSchema();
  const other = await openLink({ url: testUrl(), schema: place.schema, poolSize: 1 });
  try {
    const store = await place.open({ statementTimeoutMs: 200, lockTimeoutMs: 100 });
    const hold = await store.journal.take(S);
    await store.journal.append(append(hold, 0, opened("echo")));
    for (const at of [1, 2]) await store.journal.append(append(hold, at, noteOf(`zqxcanary${at}`)));
    await store.journal.release(hold);
    const bodies = async (): Promise<string> => JSON.stringify(await place.link.query(`SELECT body FROM "${place.schema}".appends`));
    const held = await other.transact("BEGIN", async (run) => {
      await run(`LOCK TABLE "${place.schema}".appends IN SHARE UPDATE EXCLUSIVE MODE`); // as autovacuum does
      return [await store.erase(S, seq(2), seq(2)), await bodies()];
    });
    expect(held).toEqual([expect.objectContaining({ entries: 1, truncated: false }), expect.not.stringContaining("zqxcanary1")]);
    expect([await store.erase(S, seq(3), seq(3)), await bodies()]).toEqual([
      expect.objectContaining({ entries: 1, truncated: true }),
      expect.not.stringContaining("zqxcanary2"),
    ]);
  } finally {
    await other.close();
    await place.drop();
  }
});
