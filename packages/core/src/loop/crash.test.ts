/**
 * The proof of the spine: random scripts × limits × policies × crashes around every append, every effect and every model call × what people do meanwhile.
 * Each rule that is proved here is also broken on purpose below, and the break must be noticed.
 */
import { hash as nodeHash } from "node:crypto";
import { setImmediate } from "node:timers/promises";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { defineMiddleware } from "../agents/define-middleware.ts";
import type { Row } from "../gate/table.ts";
import type { Model } from "../reason/port.ts";
import {
  arbitraries,
  type CrashPoint,
  PERMIT_ALL,
  SCRIPT_TOOLS,
  type Script,
  type Step,
  scriptTools,
  type World,
  world,
} from "../testing/index.ts";
import {
  type Attachment,
  callKey,
  type Digest,
  digest,
  eventsIn,
  FaultError,
  type Hash,
  type IntentBody,
  type JsonObject,
  type Middleware,
  type ToolContext,
  toCanonicalJson,
} from "../vocab/index.ts";
import { findLeave } from "./fixtures/stage.ts";
import type { Ports } from "./ports.ts";
import { callsIn, type State } from "./state.ts";

const sha256: Hash = (text): Digest => digest(nodeHash("sha256", text, "hex"));
const arb = arbitraries(fc);
const RUNS = Number(process.env["ORGATE_CRASH_RUNS"] ?? 400);

/** Effects that the outside world saw. It does not crash. */
type Outside = {
  readonly effects: { key: string; tool: string; allowed: boolean; start: number }[];
  readonly asked: { iteration: number; recorded: boolean; shown: boolean }[];
};

/** The task's attachment: every request of every process shows it. */
const PIXEL: Attachment = {
  kind: "image",
  mediaType: "image/png",
  name: "pixel.png",
  base64: "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
};

/** Replies by how far the conversation is: the same place gets the same reply, whoever asks. */
function placedModel(steps: readonly Step[], outside: Outside, recorded: (iteration: number) => boolean): Model {
  return {
    id: "placed/model",
    ask: async (request) => {
      const at = request.messages.filter((m) => m.role === "assistant").length;
      const [task] = request.messages;
      const shown = task?.role === "user" && toCanonicalJson(task.files ?? []) === toCanonicalJson([PIXEL]);
      outside.asked.push({ iteration: at + 1, recorded: recorded(at + 1), shown });
      const step = steps[at];
      if (step === undefined || step.kind !== "reply")
        throw new FaultError({ kind: "model-failed", detail: "off the script", again: false, broke: false });
      return { parts: step.parts, finish: step.finish, usage: step.usage, model: "placed/model", meta: step.meta };
    },
  };
}

/** Conditions of a run: limits, policies, and people who answer, steer and cancel. */
type Weather = Readonly<{
  toolsAtOnce: number;
  calls: number;
  iterations: number;
  /** A tool that only runs when a person lets it, and one of which a turn has only so many calls. */
  asked: string | null;
  few: Readonly<{ tool: string; most: number }> | null;
  /** Answers of people, in order, then from the start again. */
  yes: readonly boolean[];
  /** The developer's own code at every stage, answering at once or in its own time. */
  middleware: "none" | "sync" | "async";
  /** Said right after the n-th append, counted over all processes. */
  pokes: readonly Readonly<{ after: number; wish: IntentBody }>[];
}>;

const CALM: Weather = { toolsAtOnce: 5, calls: 200, iterations: 25, asked: null, few: null, yes: [true], middleware: "none", pokes: [] };

const toolNames = fc.constantFrom(...Object.values(SCRIPT_TOOLS));
const pokes = fc.record({
  after: fc.nat({ max: 14 }),
  wish: fc.constantFrom<IntentBody>({ kind: "cancel", reason: "enough" }, { kind: "steer", text: "and mind the gap", files: [PIXEL] }),
});
const weathers: fc.Arbitrary<Weather> = fc.record({
  toolsAtOnce: fc.integer({ min: 1, max: 3 }),
  calls: fc.oneof({ weight: 1, arbitrary: fc.integer({ min: 1, max: 5 }) }, { weight: 2, arbitrary: fc.constant(200) }),
  iterations: fc.oneof({ weight: 1, arbitrary: fc.integer({ min: 1, max: 4 }) }, { weight: 2, arbitrary: fc.constant(25) }),
  asked: fc.option(toolNames, { freq: 2 }),
  few: fc.option(fc.record({ tool: toolNames, most: fc.integer({ min: 1, max: 2 }) }), { freq: 2 }),
  yes: fc.array(fc.boolean(), { minLength: 1, maxLength: 3 }),
  middleware: fc.constantFrom("none", "none", "none", "sync", "async"),
  pokes: fc.oneof(fc.constant([]), fc.array(pokes, { maxLength: 2 })),
});
const crashes = fc.array(arb.crashPoints(8), { minLength: 1, maxLength: 3 });

