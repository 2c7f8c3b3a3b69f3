/**
 * Two levels of delegates, processes that die around any append, effect or model call, people who answer, cancel and take up whichever session
 * they please: nothing is lost, nothing is doubled, and every budget holds after every event.
 */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { defineTool } from "../../agents/define-tool.ts";
import type { Row } from "../../gate/table.ts";
import type { Model } from "../../reason/port.ts";
import { arbitraries, type CrashPoint, PERMIT_ALL, readAll, type World, world } from "../../testing/index.ts";
import { DELEGATE, type Entry, type JournalEvent, type Repeat, type ReplyPart, type SessionId, type Tool } from "../../vocab/index.ts";
import { emptyState, evolve, fold } from "../evolve.ts";
import { sha256 } from "../fixtures/stage.ts";
import { listOverdrawn } from "../limits/budgets.ts";
import type { Ports } from "../ports.ts";
import type { State } from "../state.ts";

const RUNS = Number(process.env["ORGATE_CRASH_RUNS"] ?? 250);

/** Calls in a reply: tools or delegates, by name. */
type Wanted = "fire" | "put" | "look" | "mid" | "other" | "leaf";
type Plan = readonly (readonly Wanted[])[];
type Plans = Readonly<{ tester: Plan; mid: Plan; other: Plan; leaf: Plan }>;

const tools = fc.constantFrom<Wanted>("fire", "put", "look");
const plan = (one: fc.Arbitrary<Wanted>, most: number) =>
  fc.array(fc.array(one, { minLength: 1, maxLength: most }), { minLength: 1, maxLength: 2 });
const plans: fc.Arbitrary<Plans> = fc.record({
  tester: plan(fc.oneof(tools, fc.constantFrom<Wanted>("mid", "mid", "other")), 3),
  mid: plan(fc.oneof(tools, fc.constant<Wanted>("leaf")), 2),
  other: plan(tools, 2),
  leaf: plan(tools, 2),
});
type Weather = Readonly<{
  asked: Wanted | null;
  yes: readonly boolean[];
  toolsAtOnce: number;
  cancelAfter: number | null;
  from: "top" | "below";
}>;
const weathers: fc.Arbitrary<Weather> = fc.record({
  asked: fc.option(tools, { freq: 2 }),
  yes: fc.array(fc.boolean(), { minLength: 1, maxLength: 3 }),
  toolsAtOnce: fc.integer({ min: 1, max: 4 }),
  cancelAfter: fc.option(fc.nat({ max: 20 }), { freq: 4 }),
  from: fc.constantFrom("top", "below"),
});
const crashes = fc.array(arbitraries(fc).crashPoints(14), { minLength: 1, maxLength: 4 });

/** The same words at the same place in the conversation, however often it is asked. */
function planned(name: string, plan: Plan): Model {
  return {
    id: `planned/${name}`,
    ask: async (request) => {
      const at = request.messages.filter((m) => m.role === "assistant").length;
      const wanted = plan[at] ?? [];
      const call = (one: Wanted, i: number): ReplyPart => {
        const isTool = one === "fire" || one === "put" || one === "look";
        const args = isTool ? { at, i } : { agent: one, task: `${name} wants ${at}.${i}`, budget: { iterations: 8 } };
        return { kind: "call", id: `${at}.${i}`, tool: isTool ? one : DELEGATE, text: JSON.stringify(args), meta: null };
      };
      const parts: readonly ReplyPart[] = wanted.length > 0 ? wanted.map(call) : [{ kind: "text", text: `${name} is done`, meta: null }];
      return { parts, finish: wanted.length > 0 ? "calls" : "stop", usage: { input: 50, output: 10 }, model: name, meta: null };
    },
  };
}

type Staged = Readonly<{ w: World; effects: readonly { readonly key: string; readonly tool: string }[]; weather: Weather }>;

