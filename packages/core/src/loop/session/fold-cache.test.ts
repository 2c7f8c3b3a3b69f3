import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Journal } from "../../journal/port.ts";
import type { Model, ModelRequest } from "../../reason/port.ts";
import { estimateTokens } from "../../reason/tokens.ts";
import { type CrashPoint, reply, type Step, type World, world } from "../../testing/index.ts";
import { ERASURES, type IntentBody, label, type Principal, type SessionId, seq, toCanonicalJson, UNTRUSTED } from "../../vocab/index.ts";
import { fold } from "../evolve.ts";
import { APPROVE, open, PEOPLE, say, sha256, toolOf } from "../fixtures/stage.ts";
import type { Ports } from "../ports.ts";
import { takeSession } from "../resume.ts";
import type { State } from "../state.ts";
import { type BoundedFolds, type FoldCache, type FoldLimits, foldCache } from "./fold-cache.ts";
import { forkSession } from "./sessions.ts";

const ROOMY: FoldLimits = { sessions: 8, chars: 1_000_000, idleMs: 1_000 };
const OPERATOR: Principal = { kind: "user", id: "ann" };

/** Says what the newest words of a person tell it to: `look` and `pay` are calls, then an answer. The same request gets the same reply. */
function obedient(): Model {
  const step = ({ messages }: ModelRequest): Step => {
    const task = messages.findLastIndex((m) => m.role === "user");
    const words = messages[task];
    const said = messages.slice(task).filter((m) => m.role === "assistant").length;
    const wanted = (words?.role === "user" ? words.text.split(" ") : []).filter((word) => word === "look" || word === "pay");
    const tool = wanted[said];
    const id = `${tool}-${messages.length}-${estimateTokens(words?.role === "user" ? words.text : "")}`;
    return tool === undefined ? reply.text(`done ${said}`) : reply.calls([{ tool, args: { x: `site${said}.test` }, id }]);
  };
  return {
    id: "obedient/model",
    ask: async (request) => {
      const one = step(request);
      if (one.kind !== "reply") throw new Error("it only replies");
      return { parts: one.parts, finish: one.finish, usage: one.usage, model: "obedient/model", meta: one.meta };
    },
  };
}

const TOOLS = [
  toolOf("look", ({ x }) => `${x} says hello`, { repeat: "read", labels: [UNTRUSTED], targets: { x: { kind: "host" } } }),
  toolOf("pay", ({ x }) => `paid ${x}`, { targets: { x: { kind: "recipient" } } }),
];

