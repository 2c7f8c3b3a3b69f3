/** Recovery settings that a definition may contain. */
import { expect, test } from "vitest";
import * as z from "zod";
import { DEFAULT_BREAKER, isFault, type RecoveryDefinition } from "../vocab/index.ts";
import { defineAgent } from "./define-agent.ts";
import { defineTool } from "./define-tool.ts";

const tool = (name: string, more: Partial<Parameters<typeof defineTool>[0]> = {}) =>
  defineTool({ name, description: name, input: z.strictObject({}), run: () => 1, ...more } as Parameters<typeof defineTool>[0]);
const agent = (more: Partial<Parameters<typeof defineAgent>[0]>) =>
  defineAgent({ name: "a", instructions: "go", model: "offline/a", ...more });
const detailOf = (work: () => unknown): string => {
  try {
    work();
    return "";
  } catch (error) {
    if (!isFault(error)) throw error;
    return "detail" in error.fault ? String(error.fault.detail) : "";
  }
};

test("F-2 short words, lists and defaults are read; the tool's own word wins over its agent's", () => {
  const { tools } = agent({
    recover: ["retry", "escalate"],
    tools: [tool("b", { recover: "stop" }), tool("c"), tool("d", { recover: () => "stop" })],
  });
  expect(tools.map((t) => (typeof t.recover === "function" ? "function" : t.recover))).toEqual([
    [{ kind: "stop" }],
    [{ kind: "retry", times: 3, backoffMs: 500, maxBackoffMs: 10_000 }, { kind: "escalate" }],
    "function",
  ]);
  expect(agent({ tools: [tool("b")] }).tools[0]?.recover).toBeNull();
  const slow = tool("b", { recover: { kind: "retry", backoffMs: 20_000 } }).recover;
  expect(slow).toEqual([{ kind: "retry", times: 3, backoffMs: 20_000, maxBackoffMs: 20_000 }]);
});

test("F-2 a breaker's settings are the tool's own, else its agent's, else the defaults", () => {
  const { tools, breaker } = agent({ breaker: { failures: 9 }, tools: [tool("b", { breaker: { probes: 1 } }), tool("c")] });
  expect([breaker, ...tools.map((t) => t.breaker)]).toEqual([
    { ...DEFAULT_BREAKER, failures: 9 },
    { ...DEFAULT_BREAKER, probes: 1 },
    { ...DEFAULT_BREAKER, failures: 9 },
  ]);
});

test("F-2 what makes no sense is refused where it stands, and says why", () => {
  const bad: readonly (readonly [unknown, string])[] = [
    ["shrug", "`recover`: `shrug` is no strategy"],
    [[], "an empty list says nothing"],
    [{ kind: "retry", times: 0 }, "`retry.times` must be a whole number of at least 1"],
    [{ kind: "retry", backoffMs: -1 }, "`retry.backoffMs`"],
    [{ kind: "cached" }, "`cached.maxAgeMs` must be"],
    [{ kind: "fallback" }, "`fallback.tool` must name another tool"],
    [{ kind: "stop", now: true }, "`stop` has no field `now`"],
    [7, "`7` is no strategy"],
    [Array.from({ length: 17 }, () => "stop"), "more than 16"],
  ];
  for (const [recover, detail] of bad) {
    expect(detailOf(() => tool("b", { recover: recover as RecoveryDefinition }))).toContain(detail);
    expect(detailOf(() => agent({ recover: recover as RecoveryDefinition }))).toContain(detail);
  }
  expect(detailOf(() => agent({ tools: [tool("b", { recover: { kind: "fallback", tool: "gone" } })] }))).toContain(
    "`b` falls back to `gone`",
  );
  expect(detailOf(() => tool("b", { breaker: { failures: 0 } }))).toContain("`breaker.failures`");
  expect(detailOf(() => agent({ breaker: { opens: 1 } as never }))).toContain("`breaker` has no field `opens`");
  expect(detailOf(() => tool("b", { server: "two words" }))).toContain("`server`");
});

test("F-2 what an agent does about failures is part of its digest", () => {
  const hash = (text: string) => text as never;
  const digests = [agent({}), agent({ breaker: { failures: 9 } })].map((a) => a.digest(hash));
  const plans = [undefined, "stop"].map((recover) =>
    agent({ tools: [tool("b", recover === undefined ? {} : { recover: "stop" })] }).digest(hash),
  );
  expect(new Set([...digests, ...plans]).size).toBe(4);
});
