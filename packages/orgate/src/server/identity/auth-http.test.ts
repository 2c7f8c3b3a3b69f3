/** The matrix over a real port: what is refused never reaches its route, what is allowed does, once. */
import { join } from "node:path";
import { FaultError, type Gate, millis, type SessionId, sessionId } from "@orgate/core";
import { tableGate } from "@orgate/core/gate";
import {
  type ClientFrame,
  type ClientFrameInput,
  frameText,
  OPERATION_NAMES,
  OPERATIONS,
  type OperationName,
  type ServerFrame,
  SOCKET_OPERATIONS,
  type SocketOperation,
} from "@orgate/protocol";
import { afterAll, beforeAll, expect, test } from "vitest";
import { projectScheduleSchema } from "../../config/schedule-schema.ts";
import { sha256 } from "../../node/crypto.ts";
import type { OperationExecutor, OperationHandlers } from "../../operations/execute.ts";
import { agentHandlers } from "../../operations/handlers/agents.ts";
import { sessionHandlers } from "../../operations/handlers/sessions.ts";
import { openOwners } from "../../operations/visibility.ts";
import { openCalendar } from "../../schedules/calendar.ts";
import { toScheduleSpec } from "../../schedules/declaring.ts";
import { FRAME_ROWS, ROUTE_ROWS } from "../fixtures/matrix.ts";
import { latch, openStand, type Stand } from "../fixtures/stand.ts";
import { CSRF_HEADER, csrfToken } from "../http/auth-site.ts";
import { type ConnectionPorts, openConnection } from "../live/connection.ts";
import { openFanout } from "../live/fanout.ts";
import { type Coordinator, openCoordinator } from "../start.ts";
import { type Identity, openIdentity } from "./auth.ts";
import type { IncomingRequest } from "./authentication.ts";

/** `call` is one of which nobody can tell what became of it, in a session of its own. */
type Things = Readonly<{ agent: string; session: string; approval: string; grant: string; call: string; stuck: string; schedule: string }>;
let stand: Stand;
let operations: OperationExecutor;
let identity: Identity;
let at: Coordinator;
const things: Record<string, Things> = {};
const tokens: Record<string, string> = {};
const reached: OperationName[] = [];

const asks = { id: "asks", action: "tool:pay", verdict: "ask", terms: { grant: "session" } } as const;
const gate = tableGate([asks, { id: "all", action: "*", verdict: "allow" }], sha256);
/** Everybody may run agents; what else is done to a session is for whoever it is of, and for ann. */
const decideFor: Gate["decideFor"] = (user, act) => {
  const about = "what" in act ? act.what : act;
  const isOwn = "requester" in about ? about.requester === user : act.kind === "run" || act.kind === "open";
  return user === "ann" || isOwn ? gate.decideFor(user, act) : tableGate([], sha256).decideFor(user, act);
};

const nightly = (agent: string) => ({
  name: `nightly-${agent}`,
  from: "orgate.toml",
  spec: toScheduleSpec(projectScheduleSchema().parse({ agent, cron: "0 2 * * *", input: "look" }), "ann", openCalendar()),
});

