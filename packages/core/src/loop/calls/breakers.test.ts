/** Circuit breakers stop calls to a failing tool or model: in this process, in others, and after a restart. */
import { describe, expect, test } from "vitest";
import { failure, manualClock, memoryDisk, openMemory, reply, type Step } from "../../testing/index.ts";
import { type BreakerSettings, DEFAULT_BREAKER, keyId, type Outcome, type Tool, type ToolContext, writerId } from "../../vocab/index.ts";
import { ANN, APPROVE, call, open, REST, results, say, sha256, stage, toolOf } from "../fixtures/stage.ts";
import type { Ports } from "../ports.ts";
import { type BreakersPort, classifyCall, classifyModel, type OpenBreakers, openBreakers } from "./breakers.ts";

const FEW: BreakerSettings = { failures: 2, openMs: 1_000, probes: 2 };
const T = { name: "tool:t", settings: FEW };

function processes() {
  const disk = memoryDisk();
  const clock = manualClock();
  let started = 0;
  return {
    clock,
    start(): OpenBreakers {
      const writer = `w${++started}`;
      const seal = {
        writer: writerId(writer),
        key: keyId("k"),
        hash: sha256,
        sign: (text: string) => sha256(text),
        salt: () => sha256(writer).slice(0, 32),
      };
      return openBreakers(openMemory(disk, seal, clock.now).journal, {
        now: clock.now,
        hash: sha256,
        self: { kind: "system", id: writer },
      });
    },
  };
}
const fails = (b: BreakersPort, times: number) => {
  for (let i = 0; i < times; i += 1) b.report(T, `k${i}`, "failure", "down");
};

