/** Changing requests sent more than once: at the same time, later, after a crash, and with another request under the same key. */
import { mkdtempSync, readdirSync, readFileSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Row, type ScheduleSpec, type SessionId, seq, tableGate } from "@orgate/core";
import { IDEMPOTENCY_KEY, OPERATIONS, type OperationName } from "@orgate/protocol";
import { afterEach, expect, test } from "vitest";
import { sha256 } from "../node/crypto.ts";
import { eraseEntries } from "../runtime/people/erase.ts";
import { EACH_MINUTE } from "../schedules/fixtures/stage.ts";
import { type Serving, type ServingOptions, serving } from "./fixtures/serving.ts";
import { latch, openStand } from "./fixtures/stand.ts";

const asks: Row = { id: "asks", action: "tool:pay", verdict: "ask", terms: { grant: "session" } };
const gate = tableGate([asks, { id: "all", action: "*", verdict: "allow" }], sha256);
const open: Serving[] = [];
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.stop();
});
async function serve(options: ServingOptions = {}): Promise<Serving> {
  const one = await serving({ gate, ...options });
  open.push(one);
  return one;
}
const under = (key: string) => ({ [IDEMPOTENCY_KEY]: key });
const toldOf = async (response: Promise<Response>): Promise<readonly [number, unknown]> => {
  const one = await response;
  return [one.status, await one.json()];
};
/** As after a crash right before the answer was kept: what was begun is on disk, what came of it is not. */
const forgetful = (at: Serving): Serving => {
  Object.assign(at.runtime.place.store.requests, { keep: async () => {} });
  return at;
};
const kindsIn = async ({ runtime }: Serving, ...kinds: readonly string[]): Promise<number> =>
  (await runtime.place.store.journal.tail(0, 10_000)).filter((one) => one.kind === "entry" && kinds.includes(one.entry.event.kind)).length;

/** With a call of which nobody can tell what became of it: whoever ran it has gone. */
async function stuckFolder(): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "orgate-once-"));
  const before = await openStand({ folder, keep: true, hold: latch() });
  await before.runtime.complete("clerk", "wait", { limits: { toolMs: 20 } });
  await before.close();
  return folder;
}

type Case = Readonly<{ route: OperationName; path: string; body: unknown; other: unknown; kinds: readonly string[] }>;
/** Every route that needs a key but those of policies, which are files. */
async function casesOf(at: Serving): Promise<readonly Case[]> {
  const waits = await at.runtime.complete("clerk", "pay");
  const third = await at.runtime.complete("clerk", "pay");
  const granted = await at.runtime.complete("clerk", "pay");
  const [question, remembered] = [waits.questions[0], granted.questions[0]];
  const [unknown] = await at.runtime.place.store.unknowns({ after: null, most: 1 });
  if (question === undefined || remembered === undefined || unknown === undefined) throw new Error("something is missing");
  const answer = { kind: "grant", grant: { scope: "resource", until: "session" } } as const;
  await at.runtime.approvals.answer({ approval: remembered.approval, digest: remembered.digest, answer }, at.ann);
  const [grant] = await at.runtime.approvals.grants();
  const { session } = await at.runtime.sessions.create({ agent: "clerk" });
  const here = `/sessions/${session}`;
  const say = { kind: "deny", reason: "no" };
  return [
    { route: "execute", path: "/agents/clerk/execute", body: { input: "look" }, other: { input: "pay" }, kinds: [] },
    { route: "openSession", path: "/sessions", body: { agent: "clerk" }, other: { agent: "other" }, kinds: ["session.opened"] },
    { route: "compact", path: `${here}/compact`, body: { tokens: 9 }, other: { tokens: 8 }, kinds: ["context.compact-asked"] },
    { route: "say", path: `${here}/turns`, body: { text: "look" }, other: { text: "else" }, kinds: [] },
    { route: "fork", path: `${here}/fork`, body: {}, other: { at: 1 }, kinds: ["session.forked"] },
    { route: "close", path: `${here}/close`, body: { reason: "done" }, other: { reason: "else" }, kinds: ["session.closed"] },
    { route: "cancel", path: `/sessions/${third.session}/cancel`, body: {}, other: { all: true }, kinds: [] },
    {
      route: "answer",
      path: `/approvals/${question.approval}/answer`,
      body: { digest: question.digest, answer: say },
      other: { digest: question.digest, answer: { kind: "approve" } },
      kinds: ["approval.answered"],
    },
    { route: "revoke", path: `/grants/${grant?.grant}/revoke`, body: { reason: "a" }, other: { reason: "b" }, kinds: ["grant.revoked"] },
    {
      route: "resolve",
      path: `/sessions/${unknown.session}/unknowns/${unknown.call}/resolve`,
      body: { as: "happened" },
      other: { as: "did-not-happen" },
      kinds: ["unknown.resolved"],
    },
    {
      route: "setBreaker",
      path: "/breakers",
      body: { breaker: "tool:pay", to: "open", reason: "a" },
      other: { breaker: "tool:pay", to: "closed", reason: "a" },
      kinds: ["breaker.changed"],
    },
    {
      route: "addSchedule",
      path: "/schedules",
      body: { schedule: "mine", agent: "clerk", cron: "0 2 * * *" },
      other: { schedule: "mine", agent: "clerk", cron: "0 3 * * *" },
      kinds: ["schedule.declared"],
    },
    { route: "pauseSchedule", path: "/schedules/mine/pause", body: { reason: "a" }, other: { reason: "b" }, kinds: ["schedule.paused"] },
    { route: "resumeSchedule", path: "/schedules/mine/resume", body: { reason: "a" }, other: { reason: "b" }, kinds: ["schedule.resumed"] },
    { route: "removeSchedule", path: "/schedules/mine/remove", body: { reason: "a" }, other: { reason: "b" }, kinds: ["schedule.removed"] },
    {
      route: "halt",
      path: "/halt",
      body: { scope: "tool:look", reason: "a" },
      other: { scope: "all", reason: "a" },
      kinds: ["work.halted"],
    },
    {
      route: "resumeWork",
      path: "/resume-work",
      body: { scope: "tool:look", reason: "a" },
      other: { scope: "all", reason: "a" },
      kinds: ["work.resumed"],
    },
  ];
}