beforeAll(async () => {
  stand = await openStand({ gate, hold: latch() });
  const { runtime, ann } = stand;
  const directory = join(stand.folder, ".orgate");
  const now = () => millis(Date.now());
  identity = await openIdentity({
    place: runtime.place,
    directory,
    gate: { decideFor },
    now,
    origins: () => [at.url],
    coordinators: [],
  });
  const handlers = Object.fromEntries(
    OPERATION_NAMES.map((name) => [
      name,
      async () => {
        reached.push(name);
        return { kind: "json", value: {} } as const;
      },
    ]),
  ) as OperationHandlers;
  const keys = { find: () => null, begin: (_: string, digest: string) => digest, keep: () => {}, close: () => {} };
  const serve = { runtime, access: identity, keys, host: "127.0.0.1", port: 0, version: "0.0.0-test", describe: () => ({}) };
  at = await openCoordinator({
    ...serve,
    bounds: { strangersBurst: 10_000, burst: 10_000 },
    declares: { schedules: ["clerk", "other"].map(nightly), webhooks: [], secrets: new Map(), by: { kind: "user", id: "ann" } },
    more: (_, executor) => {
      operations = executor;
      return { handlers };
    },
  });
  for (const agent of ["clerk", "other"]) things[agent] = await thingsOf(agent);
  const give = async (name: string, limits: Readonly<{ agents?: readonly string[]; until?: number; person?: string }>) => {
    const { agents = null, until = Date.now() + 3_600_000, person = "ann" } = limits;
    const means = name === "sign-in" ? "sign-in" : "key";
    const by = { kind: "user", id: "ann" } as const;
    tokens[name] = (await identity.accesses.give({ means, person, agents, actions: null, until: millis(until), note: "", by })).token;
  };
  await give("full", {});
  await give("scoped", { agents: ["clerk"] });
  await give("expired", { until: 1 });
  await give("bob", { person: "bob" });
  await give("sign-in", {});

  async function thingsOf(agent: string): Promise<Things> {
    const granted = await runtime.complete(agent, "pay");
    const first = (await runtime.approvals.list()).find((one) => one.session === granted.session);
    if (first === undefined) throw new Error("nothing waits");
    const remembered = { kind: "grant", grant: { scope: "resource", until: "session" } } as const;
    await runtime.approvals.answer({ approval: first.approval, digest: first.digest, answer: remembered }, ann);
    const grant = (await runtime.approvals.grants()).find((one) => one.session === granted.session);
    const { session } = await runtime.complete(agent, "pay");
    const open = (await runtime.approvals.list()).find((one) => one.session === session);
    if (grant === undefined || open === undefined) throw new Error("nothing was remembered, or nothing waits");
    const stuck = await runtime.complete(agent, "wait", { limits: { toolMs: 20 } });
    const [again] = stuck.questions; // the other agent's is open: one that looks like it asks first
    if (again !== undefined) {
      const { approval, digest: shown } = again;
      await runtime.approvals.answer({ approval, digest: shown, answer: { kind: "approve" } }, ann);
    }
    const [unknown] = (await runtime.place.store.unknownsOf(stuck.session)).values();
    if (unknown === undefined) throw new Error("it is known what became of it");
    return {
      agent,
      session,
      approval: open.approval,
      grant: grant.grant,
      call: unknown.call,
      stuck: stuck.session,
      schedule: nightly(agent).name,
    };
  }
}, 60_000);
afterAll(async () => {
  identity.close();
  await at.leave({ finishMs: 0, landMs: 1_000, answersMs: 100 });
  await stand.close();
});

const BODIES: Partial<Record<OperationName, (of: Things) => unknown>> = {
  execute: () => ({ input: "look" }),
  uiChat: () => ({ id: "c", messages: [{ role: "user" }] }),
  openSession: ({ agent }) => ({ agent }),
  say: () => ({ text: "look" }),
  steer: () => ({ text: "look" }),
  chooseModel: () => ({ model: "offline/echo" }),
  answer: () => ({ digest: "0".repeat(64), answer: { kind: "approve" } }),
  revoke: () => ({ reason: "a" }),
  resolve: () => ({ as: "happened" }),
  setBreaker: () => ({ breaker: "tool:look", to: "open", reason: "a" }),
  halt: () => ({ scope: "all", reason: "a" }),
  resumeWork: () => ({ scope: "all", reason: "a" }),
  checkPolicies: () => ({ files: [] }),
  applyPolicies: () => ({ files: [], reason: "a" }),
  addSchedule: ({ agent }) => ({ schedule: "another", agent, cron: "0 2 * * *" }),
};
/** Operations that are sent without a body. */
const BARE: ReadonlySet<OperationName> = new Set(["ticket", "runSchedule"]);

function paramOf(path: string, field: string, of: Things): string {
  if (field === "seq") return "1";
  if (field === "digest") return "0".repeat(64);
  if (field === "stream") return of.session;
  if (field === "webhook") return "hook";
  return of[field === "session" && path.includes("{call}") ? "stuck" : (field as keyof Things)];
}

type Sent = Readonly<{ status: number; reached: readonly OperationName[] }>;
async function send(name: OperationName, of: Things, headers: Readonly<Record<string, string>>): Promise<Sent> {
  const { method, path } = OPERATIONS[name];
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, field: string) => paramOf(path, field, of));
  const takesBody = method === "POST" && !BARE.has(name);
  const response = await fetch(`${at.url}/api/v1${filled}${name === "usage" ? "?from=0&to=1" : ""}`, {
    method,
    headers: { "idempotency-key": crypto.randomUUID(), ...(takesBody ? { "content-type": "application/json" } : {}), ...headers },
    ...(takesBody ? { body: JSON.stringify(BODIES[name]?.(of) ?? {}) } : {}),
  });
  await response.text();
  return { status: response.status, reached: reached.splice(0) };
}
const bearer = (name: string) => ({ authorization: `Bearer ${tokens[name]}` });
const mustHave = (agent: string): Things =>
  things[agent] ?? { agent, session: "", approval: "", grant: "", call: "", stuck: "", schedule: "" };

