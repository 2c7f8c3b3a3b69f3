import { setImmediate } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { defineTool } from "../agents/define-tool.ts";
import { createDeadlines } from "../loop/limits/time.ts";
import type { Permit } from "../permit/turnstile.ts";
import { manualClock } from "../testing/index.ts";
import {
  type Action,
  callId,
  callKey,
  epoch,
  FaultError,
  type Json,
  type Repeat,
  sessionId,
  type Tool,
  type ToolContext,
  ZERO,
} from "../vocab/index.ts";
import { act, GRACE_MS, type Run, reconcile, toErrorText } from "./act.ts";

const permit = {} as Permit; // whether it is one is the turnstile's affair; here it only stands for the action that is redeemed
const action = (tool = "t"): Action => ({
  kind: "call",
  call: callId("1.0"),
  tool,
  toolDigest: ZERO,
  effects: [],
  args: { x: "1" },
  inexact: [],
  resource: { type: "Tool", id: tool },
});

type Body = (args: { x: string }, context: ToolContext) => Promise<Json> | Json;
const toolOf = (run: Body, more: Partial<Parameters<typeof defineTool>[0]> = {}): Tool =>
  defineTool({ name: "t", description: "t", input: z.strictObject({ x: z.string() }), ...more, run: run as never });

function start(tool: Tool, repeat: Repeat) {
  const clock = manualClock();
  const stop = new AbortController();
  const session = sessionId("s_000000000001");
  const context = {
    session,
    key: callKey(session, callId("1.0")),
    epoch: epoch(1),
    start: 1,
    note: () => {},
    spent: () => {},
    wouldPermit: () => "yes" as const,
    evidence: () => {},
  };
  const run: Run = { tool, repeat, context, timeoutMs: 100, stop: stop.signal, sleep: clock.sleep, deadline: createDeadlines(clock).set };
  return { clock, stop, run, acting: () => act(permit, () => action(), run), asking: () => reconcile(permit, () => action(), run) };
}

const REPEATS: readonly Repeat[] = ["read", "idempotent", "reconcile", "once"];
const expected = (repeat: Repeat, cause: string) =>
  repeat === "read" ? { kind: "failed", error: expect.stringContaining(cause) } : { kind: "unknown", cause };

describe("outcomes", () => {
  test.each(REPEATS)("T-5 a `%s` call that was sent and lost sight of is unknown, unless it only reads", async (repeat) => {
    const lost = toolOf(() => {
      throw new FaultError({ kind: "outcome-unknown", cause: "connection-lost", detail: "the server went away" });
    });
    const { outcome } = await start(lost, repeat).acting();
    expect(outcome).toMatchObject(expected(repeat, "connection-lost"));
    expect(JSON.stringify(outcome)).toContain("the server went away");
  });

  test.each([
    [
      { cause: undefined, detail: "d" },
      { cause: "connection-lost", detail: "d" },
    ],
    [
      { cause: "banana", detail: 7n },
      { cause: "connection-lost", detail: "7" },
    ],
    [
      { cause: "killed", detail: undefined },
      { cause: "killed", detail: "the tool did not say why" },
    ],
  ])("T-6 an unknown outcome that a tool describes badly (%o) can still be recorded", async (more, expected) => {
    const lost = toolOf(() => {
      throw new FaultError({ kind: "outcome-unknown", ...more } as never);
    });
    expect((await start(lost, "once").acting()).outcome).toEqual({ kind: "unknown", ...expected });
  });

  test("T-5 what could not be sent has failed, and says so", async () => {
    const away = toolOf(() => {
      throw new FaultError({ kind: "unreachable", what: "mcp:files", detail: "no such program", hint: "" });
    });
    expect((await start(away, "once").acting()).outcome).toEqual({ kind: "failed", error: "unreachable: mcp:files: no such program" });
  });

  test.each(REPEATS)("T-5 a `%s` call that outlives its time is unknown, unless it only reads", async (repeat) => {
    const ended = Promise.withResolvers<string>();
    const { clock, acting } = start(
      toolOf(() => ended.promise),
      repeat,
    );
    const acted = acting();
    clock.advance(100);
    await setImmediate();
    clock.advance(GRACE_MS);
    expect((await acted).outcome).toMatchObject(expected(repeat, "timed-out"));
  });

  test.each(REPEATS)(
    "T-5 a `%s` call that is stopped and then throws is unknown, unless it only reads: the throw is no proof",
    async (repeat) => {
      const body: Body = (_, { signal }) =>
        new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(new Error("aborted"))));
      const { stop, acting } = start(toolOf(body), repeat);
      const acted = acting();
      stop.abort("cancelled");
      const { outcome, late } = await acted;
      expect(outcome).toMatchObject(expected(repeat, "cancelled"));
      expect(JSON.stringify(outcome)).toContain("aborted");
      expect(late).toBeNull();
    },
  );

  test("T-5 what a stopped call brings within its grace is what became of it", async () => {
    const body: Body = (_, { signal }) => new Promise((resolve) => signal.addEventListener("abort", () => resolve("just in time")));
    const { stop, acting } = start(toolOf(body), "once");
    const acted = acting();
    stop.abort("cancelled");
    expect((await acted).outcome).toEqual({ kind: "done", output: "just in time" });
  });

  test("T-5 a call that threw by itself has failed, whatever it may be repeated as", async () => {
    const { acting } = start(
      toolOf(() => Promise.reject(new Error("no such account"))),
      "once",
    );
    expect((await acting()).outcome).toEqual({ kind: "failed", error: "no such account" });
  });

  test("T-5 a turn whose time is up says so", async () => {
    const { stop, clock, acting } = start(
      toolOf(() => new Promise(() => {})),
      "once",
    );
    const acted = acting();
    stop.abort("timed-out");
    await setImmediate();
    clock.advance(GRACE_MS);
    expect((await acted).outcome).toMatchObject({ kind: "unknown", cause: "timed-out" });
  });

  test("T-6 a given-up call that ends well after all says so late; its code is over only then", async () => {
    const ended = Promise.withResolvers<string>();
    const { clock, acting } = start(
      toolOf(() => ended.promise),
      "once",
    );
    const running = acting();
    clock.advance(100);
    await setImmediate();
    clock.advance(GRACE_MS);
    const { late, over } = await running;
    let isOver = false;
    void over?.then(() => {
      isOver = true;
    });
    await setImmediate();
    expect(isOver).toBe(false);
    ended.resolve("it worked");
    await expect(late).resolves.toEqual({ kind: "done", output: "it worked" });
    await over;
  });

  test("T-6 a given-up call that throws late settles nothing: it was told to stop, so its error does not say that nothing happened", async () => {
    const ended = Promise.withResolvers<string>();
    const { clock, acting } = start(
      toolOf(() => ended.promise),
      "once",
    );
    const running = acting();
    clock.advance(100);
    await setImmediate();
    clock.advance(GRACE_MS);
    const { late } = await running;
    ended.reject(new Error("aborted"));
    await expect(late).resolves.toBeNull();
  });

  test("T-6 a `read` that was given up has nothing to say later", async () => {
    const { clock, acting } = start(
      toolOf(() => new Promise(() => {})),
      "read",
    );
    const running = acting();
    clock.advance(100);
    await setImmediate();
    clock.advance(GRACE_MS);
    expect((await running).late).toBeNull();
  });

  test("T-6 an output that changes after it was returned, or is no JSON, is what it was, or a text", async () => {
    const output = { n: 1 };
    const plain = toolOf(() => "");
    const { run } = start({ ...plain, run: async () => output }, "once");
    const { outcome } = await act(permit, () => action(), run);
    output.n = 2;
    expect(outcome).toEqual({ kind: "done", output: { n: 1 } });
    const odd = start({ ...plain, run: async () => new Map() as never }, "once");
    expect((await odd.acting()).outcome).toMatchObject({ kind: "done", output: expect.stringContaining("[not JSON]") });
  });

  test("P-2 a permit for another tool, or for no call, runs nothing", async () => {
    let ran = 0;
    const { run } = start(
      toolOf(() => String(++ran)),
      "once",
    );
    await expect(act(permit, () => action("other"), run)).rejects.toThrow("another action");
    await expect(act(permit, () => ({ kind: "model", model: "m" }), run)).rejects.toThrow("another action");
    expect(ran).toBe(0);
  });
});