describe("one breaker", () => {
  test("F-7 so many failures in a row open it, and a success in between starts the count again", () => {
    const b = processes().start();
    fails(b, 1);
    b.report(T, "k", "success", "");
    fails(b, 1);
    expect(b.refusal(T, "k")).toBeNull();
    fails(b, 1);
    expect(b.refusal(T, "k")).toBe("tool:t failed 2 times in a row, is left alone and is tried again in 1 s");
    const model = { ...T, name: "model:p/m" }; // nobody but people reads this one
    for (const key of ["a", "b"]) b.report(model, key, "failure", "down");
    expect(b.refusal(model, "k")).toMatch(
      / in 1 s; once it is mended, `orgate breakers reset model:p\/m --reason "mended"` has it tried at once$/,
    );
  });

  test("F-7 when its time is up so many calls may try at a time; enough successes close it, one failure opens it again", async () => {
    const { start, clock } = processes();
    const b = start();
    fails(b, 2);
    clock.advance(999);
    expect(b.refusal(T, "a")).not.toBeNull();
    clock.advance(1);
    for (const key of ["a", "b"]) {
      expect(b.refusal(T, key)).toBeNull();
      b.pass(T, key);
    }
    expect(b.refusal(T, "c")).toContain("2 other calls do");
    expect(b.refusal(T, "a")).toBeNull(); // looked at once more, it still has its place
    b.report(T, "a", "success", "");
    expect(b.refusal(T, "c")).toBeNull();
    b.report(T, "b", "failure", "still down");
    expect(b.refusal(T, "c")).toContain("failed 3 times in a row");
    clock.advance(1_000);
    for (const key of ["d", "e"]) {
      b.pass(T, key);
      b.report(T, key, "success", "");
    }
    expect(b.refusal(T, "f")).toBeNull();
    await b.settle();
    const again = start();
    await again.refresh();
    expect(again.list()).toMatchObject([{ breaker: "tool:t", state: "closed", reason: "2 calls in a row succeeded" }]);
  });

  test("F-7 a place to try that is given up, or never heard of again, is free again; one that began before says nothing", () => {
    const { start, clock } = processes();
    const b = start();
    fails(b, 2);
    clock.advance(1_000);
    b.pass(T, "a");
    b.pass(T, "b");
    b.report(T, "early", "failure", "it began before it opened");
    b.report(T, "a", null, "cancelled");
    expect(b.refusal(T, "c")).toBeNull();
    b.pass(T, "c");
    expect(b.refusal(T, "d")).not.toBeNull();
    clock.advance(1_000);
    expect(b.refusal(T, "d")).toBeNull();
  });

  test("F-9 its state is journalled, seen by another process, and survives a restart; only changes are written", async () => {
    const { start, clock } = processes();
    const [a, b] = [start(), start()];
    fails(a, 1);
    await a.settle();
    await b.refresh();
    expect(b.list()).toEqual([]);
    fails(a, 1);
    await a.settle();
    expect(b.refusal(T, "k")).toBeNull();
    await b.refresh();
    expect(b.refusal(T, "k")).toContain("failed 2 times");
    const later = start();
    await later.refresh();
    expect(later.list()).toMatchObject([
      { state: "open", failures: 2, reason: "down", until: clock.now() + 1_000, by: { kind: "system", id: "w1" } },
    ]);
  });

  test("F-9 two processes that see it open at once write it once; what another wrote meanwhile counts", async () => {
    const { start, clock } = processes();
    const [a, b] = [start(), start()];
    fails(a, 2);
    fails(b, 2);
    await Promise.all([a.settle(), b.settle()]);
    const c = start();
    await c.refresh();
    expect(c.list()).toMatchObject([{ state: "open", failures: 2 }]);
    await c.set({ breaker: "tool:t", to: "open", failures: 0, until: null, by: ANN, reason: "not today" });
    clock.advance(60_000);
    b.pass(T, "k"); // it does not know yet, and would try
    await b.settle();
    expect(b.refusal(T, "k")).toBe("tool:t was set aside by an operator, is left alone until an operator closes it");
  });

  test("F-9 two processes that try it at once: what the second one finds counts too", async () => {
    const { start, clock } = processes();
    const [a, b] = [start(), start()];
    fails(a, 2);
    await a.settle();
    await b.refresh();
    clock.advance(1_000);
    a.pass(T, "k");
    b.pass(T, "l");
    await Promise.all([a.settle(), b.settle()]);
    b.report(T, "l", "failure", "still down");
    expect(b.refusal(T, "m")).toContain("failed 3 times");
  });

  test("F-9 a change that was overtaken before it was written is dropped", async () => {
    const { start } = processes();
    const [a, b] = [start(), start()];
    fails(a, 2); // about to be written
    await b.set({ breaker: "tool:t", to: "open", failures: 0, until: null, by: ANN, reason: "not today" });
    await a.refresh();
    await a.settle();
    const later = start();
    await later.refresh();
    expect(later.list()).toMatchObject([{ state: "open", until: null, by: ANN }]);
  });

  test("F-9 an operator's word counts at once and everywhere, whatever was counted", async () => {
    const { start } = processes();
    const [a, b] = [start(), start()];
    fails(a, 2);
    await a.settle();
    await b.set({ breaker: "tool:t", to: "closed", failures: 0, until: null, by: ANN, reason: "mended" });
    expect(b.refusal(T, "k")).toBeNull();
    await a.refresh();
    expect(a.refusal(T, "k")).toBeNull();
    fails(a, 1);
    expect(a.refusal(T, "k")).toBeNull();
  });
});

describe("what counts", () => {
  test("F-8 a failed run and one whose time was up count; a cancel, a halt, a lost process and what cannot be told do not", () => {
    const unknown = (cause: Extract<Outcome, { kind: "unknown" }>["cause"]): Outcome => ({ kind: "unknown", cause, detail: "" });
    const failed: Outcome = { kind: "failed", error: "no" };
    const server = { name: "mcp:s", settings: FEW };
    const table: readonly (readonly [Outcome, boolean, unknown, unknown])[] = [
      [{ kind: "done", output: 1 }, false, "success", "success"],
      [{ kind: "done", output: 1 }, true, "success", "success"],
      [failed, false, "failure", "success"], // a server that answers works
      [failed, true, null, null],
      [{ kind: "failed", error: "timed-out: no result" }, false, "failure", "failure"],
      [{ kind: "failed", error: "unreachable: mcp:s: no such program" }, false, "failure", "failure"],
      [{ kind: "failed", error: "connection-lost: it went away" }, false, "failure", "failure"],
      [unknown("timed-out"), false, "failure", "failure"],
      [unknown("connection-lost"), false, "failure", "failure"],
      [unknown("timed-out"), true, null, null],
      [unknown("cancelled"), true, null, null],
      [unknown("hold-lost"), false, null, null],
      [unknown("not-reconciled"), false, null, null],
    ];
    for (const [outcome, stopped, tool, mcp] of table)
      expect([outcome, classifyCall(T, outcome, stopped), classifyCall(server, outcome, stopped)]).toEqual([outcome, tool, mcp]);
  });

  test("F-8 of a model, what may be better the next time and a broken stream count; a bad request and a cancel do not", () => {
    const error = (again: boolean, broke: boolean) => ({ error: "x", again, broke });
    expect([error(true, false), error(false, true), error(false, false)].map((e) => classifyModel(e, false))).toEqual([
      "failure",
      "failure",
      null,
    ]);
    expect([classifyModel(error(true, true), true), classifyModel({ parts: [] }, false)]).toEqual([null, "success"]);
  });
});

