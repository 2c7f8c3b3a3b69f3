import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { defineAgent, defineTool, type Fault, isFault, type Live, type Model, type SessionId, tableGate } from "@orgate/core";
import { type Step, scriptedModel } from "@orgate/core/testing";
import { afterEach, describe, expect, test } from "vitest";
import { sha256 } from "../node/crypto.ts";
import type { Runtime, RuntimeOptions } from "./api.ts";
import { createRuntime } from "./runtime.ts";

const folders: string[] = [];
const runtimes: Runtime[] = [];
afterEach(async () => {
  for (const runtime of runtimes.splice(0)) await runtime.close();
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});
function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "orgate-sessions-"));
  folders.push(folder);
  return folder;
}

/** A gate of our own in the outside world: what a tool waits for until the test lets it go. */
function latch(): { readonly reached: Promise<void>; readonly opened: Promise<void>; reach(): void; open(): void } {
  const [a, b] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  return { reached: a.promise, opened: b.promise, reach: a.resolve, open: b.resolve };
}
const NO_INPUT = { type: "object", properties: {}, additionalProperties: false } as const;

type Extra = Partial<RuntimeOptions> & { readonly steps?: readonly Step[]; readonly hold?: ReturnType<typeof latch> };

async function open(folder: string, { steps, hold, ...more }: Extra = {}): Promise<Runtime> {
  const wait = defineTool({
    name: "wait",
    description: "waits",
    input: NO_INPUT,
    repeat: "read",
    run: async (_, { note }) => {
      note("half", 0.5);
      hold?.reach();
      await hold?.opened;
      return "waited";
    },
  });
  const rules = [
    { when: { says: "wait", notCalled: ["wait"] }, calls: [{ tool: "wait" }] },
    { when: {}, say: "You said: {{input}}" },
  ];
  const agentOf = (name: string) =>
    defineAgent({ name, instructions: "Repeat.", model: "offline/echo", tools: [wait], modelOptions: { rules } });
  const scripted: Model | null = steps === undefined ? null : scriptedModel(steps);
  const runtime = await createRuntime({
    directory: folder,
    agents: [agentOf("echo"), agentOf("other")],
    gate: tableGate([{ id: "all", action: "*", verdict: "allow" }], sha256),
    principal: { kind: "user", id: "ann" },
    powerCut: "lose-last-moments",
    ...(scripted === null ? {} : { model: () => scripted }),
    ...more,
  });
  runtimes.push(runtime);
  return runtime;
}
const faultOf = (work: Promise<unknown>): Promise<Fault | null> =>
  work.then(
    () => null,
    (error: unknown) => {
      if (isFault(error)) return error.fault;
      throw error;
    },
  );
/** So many of what a subscription tells. */
async function take<T>(from: AsyncIterator<T>, isLast: (one: T) => boolean): Promise<T[]> {
  const told: T[] = [];
  for (;;) {
    const { value, done } = await from.next();
    if (done === true) return told;
    told.push(value);
    if (isLast(value)) return told;
  }
}
const isEnd = (one: { readonly kind: string; readonly entry?: { readonly event: { readonly kind: string } } }): boolean =>
  one.entry?.event.kind === "turn.ended";
const seqs = (told: readonly Live[]) => told.flatMap((l) => (l.kind === "entry" ? [l.entry.seq as number] : []));
const upTo = (n: number) => Array.from({ length: n }, (_, i) => i + 1);

