/** Sessions of one process beside another process that writes: what is about none of them costs the process one look, however many it drives. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { defineAgent, defineTool, tableGate } from "@orgate/core";
import { expect, test } from "vitest";
import { ed25519, sha256 } from "../node/crypto.ts";
import { createPerson } from "../store/keyring.ts";
import { countSql } from "./fixtures/sql-counter.ts";
import { createRuntime } from "./runtime.ts";

const GATE = tableGate([{ id: "all", action: "*", verdict: "allow" }], sha256);
const WRITES = 5;

/** Statements of both processes for a few writes of the other one, while so many calls run in this one; and how its turns end after a halt from there. */
async function besideAnother(sessions: number): Promise<Readonly<{ statements: number; endings: readonly (string | null)[] }>> {
  const folder = mkdtempSync(join(tmpdir(), "orgate-foreign-"));
  let running = 0;
  const all = Promise.withResolvers<void>();
  const wait = defineTool({
    name: "wait",
    description: "Waits until it is stopped.",
    input: { type: "object", properties: {}, additionalProperties: false },
    repeat: "read",
    run: (_, { signal }) =>
      new Promise<string>((_resolve, reject) => {
        signal.addEventListener("abort", () => reject(new Error("stopped")), { once: true });
        running += 1;
        if (running === sessions) all.resolve();
      }),
  });
  const clerk = defineAgent({
    name: "clerk",
    instructions: "Wait.",
    model: "offline/echo",
    tools: [wait],
    modelOptions: {
      rules: [
        { when: { notCalled: ["wait"] }, calls: [{ tool: "wait" }] },
        { when: {}, say: "done" },
      ],
    },
  });
  const open = () =>
    createRuntime({
      directory: folder,
      agents: [clerk],
      gate: GATE,
      principal: { kind: "user", id: "ann" },
      powerCut: "lose-last-moments",
    });
  const [here, there] = [await open(), await open()];
  const ann = createPerson(join(folder, "home"), "ann", ed25519);
  await there.place.keyring.certifyPerson(ann.name, ann.key.publicKey);
  const results = Array.from({ length: sessions }, () => here.run("clerk", "go").result);
  await all.promise;
  const noticed = async (write: () => Promise<unknown>): Promise<void> => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const stop = here.place.store.inbox.watchChanges(resolve);
    await write();
    await promise;
    stop();
    for (let turns = 0; turns < 20; turns += 1) await new Promise((turn) => setImmediate(turn)); // whoever was woken has looked
  };
  const sql = countSql();
  for (let i = 0; i < WRITES; i += 1) await noticed(() => there.sessions.create({ agent: "clerk" }));
  const { statements } = sql.taken();
  sql.stop();
  await there.halt("agent:clerk", "enough", ann);
  const endings = (await Promise.all(results)).map(({ ending }) => ending);
  await here.close();
  await there.close();
  rmSync(folder, { recursive: true, force: true });
  return { statements, endings };
}

test("writes of another process that are about no session here cost forty drivers what they cost one; a halt from there reaches all of them", async () => {
  const one = await besideAnother(1);
  const forty = await besideAnother(40);
  expect(forty.statements).toBeLessThan(one.statements * 1.5);
  expect(new Set([...one.endings, ...forty.endings])).toEqual(new Set(["halted"]));
});