/** Operations that need a key and have no case above, each with the operation whose case is nearest; policies are files. */
const NEAREST_CASE: Partial<Record<OperationName, OperationName>> = {
  steer: "say",
  clear: "compact",
  chooseModel: "compact",
  dismiss: "resolve",
  applyPolicies: "close",
  runSchedule: "execute",
  retrySchedule: "execute",
};

test("W-5 every route that needs a key: twice at once, later and after a restart is one effect and one answer; another request under it is refused", async () => {
  const at = await serve({ folder: await stuckFolder(), keep: true });
  const cases = await casesOf(at);
  const needing = Object.entries(OPERATIONS).flatMap(([name, { idempotencyKey }]) => (idempotencyKey ? [name] : []));
  const tested: readonly string[] = [...cases.map(({ route }) => route), ...Object.keys(NEAREST_CASE)];
  const untested = needing.filter((name) => !tested.includes(name));
  const message = (name: string) =>
    `${name}: casesOf in server/routes-once.test.ts needs a case, or NEAREST_CASE the operation whose case is nearest`;
  expect(untested.map(message)).toEqual([]);
  expect([...tested].sort()).toEqual(needing.sort());
  const answers = new Map<OperationName, readonly [number, unknown]>();
  for (const { route, path, body, other, kinds } of cases) {
    const send = (what: unknown) => toldOf(at.post(`/api/v1${path}`, what, under(`key-${route}`)));
    const before = await kindsIn(at, ...kinds);
    const [one, two] = await Promise.all([send(body), send(body)]);
    expect([route, two]).toEqual([route, one]);
    expect([route, one[0]]).toEqual([route, OPERATIONS[route].status]);
    expect([route, await send(body)]).toEqual([route, one]);
    expect([route, (await send(other))[0]]).toEqual([route, 422]);
    if (kinds.length > 0) expect([route, (await kindsIn(at, ...kinds)) - before]).toEqual([route, 1]);
    answers.set(route, one);
  }
  await at.at.leave({ finishMs: 0, landMs: 1_000, answersMs: 100 });
  await at.runtime.close();
  open.splice(0);
  const again = await serve({ folder: at.folder });
  for (const { route, path, body, other } of cases) {
    expect([route, await toldOf(again.post(`/api/v1${path}`, body, under(`key-${route}`)))]).toEqual([route, answers.get(route)]);
    expect([route, (await again.post(`/api/v1${path}`, other, under(`key-${route}`))).status]).toEqual([route, 422]);
  }
}, 60_000);