describe("verbs", () => {
  test("H-6 H-8 opened, found, run under its own id from two processes, listed, restored, closed", async () => {
    const folder = newFolder();
    const [a, b] = [await open(folder), await open(folder)];
    const [one, same] = await Promise.all([
      a.sessions.create({ agent: "echo", id: "ticket 7" }),
      b.sessions.create({ agent: "echo", id: "ticket 7" }),
    ]);
    expect(same).toEqual(one);
    expect(await a.sessions.list()).toMatchObject([{ session: one.session, state: "idle", turns: 0 }]);
    expect((await a.complete("echo", "hi", { id: "ticket 7" })).session).toBe(one.session);
    expect((await b.complete("echo", "again", { id: "ticket 7" })).output).toBe("You said: again");
    expect(await b.sessions.find("ticket 7")).toMatchObject({ session: one.session, turns: 2, external: "ticket 7" });
    expect(await b.sessions.find("ticket 8")).toBe(null);
    expect((await b.complete("echo", "new", { id: "ticket 8" })).session).not.toBe(one.session);
    expect(await b.sessions.list({ agent: "other" })).toEqual([]);
    expect((await b.sessions.restore(one.session)).messages).toHaveLength(4);
    expect(await faultOf(b.sessions.restore("s_nowhere0" as SessionId))).toEqual({ kind: "session-unknown", session: "s_nowhere0" });
    expect(await b.sessions.get("s_nowhere0" as SessionId)).toBe(null);
    expect(await faultOf(b.run("other", "hi", { id: "ticket 7" }).result)).toMatchObject({ kind: "external-taken", session: one.session });
    expect(await faultOf(b.run("echo", "hi", { id: "ticket 7", principal: { kind: "user", id: "eve" } }).result)).toMatchObject({
      kind: "external-taken",
    });
    expect(await faultOf(b.sessions.create({ agent: "nobody" }))).toMatchObject({ kind: "agent-missing" });

    expect(await b.sessions.close(one.session, "solved")).toMatchObject({ state: "closed" });
    expect(await faultOf(a.run("echo", "hi", { session: one.session }).result)).toEqual({ kind: "session-closed", session: one.session });
    expect(await faultOf(a.run("echo", "hi", { id: "ticket 7" }).result)).toEqual({ kind: "session-closed", session: one.session });
  });

  test("H-7 H-8 a history is imported whole, or refused with its index", async () => {
    const runtime = await open(newFolder());
    const history = [
      { role: "user", text: "what is the time" },
      { role: "assistant", text: "", calls: [{ id: "c1", tool: "wait", text: "{}" }] },
      { role: "tool", id: "c1", text: "noon", isError: false },
      { role: "assistant", text: "Noon." },
    ] as const;
    const { session } = await runtime.sessions.import({ agent: "echo", history, labels: ["pii"] });
    expect((await runtime.complete("echo", "thanks", { session })).conversation).toHaveLength(6);
    expect([...(await runtime.sessions.restore(session)).labels]).toEqual(["pii"]);
    expect(await faultOf(runtime.sessions.import({ agent: "echo", history: history.slice(0, 2) }))).toEqual({
      kind: "history-invalid",
      index: 1,
      detail: "call `c1` has no result",
    });
    expect(await faultOf(runtime.run("echo", "x", { history: [{ role: "assistant", text: "first" }] }).result)).toMatchObject({
      kind: "history-invalid",
      index: 0,
    });
  });

  test("H-10 a session that another process drives is forked while a call runs there", async () => {
    const folder = newFolder();
    const hold = latch();
    const [a, b] = [await open(folder, { hold }), await open(folder)];
    const run = a.run("echo", "please wait", { id: "origin" });
    await hold.reached;
    const { session } = (await b.sessions.find("origin")) ?? { session: "s_nowhere0" as SessionId };
    const forked = await b.sessions.fork(session, { id: "branch" });
    const went = await b.complete("echo", "and now", { session: forked.session });
    expect(went).toMatchObject({ ending: "completed", output: "You said: and now" });
    expect(JSON.stringify(went.conversation)).toContain("[unknown] wait");
    hold.open();
    expect(await run.result).toMatchObject({ ending: "completed" });
  });

  test("H-8 an embedder sees agents, tools, policies and the store", async () => {
    const { inspect, place } = await open(newFolder());
    expect(inspect.agents.map((a) => [a.name, a.model, a.tools.map((t) => t.name)])).toEqual([
      ["echo", "offline/echo", ["wait"]],
      ["other", "offline/echo", ["wait"]],
    ]);
    expect(inspect.policies()).toMatch(/^[0-9a-f]{64}$/);
    expect(await place.store.journal.position()).toBeGreaterThan(0);
  });
});