function stage(given: Plans, crashing: readonly CrashPoint[], weather: Weather, spoil: (p: Ports) => Ports = (p) => p): Staged {
  const effects: { key: string; tool: string }[] = [];
  let appends = 0;
  const tool = (name: Wanted, repeat: Repeat): Tool =>
    defineTool({
      name,
      description: name,
      input: { type: "object", properties: { at: { type: "integer" }, i: { type: "integer" } } },
      repeat,
      labels: [name],
      resource: ({ at, i }) => ({ type: "Tool", id: `${String(at)}.${String(i)}` }),
      run: (_, { key }) => {
        effects.push({ key, tool: name });
        return `${name} ran`;
      },
    });
  const box = [tool("fire", "once"), tool("put", "idempotent"), tool("look", "read")];
  const rows: readonly Row[] = [
    ...(weather.asked === null ? [] : [{ id: "ask", action: `tool:${weather.asked}`, verdict: "ask" } as const]),
    ...PERMIT_ALL,
  ];
  const poked = (p: Ports): Ports => ({
    ...p,
    journal: {
      ...p.journal,
      append: async (a) => {
        const first = await p.journal.append(a);
        if (appends++ === weather.cancelAfter) {
          const at = w.session();
          w.turnTo(rootOf(w) ?? at);
          await w.wish({ kind: "cancel", reason: "enough" });
          w.turnTo(at);
        }
        return first;
      },
    },
  });
  const w: World = world({
    hash: sha256,
    model: planned("tester", given.tester),
    tools: box,
    delegates: ["mid", "other"],
    others: {
      mid: { model: planned("mid", given.mid), tools: box, delegates: ["leaf"] },
      other: { model: planned("other", given.other), tools: box },
      leaf: { model: planned("leaf", given.leaf), tools: box },
    },
    rows,
    limits: { toolsAtOnce: weather.toolsAtOnce, iterations: 200, tokens: 1_000_000 },
    crashes: crashing,
    spoil: (p) => spoil(poked(p)),
  });
  return { w, effects, weather };
}

const rootOf = (w: World): SessionId | null => [...w.disk.sessions.values()].find((s) => s.parent === null)?.session ?? null;
const entriesOf = (w: World, session: SessionId): readonly Entry[] => readAll(w.disk, session, sha256);
const stateOf = (w: World, session: SessionId): State => fold(entriesOf(w, session)) ?? fail("the session is empty");
const of = <K extends JournalEvent["kind"]>(entries: readonly Entry[], kind: K): readonly Extract<JournalEvent, { kind: K }>[] =>
  entries.flatMap(({ event }) => (event.kind === kind ? [event as Extract<JournalEvent, { kind: K }>] : []));
function fail(why: string): never {
  throw new Error(why);
}

/** People answer what is open, in whichever session, and take up the one they answered, or the one at the top. */
async function toTheEnd({ w, weather }: Staged): Promise<number> {
  await w.run("go");
  const root = rootOf(w) ?? fail("nothing was opened");
  let [drives, said] = [1, 0];
  for (; drives < 60 && stateOf(w, root).turn !== null; drives += 1) {
    const open = [...w.disk.questions];
    for (const q of open) {
      w.turnTo(q.session);
      const answer = weather.yes[said++ % weather.yes.length] ? ({ kind: "approve" } as const) : ({ kind: "deny", reason: "no" } as const);
      await w.wish({ kind: "answer", approval: q.approval, digest: q.digest, answer });
    }
    const first = open[0]?.session ?? root;
    w.turnTo(weather.from === "below" && drives % 2 === 1 ? first : root);
    await w.go();
  }
  w.turnTo(root);
  return drives;
}

function checkRules({ w, effects }: Staged): void {
  const keys = (tool: string) => effects.filter((e) => e.tool === tool).map((e) => e.key);
  expect(new Set(keys("fire")).size, "L-7 no `once` effect twice").toBe(keys("fire").length);
  const sessions = [...w.disk.sessions.keys()];
  const opened = sessions.flatMap((s) => of(entriesOf(w, s), "child.opened").map((e) => ({ ...e, parent: s })));
  expect(opened.map((e) => e.child).sort(), "D-2 every delegate has its parent's word, and every word its delegate").toEqual(
    sessions.filter((s) => s !== w.session()).sort(),
  );
  for (const session of sessions) checkSession(w, session);
  for (const { child, parent, call } of opened) {
    const [first] = entriesOf(w, child);
    expect(first?.event, "D-2 it names the call that it is for").toMatchObject({ parent: { session: parent, call } });
    const told = of(entriesOf(w, parent), "child.ended").filter((e) => e.child === child);
    const [ended] = of(entriesOf(w, child), "turn.ended");
    expect(told, "D-2 its ending is told exactly once, as it was").toMatchObject([{ call, ending: ended?.ending, output: ended?.output }]);
    const missing = [...stateOf(w, child).labels].filter((l) => !stateOf(w, parent).labels.has(l));
    expect(missing, "D-3 its labels have come back").toEqual([]);
  }
  expect(
    [...w.disk.inbox.values()].filter((row) => row.intent !== null && row.session !== w.session()),
    "D-2 no word is left lying",
  ).toEqual([]);
}

