/** The conductor at work: what is asked of whom, what it shares, what becomes of it when a member does not complete, and crashes around anything. */
import { setImmediate } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { defineTool } from "../../agents/define-tool.ts";
import type { Row } from "../../gate/table.ts";
import { conductorModel, nextReply } from "../../reason/conductor.ts";
import type { Message, Model } from "../../reason/port.ts";
import { type CrashPoint, PERMIT_ALL, readAll, reply, type Step, scriptedModel, type World, world } from "../../testing/index.ts";
import { DELEGATE, type Entry, type EventKind, type JournalEvent, type SessionId, seq, type Tool } from "../../vocab/index.ts";
import { emptyState, evolve, fold } from "../evolve.ts";
import { sha256 } from "../fixtures/stage.ts";
import { listOverdrawn } from "../limits/budgets.ts";

const model = (...steps: readonly Step[]) => scriptedModel(steps);
const broken = (detail: string): Step => ({ kind: "failure", parts: [], detail, again: false, broke: false });
/** Says what it was given: the same to the same, however often it is asked. */
const echo = (name: string): Model => ({
  id: `echo/${name}`,
  ask: async ({ messages }) => {
    const said = messages.flatMap((m) => (m.role === "user" ? [m.text] : [])).join("\n");
    return {
      parts: [{ kind: "text", text: `${name} <${said}>`, meta: null }],
      finish: "stop",
      usage: { input: 10, output: 5 },
      model: name,
      meta: null,
    };
  },
});
const look = (labels: readonly string[]): Tool =>
  defineTool({ name: "look", description: "look", input: { type: "object", properties: {} }, repeat: "read", labels, run: () => "seen" });

type Cast = Readonly<Record<string, Readonly<{ model: Model; tools?: readonly Tool[] }>>>;
const staged = (
  others: Cast,
  more: Readonly<{ rows?: readonly Row[]; crashes?: readonly CrashPoint[]; toolsAtOnce?: number }> = {},
): World =>
  world({
    hash: sha256,
    model: conductorModel,
    prices: { input: 0, output: 0 },
    delegates: Object.keys(others),
    others,
    limits: {
      iterations: 200,
      tokens: 1_000_000,
      calls: 200,
      toolsAtOnce: more.toolsAtOnce ?? 8,
      contextTokens: 100_000,
      refusedInARow: 1,
    },
    rows: more.rows ?? PERMIT_ALL,
    crashes: more.crashes ?? [],
  });

const entriesOf = (w: World, session: SessionId): readonly Entry[] => readAll(w.disk, session, sha256);
const of = <K extends EventKind>(w: World, session: SessionId, kind: K): readonly Extract<JournalEvent, { kind: K }>[] =>
  entriesOf(w, session).flatMap(({ event }) => (event.kind === kind ? [event as Extract<JournalEvent, { kind: K }>] : []));
const inputs = (w: World) => w.children().map((child) => of(w, child, "turn.started")[0]?.input);
const endings = (w: World) => w.children().map((child) => of(w, child, "turn.ended")[0]?.ending);