function rowsOf({ asked, few }: Weather): readonly Row[] {
  const asking = asked === null ? [] : [{ id: "ask-first", action: `tool:${asked}`, verdict: "ask" } as const];
  if (few === null) return [...asking, ...PERMIT_ALL];
  const { tool, most } = few;
  return [
    { id: "few", action: `tool:${tool}`, callsBelow: most, verdict: tool === asked ? "ask" : "allow" },
    { id: "enough", action: `tool:${tool}`, verdict: "deny" },
    ...asking,
    ...PERMIT_ALL,
  ];
}

/** Marks whatever it may change, at every stage: what is marked twice was seen twice. */
const MARK = "\u2021";
function marking(how: Weather["middleware"]): readonly Middleware[] {
  if (how === "none") return [];
  const answer = <T>(value: T): T | Promise<T> => (how === "sync" ? value : Promise.resolve(value));
  return [
    defineMiddleware({
      name: "mark",
      userMessage: (text) => answer(text + MARK),
      beforeModel: ({ system }, { note, iteration }) => {
        note("asked", iteration);
        return answer({ system: system + MARK });
      },
      afterModel: ({ text }) => answer(text.trim() === "" ? {} : { text: text + MARK }),
      beforeTool: ({ args }) => answer({ kind: "arguments", args: { ...(args as JsonObject), say: MARK } } as const),
      afterTool: ({ text }) => answer(text + MARK),
    }),
  ];
}

type Staged = Readonly<{ w: World; outside: Outside; weather: Weather }>;

function stage(
  script: Script,
  crashing: readonly CrashPoint[],
  weather: Weather = CALM,
  spoil: (p: Ports, w: () => World) => Ports = (p) => p,
): Staged {
  const outside: Outside = { effects: [], asked: [] };
  const effect = async (tool: string, args: JsonObject, { key, start }: ToolContext) => {
    const call = key.slice(key.indexOf("/") + 1);
    const allowed = findLeave(w, call, (e) => callKey(w.session(), e.call, e.edition) === key && e.start === start) !== null;
    outside.effects.push({ key, tool, start, allowed });
    return `${tool} ${String(args["n"])}`;
  };
  const happened = (key: string) => outside.effects.some((e) => e.key === key);
  const model = placedModel(script.steps, outside, (n) => w.events("model.replied").some((e) => e.iteration === n));
  const { toolsAtOnce, calls, iterations } = weather;
  const w: World = world({
    hash: sha256,
    model,
    tools: scriptTools(effect, happened),
    rows: rowsOf(weather),
    limits: { toolsAtOnce, calls, iterations },
    files: [PIXEL],
    middleware: marking(weather.middleware),
    crashes: crashing,
    spoil: (p) =>
      spoil(
        poked(p, weather, () => w),
        () => w,
      ),
  });
  return { w, outside, weather };
}

const appends = new WeakMap<World, number>();
function poked(p: Ports, { pokes }: Weather, w: () => World): Ports {
  const append: Ports["journal"]["append"] = async (a) => {
    const first = await p.journal.append(a);
    const nth = appends.get(w()) ?? 0;
    appends.set(w(), nth + 1);
    for (const { after, wish } of pokes) if (after === nth) await w().wish(wish);
    return first;
  };
  return { ...p, journal: { ...p.journal, append } };
}

/** Every drive leaves what its journal says, and a turn that goes on has something to wait for. */
function checkRest(w: World, live: State): void {
  const durable = w.state();
  expect(live, "L-22 the live state is the fold of what is durable").toEqual(durable);
  const t = durable.turn;
  if (t === null) return;
  const waits = [...t.questions.values()].some((q) => q.answer === null) || callsIn(t).some((c) => c.gated.kind === "deferred");
  expect(waits, "Q-2 a session that waits has a question open, or something put off").toBe(true);
}

