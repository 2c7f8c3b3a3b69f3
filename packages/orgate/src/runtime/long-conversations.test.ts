/** Rule 8 for turns: what turn 2,000 of a conversation costs is what turn 100 costs, on counts. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { defineAgent, defineTool, type SessionId, tableGate } from "@orgate/core";
import { afterEach, expect, test } from "vitest";
import { sha256 } from "../node/crypto.ts";
import { serving } from "../server/fixtures/serving.ts";
import type { Runtime } from "./api.ts";
import { countSql, type SqlCost } from "./fixtures/sql-counter.ts";
import { createRuntime } from "./runtime.ts";

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

const NO_INPUT = { type: "object", properties: {}, additionalProperties: false } as const;
const tool = (name: string) => defineTool({ name, description: name, input: NO_INPUT, repeat: "read", run: () => `${name} has run` });
/** Looks something up and answers; `pay` waits for a person. What its model is shown is bounded. */
const clerk = defineAgent({
  name: "clerk",
  instructions: "Do as you are told.",
  model: "offline/echo",
  tools: [tool("look"), tool("pay")],
  limits: { contextTokens: 1_500, outputTokens: 100 },
  modelOptions: {
    rules: [
      { when: { says: "pay", notCalled: ["pay"] }, calls: [{ tool: "pay" }] },
      { when: { says: "look", notCalled: ["look"] }, calls: [{ tool: "look" }] },
      { when: {}, say: "You said: {{input}}" },
    ],
  },
});
const GATE = tableGate(
  [
    { id: "asks", action: "tool:pay", verdict: "ask" },
    { id: "all", action: "*", verdict: "allow" },
  ],
  sha256,
);
const words = (turn: number): string => `look ${String(turn).padStart(4, "0")}`;

const TURNS = 2_000;
const SPAN = 25; // a window moves in steps: several turns are compared with several

/** `one` runs a turn. What the turns up to 100 cost, and those up to 2,000. */
async function measured(one: (turn: number) => Promise<void>): Promise<readonly [SqlCost, SqlCost]> {
  const sql = countSql();
  closing.push(async () => sql.stop());
  const costs: SqlCost[] = [];
  for (let turn = 2; turn <= TURNS; turn += 1) {
    sql.taken();
    await one(turn);
    costs.push(sql.taken());
  }
  sql.stop();
  const around = (turn: number): SqlCost =>
    costs.slice(turn - 1 - SPAN, turn - 1).reduce((sum, { statements, rows, chars }) => {
      return { statements: sum.statements + statements, rows: sum.rows + rows, chars: sum.chars + chars };
    });
  return [around(100), around(TURNS)];
}

const ratios = ([early, late]: readonly [SqlCost, SqlCost]): readonly number[] => [
  late.statements / early.statements,
  late.rows / early.rows,
  late.chars / early.chars,
];

test("L-23 in the library turn 2,000 steps over as many rows, and moves as many characters, as turn 100", async () => {
  const folder = mkdtempSync(join(tmpdir(), "orgate-long-"));
  const runtime: Runtime = await createRuntime({
    directory: folder,
    agents: [clerk],
    gate: GATE,
    principal: { kind: "user", id: "ann" },
    powerCut: "lose-last-moments",
  });
  closing.push(async () => {
    await runtime.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const { session } = await runtime.run("clerk", words(1)).result;
  const costs = await measured(async (turn) => {
    const { ending, conversation } = await runtime.run("clerk", words(turn), { session }).result;
    if (ending !== "completed") throw new Error(`turn ${turn} ended ${ending}`);
    if (turn === 50) expect(conversation).toHaveLength(4 * 50);
  });
  for (const ratio of ratios(costs)) expect(ratio).toBeLessThan(1.1);
  expect((await runtime.inspect.state(session)).turns).toBe(TURNS);
}, 600_000);

test("W-20 at the server turn 2,000 reads as much as turn 100, also one that waits for a person and is answered", async () => {
  const at = await serving({ agents: [clerk], gate: GATE, serve: { bounds: { perSecond: 10_000 } } }); // a quick machine would be asked to wait
  closing.push(at.stop);
  const execute = async (input: string, session?: SessionId) => {
    const answer = await at.post("/api/v1/agents/clerk/execute", { input, ...(session === undefined ? {} : { session }), waitMs: 60_000 });
    return (await answer.json()) as { session: SessionId; state: string; ending: string | null; questions: string[] };
  };
  const { session } = await execute(words(1));
  const sql = countSql();
  /** Waits for a person, is looked at and answered by one, and goes on. */
  async function answered(turn: number): Promise<SqlCost> {
    sql.taken();
    const { state, questions } = await execute(`pay ${turn}`, session);
    expect(state).toBe("waiting");
    const [approval = ""] = questions;
    const shown = (await (await at.get(`/api/v1/approvals/${approval}`)).json()) as { digest: string };
    const done = await at.runtime.approvals.answer(
      { approval: approval as never, digest: shown.digest as never, answer: { kind: "approve" } },
      at.ann,
    );
    expect(done.entry?.event.kind).toBe("approval.answered");
    for await (const live of at.runtime.subscribe({ session }, { after: done.entry?.seq ?? 0 }))
      if (live.kind === "entry" && live.entry.event.kind === "turn.ended") break;
    return sql.taken();
  }
  const waits: SqlCost[] = [];
  const costs = await measured(async (turn) => {
    const { ending } = await execute(words(turn), session);
    if (ending !== "completed") throw new Error(`turn ${turn} ended ${ending}`);
    if (turn === 110 || turn === TURNS - 1 - SPAN) waits.push(await answered(turn));
  });
  sql.stop();
  const [early, late] = waits;
  // who looks first, driver or reader, is a matter of moments; reading the conversation anew would be twentyfold
  for (const ratio of ratios(costs)) expect(ratio).toBeLessThan(1.3);
  expect(early === undefined || late === undefined ? [] : [late.rows / early.rows < 2, late.chars / early.chars < 2]).toEqual([true, true]);
}, 900_000);
