import { hash as nodeHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { defineTool } from "../../agents/define-tool.ts";
import { reply, type Step, scriptedModel, type WorldOptions, world } from "../../testing/index.ts";
import { type Digest, digest, type Hash } from "../../vocab/index.ts";
import { fold } from "../evolve.ts";

const sha256: Hash = (text): Digest => digest(nodeHash("sha256", text, "hex"));

function setup(steps: readonly Step[], options: Partial<WorldOptions> = {}) {
  const ran: string[] = [];
  const echo = defineTool({
    name: "echo",
    description: "echo",
    input: z.strictObject({ x: z.string() }),
    repeat: "read",
    labels: [],
    run: ({ x }) => `echo ${ran.push(x)}`,
  });
  const model = scriptedModel(steps);
  return { model, ran, w: world({ hash: sha256, model, tools: [echo], ...options }) };
}
const call = (x: string, id = "c1") => ({ tool: "echo", args: { x }, id });
const notes = (messages: readonly { role: string }[]) =>
  messages.flatMap((m) => (m.role === "note" && "text" in m ? [/^\[[^\]]*\]/.exec(String(m.text))?.[0]] : []));
const thinking = (finish: "stop" | "calls" = "stop"): Step => ({
  kind: "reply",
  parts: [{ kind: "thinking", text: "hm", meta: null }],
  finish,
  usage: { input: 1, output: 1 },
  meta: null,
});

describe("replies that say nothing", () => {
  test("L-13 empty, only thinking, and a call that is not there: each is told to the model, and an answer ends it all", async () => {
    const { w, model } = setup([reply.text(" "), thinking(), reply.text("I look it up", { finish: "calls" }), reply.text("here")]);
    expect((await w.run("go")).last).toMatchObject({ ending: "completed", output: "here", iterations: 4 });
    expect(notes(w.state().messages)).toEqual(["[empty]", "[only thinking]", "[no call]"]);
    model.done();
  });

  test("L-13 the fourth in a row fails the turn, with a sentence", async () => {
    const { w, model } = setup([reply.text(""), reply.text("", { finish: "length" }), thinking("calls"), reply.text("")]);
    const { last } = await w.run("go");
    expect(last).toMatchObject({ ending: "failed", iterations: 4, detail: "4 replies in a row had neither an answer nor a call" });
    expect(notes(w.state().messages)).toEqual(["[empty]", "[cut off]", "[no call]"]);
    model.done();
  });

  test("L-13 a call in between starts the count again", async () => {
    const empty = () => reply.text("");
    const { w, model } = setup([empty(), empty(), empty(), reply.calls([call("a")]), empty(), empty(), empty(), reply.text("at last")]);
    expect((await w.run("go")).last).toMatchObject({ ending: "completed", output: "at last" });
    model.done();
  });
});