describe("what is asked of whom", () => {
  test("S-17 chain: the next is given the task and what the one before it came to, with the labels that it gathered", async () => {
    const a = model(reply.calls([{ tool: "look", args: {} }]), reply.text("the bill is 12 euro"));
    const w = staged({ a: { model: a, tools: [look(["pii"])] }, b: { model: echo("b") } });
    const s = await w.run('/chain a b "what does it cost?"');
    expect(s.last?.ending).toBe("completed");
    expect(inputs(w)).toEqual([
      "what does it cost?",
      "what does it cost?\n\nWhat `a` came to, one step before you:\n\nthe bill is 12 euro",
    ]);
    expect(s.last?.output).toBe(`b <${inputs(w)[1]}>`);
    const [, second] = w.children();
    expect(of(w, second ?? w.session(), "session.opened")[0]?.labels).toContain("pii");
  });

  test("S-17 parallel: all at once, one answer with a part for each, in the order of the plan", async () => {
    const w = staged({ a: { model: echo("a") }, b: { model: echo("b") }, c: { model: echo("c") } });
    const s = await w.run('/parallel a b c "go"');
    expect(s.last).toMatchObject({
      ending: "completed",
      output: "## a\n\na <go>\n\n## b\n\nb <go>\n\n## c\n\nc <go>",
      iterations: 2,
      calls: 3,
    });
    const kinds = entriesOf(w, w.session()).map(({ event }) => event.kind);
    expect(kinds.lastIndexOf("child.opened"), "the last begins before the first has ended").toBeLessThan(kinds.indexOf("child.ended"));
  });

  test("S-17 debate: by turns, each with what the other said last and what it said itself", async () => {
    const a = model(reply.text("tea"), reply.text("still tea"));
    const b = model(reply.text("coffee"), reply.text("fine, tea"));
    const w = staged({ a: { model: a }, b: { model: b } });
    const s = await w.run('/debate a b 2 "tea or coffee?"');
    expect(s.last).toMatchObject({ ending: "completed", output: "## a\n\nstill tea\n\n## b\n\nfine, tea" });
    const [first, second, third, fourth] = inputs(w);
    expect(first).toContain("You are `a`.");
    expect(first).toContain("You speak first, then `b`.");
    expect(second).toMatch(/round 1 of 2. You are `b`.[\s\S]*What `a` said last:\n\ntea$/);
    expect(third).toMatch(/round 2 of 2. You are `a`.[\s\S]*What you said last:\n\ntea\n\nWhat `b` said last:\n\ncoffee$/);
    expect(fourth).toMatch(/What you said last:\n\ncoffee\n\nWhat `a` said last:\n\nstill tea$/);
  });

  test("S-16 what is no plan is told how plans are said, and begins nothing", async () => {
    const w = staged({ a: { model: echo("a") }, b: { model: echo("b") } });
    const s = await w.run("do something");
    expect(s.last?.output).toContain('/chain A B "task"');
    expect(w.children()).toEqual([]);
  });

  test("S-16 a second plan in the same session begins at its own first step; a word in between changes none", async () => {
    const w = staged({ a: { model: echo("a") }, b: { model: echo("b") } });
    await w.run('/chain a b "one"');
    const s = await w.say('/parallel a b "two"');
    expect(s.last).toMatchObject({ ending: "completed", output: "## a\n\na <two>\n\n## b\n\nb <two>" });
    expect(w.children()).toHaveLength(4);
  });

  test("S-16 the same conversation gets the same reply, also when only its last step is still shown", () => {
    const said: Message = { role: "user", text: '/chain a b c "go"', tokens: 1, entry: seq(2) };
    const first = nextReply([said]);
    expect(nextReply([said])).toEqual(first);
    const call = (step: number, agent: string): Message => ({
      role: "assistant",
      parts: [
        {
          kind: "call",
          id: `${step}.0`,
          wireId: `o2.${step}.0`,
          tool: DELEGATE,
          text: "",
          args: { kind: "json", value: { agent } },
          meta: null,
        } as never,
      ],
      tokens: 1,
      entry: seq(step + 2),
    });
    const result = (step: number): Message => ({
      role: "tool",
      wireId: `o2.${step}.0`,
      tool: DELEGATE,
      text: `came ${step}`,
      isError: false,
      tokens: 1,
      entry: seq(9),
    });
    const whole = nextReply([said, call(1, "a"), result(1), call(2, "b"), result(2)]);
    expect(nextReply([said, call(2, "b"), result(2)])).toEqual(whole);
    expect(whole.parts[0]).toMatchObject({ kind: "call", id: "o2.3.0" });
  });
});

describe("one budget", () => {
  test("S-16 every step has the same part of the budget, within which its own limits hold", async () => {
    const w = staged({ a: { model: echo("a") }, b: { model: echo("b") } });
    await w.run('/chain a b --budget tokens=30000,iterations=6 "go"');
    expect(of(w, w.session(), "child.opened").map(({ allotment: { tokens, iterations } }) => ({ tokens, iterations }))).toEqual([
      { tokens: 15_000, iterations: 3 },
      { tokens: 15_000, iterations: 3 },
    ]);
  });

  test("S-17 a member that runs out of its part ends the chain, and the next is not asked", async () => {
    const endless = (n: number): Step[] => Array.from({ length: n }, () => reply.calls([{ tool: "look", args: {} }]));
    const w = staged({ a: { model: model(...endless(2)), tools: [look([])] }, b: { model: echo("b") } });
    const s = await w.run('/chain a b --budget iterations=4 "go"');
    expect(s.last).toMatchObject({ ending: "failed", output: null });
    expect(s.last?.detail).toBe("step 1 of 2 did not complete: `a` [failed] a ended `out-of-iterations` (2 model calls were made)");
    expect(w.children()).toHaveLength(1);
  });
});