describe("folds kept between turns", () => {
  const watched = (limits: FoldLimits = ROOMY) => {
    let [cache, reads]: [BoundedFolds | null, number] = [null, 0];
    let journal: Journal | null = null;
    const w: World = world({
      hash: sha256,
      model: obedient(),
      tools: TOOLS,
      folds: (found) => {
        journal = found;
        cache ??= foldCache(
          { journal: { hashAt: (...at) => now().hashAt(...at), streams: (name) => now().streams(name) }, elapsed: () => w.clock.elapsed() },
          limits,
        );
        return cache;
      },
      spoil: (p) => ({
        ...p,
        journal: {
          ...p.journal,
          read: async (...at) => {
            const entries = await p.journal.read(...at);
            reads += entries.length;
            return entries;
          },
        },
      }),
    });
    const now = (): Journal => journal ?? fail();
    const read = (): number => {
      const before = reads;
      reads = 0;
      return before;
    };
    return { w, read, cache: () => cache ?? fail() };
  };

  test("L-23 a session that is taken up again goes on from the fold that was left: nothing that was folded is read again", async () => {
    const { w, read } = watched();
    await w.run("look");
    read();
    await w.say("look pay");
    expect(read()).toBe(0);
    const alone = w.state();
    expect(alone.turns).toBe(2);
  });

  test("L-23 what others have appended meanwhile is read and folded on, and no more than that", async () => {
    const { w, read } = watched();
    await w.run("look");
    const p = { ...w.outside(), folds: foldCache({ journal: w.outside().journal, elapsed: () => 0 }) }; // another process
    const held = await takeSession(p, w.session(), w.state().agent);
    const events = [...held.begin, { kind: "labels.added", labels: [label("pii")], from: null } as const];
    await p.journal.append({
      stream: w.session(),
      after: held.state.seq,
      hold: held.hold,
      events: events.map((event) => ({ at: w.clock.now(), event })),
      consumes: [],
      unlessHalted: [],
    });
    await p.journal.release(held.hold);
    read();
    await w.say("look");
    expect(read()).toBe(events.length);
    expect([...w.state().labels]).toContain("pii");
    const [decided] = w
      .events("gate.decided")
      .filter(({ action }) => action.kind === "call" && action.tool === "look")
      .toReversed();
    expect(decided?.read["labels"]).toContain("pii"); // what somebody else has added is seen by the gate
  });

  test("L-23 a fold that ends with another entry than the journal has is not used", async () => {
    const { w, read, cache } = watched();
    await w.run("look");
    const kept = cache().take(w.session()) ?? fail();
    kept.state.labels.add(label("forged"));
    cache().put({ ...kept, hash: sha256("another entry") });
    read();
    await w.say("look");
    expect(read()).toBeGreaterThan(5); // all of it
    expect(w.events("gate.decided").some(({ read: seen }) => toCanonicalJson(seen).includes("forged"))).toBe(false);
  });

  test("L-23 after an erasure anywhere in the project every fold is made again", async () => {
    const { w, read } = watched();
    await w.run("look");
    const { journal } = w.outside();
    const erased = { kind: "content.erased", stream: w.session(), first: seq(1), last: seq(1), by: OPERATOR, reason: "asked for" } as const;
    const events = [{ at: w.clock.now(), event: erased }];
    await journal.append({ stream: ERASURES, after: seq(0), hold: null, events, consumes: [], unlessHalted: [] });
    read();
    await w.say("look");
    expect(read()).toBeGreaterThan(5);
  });

  test("L-23 folds are bounded in sessions and in characters, the oldest goes first, and the newest is kept whatever its size", async () => {
    const { w, cache } = watched({ sessions: 2, chars: 400, idleMs: 1_000 });
    const sessions: SessionId[] = [];
    for (const words of ["one", "two", "three"]) {
      await w.run(words);
      sessions.push(w.session());
    }
    expect(cache().size().sessions).toBe(2);
    expect(cache().take(sessions[0] ?? fail())).toBe(null);
    await w.run("four ".repeat(200));
    expect(cache().size()).toEqual({ sessions: 1, chars: 1_000 + "done 0".length });
  });

  test("L-23 a fold that nobody took for a while is dropped; a closed session leaves none", async () => {
    const { w, cache } = watched();
    await w.run("one");
    w.clock.advance(999);
    expect(cache().sweep()).toBe(true);
    w.clock.advance(1);
    expect(cache().sweep()).toBe(false);
    expect(cache().size()).toEqual({ sessions: 0, chars: 0 });
    const state = w.state();
    expect(await cache().mark({ ...state, closed: true })).toBe(null);
  });
});

// ── the same with and without ──

type Deed =
  | Readonly<{ do: "say"; words: string }>
  | Readonly<{ do: "wish"; wish: IntentBody }>
  | Readonly<{ do: "answer" | "go" | "fork" | "halt" | "lift" | "wait" }>;
type Story = Readonly<{ deeds: readonly Deed[]; crashes: readonly (CrashPoint | null)[]; processes: readonly number[] }>;