describe("following a session", () => {
  test.each(["main", "worker"] as const)(
    "H-12 from any entry on, as it happens, with words before the reply they become; it ends with the session (%s)",
    async (thread) => {
      const runtime = await open(newFolder(), { thread });
      const { session } = await runtime.sessions.create({ agent: "echo" });
      const following = runtime.subscribe({ session });
      await runtime.complete("echo", "wait and tell", { session });
      const told = await take(following, isEnd);
      expect(seqs(told)).toEqual(upTo(seqs(told).length));
      const kinds = told.flatMap((l) => (l.kind === "entry" ? [l.entry.event] : []));
      const [started, half, ended] = (["act.started", "note", "act.ended"] as const).map((kind) => kinds.find((e) => e.kind === kind));
      for (const event of [started, half, ended]) expect(event).toMatchObject({ call: "1.0" });

      const live = runtime.subscribe({ session }, { after: "now" });
      const first = live.next();
      const running = runtime.run("echo", "some more words to say", { session });
      const [{ value }, rest] = [await first, take(live, isEnd)];
      await running.result;
      const all = [value as Live, ...(await rest)];
      expect(seqs(all)[0]).toBe(seqs(told).length + 1);
      const [asked, replied] = ["model.asked", "model.replied"].map((kind) =>
        all.findIndex((l) => l.kind === "entry" && l.entry.event.kind === kind),
      );
      for (const [i, l] of all.entries()) if (l.kind === "preview") expect(i > (asked ?? 0) && i < (replied ?? 0)).toBe(true);
      expect(seqs(await take(runtime.subscribe({ session }, { after: 5 }), isEnd))[0]).toBe(6);

      await runtime.sessions.close(session, "done");
      expect((await take(live, () => false)).at(-1)).toMatchObject({ kind: "entry", entry: { event: { kind: "session.closed" } } });
      expect(await live.next()).toMatchObject({ done: true });
      for (const after of ["now", 1_000] as const)
        expect(await runtime.subscribe({ session }, { after }).next()).toMatchObject({ done: true });
      for (const after of [-1, 1.5, Number.NaN]) expect(() => runtime.subscribe({ all: true }, { after })).toThrow(/`after` is/);
      expect(await faultOf(runtime.subscribe({ session: "s_nowhere0" as SessionId }).next())).toEqual({
        kind: "session-unknown",
        session: "s_nowhere0",
      });
    },
  );

  test("H-12 who comes in the middle of a reply gets the words so far, once, and then the rest", async () => {
    const talk = latch();
    const model: Model = {
      id: "slow/talker",
      async ask(_, preview) {
        preview({ part: "thinking", offset: 0, text: "hm" });
        preview({ part: "text", offset: 0, text: "one " });
        preview({ part: "text", offset: 4, text: "two " });
        preview({ part: "call", call: 0, tool: "look", offset: 0, text: '{"a"' });
        preview({ part: "call", call: 0, tool: "look", offset: 4, text: ":1" });
        talk.reach();
        await talk.opened;
        preview({ part: "text", offset: 8, text: "three" });
        return {
          parts: [{ kind: "text", text: "one two three", meta: null }],
          finish: "stop",
          usage: { input: 1, output: 1 },
          model: "slow/talker",
          meta: null,
        };
      },
    };
    const runtime = await open(newFolder(), { model: () => model });
    const { session } = await runtime.sessions.create({ agent: "echo" });
    const run = runtime.run("echo", "talk", { session });
    await talk.reached;
    const [late, all] = [runtime.subscribe({ session }, { after: "now" }), runtime.subscribe({ all: true }, { after: "now" })];
    const words = [await late.next(), await late.next(), await late.next()].map(({ value }) => value as Live);
    expect(words).toMatchObject([
      { preview: { part: "thinking", offset: 0, text: "hm" } },
      { preview: { part: "text", offset: 0, text: "one two " } },
      { preview: { part: "call", call: 0, tool: "look", offset: 0, text: '{"a":1' } },
    ]);
    expect([(await all.next()).value, (await all.next()).value, (await all.next()).value]).toEqual(words);
    const rest = take(late, isEnd);
    talk.open();
    await run.result;
    const kinds = (await rest).map((l) => (l.kind === "preview" ? l.preview : l.entry.event.kind));
    expect(kinds.filter((k) => typeof k !== "string").every((p) => (p as { offset: number }).offset === 8)).toBe(true);
    expect(kinds).toContain("model.replied");
  });

  test("H-12 a slow reader misses nothing, one that throws harms nobody, and one that leaves is gone", async () => {
    const runtime = await open(newFolder());
    const { session } = await runtime.sessions.create({ agent: "echo" });
    const slow = runtime.subscribe({ session });
    await slow.next();
    const angry = (async () => {
      for await (const _ of runtime.subscribe({ session })) throw new Error("no");
    })();
    await expect(angry).rejects.toThrow("no");
    for (let i = 0; i < 40; i += 1) expect((await runtime.run("echo", `turn ${i}`, { session }).result).ending).toBe("completed");
    const last = (await runtime.sessions.get(session))?.seq ?? 0;
    const rest = await take(slow, (l) => l.kind === "entry" && l.entry.seq === last);
    expect(seqs(rest)).toEqual(upTo(last).slice(1));
  });

  test("H-12 what another process does is followed, and closing the runtime ends it", async () => {
    const folder = newFolder();
    const [a, b] = [await open(folder), await open(folder)];
    const { session } = await a.sessions.create({ agent: "echo" });
    const following = b.subscribe({ session }, { after: "now" });
    const told = take(following, isEnd);
    await a.complete("echo", "over there", { session });
    expect((await told).some((l) => l.kind === "entry" && l.entry.event.kind === "model.replied")).toBe(true);
    const waiting = following.next();
    const stopped = new AbortController();
    const other = b.subscribe({ all: true }, { after: "now", signal: stopped.signal });
    const otherWaits = other.next();
    stopped.abort();
    expect(await otherWaits).toMatchObject({ done: true });
    await b.close();
    expect(await waiting).toMatchObject({ done: true });
  });
});