describe("the same call over and over", () => {
  test("L-13 a word at the 5th, and halted before the 10th runs, however it is spread over the turn", async () => {
    const steps = Array.from({ length: 12 }, (_, i) =>
      reply.calls(i % 3 === 1 ? [call("same", "a"), call(`other ${i}`, "b")] : [call("same", "a")]),
    );
    const { w, ran, model } = setup(steps);
    const { last } = await w.run("go");
    expect(last).toMatchObject({ ending: "halted", detail: "echo was called 10 times with the same arguments", iterations: 10 });
    expect(ran.filter((x) => x === "same")).toHaveLength(9);
    expect(notes(model.asked[5]?.messages ?? [])).toEqual(["[repeated]"]);
    expect(notes(model.asked[4]?.messages ?? [])).toEqual([]);
  });

  test("L-13 its word stands behind all results of the reply, and ten at once run none", async () => {
    const five = Array.from({ length: 5 }, (_, i) => call("same", `c${i}`));
    const { w, model } = setup([reply.calls(five), reply.text("ok")]);
    await w.run("go");
    expect(model.asked[1]?.messages.map((m) => m.role)).toEqual(["user", "assistant", "tool", "tool", "tool", "tool", "tool", "note"]);
    const ten = setup([reply.calls([...five, ...five].map((c, i) => ({ ...c, id: `c${i}` })))]);
    expect((await ten.w.run("go")).last).toMatchObject({ ending: "halted", calls: 0 });
    expect(ten.ran).toEqual([]);
  });

  test("L-13 a call is counted once however often it is decided, and a new turn counts from zero", async () => {
    const asking = [{ id: "ask", action: "tool:echo", verdict: "ask" } as const, { id: "all", action: "*", verdict: "allow" } as const];
    const { w, model } = setup(
      [...Array.from({ length: 4 }, () => reply.calls([call("same")])), reply.text("a"), reply.calls([call("same")]), reply.text("b")],
      {
        rows: asking,
      },
    );
    await w.run("go");
    for (let i = 0; i < 9 && w.state().turn !== null; i += 1) {
      for (const q of w.state().turn?.questions.values() ?? [])
        await w.wish({ kind: "answer", approval: q.approval, digest: q.digest, answer: { kind: "approve" } });
      await w.go();
    }
    await w.wish({ kind: "say", text: "again" });
    await w.go();
    for (const q of w.state().turn?.questions.values() ?? [])
      await w.wish({ kind: "answer", approval: q.approval, digest: q.digest, answer: { kind: "approve" } });
    await w.go();
    expect(w.events("gate.decided").filter((e) => e.action.kind === "call").length).toBeGreaterThan(8);
    expect(w.state().last).toMatchObject({ ending: "completed", output: "b" });
    expect(notes(w.state().messages)).toEqual([]);
    model.done();
  });
});

test("L-3 a word when three iterations are left, once, and behind the results", async () => {
  const steps = ["a", "b", "c", "d", "e"].map((x) => reply.calls([call(x)]));
  const { w, model } = setup(steps, { limits: { iterations: 5 } });
  expect((await w.run("go")).last).toMatchObject({ ending: "out-of-iterations", iterations: 5 });
  expect(notes(w.state().messages)).toEqual(["[3 left]"]);
  expect(model.asked[2]?.messages.map((m) => m.role)).toEqual(["user", "assistant", "tool", "assistant", "tool", "note"]);
});

test.each([1, 2, 3])("L-3 a turn of %i is told after its first reply, if there is another", async (iterations) => {
  const { w } = setup(
    ["a", "b", "c"].map((x) => reply.calls([call(x)])),
    { limits: { iterations } },
  );
  expect((await w.run("go")).last).toMatchObject({ ending: "out-of-iterations", iterations });
  expect(notes(w.state().messages)).toEqual(iterations === 1 ? [] : [`[${iterations - 1} left]`]);
});

