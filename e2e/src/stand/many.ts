/** Copies one parked session many times: the same events through the journal itself, each under its own name, without waiting for the disk. */
import { approvalId, createRuntime, type JournalEvent, millis, seq, sessionId, sha256, tableGate } from "orgate";
import { orders, tell } from "./outlet.ts";

const [like = "", count = "0"] = process.argv.slice(2);
const AT_ONCE = 200;

const runtime = await createRuntime({
  directory: orders.directory,
  agents: [],
  gate: tableGate([], sha256),
  principal: { kind: "system", id: "e2e" },
  powerCut: "lose-last-moments",
});
const { journal } = runtime.place.store;
const entries = await journal.read(sessionId(like), seq(0), 1_000);

const tag = (i: number): string => i.toString(32).padStart(6, "0");
const named = (event: JournalEvent, i: number): JournalEvent =>
  event.kind === "approval.asked" ? { ...event, approval: approvalId(`${event.approval.slice(0, -6)}${tag(i)}`) } : event;

async function another(i: number): Promise<void> {
  const session = sessionId(`${like.slice(0, -6)}${tag(i)}`);
  const hold = await journal.take(session);
  const events = entries.map(({ at, event }) => ({ at: millis(at + i), event: named(event, i) }));
  await journal.append({ stream: session, after: seq(0), hold, events, consumes: [], unlessHalted: [] });
  await journal.release(hold);
}

for (let i = 0; i < Number(count); i += AT_ONCE)
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, Number(count) - i) }, (_, k) => another(i + k)));
await runtime.close();
tell({ kind: "hello", pid: process.pid });