describe("in a turn", () => {
  function broken(more: Partial<Parameters<typeof toolOf>[2]> = {}, isUp = () => false) {
    const ran: string[] = [];
    const tool = toolOf(
      "t",
      ({ x }) => {
        ran.push(x);
        if (!isUp()) throw new Error("down");
        return "up";
      },
      { repeat: "read", breaker: FEW, ...more },
    );
    return { tool, ran };
  }
  const calls = (n: number): readonly Step[] => Array.from({ length: n }, (_, i) => reply.calls([call("t", String(i))]));

  test("F-7 a call of what is left alone is refused whatever the policy permits, the model is told when to try again, and it is no refusal in a row", async () => {
    const { tool, ran } = broken();
    const { w } = stage([...calls(7), reply.text("done")], REST, { tools: [tool] });
    const s = await w.run("go");
    expect(ran).toEqual(["0", "1"]);
    expect(s.last).toMatchObject({ ending: "completed", output: "done" }); // three refusals in a row would have ended it
    expect(results(w).at(-1)).toBe("[not run] t (rest): tool:t failed 2 times in a row, is left alone and is tried again in 1 s");
    expect(w.events("gate.decided").filter((e) => e.verdict.kind === "deny" && e.verdict.by === "breaker")).toHaveLength(5);
  });

  test("F-8 a denial, bad arguments and an unknown tool open nothing", async () => {
    const { tool, ran } = broken();
    const steps = [
      reply.calls([{ tool: "t", args: { y: 1 }, id: "a" }]),
      reply.calls([{ tool: "t", text: "{", id: "b" }]),
      reply.text("done"),
    ];
    const { w } = stage([...steps.slice(0, 2), reply.text("done")], [{ id: "no", action: "tool:t", verdict: "deny" }, ...REST], {
      tools: [tool],
    });
    await w.run("go");
    const after = stage(
      [reply.calls([call("t")]), reply.calls([call("t", "2")]), reply.text("done")],
      [{ id: "no", action: "tool:t", verdict: "deny" }, ...REST],
      { tools: [tool] },
    );
    await after.w.run("go");
    expect([ran, w.disk.heads.has("breaker:tool.t" as never), after.w.disk.heads.has("breaker:tool.t" as never)]).toEqual([
      [],
      false,
      false,
    ]);
  });

  test("F-7 while half-open only so many calls of one reply go through", async () => {
    let up = false;
    const { tool, ran } = broken({ breaker: { ...FEW, probes: 1 } }, () => up);
    const many = reply.calls(
      ["a", "b", "c"].map((x) => call("t", x)),
      {
        expect: () => {
          up = true;
          w.clock.advance(1_000);
        },
      },
    );
    const { w } = stage([...calls(2), many, reply.text("done")], REST, { tools: [tool] });
    await w.run("go");
    expect(ran).toEqual(["0", "1", "a"]);
    expect(results(w).slice(2)).toEqual([
      "up",
      expect.stringContaining("is being tried: another call does"),
      expect.stringContaining("is being tried"),
    ]);
  });

  test("F-9 what one process saw fail the next one leaves alone, until its time is up", async () => {
    let up = false;
    const { tool, ran } = broken({}, () => up);
    const { w } = stage(
      [
        ...calls(2),
        reply.text("one"),
        reply.calls([call("t", "x")]),
        reply.text("two"),
        reply.calls([call("t", "y")]),
        reply.calls([call("t", "z")]),
        reply.text("three"),
      ],
      REST,
      { tools: [tool] },
    );
    await w.run("go");
    await w.run("again"); // a process and a session of its own
    expect(ran).toEqual(["0", "1"]);
    up = true;
    w.clock.advance(1_000);
    await w.run("later");
    expect(ran).toEqual(["0", "1", "y", "z"]);
  });

  test("F-7 a model that is left alone ends the turn `failed`, and is named", async () => {
    const steps = [failure("overloaded"), failure("overloaded"), failure("overloaded")];
    const spoil = (p: Ports): Ports => ({ ...p, modelBreaker: { ...FEW, failures: 3 } });
    const { w, model } = stage(steps, REST, { spoil });
    expect((await w.run("go")).last).toMatchObject({ ending: "failed", detail: "overloaded" });
    const next = await w.run("go");
    expect(next.last).toMatchObject({ ending: "failed", detail: expect.stringContaining("model:scripted/model failed 3 times in a row") });
    expect(w.disk.heads.has("breaker:model.scripted.2fmodel" as never)).toBe(true);
    model.done();
  });

  test("F-7 a tool that is only asked what became of a call keeps no place to try", async () => {
    const t = toolOf("t", () => Promise.reject(new Error("down")), {
      repeat: "reconcile",
      reconcile: async () => ({ kind: "happened", output: "it was done" }),
      breaker: { failures: 1, openMs: 1, probes: 1 },
      recover: { kind: "retry", times: 1, backoffMs: 0 },
    });
    const steps = [reply.calls([call("t", "1")]), reply.calls([call("t", "2")]), reply.text("done")];
    const spoil = (p: Ports): Ports => {
      const report: typeof p.breakers.report = (breaker, key, what, reason) => {
        p.breakers.report(breaker, key, what, reason);
        if (what === "failure") w.clock.advance(1); // its time is up at once
      };
      return { ...p, breakers: { ...p.breakers, report } };
    };
    const { w } = stage(steps, REST, { tools: [t], spoil });
    await w.run("go");
    expect(results(w)).toEqual(["it was done", "it was done"]);
  });

  test("F-6 the failure that opens a breaker is still put to a person; approved once its time is up, it runs again", async () => {
    const ran: string[] = [];
    const run = ({ x }: { x: string }) => (ran.push(x) === 1 ? Promise.reject(new Error("down")) : "up again");
    const t = toolOf("t", run, { breaker: { failures: 1 }, recover: "escalate" });
    const { w } = stage([reply.calls([call("t", "1")]), reply.text("done")], REST, { tools: [t] });
    await w.run("go");
    expect(open(w).map((q) => q.asks[0]?.question)).toEqual(["t failed, and may have had an effect (down): run it again?"]);
    w.clock.advance(DEFAULT_BREAKER.openMs);
    await say(w, APPROVE);
    expect((await w.go()).last?.ending).toBe("completed");
    expect(results(w)).toEqual(["up again"]);
  });

  test("F-7 an MCP server's breaker is shared by its tools", async () => {
    const hang = (name: string): Tool =>
      toolOf(
        name,
        (_: unknown, { signal }: ToolContext) =>
          new Promise<never>((_r, no) => signal.addEventListener("abort", () => no(new Error("late")))),
        { repeat: "read", breaker: FEW, server: "files", timeoutMs: 10 },
      );
    const steps = [reply.calls([call("a", "1")]), reply.calls([call("b", "2")]), reply.calls([call("c", "3")]), reply.text("done")];
    const spoil = (p: Ports): Ports => ({
      ...p,
      clock: { ...p.clock, sleep: (ms, signal) => (ms === 10 ? Promise.resolve() : p.clock.sleep(ms, signal)) },
    });
    const { w } = stage(steps, REST, { tools: ["a", "b", "c"].map(hang), spoil });
    await w.run("go");
    expect(results(w).at(-1)).toContain("mcp:files failed 2 times in a row");
  });

  test("F-7 a retry of what has been left alone meanwhile gives way to the next strategy", async () => {
    const { tool, ran } = broken({ recover: [{ kind: "retry", times: 9, backoffMs: 0 }, "ask-model"] });
    const { w } = stage([reply.calls([call("t")]), reply.text("done")], REST, { tools: [tool] });
    const s = await w.run("go");
    expect([ran.length, s.last?.ending, w.events("recovery.applied").map((e) => e.strategy)]).toEqual([
      2,
      "completed",
      ["retry", "retry", "ask-model"],
    ]);
  });
});

test("F-7 by default five failures open it for 30 seconds, and two probes close it", () => {
  expect(DEFAULT_BREAKER).toEqual({ failures: 5, openMs: 30_000, probes: 2 });
});