function checkSession(w: World, session: SessionId): void {
  const entries = entriesOf(w, session);
  expect(of(entries, "turn.ended"), "L-4 one ending per turn").toHaveLength(1);
  const starts = of(entries, "child.opened").map((e) => e.call);
  expect(new Set(starts).size, "D-2 one delegate per call").toBe(starts.length);
  const calls = of(entries, "model.replied").flatMap((e) => e.parts.flatMap((p) => (p.kind === "call" ? [p.wireId] : [])));
  const results = stateOf(w, session).messages.flatMap((m) => (m.role === "tool" ? [m.wireId] : []));
  expect(results, "L-10 one observation per call, in order").toEqual(calls);
  const [first] = entries;
  if (first?.event.kind !== "session.opened") throw new Error("a session starts with its opening");
  const state = emptyState(session, first.event);
  for (const entry of entries) expect(listOverdrawn(evolve(state, entry)), `D-7 within its limits after ${entry.event.kind}`).toEqual([]);
  expect(
    [...state.reserved.keys()].filter((call) => starts.includes(call)),
    "D-7 nothing stays set aside for a delegate",
  ).toEqual([]);
  const lost = starts.filter((call) => !of(entries, "act.ended").some((e) => e.call === call));
  expect(lost, "D-4 a turn ends after its delegates").toEqual([]);
}

describe("crashes with delegates", () => {
  test("D-6 two levels of delegates and a crash around anything: one delegate per call, one ending and one word each, every budget kept", async () => {
    let [resumed, below] = [0, 0];
    await fc.assert(
      fc.asyncProperty(plans, crashes, weathers, async (given, crashing, weather) => {
        const staged = stage(given, crashing, weather);
        const drives = await toTheEnd(staged);
        checkRules(staged);
        if (staged.w.processes() > drives) resumed += 1;
        if (staged.w.disk.sessions.size > 2) below += 1;
      }),
      { numRuns: RUNS },
    );
    expect(resumed).toBeGreaterThan(RUNS / 8); // a crash test in which nothing crashes proves nothing
    expect(below).toBeGreaterThan(RUNS / 4); // nor does one without delegates
  });

  const calm: Weather = { asked: null, yes: [true], toolsAtOnce: 3, cancelAfter: null, from: "top" };
  const fixed: Plans = { tester: [["mid", "fire", "other"], ["mid"]], mid: [["leaf", "fire"]], other: [["put"]], leaf: [["fire"]] };

  test("D-6 every single crash point of one run with six sessions", async () => {
    const quiet = stage(fixed, [], calm);
    await toTheEnd(quiet);
    expect(quiet.w.state().last).toMatchObject({ ending: "completed", output: "tester is done" });
    expect(quiet.w.disk.sessions.size).toBe(6);
    for (const of_ of ["append", "effect", "model"] as const)
      for (const when of ["before", "after"] as const)
        for (let nth = 0; nth < 40; nth += 1) {
          const staged = stage(fixed, [{ of: of_, when, nth }], calm);
          await toTheEnd(staged);
          checkRules(staged);
          if (staged.w.processes() === 1) break; // there are no more
        }
  });

  /** The crashes after an append of the run above, on a runtime broken on purpose: one of them has to tell. */
  async function isNoticed(spoil: (p: Ports) => Ports): Promise<boolean> {
    for (let nth = 0; nth < 40; nth += 1) {
      const staged = stage(fixed, [{ of: "append", when: "after", nth }], calm, spoil);
      try {
        await toTheEnd(staged);
        checkRules(staged);
      } catch {
        return true;
      }
    }
    return false;
  }

  test("D-6 control: the unbroken runtime passes the very same check", async () => {
    expect(await isNoticed((p) => p)).toBe(false);
  });

  test("D-6 a journal that opens delegates in a transaction of their own is noticed", async () => {
    const apart = (p: Ports): Ports => ({
      ...p,
      journal: {
        ...p.journal,
        append: async ({ opens = [], ...a }) => {
          const first = await p.journal.append(a);
          for (const { session, events } of opens) {
            const hold = await p.journal.take(session);
            await p.journal.append({ stream: session, after: 0 as typeof a.after, hold, events, consumes: [], unlessHalted: [] });
            await p.journal.release(hold);
          }
          return first;
        },
      },
    });
    expect(await isNoticed(apart)).toBe(true);
  });

  test("D-6 a journal that tells of an ending in a transaction of its own is noticed", async () => {
    const apart = (p: Ports): Ports => ({
      ...p,
      journal: {
        ...p.journal,
        append: async ({ tells = [], ...a }) => {
          const first = await p.journal.append(a);
          for (const intent of tells) await p.inbox.put(intent);
          return first;
        },
      },
    });
    expect(await isNoticed(apart)).toBe(true);
  });
});
