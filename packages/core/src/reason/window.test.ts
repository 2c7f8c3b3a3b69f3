import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { seq } from "../vocab/index.ts";
import type { Message } from "./port.ts";
import { listShownMessages, newWindow, pinTask, type Window, widen } from "./window.ts";

const user = (text: string, tokens = 10): Message => ({ role: "user", text, tokens, entry: seq(1) });
const note = (text: string, tokens = 10): Message => ({ role: "note", text, tokens, entry: seq(1) });
const tool = (wireId: string, tokens = 10): Message => ({
  role: "tool",
  wireId,
  tool: "t",
  text: wireId,
  isError: false,
  tokens,
  entry: seq(1),
});
const says = (...ids: readonly string[]): Message => ({
  role: "assistant",
  parts: ids.map((id) => ({ kind: "text", text: id, meta: null })),
  tokens: 10,
  entry: seq(1),
});

/** A session as the fold grows it: `task` starts a turn. */
function session(budget: number) {
  const messages: Message[] = [];
  const w: Window = newWindow();
  const say = (...more: readonly Message[]): void => {
    for (const m of more) {
      messages.push(m);
      widen(messages, w, m, budget);
    }
  };
  const task = (m: Message): void => {
    say(m);
    pinTask(messages, w);
  };
  return {
    messages,
    w,
    say,
    task,
    texts: () => listShownMessages(messages, w).map((m) => ("text" in m ? m.text : m.parts.map((p) => p.text).join("+"))),
  };
}

describe("the window", () => {
  test("C-1 what fits is shown whole", () => {
    const s = session(1_000);
    s.task(user("do it"));
    s.say(says("a"), tool("a"), says("done"));
    expect(s.texts()).toEqual(["do it", "a", "a", "done"]);
    expect(s.w.tokens).toBe(40);
  });

  test("C-1 the oldest goes first, the task stays, and a call leaves together with its results", () => {
    const s = session(70);
    s.task(user("the task"));
    s.say(says("one"), tool("1a"), tool("1b"), says("two"), tool("2a"));
    expect(s.texts()).toEqual(["the task", "one", "1a", "1b", "two", "2a"]);
    s.say(says("three"), tool("3a"));
    expect(s.texts()).toEqual(["the task", "two", "2a", "three", "3a"]);
    expect(s.w.tokens).toBe(50);
  });

  test("C-1 the newest call keeps its results, though they alone are more than the budget", () => {
    const s = session(30);
    s.task(user("the task"));
    s.say(says("old"), tool("x"), says("new"), tool("a", 100), tool("b", 100));
    expect(s.texts()).toEqual(["the task", "new", "a", "b"]);
  });

  test("C-1 a new task takes the pin: the one before it is an ordinary message, and the window starts with a person's word", () => {
    const s = session(60);
    s.task(user("first task"));
    s.say(says("one"), tool("1"), says("two"), tool("2"), says("answered"));
    expect(s.texts()[0]).toBe("first task");
    s.task(user("second task"));
    expect(s.texts()).toEqual(["second task"]);
    expect(s.w.tokens).toBe(10);
  });

  test("C-1 in a second turn with room the first one is still there, from a person's word on", () => {
    const s = session(1_000);
    s.task(user("first"));
    s.say(says("one"), note("[late] …"));
    s.task(user("second"));
    s.say(says("two"));
    expect(s.texts()).toEqual(["first", "one", "[late] …", "second", "two"]);
  });

  const moves = fc.array(
    fc.oneof(
      fc.record({ kind: fc.constant("task" as const), tokens: fc.integer({ min: 1, max: 40 }) }),
      fc.record({ kind: fc.constant("steer" as const), tokens: fc.integer({ min: 1, max: 40 }) }),
      fc.record({ kind: fc.constant("note" as const), tokens: fc.integer({ min: 1, max: 40 }) }),
      fc.record({ kind: fc.constant("reply" as const), results: fc.array(fc.integer({ min: 1, max: 60 }), { maxLength: 4 }) }),
    ),
    { maxLength: 40 },
  );

  test("C-1 however a session goes: the count is right, the task is there, nothing is torn apart, and only what must stay exceeds the budget", () =>
    fc.assert(
      fc.property(moves, fc.integer({ min: 20, max: 200 }), (all, budget) => {
        const s = session(budget);
        s.task(user("task 0"));
        for (const [i, m] of all.entries()) {
          if (m.kind === "task") s.task(user(`task ${i}`, m.tokens));
          else if (m.kind === "steer") s.say(user(`steer ${i}`, m.tokens));
          else if (m.kind === "note") s.say(note(`note ${i}`, m.tokens));
          else s.say(says(`reply ${i}`), ...m.results.map((t, r) => tool(`${i}.${r}`, t)));

          const seen = listShownMessages(s.messages, s.w);
          const task = s.messages[s.w.task];
          expect(s.w.tokens, "the count").toBe(seen.reduce((n, one) => n + one.tokens, 0));
          expect(seen[0]?.role, "a person's word first").toBe("user");
          expect(seen, "the task").toContain(task);
          expect(seen.at(-1), "the newest").toBe(s.messages.at(-1));
          for (const [at, one] of seen.entries()) if (one.role === "tool") expect(["tool", "assistant"]).toContain(seen[at - 1]?.role);
          if (s.w.tokens > budget) {
            const kept = seen.filter((one) => one !== task);
            expect(
              kept.findLastIndex((one) => one.role !== "tool"),
              "one unit beside the task",
            ).toBeLessThanOrEqual(0);
          }
        }
      }),
    ));
});
