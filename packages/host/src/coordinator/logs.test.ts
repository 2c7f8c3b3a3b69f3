import { expect, test } from "vitest";
import { type Serving, serving } from "./fixtures/serving.ts";
import { openLog } from "./logs.ts";

const lines = (texts: readonly string[]): readonly Record<string, unknown>[] => texts.map((text) => JSON.parse(text));

test("W70 a line is one JSON object with time, level and what it is about; a text is cut, and a reader that has gone harms nobody", () => {
  const told: string[] = [];
  const log = openLog({ write: (line) => told.push(line), now: () => 0, least: "info" });
  log("debug", "nothing");
  log("info", "turn.started", { session: "s_1", note: `a\nb${"x".repeat(1_000)}` });
  expect(told).toHaveLength(1);
  expect(told[0]?.indexOf("\n")).toBe((told[0]?.length ?? 0) - 1);
  expect(lines(told)[0]).toMatchObject({ at: "1970-01-01T00:00:00.000Z", level: "info", what: "turn.started", session: "s_1" });
  expect(String(lines(told)[0]?.note).length).toBeLessThan(600);
  const broken = openLog({
    write: () => {
      throw new Error("EPIPE");
    },
    now: () => 0,
  });
  expect(() => broken("error", "anything")).not.toThrow();
});

test("W70 requests and turns are told with their ids, iterations and tokens, and no key, query or body is in any line", async () => {
  const told: string[] = [];
  const at: Serving = await serving({ serve: { log: openLog({ write: (line) => told.push(line), now: Date.now, least: "debug" }) } });
  await at.post("/api/v1/agents/clerk/execute", { input: "look at my-secret-words" }, { "idempotency-key": "my-secret-key" });
  await at.get("/api/v1/sessions?agent=my-secret-query");
  await at.get("/api/v1/agents", "my-secret-token");
  while (!told.some((line) => line.includes('"turn.ended"'))) await new Promise((resolve) => setImmediate(resolve));
  await at.stop();
  const all = lines(told);
  const ended = all.find(({ what }) => what === "turn.ended");
  expect(ended).toMatchObject({ agent: "clerk", turn: 1, ending: "completed", iterations: 2 });
  expect([ended?.session, ended?.tokens]).toEqual([expect.stringMatching(/^s_/), expect.any(Number)]);
  expect(all.filter(({ what }) => what === "request").map(({ route, status }) => [route, status])).toEqual([
    ["execute", 200],
    ["sessions", 200],
    ["none", 401],
  ]);
  expect(told.join("")).not.toMatch(/secret|Bearer/);
});