/** People answer until it is over: look-alikes ask (rule 4), and so may a policy. Says how many drives it took. */
async function toTheEnd({ w, weather }: Staged, input: string): Promise<number> {
  checkRest(w, await w.run(input));
  let [drives, said] = [1, 0];
  for (; drives < 40 && w.state().turn !== null; drives += 1) {
    for (const q of w.state().turn?.questions.values() ?? []) {
      if (q.answer !== null) continue;
      const answer = weather.yes[said++ % weather.yes.length] ? ({ kind: "approve" } as const) : ({ kind: "deny", reason: "no" } as const);
      await w.wish({ kind: "answer", approval: q.approval, digest: q.digest, answer });
    }
    checkRest(w, await w.go());
  }
  return drives;
}

const onceKeys = (o: Outside) => o.effects.filter((e) => e.tool === SCRIPT_TOOLS.once).map((e) => e.key);
const keyTwice = (o: Outside, tool: string) =>
  new Set(o.effects.filter((e) => e.tool === tool).map((e) => e.key)).size < o.effects.filter((e) => e.tool === tool).length;

function checkRules({ w, outside, weather }: Staged): void {
  expect(
    outside.effects.filter((e) => !e.allowed),
    "L-5 no effect without a durable allow and its act.started",
  ).toEqual([]);
  expect(new Set(onceKeys(outside)).size, "L-7 no `once` effect twice").toBe(onceKeys(outside).length);
  expect(keyTwice(outside, SCRIPT_TOOLS.reconcile), "L-7 no `reconcile` effect twice: the tool was asked first").toBe(false);
  expect(
    outside.asked.filter((a) => a.recorded),
    "M-4 no recorded model reply is requested again",
  ).toEqual([]);
  expect(
    outside.asked.filter((a) => !a.shown),
    "M-21 the task's file is in every request, whichever process makes it",
  ).toEqual([]);
  expect(w.events("turn.ended"), "L-4 one ending per turn").toHaveLength(1);
  expect(
    w.entries().map((e) => e.seq),
    "J-1 sequences without gap",
  ).toEqual(w.entries().map((_, i) => i + 1));
  const calls = heard(w).flatMap((e) => e.parts.flatMap((p) => (p.kind === "call" ? [p.wireId] : [])));
  const results = w.state().messages.flatMap((m) => (m.role === "tool" ? [m.wireId] : []));
  expect(results, "L-10 one observation per call, in order").toEqual(calls);
  checkLimits(w, weather);
  checkMarks(w, weather);
  checkLeave(w, weather);
  checkTold(w);
}

/** Replies that became part of the conversation: one that was stopped while middleware looked at it is withheld, on record only. */
function heard(w: World) {
  const events = w.entries().map((e) => e.event);
  return events.flatMap((e, i) => {
    const before = events[i - 1];
    const isWithheld = before?.kind === "middleware.failed" && before.stage === "after-model";
    return e.kind === "model.replied" && !isWithheld ? [e] : [];
  });
}

/** Each thing that middleware may change was changed once, whatever crashed. */
function checkMarks(w: World, { middleware }: Weather): void {
  if (middleware === "none") return;
  const marks = (text: string) => text.split(MARK).length - 1;
  const shown = new Map<string, number[]>();
  const ran: string[] = [];
  for (const e of w.entries().flatMap(({ event }) => eventsIn(event))) {
    if (e.kind === "turn.started") expect(marks(e.input), "H-2 a word is seen once").toBe(1);
    else if (e.kind === "input.steered") expect(marks(e.text), "H-2 a word is seen once").toBe(1);
    else if (e.kind === "middleware.applied" && e.change.kind === "observation" && e.call !== null)
      shown.set(e.call, [...(shown.get(e.call) ?? []), marks(e.change.text)]);
    else if (e.kind === "middleware.failed" && e.stage === "after-tool" && e.call !== null)
      shown.set(e.call, [1]); // stopped while it looked: withheld
    else if (e.kind === "act.ended" && e.outcome.kind === "done") ran.push(e.call);
    else if (e.kind === "gate.decided" && e.action.kind === "call" && e.action.args !== null)
      expect(e.action.args["say"], "H-5 what is decided is what was rewritten").toBe(MARK);
  }
  for (const call of ran) expect(shown.get(call), "H-2 a result is shown once").toEqual([1]);
}

