import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { opened } from "@orgate/core/testing";
import { seq, sessionId } from "@orgate/core/vocab";
import { expect, test } from "vitest";
import { noteOf, openTestStore, stamped } from "./fixtures/store.ts";

test("J-31 a session is sealed and released while others append without a pause, and more at once than fit a transaction", async () => {
  const directory = mkdtempSync(join(tmpdir(), "orgate-release-"));
  const { journal, records, close, slot } = openTestStore(directory, { powerCut: "lose-last-moments" });
  let [isOver, running] = [false, 0];
  const drive = async (n: number): Promise<void> => {
    const session = sessionId(`s_busy${String(n).padStart(6, "0")}`);
    const hold = await journal.take(session);
    const to = { stream: session, hold, consumes: [], unlessHalted: [] };
    await journal.append({ ...to, after: seq(0), events: stamped(opened("echo")) });
    running += 1;
    for (let at = 1; !isOver; at += 1) await journal.append({ ...to, after: seq(at), events: stamped(noteOf(at)) });
    await journal.release(hold);
  };
  const others = Array.from({ length: 150 }, (_, n) => drive(n));
  const mine = sessionId("s_leaving001");
  const hold = await journal.take(mine);
  const to = { stream: mine, hold, consumes: [], unlessHalted: [] };
  await journal.append({ ...to, after: seq(0), events: stamped(opened("echo")) });
  while (running < others.length) await new Promise((resume) => setImmediate(resume));
  await journal.append({ ...to, after: seq(1), events: stamped(noteOf("last")) });
  await journal.release(hold); // it would wait for ever if it waited for the queue to be empty
  const wrote = [...records.seals(slot.writer)].map((s) => s.wrote).join();
  isOver = true;
  await Promise.all(others);
  expect(wrote).toContain(`${mine}#2:`);
  await close();
  rmSync(directory, { recursive: true, force: true });
}, 60_000);