describe("who does not complete", () => {
  const rows = (...denied: readonly string[]): readonly Row[] => [
    ...denied.map((to): Row => ({ id: `no-${to}`, action: `delegate:${to}`, verdict: "deny" })),
    ...PERMIT_ALL,
  ];

  test("S-17 a parallel completes with those that did, and says who did not and why; with nobody it fails", async () => {
    const cast = { a: { model: echo("a") }, b: { model: model(broken("no such model")) } };
    const s = await staged(cast).run('/parallel a b "go"');
    expect(s.last?.ending).toBe("completed");
    expect(s.last?.output).toBe("## a\n\na <go>\n\n## b did not complete\n\n[failed] delegate: b ended `failed` (no such model)");
    const none = { a: { model: model(broken("no")) }, b: { model: model(broken("nor")) } };
    const t = await staged(none).run('/parallel a b "go"');
    expect(t.last).toMatchObject({ ending: "failed" });
    expect(t.last?.detail).toBe("none of 2 completed: `a` [failed] a ended `failed` (no); `b` [failed] b ended `failed` (nor)");
  });

  test("S-17 what no policy lets be ends `denied` where nobody else is asked, and is named where others answer", async () => {
    const cast = { a: { model: echo("a") }, b: { model: echo("b") } };
    const chain = await staged(cast, { rows: rows("a") }).run('/chain a b "go"');
    expect(chain.last?.ending).toBe("denied");
    const both = await staged(cast, { rows: rows("b") }).run('/parallel a b "go"');
    expect(both.last?.ending).toBe("completed");
    expect(both.last?.output).toContain("## b did not complete\n\n[denied by policy] delegate (no-b)");
  });

  test("S-17 a member that asks a person parks the whole, which goes on with the answer", async () => {
    const asking: readonly Row[] = [{ id: "ask", action: "tool:look", verdict: "ask" }, ...PERMIT_ALL];
    const a = model(reply.calls([{ tool: "look", args: {} }]), reply.text("seen it"));
    const w = staged({ a: { model: a, tools: [look([])] }, b: { model: echo("b") } }, { rows: asking });
    const parked = await w.run('/chain a b "go"');
    expect(parked.last).toBeNull();
    const root = w.session();
    const [question] = [...w.disk.questions];
    if (question === undefined) throw new Error("nobody was asked");
    w.turnTo(question.session);
    await w.wish({ kind: "answer", approval: question.approval, digest: question.digest, answer: { kind: "approve" } });
    await w.go(); // whoever answers drives the member on, and then the whole
    w.turnTo(root);
    expect(fold(entriesOf(w, root))?.last).toMatchObject({ ending: "completed" });
    expect(inputs(w)).toHaveLength(2);
  });
});

describe("a race", () => {
  const waiting = (stopped: string[]): Tool =>
    defineTool({
      name: "wait",
      description: "wait",
      input: { type: "object", properties: {} },
      repeat: "read",
      labels: [],
      run: (_, { signal }) =>
        new Promise<never>((_, reject) => {
          signal.addEventListener("abort", () => {
            stopped.push(String(signal.reason));
            reject(new Error("stopped"));
          });
        }),
    });
  const slow = () => model(reply.calls([{ tool: "wait", args: {} }]));

  test("S-17 the first that completes is enough: the other's tool is stopped, its session ends `cancelled`, and its words are no result", async () => {
    const stopped: string[] = [];
    const w = staged({ a: { model: slow(), tools: [waiting(stopped)] }, b: { model: echo("b") } });
    const s = await w.run('/race a b "go"');
    expect(s.last).toMatchObject({ ending: "completed", output: "b was first.\n\nb <go>" });
    expect(endings(w)).toEqual(["cancelled", "completed"]);
    expect(stopped).toHaveLength(1);
    const [loser] = w.children();
    expect(of(w, loser ?? w.session(), "turn.cancel-asked")[0]?.reason).toBe("called off: `b` was first");
    expect(of(w, w.session(), "act.ended").map(({ outcome }) => outcome.kind)).toEqual(["done", "failed"]);
  });

  test("S-17 of two that complete one is first, in the journal's order; what the other said is no result, though its session completed", async () => {
    const w = staged({ a: { model: echo("a") }, b: { model: echo("b") } });
    const s = await w.run('/race a b "go"');
    expect(endings(w)).toEqual(["completed", "completed"]);
    expect(of(w, w.session(), "act.ended").map(({ outcome }) => outcome.kind)).toEqual(["done", "failed"]);
    expect(s.last).toMatchObject({ ending: "completed", output: "a was first.\n\na <go>" });
  });

  test("S-17 who fails is not first; when nobody completes the race fails", async () => {
    const bad = () => model(broken("no"));
    const w = staged({ a: { model: bad() }, b: { model: echo("b") } });
    expect((await w.run('/race a b "go"')).last?.output).toBe("b was first.\n\nb <go>");
    const none = await staged({ a: { model: bad() }, b: { model: bad() } }).run('/race a b "go"');
    expect(none.last?.ending).toBe("failed");
  });

  test("S-17 what has not started when another was first does not, and what is asked about it is asked no more", async () => {
    const rows: readonly Row[] = [{ id: "ask", action: "delegate:a", verdict: "ask" }, ...PERMIT_ALL];
    const w = staged({ a: { model: echo("a") }, b: { model: echo("b") }, c: { model: echo("c") } }, { rows, toolsAtOnce: 1 });
    const s = await w.run('/race a b c "go"');
    expect(s.last).toMatchObject({ ending: "completed", output: "b was first.\n\nb <go>" });
    expect(w.children()).toHaveLength(1);
    expect([...w.disk.questions]).toEqual([]);
  });

  test("S-17 a loser that waits for a person is cancelled where it waits, with its question", async () => {
    const rows: readonly Row[] = [{ id: "ask", action: "tool:look", verdict: "ask" }, ...PERMIT_ALL];
    const late = Promise.withResolvers<void>();
    const a = model(reply.calls([{ tool: "look", args: {} }]));
    const b: Model = {
      ...echo("b"),
      async ask(...given) {
        await late.promise;
        return echo("b").ask(...given);
      },
    };
    const w = staged({ a: { model: a, tools: [look([])] }, b: { model: b } }, { rows });
    const running = w.run('/race a b "go"');
    while (w.disk.questions.length === 0) await setImmediate();
    late.resolve();
    expect((await running).last).toMatchObject({ ending: "completed", output: "b was first.\n\nb <go>" });
    expect(endings(w)).toEqual(["cancelled", "completed"]);
    expect([...w.disk.questions]).toEqual([]);
  });
});