function checkLimits(w: World, { calls, iterations, toolsAtOnce, few }: Weather): void {
  const started = new Map(w.events("act.started").map((e) => [e.call, toolOf(w, e.call)]));
  expect(started.size, "L-16 no call beyond the limit").toBeLessThanOrEqual(calls);
  expect(w.events("model.replied").length, "L-3 no reply beyond the limit").toBeLessThanOrEqual(iterations);
  if (few !== null)
    expect([...started.values()].filter((tool) => tool === few.tool).length, "G a counter is never overrun").toBeLessThanOrEqual(few.most);
  const running = new Set<string>();
  let most = 0;
  for (const { event: e } of w.entries()) {
    if (e.kind === "hold.taken") running.clear();
    else if (e.kind === "act.started") running.add(e.call);
    else if (e.kind === "act.ended" || e.kind === "recovery.applied") running.delete(e.call);
    most = Math.max(most, running.size);
  }
  expect(most, "L-2 no more at once than the limit").toBeLessThanOrEqual(toolsAtOnce);
}

const toolOf = (w: World, call: string): string =>
  w.events("model.replied").flatMap((e) => e.parts.flatMap((p) => (p.kind === "call" && p.id === call ? [p.tool] : [])))[0] ?? "";

/** Each call of a tool that is asked about has used up an answer of its own, which covers it through lost processes too; and nothing is begun once a person has said stop. */
function checkLeave(w: World, { asked }: Weather): void {
  const used = w.events("approval.consumed");
  expect(new Set(used.map((e) => e.approval)).size, "Q-3 an answer is used once").toBe(used.length);
  for (const { call } of w.events("act.started")) {
    if (toolOf(w, call) !== asked) continue;
    const starts = w.events("act.started").filter((e) => e.call === call).length;
    const answers = used.filter((e) => (e.action as string) === call).length;
    expect(answers, "Q-3 no call starts without an answer of its own").toBeGreaterThanOrEqual(1);
    expect(answers, "Q-3 no answer is used without a start").toBeLessThanOrEqual(starts);
  }
  const kinds = w.entries().map((e) => e.event.kind);
  const cancelled = kinds.indexOf("turn.cancel-asked");
  const begun = Math.max(kinds.lastIndexOf("act.started"), kinds.lastIndexOf("model.asked"));
  if (cancelled >= 0) expect(begun, "L-18 nothing begins after a cancel").toBeLessThan(cancelled);
}

/** Every call that started has a recorded end: it ended, or its tool says that it did not happen. */
function checkTold(w: World): void {
  const ended = new Set(w.events("act.ended").map((e) => e.call));
  const undone = new Set(w.events("recovery.applied").flatMap((e) => (e.found === "did-not-happen" ? [e.call] : [])));
  const untold = w.events("act.started").filter((e) => !ended.has(e.call) && !undone.has(e.call));
  expect(untold, "L-16 no started call is left untold").toEqual([]);
}

describe("crashes", { timeout: 120_000 }, () => {
  test("L-7 a crash around any append, effect or model call: nothing twice, nothing unallowed, nothing lost, one ending", async () => {
    let resumed = 0;
    await fc.assert(
      fc.asyncProperty(arb.scripts, crashes, weathers, async (script, crashing, weather) => {
        const staged = stage(script, crashing, weather);
        const drives = await toTheEnd(staged, script.input);
        if (staged.w.processes() > drives) resumed += 1;
        checkRules(staged);
        await equalWhereOutcomesAre(script, staged);
      }),
      { numRuns: RUNS },
    );
    expect(resumed).toBeGreaterThan(RUNS / 8); // a crash test in which nothing crashes proves nothing
  });

  test("L-7 every single crash point of one run of three iterations with two parallel calls", async () => {
    const call = (tool: string, n: number) =>
      ({ kind: "call", id: `${tool}${n}`, tool, text: JSON.stringify({ n, say: "" }), meta: null }) as const;
    const reply = (...parts: Extract<Step, { kind: "reply" }>["parts"]): Step => ({
      kind: "reply",
      parts,
      finish: parts.some((p) => p.kind === "call") ? "calls" : "stop",
      usage: { input: 3, output: 2 },
      meta: null,
    });
    const steps = [
      reply(call("fire", 1), call("put", 2)),
      reply(call("look", 1), call("send", 2)),
      reply(call("fire", 3), call("fire", 2)),
      reply({ kind: "text", text: "done", meta: null }),
    ];
    for (const of of ["append", "effect", "model"] as const)
      for (const when of ["before", "after"] as const)
        for (let nth = 0; nth < 14; nth += 1)
          for (const middleware of ["none", "async"] as const) {
            const staged = stage({ input: "go", steps }, [{ of, when, nth }], { ...CALM, middleware });
            await toTheEnd(staged, "go");
            checkRules(staged);
            const output = middleware === "none" ? "done" : `done${MARK}`;
            expect(staged.w.state().last).toMatchObject({ ending: "completed", output, iterations: 4 });
          }
  });
});