test.each(OPERATION_NAMES)("W-7 %s, over HTTP", async (name) => {
  const { method } = OPERATIONS[name];
  const row = ROUTE_ROWS[name];
  const [clerk, other] = [mustHave("clerk"), mustHave("other")];
  const refused = (status: number): Sent =>
    row === "anybody" ? { status: OPERATIONS[name].status, reached: [name] } : { status, reached: [] };
  const done: Sent = { status: OPERATIONS[name].status, reached: [name] };
  expect(await send(name, clerk, {})).toEqual(refused(401));
  expect(await send(name, clerk, { authorization: `Bearer ogk_${"0".repeat(16)}_${"x".repeat(43)}` })).toEqual(refused(401));
  expect(await send(name, clerk, bearer("expired"))).toEqual(refused(401));

  const cookie = `orgate-${at.port}=${tokens["sign-in"]}`;
  const own = { cookie, origin: at.url, [CSRF_HEADER]: csrfToken(tokens["sign-in"] ?? "") };
  expect(await send(name, clerk, own)).toEqual(done);
  expect(await send(name, clerk, { ...own, origin: "http://evil.example" })).toEqual(refused(403));
  expect(await send(name, clerk, { ...own, "sec-fetch-site": "cross-site" })).toEqual(refused(403));
  if (method === "POST") expect(await send(name, clerk, { cookie, origin: at.url })).toEqual(refused(403));

  expect(await send(name, clerk, bearer("full"))).toEqual(done);
  const reach = Array.isArray(row) ? row[0] : row;
  expect(await send(name, clerk, bearer("scoped"))).toEqual(reach === "all" ? refused(403) : done);
  expect(await send(name, other, bearer("scoped"))).toEqual(
    reach === "all" ? refused(403) : reach === "its own" ? refused(hiddenAs(name)) : done,
  );
});

/** W-9. Names of agents are whoever's guess; everything else is not there for who may not see it. */
const hiddenAs = (name: OperationName): number => {
  const { act } = OPERATIONS[name];
  return typeof act === "object" && act.on !== "agent" ? 404 : 403;
};

// ── frames ──

const FRAMES = {
  hello: () => ({ kind: "hello", version: 1 }),
  ping: () => ({ kind: "ping", id: "r" }),
  unsubscribe: () => ({ kind: "unsubscribe", id: "r" }),
  subscribe: ({ session }) => ({ kind: "subscribe", id: "r", to: { kind: "session", session: sessionId(session) }, after: 0 }),
  history: ({ session }) => ({ kind: "history", id: "r", session: sessionId(session), before: null }),
} satisfies Record<Exclude<ClientFrame["kind"], "call">, (of: Things) => ClientFrameInput>;

/** The answer to one frame, and the operations that it reached. */
async function say(who: string, frame: ClientFrameInput): Promise<Readonly<{ answer: string; reached: readonly OperationName[] }>> {
  const caller = await identity.authenticate(asked(bearer(who)));
  if ("status" in caller) throw new Error(caller.detail);
  const { runtime } = stand;
  const { journal } = runtime.place.store;
  const answered = Promise.withResolvers<string>();
  const ports: ConnectionPorts = {
    operations,
    access: identity,
    fanout: openFanout(journal, runtime),
    journal,
    whose: openOwners(journal),
    position: journal.position,
    now: () => millis(Date.now()),
    unforeseen: answered.reject,
  };
  const send = async (text: string): Promise<void> => {
    const heard = JSON.parse(text) as ServerFrame;
    if (heard.kind === "welcome" && frame.kind !== "hello" && frame.kind !== "unsubscribe") return;
    answered.resolve(heard.kind === "error" ? `${heard.problem.status}` : heard.kind);
  };
  const connection = openConnection(ports, { caller, id: "c", duplex: { send, close: () => {} }, countRequest: () => 0 });
  if (frame.kind !== "hello") connection.hear(frameText(FRAMES.hello()));
  connection.hear(frameText(frame));
  const answer = await answered.promise;
  connection.gone();
  await connection.over;
  return { answer, reached: reached.splice(0) };
}
const asked = (headers: Readonly<Record<string, string>>): IncomingRequest => ({
  via: "socket",
  method: "GET",
  path: "/ws/v1",
  query: new URLSearchParams(),
  headers,
  remote: "127.0.0.1",
});

const ANSWERS: Readonly<Record<keyof typeof FRAMES, string>> = {
  hello: "welcome",
  unsubscribe: "welcome",
  ping: "pong",
  subscribe: "entries",
  history: "page",
};