const words = fc.array(fc.constantFrom("look", "pay", "so", "what"), { maxLength: 4 }).map((all) => all.join(" ") || "hello");
const wishes = fc.oneof(
  words.map((text): IntentBody => ({ kind: "follow-up", text })),
  words.map((text): IntentBody => ({ kind: "steer", text })),
  fc.constantFrom<IntentBody>(
    { kind: "cancel", reason: "enough" },
    { kind: "unlabel", labels: [UNTRUSTED], why: "checked" },
    { kind: "clear" },
  ),
);
const deeds: fc.Arbitrary<Deed> = fc.oneof(
  { weight: 4, arbitrary: words.map((text): Deed => ({ do: "say", words: text })) },
  { weight: 3, arbitrary: wishes.map((wish): Deed => ({ do: "wish", wish })) },
  {
    weight: 3,
    arbitrary: fc.constantFrom<Deed>({ do: "answer" }, { do: "go" }, { do: "fork" }, { do: "halt" }, { do: "lift" }, { do: "wait" }),
  },
);
const points = fc.record({
  of: fc.constantFrom("append", "effect", "model" as const),
  when: fc.constantFrom("before", "after" as const),
  nth: fc.nat({ max: 3 }),
}) as fc.Arbitrary<CrashPoint>;
const stories: fc.Arbitrary<Story> = fc.record({
  deeds: fc.array(deeds, { minLength: 2, maxLength: 9 }),
  crashes: fc.array(fc.option(points, { freq: 4 }), { maxLength: 12 }), // one in five goes on
  processes: fc.array(fc.nat({ max: 2 }), { minLength: 1, maxLength: 6 }),
});

const NEVER: CrashPoint = { of: "append", when: "before", nth: Number.MAX_SAFE_INTEGER };

/** `caches`: which process a deed is done by is which of these it finds; none are those of processes that have just begun. */
async function told({ deeds: all, crashes, processes }: Story, keeps: boolean): Promise<Readonly<{ w: World; kept: number }>> {
  let [booted, kept] = [0, 0];
  let journal: Journal | null = null;
  const now = (): Journal => journal ?? fail();
  const caches = [0, 1, 2].map(() =>
    foldCache({ journal: { hashAt: (...at) => now().hashAt(...at), streams: (name) => now().streams(name) }, elapsed: () => 0 }),
  );
  const checked = (cache: FoldCache): FoldCache => ({
    ...cache,
    put(one) {
      if (one !== null) {
        kept += 1;
        expect(plain(one.state)).toEqual(plain(fold(w.entries()) ?? fail())); // what is kept is what the entries come to
      }
      cache.put(one);
    },
  });
  const w: World = world({
    hash: sha256,
    model: obedient(),
    tools: TOOLS,
    rows: [
      ...PEOPLE,
      { id: "ask-pay", action: "tool:pay", labels: [UNTRUSTED], verdict: "ask" },
      { id: "rest", action: "*", verdict: "allow" },
    ],
    limits: { contextTokens: 400, outputTokens: 50 },
    crashes: crashes.map((one) => one ?? NEVER),
    folds: (found) => {
      journal = found;
      const cache = caches[processes[booted++ % processes.length] ?? 0] ?? fail();
      return keeps ? checked(cache) : foldCache({ journal: found, elapsed: () => 0 });
    },
  });
  await w.run("look");
  for (const deed of all) await done(w, deed);
  return { w, kept };
}

/** The state without the field that the driver takes out and restores after a fold. */
const plain = ({ grantsDue: _, ...state }: State) => state;

async function done(w: World, deed: Deed): Promise<void> {
  switch (deed.do) {
    case "say":
      if (w.state().turn === null) await w.say(deed.words);
      return;
    case "wish":
      await w.wish(deed.wish);
      await w.go();
      return;
    case "answer":
      if (open(w).length > 0) await say(w, APPROVE);
      await w.go();
      return;
    case "go":
      await w.go();
      return;
    case "fork": {
      const p = w.outside();
      await forkSession(p, w.session(), { at: null, external: null, principal: OPERATOR, surface: "library" }).catch(unlessDead);
      return;
    }
    case "halt":
      await w.order({ kind: "work.halted", scope: "tool:look", by: OPERATOR, reason: "stop" });
      return;
    case "lift":
      await w.order({ kind: "work.resumed", scope: "tool:look", by: OPERATOR, reason: "go on" });
      return;
    case "wait":
      w.clock.advance(1_000);
  }
}