/** Where no outcome was lost, a crashed run ends with the same conversation as one that was not crashed. */
async function equalWhereOutcomesAre(script: Script, { w, weather }: Staged): Promise<void> {
  if (weather.asked !== null || weather.pokes.length > 0) return; // then it depends on what people were asked and when they spoke
  const lost = w.events("act.ended").some((e) => e.outcome.kind === "unknown") || w.events("model.asked").some((e) => e.attempt > 1);
  const reconciled = w.events("recovery.applied").length > 0; // then the tool's own words stand in place of the result
  if (lost || reconciled) return;
  const calm = stage(script, [], weather);
  await toTheEnd(calm, script.input);
  const said = (one: World) => one.state().messages.map(({ entry: _, ...words }) => words); // entries have other numbers where a process was lost
  expect(said(w)).toEqual(said(calm.w));
  expect(w.state().last).toMatchObject({ ...calm.w.state().last, activeMs: expect.anything() });
}

describe("breaks that must be noticed", { timeout: 120_000 }, () => {
  /** The property above, on a runtime broken on purpose: it has to fail. */
  async function isNoticed(spoil: (p: Ports, w: () => World) => Ports): Promise<boolean> {
    const property = fc.asyncProperty(arb.scripts, crashes, weathers, async (script, crashing, weather) => {
      const staged = stage(script, crashing, weather, spoil);
      await toTheEnd(staged, script.input);
      checkRules(staged);
    });
    const result = await fc.check(property, { numRuns: 300, endOnFailure: true });
    return result.failed;
  }

  test("L-7 control: the unbroken runtime passes the very same check", async () => {
    expect(await isNoticed((p) => p)).toBe(false);
  });

  test("L-5 a journal that answers before it is durable is noticed", async () => {
    const lying = (p: Ports): Ports => {
      let written: Promise<unknown> = Promise.resolve();
      const append: Ports["journal"]["append"] = (a) => {
        written = written
          .then(() => setImmediate())
          .then(() => p.journal.append(a))
          .catch(() => {});
        return Promise.resolve((a.after + 1) as Awaited<ReturnType<typeof p.journal.append>>);
      };
      return { ...p, journal: { ...p.journal, append } };
    };
    expect(await isNoticed(lying)).toBe(true);
  });

  test("L-7 a runtime that takes every tool for repeatable is noticed", async () => {
    const reckless = (p: Ports): Ports => ({
      ...p,
      tools: {
        ...p.tools,
        find: (name) => {
          const tool = p.tools.find(name);
          return tool === null ? null : { ...tool, repeat: "idempotent" };
        },
      },
    });
    expect(await isNoticed(reckless)).toBe(true);
  });

  test("M-4 a journal that loses model replies is noticed", async () => {
    const forgetful = (p: Ports): Ports => ({
      ...p,
      journal: {
        ...p.journal,
        read: async (stream, after, most) => (await p.journal.read(stream, after, most)).filter((e) => e.event.kind !== "model.replied"),
      },
    });
    expect(await isNoticed(forgetful)).toBe(true);
  });

  test("L-4 a journal that loses endings is noticed", async () => {
    const endless = (p: Ports): Ports => ({
      ...p,
      journal: {
        ...p.journal,
        append: (a) =>
          a.events.some((e) => e.event.kind === "turn.ended")
            ? p.journal.append({ ...a, events: [...a.events, ...a.events.filter((e) => e.event.kind === "turn.ended")] })
            : p.journal.append(a),
      },
    });
    expect(await isNoticed(endless)).toBe(true);
  });
});