describe("follow-ups", () => {
  const FOLLOW = (text: string) => ({ kind: "follow-up", text }) as const;

  test("L-20 what is said to follow waits for the end of the turn, then starts the next one, in order", async () => {
    const { w, model } = setup([reply.calls([call("a")]), reply.text("one"), reply.text("two"), reply.text("three")], {
      spoil: (p) => ({ ...p, tools: { ...p.tools, find: (name) => saying(p.tools.find(name)) } }),
    });
    const saying = (tool: ReturnType<Parameters<NonNullable<WorldOptions["spoil"]>>[0]["tools"]["find"]>) =>
      tool === null
        ? null
        : {
            ...tool,
            run: async (...given: Parameters<typeof tool.run>) => {
              await w.wish(FOLLOW("second"), { kind: "user", id: "bob" });
              await w.wish(FOLLOW("third"));
              return tool.run(...given);
            },
          };
    const s = await w.run("first");
    expect(s.last).toMatchObject({ turn: 3, ending: "completed", output: "three" });
    expect(w.events("turn.started").map((e) => [e.turn, e.input, e.by.id])).toEqual([
      [1, "first", "ann"],
      [2, "second", "bob"],
      [3, "third", "ann"],
    ]);
    expect(model.asked[1]?.messages.some((m) => m.role === "user" && m.text === "second")).toBe(false);
    model.done();
  });

  test("L-20 with no turn in progress it starts one at once", async () => {
    const { w } = setup([reply.text("one"), reply.text("two")]);
    await w.run("first");
    await w.wish(FOLLOW("second"));
    expect((await w.go()).last).toMatchObject({ turn: 2, output: "two" });
  });

  test("L-20 it waits while the turn waits for a person, and survives any crash", async () => {
    for (const when of ["before", "after"] as const)
      for (let nth = 0; nth < 6; nth += 1) {
        const asking = [{ id: "ask", action: "tool:echo", verdict: "ask" } as const, { id: "all", action: "*", verdict: "allow" } as const];
        const { w } = setup([], {
          rows: asking,
          crashes: [undefined as never, undefined as never, { of: "append", when, nth }],
          model: {
            id: "placed/model",
            ask: async ({ messages }) => {
              const at = messages.filter((m) => m.role === "assistant").length;
              const parts =
                at === 0
                  ? ([{ kind: "call", id: "c1", tool: "echo", text: '{"x":"a"}', meta: null }] as const)
                  : ([{ kind: "text", text: `answer ${at}`, meta: null }] as const);
              return { parts, finish: at === 0 ? "calls" : "stop", usage: { input: 1, output: 1 }, model: "placed/model", meta: null };
            },
          },
        });
        await w.run("first");
        await w.wish(FOLLOW("second"));
        await w.wish(FOLLOW("third"));
        await w.go();
        expect(w.state().followUps.map((f) => f.text)).toEqual(["second", "third"]);
        const [q] = w.state().turn?.questions.values() ?? [];
        if (q === undefined) throw new Error("there is no question");
        await w.wish({ kind: "answer", approval: q.approval, digest: q.digest, answer: { kind: "approve" } });
        const s = await w.go();
        expect(w.events("turn.started").map((e) => e.input)).toEqual(["first", "second", "third"]);
        expect(w.events("turn.ended").map((e) => e.output)).toEqual(["answer 1", "answer 2", "answer 3"]);
        expect(s.followUps).toEqual([]);
        expect(fold(w.entries())?.followUps).toEqual([]);
      }
  });

  test("L-20 cancelling the turn keeps what is to follow it, unless that is cancelled too", async () => {
    const { w } = setup([reply.text("later")], {
      rows: [
        { id: "ask", action: "model", verdict: "ask" },
        { id: "all", action: "*", verdict: "allow" },
      ],
    });
    await w.run("first");
    for (const text of ["second", "third", "fourth"]) await w.wish(FOLLOW(text));
    await w.wish({ kind: "cancel", reason: "enough" });
    await w.go();
    expect(w.events("turn.ended").map((e) => e.ending)).toEqual(["cancelled"]);
    expect(w.state().turn?.number).toBe(2);
    await w.wish({ kind: "cancel-all", reason: "all of it" });
    const s = await w.go();
    expect(w.events("turn.ended").map((e) => e.ending)).toEqual(["cancelled", "cancelled"]);
    expect(s.followUps).toEqual([]);
    expect(s.turn).toBeNull();
  });

  test("L-20 whoever stops driving leaves what is to follow in its place, and so does a halt", async () => {
    const stop = new AbortController();
    const { w, model } = setup([reply.text("second"), reply.text("third")]);
    stop.abort("closing");
    await w.run("first", stop.signal);
    await w.wish(FOLLOW("second"));
    await w.wish(FOLLOW("third"));
    await w.go(stop.signal);
    expect(w.state().followUps).toHaveLength(2);
    await w.order({ kind: "work.halted", scope: "all", by: { kind: "user", id: "ann" }, reason: "fire" });
    await w.go();
    expect(w.state().followUps).toHaveLength(2);
    await w.order({ kind: "work.resumed", scope: "all", by: { kind: "user", id: "ann" }, reason: "out" });
    expect((await w.go()).last).toMatchObject({ turn: 3, output: "third" });
    model.done();
  });
});