describe("crashes", () => {
  const plans = ['/chain a b c "go"', '/parallel a b c "go"', '/race a b "go"', '/debate a b 2 "go"'];
  const cast = () => ({ a: { model: echo("a"), tools: [look([])] }, b: { model: echo("b") }, c: { model: echo("c") } });

  test.each(plans)("S-16 a crash around any append, effect or model call loses nothing and doubles nothing: %s", async (line) => {
    const quiet = staged(cast());
    const whole = await quiet.run(line);
    for (const of_ of ["append", "model"] as const)
      for (const when of ["before", "after"] as const)
        for (let nth = 0; nth < 60; nth += 1) {
          const w = staged(cast(), { crashes: [{ of: of_, when, nth }] });
          const s = await w.run(line);
          expect(s.last?.ending, `${of_} ${when} ${nth}`).toBe("completed");
          if (!line.startsWith("/race")) expect(s.last?.output).toBe(whole.last?.output);
          check(w);
          if (w.processes() === 1) break;
        }
  });

  /** One delegate for a step, one word of each ending, nothing left set aside, and at most one that was first. */
  function check(w: World): void {
    const root = w.session();
    const calls = of(w, root, "child.opened").map(({ call }) => call);
    expect(new Set(calls).size).toBe(calls.length);
    expect(
      of(w, root, "child.ended")
        .map(({ child }) => child)
        .sort(),
    ).toEqual([...w.children()].sort());
    const steps = of(w, root, "model.replied").flatMap((e) => e.parts.flatMap((p) => (p.kind === "call" ? [p.wireId] : [])));
    expect(new Set(steps).size, "no step is asked for twice").toBe(steps.length);
    const [first] = entriesOf(w, root);
    if (first?.event.kind !== "session.opened") throw new Error("a session starts with its opening");
    const state = emptyState(root, first.event);
    for (const entry of entriesOf(w, root)) expect(listOverdrawn(evolve(state, entry))).toEqual([]);
    expect([...state.reserved.keys()]).toEqual([]);
    for (const child of w.children()) expect(of(w, child, "turn.ended")).toHaveLength(1);
  }

  test("S-16 a crash right after another was first: whoever takes it up calls the loser off", async () => {
    const ran: string[] = [];
    const put = defineTool({
      name: "put",
      description: "put",
      input: { type: "object", properties: {} },
      repeat: "idempotent",
      labels: [],
      run: (_, { signal }) =>
        new Promise<never>((_, reject) => {
          ran.push("started");
          signal.addEventListener("abort", () => reject(new Error("stopped")));
        }),
    });
    const asks: Model = {
      id: "asks/put",
      ask: async () => ({
        parts: [{ kind: "call", id: "p", tool: "put", text: "{}", meta: null }],
        finish: "calls",
        usage: { input: 10, output: 5 },
        model: "asks",
        meta: null,
      }),
    };
    for (let nth = 0; nth < 30; nth += 1) {
      const w = staged({ a: { model: asks, tools: [put] }, b: { model: echo("b") } }, { crashes: [{ of: "append", when: "after", nth }] });
      const s = await w.run('/race a b "go"');
      expect(s.last, `after append ${nth}`).toMatchObject({ ending: "completed", output: "b was first.\n\nb <go>" });
      expect(endings(w)).toEqual(["cancelled", "completed"]);
      if (w.processes() === 1) break;
    }
    expect(ran.length).toBeGreaterThan(1);
  });
});