describe("following everything", () => {
  test("H-12 all sessions of all processes, in the order in which it became durable, without gaps, again the same from any position", async () => {
    const folder = newFolder();
    const [a, b] = [await open(folder), await open(folder, { thread: "worker" })];
    const from = await a.place.store.journal.position();
    const live = a.subscribe({ all: true }, { after: from });
    const seen = take(live, (w) => w.kind === "entry" && w.stream === "halt");
    await Promise.all([a, b].flatMap((r) => upTo(8).map((i) => r.complete("echo", `number ${i}`))));
    const { journal } = a.place.store;
    const halt = { kind: "work.halted", scope: "tool:none", by: { kind: "user", id: "ann" }, reason: "the end" } as const;
    await a.place.orders.halt(halt);
    const told = (await seen).flatMap((w) => (w.kind === "preview" ? [] : [w]));
    expect(told.map((w) => w.position)).toEqual(upTo(told.length).map((i) => from + i));
    expect(new Set(told.map((w) => w.stream)).size).toBe(17);
    for (const stream of new Set(told.map((w) => w.stream)))
      expect(told.filter((w) => w.stream === stream).map((w) => w.seq as number)).toEqual(
        upTo(told.filter((w) => w.stream === stream).length),
      );
    const middle = told[40]?.position ?? 0;
    expect(await journal.tail(middle, 20)).toEqual(told.slice(41, 61));
    const other = await take(b.subscribe({ all: true }, { after: middle }), (w) => w.kind === "entry" && w.stream === "halt");
    expect(other.filter((w) => w.kind !== "preview")).toEqual(told.slice(41));
  });

  test("H-12 J-25 what was erased is named in its place, positions stay as they were, and everything else is told", async () => {
    const runtime = await open(newFolder());
    const { session } = await runtime.complete("echo", "my secret");
    const before = await runtime.place.store.journal.tail(0, 1_000);
    const turn = before.find((w) => w.kind === "entry" && w.entry.event.kind === "turn.started");
    await runtime.place.store.erase(session, turn?.seq ?? (0 as never), turn?.seq ?? (0 as never)); // rewrites the file
    const after = await runtime.place.store.journal.tail(0, 1_000);
    expect(after.map(({ position, stream, seq }) => [position, stream, seq])).toEqual(
      before.map(({ position, stream, seq }) => [position, stream, seq]),
    );
    expect(after.filter((w) => w.kind !== "entry")).toMatchObject([{ kind: "erased", stream: session, seq: turn?.seq }]);
    const told = await take(runtime.subscribe({ all: true }), isEnd);
    expect(told.filter((w) => w.kind === "erased")).toHaveLength(1);
  });
});

describe("many at once", () => {
  test("H-13 two hundred sessions run at once in one process, and when they are idle nothing of them stays in memory but the last 64 folds for a while", () => {
    const script = join(import.meta.dirname, "fixtures", "idle-sessions.ts");
    const { stdout, stderr } = spawnSync(process.execPath, ["--expose-gc", script, newFolder(), "200"], { encoding: "utf8" });
    expect([stdout.trim(), stderr]).toEqual([JSON.stringify({ right: 200, kept: 64, left: 0, listed: 200 }), ""]);
  });
});