describe("asking a tool what became of a call", () => {
  const asked = (reconciling: (args: unknown, context: ToolContext) => Promise<unknown>) =>
    toolOf(() => "", { repeat: "reconcile", reconcile: reconciling as never });

  test("T-5 its answer is what was found", async () => {
    const { asking } = start(
      asked(async () => ({ kind: "happened", output: "yes" })),
      "reconcile",
    );
    expect(await asking()).toEqual({ kind: "found", found: { kind: "happened", output: "yes" } });
  });

  test("L-18 a stop does not wait for it", async () => {
    const { stop, asking } = start(
      asked(() => new Promise(() => {})),
      "reconcile",
    );
    const found = asking();
    stop.abort("cancelled");
    expect(await found).toMatchObject({ kind: "gave-up", detail: expect.stringContaining("stopped") });
  });

  test("L-18 a stop that came before asks nothing more of it than that", async () => {
    const { stop, asking } = start(
      asked(() => new Promise(() => {})),
      "reconcile",
    );
    stop.abort("cancelled");
    expect(await asking()).toMatchObject({ kind: "gave-up" });
  });

  test("T-5 no answer in time, or an error, cannot tell; its signal then fires, and no timer is left", async () => {
    let signal: AbortSignal | null = null;
    const { clock, asking } = start(
      asked((_, context) => {
        signal = context.signal;
        return new Promise(() => {});
      }),
      "reconcile",
    );
    const found = asking();
    await setImmediate();
    clock.advance(100);
    expect(await found).toMatchObject({ kind: "gave-up", detail: expect.stringContaining("in time") });
    expect(signal).toMatchObject({ aborted: true });
    expect(clock.sleepers()).toBe(0);
    const failing = start(
      asked(() => Promise.reject(new Error("no idea"))),
      "reconcile",
    );
    expect(await failing.asking()).toEqual({ kind: "gave-up", detail: "no idea" });
  });

  test("T-5 a tool that can no longer be asked is not run instead", async () => {
    expect(
      await start(
        toolOf(() => ""),
        "reconcile",
      ).asking(),
    ).toMatchObject({ kind: "gave-up" });
  });
});

test("T-6 whatever was thrown has a text, and a well-formed one", () => {
  const odd = {
    toString() {
      throw new Error("no");
    },
  };
  const messages = [new Error("plain"), "text", 5, null, undefined, Symbol("s"), Object.create(null), odd, "\ud800"].map(toErrorText);
  expect(messages.every((m) => typeof m === "string" && m.isWellFormed())).toBe(true);
  expect(messages.slice(0, 2)).toEqual(["plain", "text"]);
});