test.each(Object.keys(FRAMES) as (keyof typeof FRAMES)[])("W-7 frame %s, over a connection", async (kind) => {
  const [clerk, other] = [mustHave("clerk"), mustHave("other")];
  const done = { answer: ANSWERS[kind], reached: [] };
  expect(await say("full", FRAMES[kind](other))).toEqual(done);
  expect(await say("scoped", FRAMES[kind](clerk))).toEqual(done);
  expect(await say("scoped", FRAMES[kind](other))).toEqual(FRAME_ROWS[kind] === "self" ? done : { answer: "404", reached: [] });
});

const callFrame = (name: SocketOperation, of: Things): ClientFrameInput => {
  const { method, path } = OPERATIONS[name];
  const params = Object.fromEntries([...path.matchAll(/\{(\w+)\}/g)].map(([, field = ""]) => [field, paramOf(path, field, of)]));
  const takesBody = method === "POST" && !BARE.has(name);
  const body = takesBody ? { body: BODIES[name]?.(of) ?? {} } : {};
  const query = name === "usage" ? { query: { from: 0, to: 1 } } : {};
  return { kind: "call", id: "r", key: crypto.randomUUID(), operation: name, input: { params, ...query, ...body } };
};

test.each(SOCKET_OPERATIONS)("W-7 %s, called over a connection, is decided as over HTTP", async (name) => {
  const [clerk, other] = [mustHave("clerk"), mustHave("other")];
  const row = ROUTE_ROWS[name];
  const reach = Array.isArray(row) ? row[0] : row;
  const done = { answer: "result", reached: [name] };
  const refused = (status: number) => ({ answer: String(status), reached: [] });
  expect(await say("full", callFrame(name, other))).toEqual(done);
  expect(await say("scoped", callFrame(name, clerk))).toEqual(reach === "all" ? refused(403) : done);
  expect(await say("scoped", callFrame(name, other))).toEqual(
    reach === "all" ? refused(403) : reach === "its own" ? refused(hiddenAs(name)) : done,
  );
});

test("W-16 an id that somebody else has used opens, finds and says nothing; a session of somebody else takes leave to speak in it", async () => {
  const { runtime } = stand;
  const handlers = { ...agentHandlers(at.front), ...sessionHandlers(at.front) };
  const enter = async (name: string) => {
    const headers = bearer(name);
    const caller = await identity.authenticate({
      via: "http",
      method: "POST",
      path: "",
      query: new URLSearchParams(),
      headers,
      remote: "r",
    });
    if ("status" in caller) throw new Error(caller.detail);
    const may = (act: Parameters<Identity["mayDo"]>[1]) => identity.mayDo(caller, act) === null;
    const key = { intent: `i_${crypto.randomUUID()}`, external: `once-${crypto.randomUUID()}` };
    return { caller, may, sees: () => true, key, gone: new AbortController().signal, header: () => null, query: {} };
  };
  const mine = await runtime.sessions.create({ agent: "clerk", id: "ticket-7", principal: { kind: "user", id: "ann" } });
  const bob = await enter("bob");
  const execute = (body: object) =>
    handlers.execute?.({ ...bob, params: { agent: "clerk" }, body: { input: "look", waitMs: 5_000, ...body } } as never);
  await expect(execute({ id: "ticket-7" })).rejects.toMatchObject({ problem: { status: 409 } });
  await expect(handlers.openSession?.({ ...bob, params: {}, body: { agent: "clerk", id: "ticket-7" } } as never)).rejects.toMatchObject({
    problem: { status: 409 },
  });
  await expect(execute({ session: mine.session })).rejects.toThrow(FaultError);
  expect((await runtime.inspect.session(mine.session as SessionId))?.turns).toBe(0);
  expect(await execute({ id: "bobs-own" })).toMatchObject({ kind: "json", value: { state: "ended" } });

  const listed = async (name: string) => {
    const call = { ...(await enter(name)), params: {}, body: undefined, query: { limit: 100 } };
    const answer = (await handlers.sessions?.(call as never)) as { value: { items: { principal: { id: string } }[] } };
    return new Set(answer.value.items.map(({ principal }) => principal.id));
  };
  expect(await listed("bob")).toEqual(new Set(["bob"]));
  expect(await listed("full")).toEqual(new Set(["ann", "bob"]));
});

test("W-16 who closes a session is who asked for it", async () => {
  const { session } = await stand.runtime.sessions.create({ agent: "clerk" });
  await stand.runtime.sessions.close(session, "done", { kind: "user", id: "bob" });
  const closed = [];
  for await (const { event } of stand.runtime.inspect.events(session)) if (event.kind === "session.closed") closed.push(event.by.id);
  expect(closed).toEqual(["bob"]);
});