test("W-5 a crash before the answer was kept: sent again it is still one effect, and another request under the key is refused", async () => {
  const folder = await stuckFolder();
  const at = forgetful(await serve({ folder }));
  for (const { route, path, body, other, kinds } of await casesOf(at)) {
    const send = (what: unknown) => at.post(`/api/v1${path}`, what, under(`lost-${route}`));
    const before = await kindsIn(at, ...kinds);
    await send(body);
    await send(body);
    if (kinds.length > 0) expect([route, (await kindsIn(at, ...kinds)) - before]).toEqual([route, 1]);
    expect([route, (await send(other)).status]).toEqual([route, 422]);
  }
}, 60_000);

test("Z-8 a schedule whose firings share a session is fired once for each key, also when a crash kept the answer from being kept", async () => {
  const folder = mkdtempSync(join(tmpdir(), "orgate-once-"));
  const spec: ScheduleSpec = {
    ...EACH_MINUTE,
    when: { kind: "cron", cron: "0 2 1 1 *", timezone: "UTC" },
    owner: "ann",
    session: "shared",
  };
  const declares = {
    schedules: [{ name: "mine", spec, from: "orgate.toml" }],
    webhooks: [],
    secrets: new Map(),
    by: { kind: "user", id: "ann" },
  } as const;
  const at = forgetful(await serve({ folder, serve: { declares } }));
  const run = (key: string) => toldOf(at.post("/api/v1/schedules/mine/run", undefined, under(key)));
  const first = await run("one");
  expect(first).toEqual([202, expect.anything()]);
  const second = await run("two");
  expect([second, await run("two"), await run("one")]).toEqual([first, second, first]);
  expect(await kindsIn(at, "schedule.fired")).toBe(2);
});

test("W-5 the key of a turn that still waits, or of a request that failed, is for that request alone", async () => {
  const at = await serve();
  const run = async (body: object) => (await at.post("/api/v1/agents/clerk/execute", body, under("k"))).status;
  expect([await run({ input: "pay" }), await run({ input: "pay" }), await run({ input: "look" })]).toEqual([200, 200, 422]);
  const halt = async (scope: string) => (await at.post("/api/v1/halt", { scope, reason: "a" }, under("bad"))).status;
  expect([await halt("nonsense"), await halt("nonsense"), await halt("tool:pay")]).toEqual([400, 400, 422]);
});

test("W-5 a key of access with other limits is another key: nothing is told through it", async () => {
  const at = await serve();
  const open = (token: string) => at.post("/api/v1/sessions", { agent: "clerk" }, under("same"), token);
  const [full, scoped] = [await toldOf(open("full")), await toldOf(open("scoped"))];
  expect(scoped[1]).not.toEqual(full[1]);
  expect(await toldOf(open("scoped"))).toEqual(scoped);
});

test("W-5 a request that needs a key and has none, two, or one that is none, does nothing", async () => {
  const at = await serve();
  for (const key of ["", "ä", "x".repeat(129), "a b"])
    expect((await at.post("/api/v1/sessions", { agent: "clerk" }, { [IDEMPOTENCY_KEY]: encodeURI(key) === key ? key : "" })).status).toBe(
      400,
    );
  expect(await at.runtime.sessions.list()).toEqual([]);
});

test("J-8 an erasure reaches the answers that are kept under keys: nothing of them is in the file, and the same request is not done again", async () => {
  const at = await serve();
  const run = () => at.post("/api/v1/agents/clerk/execute", { input: "the canary's words", waitMs: 5_000 }, under("k1"));
  const [status, first] = await toldOf(run());
  const { session } = first as { session: SessionId };
  expect([status, JSON.stringify(first)]).toEqual([200, expect.stringContaining("canary's words")]);
  const found = await at.runtime.inspect.session(session);
  const here = join(at.folder, ".orgate");
  const filesWith = (text: string) =>
    readdirSync(here, { recursive: true, encoding: "utf8" }).filter((file) => hasText(join(here, file), text));
  expect(filesWith("canary's words").filter((file) => file.startsWith("requests.db"))).not.toEqual([]);
  const by = { kind: "user", id: "ann" } as const;
  await eraseEntries(at.runtime.place, { session, first: seq(1), last: found?.seq ?? seq(1), by, reason: "asked for" });
  expect(filesWith("canary's words")).toEqual([]);
  const [again, told] = await toldOf(run());
  expect([again === 200, JSON.stringify(told)]).toEqual([false, expect.not.stringContaining("canary")]);
  expect(await kindsIn(at, "session.opened")).toBe(0); // the one that there was is erased, and no other was opened
});

const hasText = (file: string, text: string): boolean => statSync(file).isFile() && readFileSync(file).includes(text);