test("L-23 a conversation driven on kept folds and one folded anew at every turn have the same entries and the same state, whoever else acts, dies or forks", async () => {
  let reused = 0;
  await fc.assert(
    fc.asyncProperty(stories, async (story) => {
      const [warm, cold] = [await told(story, true), await told(story, false)];
      expect(toCanonicalJson([...warm.w.disk.entries])).toBe(toCanonicalJson([...cold.w.disk.entries]));
      expect(plain(warm.w.state())).toEqual(plain(cold.w.state()));
      reused += warm.kept;
    }),
    { numRuns: Number(process.env["ORGATE_FOLD_RUNS"] ?? 120) },
  );
  expect(reused).toBeGreaterThan(100);
}, 120_000);

// ── what a turn costs ──

type Cost = { entries: number; folded: number; found: number; counted: number; hashed: number };
const COST = (): Cost => ({ entries: 0, folded: 0, found: 0, counted: 0, hashed: 0 });

test("L-23 turn 2,000 reads, counts, hashes and looks up what turn 100 does, under a window", async () => {
  let cost = COST();
  let cache: FoldCache | null = null;
  const watched = (p: Ports): Ports => ({
    ...p,
    hash: (text) => {
      cost.hashed += text.length;
      return p.hash(text);
    },
    tools: {
      ...p.tools,
      find: (name) => {
        cost.found += 1;
        return p.tools.find(name);
      },
    },
    gate: {
      ...p.gate,
      decide: (action, facts) => {
        facts.aims(); // a policy that reads what a target was seen under
        return p.gate.decide(action, facts);
      },
    },
    journal: {
      ...p.journal,
      read: async (...at) => {
        const entries = await p.journal.read(...at);
        cost.entries += entries.length;
        return entries;
      },
    },
  });
  let journal: Journal | null = null;
  const now = (): Journal => journal ?? fail();
  const w = world({
    hash: sha256,
    model: obedient(),
    tools: TOOLS,
    limits: { contextTokens: 1_000, outputTokens: 50 },
    counters: () => (text) => {
      cost.counted += 1;
      return estimateTokens(text);
    },
    folds: (found) => {
      journal = found;
      cache ??= foldCache({
        journal: { hashAt: (...at) => now().hashAt(...at), streams: (name) => now().streams(name) },
        elapsed: () => 0,
      });
      return cache;
    },
    spoil: watched,
  });
  await w.run("look 0001");
  const costs: Cost[] = [];
  for (let turn = 2; turn <= 2_000; turn += 1) {
    const before = w.disk.order.length;
    cost = COST();
    await w.say(`look ${String(turn).padStart(4, "0")}`);
    costs.push({ ...cost, folded: w.disk.order.length - before });
  }
  const around = (turn: number): Cost => sum(costs.slice(turn - 27, turn - 2)); // several: a window moves in steps
  const [early, late] = [around(100), around(2_000)];
  expect(late.entries).toBe(0);
  expect(late.folded).toBe(early.folded);
  expect(late.found).toBe(early.found);
  expect(late.counted).toBe(early.counted);
  expect(late.hashed / early.hashed).toBeLessThan(1.05); // numbers have more digits
}, 300_000);

const unlessDead = (error: unknown): void => {
  if (!(error instanceof Error) || error.name !== "Crash") throw error;
};

const sum = (all: readonly Cost[]): Cost =>
  all.reduce((total, one) => {
    for (const name of Object.keys(total) as (keyof Cost)[]) total[name] += one[name];
    return total;
  }, COST());

function fail(): never {
  throw new Error("there is none");
}
