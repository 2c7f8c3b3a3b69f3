/** Attacks by somebody with little access who wants to learn or reach more: over a real server, by every way in. */
import { approvalId, callId, defineAgent, grantId, type SessionId, sessionId } from "@orgate/core";
import { frameText, OPERATION_NAMES, OPERATIONS, type OperationName } from "@orgate/protocol";
import { afterAll, beforeAll, expect, test } from "vitest";
import { coordinatorTools } from "../../coordinator/tools.ts";
import { requesterName } from "../../identity/requester.ts";
import { findCoordinatorAgents } from "../coordinator-tools.ts";
import { type Guarded, openGuarded, until } from "../fixtures/guarded.ts";
import { latch } from "../fixtures/stand.ts";
import { CSRF_HEADER, csrfToken } from "../http/auth-site.ts";
import { conversationName } from "../live/chat.ts";

type Things = Readonly<{ session: SessionId; approval: string; grant: string; stuck: SessionId; call: string }>;
let one: Guarded;
let [full, scoped, bob]: [string, string, string] = ["", "", ""];
let theirs: Things;

beforeAll(async () => {
  one = await openGuarded({ hold: latch() });
  full = await one.give();
  scoped = await one.give({ agents: ["clerk"] });
  bob = await one.give({ person: "bob" });
  theirs = await thingsOf("other", "ann");
}, 60_000);
afterAll(() => one.stop());

/** A session that waits for an answer, one with a grant, and one with a call that nobody can tell of. */
async function thingsOf(agent: string, user: string): Promise<Things> {
  const { runtime, ann } = one.stand;
  const principal = { kind: "user", id: user } as const;
  const granted = await runtime.complete(agent, "pay", { principal });
  const [first] = granted.questions;
  if (first === undefined) throw new Error("nothing waits");
  const answer = { kind: "grant", grant: { scope: "resource", until: "session" } } as const;
  await runtime.approvals.answer({ approval: first.approval, digest: first.digest, answer }, ann);
  const grant = (await runtime.approvals.grants()).find(({ session }) => session === granted.session);
  const waits = await runtime.complete(agent, "pay", { principal });
  const stuck = await runtime.complete(agent, "wait", { principal, limits: { toolMs: 20 } });
  const [question] = stuck.questions;
  if (question !== undefined) {
    const { approval, digest: shown } = question;
    await runtime.approvals.answer({ approval, digest: shown, answer: { kind: "approve" } }, ann);
  }
  const [unknown] = (await runtime.place.store.unknownsOf(stuck.session)).values();
  const [open] = waits.questions;
  if (grant === undefined || unknown === undefined || open === undefined) throw new Error("something is missing");
  return { session: waits.session, approval: open.approval, grant: grant.grant, stuck: stuck.session, call: unknown.call };
}

// ── what is there and what is not ──

const BODIES: Partial<Record<OperationName, unknown>> = {
  say: { text: "look" },
  steer: { text: "look" },
  chooseModel: { model: "offline/echo" },
  answer: { digest: "0".repeat(64), answer: { kind: "approve" } },
  resolve: { as: "happened" },
  revoke: { reason: "no longer wanted" },
};
const HIDING = OPERATION_NAMES.filter((name) => {
  const { act } = OPERATIONS[name];
  return typeof act === "object" && ["session", "approval", "grant", "call"].includes(act.on);
});
/** Of the same form, and of nobody. */
const MADE_UP: Things = {
  session: sessionId("s_0mwhzo39iaaaaaaaaaaaaaaaa"),
  approval: approvalId("a_aaaaaaaaaaaaaaaa"),
  grant: grantId("g_aaaaaaaaaaaaaaaa"),
  stuck: sessionId("s_0mwhzo39iaaaaaaaaaaaaaaaa"),
  call: callId("1.0"),
};

async function asked(name: OperationName, of: Things, token: string): Promise<string> {
  const { method, path } = OPERATIONS[name];
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, key: string) =>
    key === "seq" ? "1" : of[key === "session" && path.includes("{call}") ? "stuck" : (key as keyof Things)],
  );
  const got = method === "GET" ? await one.get(`/api/v1${filled}`, token) : await one.post(`/api/v1${filled}`, BODIES[name] ?? {}, token);
  const ids = Object.values(of).reduce((text, id) => text.replaceAll(id, "ID"), await got.text());
  return `${got.status} ${ids}`;
}

test.each(HIDING)(
  "W-9 %s of something that may not be seen is answered as if it were not there, to a limited key and to a person alike",
  async (name) => {
    for (const token of [scoped, bob]) {
      const hidden = await asked(name, theirs, token);
      expect(hidden).toBe(await asked(name, MADE_UP, token));
      expect(hidden.slice(0, 3)).toBe("404");
    }
  },
);

test("W-9 the same over a socket: a subscription, a request, an answer tell nothing of what is there", async () => {
  const told = async (of: Things) => {
    const ends = one.dial("/ws/v1", { authorization: `Bearer ${scoped}` });
    await ends.opened;
    ends.socket.send(frameText({ kind: "hello", version: 1 }));
    const { session, approval, stuck, call } = of;
    const frames = [
      { kind: "subscribe", id: "a", to: { kind: "session", session }, after: 0 },
      { kind: "history", id: "b", session, before: null },
      { kind: "call", id: "c", operation: "steer", input: { params: { session }, body: { text: "x" } } },
      { kind: "call", id: "d", operation: "cancel", input: { params: { session }, body: {} } },
      { kind: "call", id: "e", operation: "say", input: { params: { session }, body: { text: "x" } } },
      {
        kind: "call",
        id: "f",
        operation: "answer",
        input: { params: { approval }, body: { digest: "0".repeat(64), answer: { kind: "approve" } } },
      },
      { kind: "call", id: "g", operation: "resolve", input: { params: { session: stuck, call }, body: { as: "happened" } } },
    ] as const;
    for (const frame of frames) ends.socket.send(frameText(frame));
    await until(() => (ends.heard.length > frames.length ? true : undefined));
    ends.socket.close();
    const errors = ends.heard.slice(1).map((text) => Object.values(of).reduce((t, id) => t.replaceAll(id, "ID"), text));
    return errors.sort();
  };
  const hidden = await told(theirs);
  expect(hidden).toEqual(await told(MADE_UP));
  expect(hidden.every((text) => text.includes('"kind":"error"') && text.includes('"status":404'))).toBe(true);
});

test("W-9 an access that leaves out an action is told so, whatever is there", async () => {
  const looks = await one.give({ actions: ["observe"] });
  expect(await asked("cancel", theirs, looks)).toBe(await asked("cancel", MADE_UP, looks));
  expect((await asked("cancel", theirs, looks)).slice(0, 3)).toBe("403");
});

// ── lists, by agent and by requester ──

test("W-9 a list holds what the caller may see of it, thing by thing: by agent for a limited key, by whose it is for a person", async () => {
  const [anns, bobs] = [await thingsOf("clerk", "ann"), await thingsOf("clerk", "bob")];
  const listed = async (path: string, token: string): Promise<readonly string[]> => {
    const found: string[] = [];
    for (let next: string | null = ""; next !== null; ) {
      const at: string = next === "" ? "" : `&cursor=${next}`;
      const page = (await (await one.get(`/api/v1${path}?limit=2${at}`, token)).json()) as {
        items: { session: string }[];
        next: string | null;
      };
      found.push(...page.items.map(({ session }) => session));
      next = page.next;
    }
    return found;
  };
  for (const [path, pick] of [
    ["/approvals", (of: Things) => of.session],
    ["/grants", null],
    ["/unknowns", (of: Things) => of.stuck],
    ["/sessions", (of: Things) => of.session],
    ["/agents/clerk/history", (of: Things) => of.stuck],
  ] as const) {
    const [all, limited, own] = [await listed(path, full), await listed(path, scoped), await listed(path, bob)];
    expect([path, new Set([...all, ...limited]).size]).toEqual([path, new Set(all).size]); // nobody sees more than who sees all
    expect([path, own.length > 0 && own.length < limited.length]).toEqual([path, true]);
    if (pick === null) continue;
    const shown = (list: readonly string[]) => [theirs, anns, bobs].map((of) => list.includes(pick(of)));
    expect([path, shown(limited)]).toEqual([path, [false, true, true]]);
    expect([path, shown(own)]).toEqual([path, [false, false, true]]);
  }
});

test("W-9 an agent is shown with those of its delegates that the caller may see; an agent that is not there is named beside none", async () => {
  const boss = (name: string, delegates: readonly string[]) =>
    defineAgent({ name, instructions: "x", model: "offline/echo", delegates: [...delegates] });
  const other = await openGuarded();
  try {
    expect(boss("clerk", ["other"]).delegates).toEqual(["other"]);
    const key = await other.give({ agents: ["clerk"] });
    for (const [path, body] of [
      ["/api/v1/agents/nobody/execute", { input: "x" }],
      ["/api/v1/sessions", { agent: "nobody" }],
    ] as const) {
      const told = await (await other.post(path, body, key)).text();
      expect(told).not.toMatch(/other|coordinator/);
      expect(await (await other.post(path, body, await other.give())).text()).not.toMatch(/other|coordinator/);
    }
  } finally {
    await other.stop();
  }
});

test("W-21 a cursor says nothing to whoever has it, and one that was made up is refused", async () => {
  const page = (await (await one.get("/api/v1/sessions?limit=1", scoped)).json()) as { next: string };
  const inside = Buffer.from(page.next, "base64url").toString("latin1");
  expect(inside).not.toMatch(/s_|\d{13}/);
  const again = (await (await one.get("/api/v1/sessions?limit=1", scoped)).json()) as { next: string };
  expect(again.next).not.toBe(page.next);
  const forged = [Buffer.from(`0 ${theirs.session}`).toString("base64url"), `${page.next.slice(0, -2)}AA`, "AAAA"];
  for (const cursor of forged) expect((await one.get(`/api/v1/sessions?cursor=${cursor}`, scoped)).status).toBe(400);
});

// ── names, forks, limits ──

test("W-16 nobody takes a name that the server makes up for somebody else, to open, to run or to fork under it", async () => {
  const ann = await one.identity.operator("ann");
  const mine = (await (await one.post("/api/v1/sessions", { agent: "clerk" }, bob)).json()) as { session: string };
  const names = [conversationName(ann, "coordinator"), ...["ui", "ws", "key", "run"].map((kind) => `${kind}-${"0".repeat(40)}`)];
  for (const id of names) {
    expect((await one.post("/api/v1/sessions", { agent: "clerk", id }, bob)).status).toBe(409);
    expect((await one.post("/api/v1/agents/clerk/execute", { input: "look", id }, bob)).status).toBe(409);
    expect((await one.post(`/api/v1/sessions/${mine.session}/fork`, { id }, bob)).status).toBe(409);
  }
  const chat = one.dial("/ws/chat", { authorization: `Bearer ${full}` });
  await chat.opened;
  chat.socket.send(JSON.stringify({ type: "ChatSend", id: "1", content: "hello" }));
  expect(await until(() => chat.heard.find((text) => text.includes('"done":true')))).toContain("You said: hello");
  chat.socket.close();
});

test("W-16 a fork under an id that somebody else has used does not say whose it is, and a fork stays with its agent", async () => {
  await one.post("/api/v1/sessions", { agent: "other", id: "anns-own" }, full);
  const mine = (await (await one.post("/api/v1/sessions", { agent: "clerk" }, bob)).json()) as { session: string; agent: string };
  const taken = await one.post(`/api/v1/sessions/${mine.session}/fork`, { id: "anns-own" }, bob);
  expect([taken.status, await taken.text()]).toEqual([409, expect.not.stringMatching(/s_0|`other`/)]);
  const fork = (await (await one.post(`/api/v1/sessions/${mine.session}/fork`, {}, bob)).json()) as { agent: string };
  expect(fork.agent).toBe("clerk");
});

test("W-21 limits that come with a request lower the agent's own, and raise none", async () => {
  const run = async (limits: object) => (await one.post("/api/v1/agents/clerk/execute", { input: "look", limits }, scoped)).status;
  for (const limits of [{ iterations: 10_000 }, { tokens: 1e9 }, { turnMs: 1e9 }, { calls: 10_000 }, { iterations: 2, outputTokens: 1e9 }])
    expect([limits, await run(limits)]).toEqual([limits, 400]);
  expect(await run({ iterations: 2, temperature: 1 })).toBe(200);
});

test("W-13 an agent through which the coordinator's tools are reached is not for limited access: by a tool, by a delegate, by a delegate's delegate", () => {
  const desk = coordinatorTools();
  const [list] = desk.tools;
  if (list === undefined) throw new Error("it has no tools");
  const agent = (name: string, tools: readonly (typeof list)[], delegates: readonly string[] = []) =>
    defineAgent({ name, instructions: "x", model: "offline/echo", tools: [...tools], delegates: [...delegates] });
  const fleet = [
    agent("coordinator", []),
    agent("lister", [list]),
    agent("far", [], ["near"]),
    agent("near", [], ["lister"]),
    agent("plain", [], ["clerk"]),
    agent("clerk", []),
  ];
  expect([...findCoordinatorAgents(fleet, desk)].sort()).toEqual(["coordinator", "far", "lister", "near"]);
});

test("G-13 a session that runs for an agent or for the system is not taken for that of a person of the same name", async () => {
  expect([
    requesterName({ kind: "user", id: "bob" }),
    requesterName({ kind: "system", id: "bob" }),
    requesterName({ kind: "agent", id: "bob" }),
  ]).toEqual(["bob", "system:bob", "agent:bob"]);
  const { session } = await one.stand.runtime.sessions.create({ agent: "clerk", principal: { kind: "system", id: "bob" } });
  for (const path of ["", "/events", "/turns"]) expect((await one.get(`/api/v1/sessions/${session}${path}`, bob)).status).toBe(404);
});

// ── doors ──

test("W-11 a ticket is used once, and only where it was asked for", async () => {
  const ticket = async (token: string | null, headers: Readonly<Record<string, string>> = {}) =>
    ((await (await one.post("/api/v1/tickets", undefined, token, headers)).json()) as { ticket: string }).ticket;
  const tried = async (path: string, headers: Readonly<Record<string, string>> = {}): Promise<number> => {
    const ends = one.dial(path, headers);
    const outcome = await Promise.race([ends.opened.then(() => 101), ends.closed]);
    ends.socket.terminate();
    return outcome;
  };
  const plain = await ticket(full);
  expect([await tried(`/ws/v1?token=${plain}`), await tried(`/ws/v1?token=${plain}`)]).toEqual([101, 401]);
  const handed = await ticket(full);
  expect(await tried(`/ws/v1?token=${handed}`, { origin: "https://app.example" })).toBe(101); // a program's own, handed to its page
  const pages = await ticket(full, { origin: "https://app.example" });
  expect(await tried(`/ws/v1?token=${pages}`, { origin: "https://evil.example" })).toBe(403);
  expect(await tried(`/ws/v1?token=${pages}`, { origin: "https://app.example" })).toBe(401); // tried is used
  const signIn = await one.give({ means: "sign-in" });
  const own = { cookie: `orgate-${one.at.port}=${signIn}`, origin: one.at.url, [CSRF_HEADER]: csrfToken(signIn) };
  expect(await tried(`/ws/v1?token=${await ticket(null, own)}`, { origin: "http://evil.example" })).toBe(403);
  expect(await tried(`/ws/v1?token=${await ticket(null, own)}`)).toBe(403);
  const { origin: _, ...unsaid } = { ...own, "sec-fetch-site": "same-origin" }; // asked for without saying where, by this site's page all the same
  expect(await tried(`/ws/v1?token=${await ticket(null, unsaid)}`, { origin: "http://evil.example" })).toBe(403);
  expect(await tried(`/ws/v1?token=${await ticket(null, own)}`, { origin: one.at.url })).toBe(101);
  expect(await tried(`/ws/v1?token=${full}`)).toBe(401); // what lasts is not taken from an address
});

test("W-14 a form of another site posts nothing, in no content type; a change needs JSON, its origin and its word", async () => {
  const signIn = await one.give({ means: "sign-in" });
  const cookie = { cookie: `orgate-${one.at.port}=${signIn}` };
  const before = (await one.stand.runtime.sessions.list({ most: 500 })).length;
  for (const type of ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/json"]) {
    const send = (headers: Readonly<Record<string, string>>) =>
      one.post("/api/v1/sessions", '{"agent":"clerk"}', null, { ...cookie, "content-type": type, ...headers });
    expect((await send({ origin: "http://evil.example", "sec-fetch-site": "cross-site" })).status).toBe(403);
    expect((await send({ origin: "null" })).status).toBe(403);
    expect((await send({ origin: one.at.url.replace("127.0.0.1", "localhost.evil.example") })).status).toBe(403);
    expect((await send({ origin: one.at.url })).status).toBe(403);
    if (type !== "application/json") expect((await send({ origin: one.at.url, [CSRF_HEADER]: csrfToken(signIn) })).status).toBe(415);
  }
  expect(await one.stand.runtime.sessions.list({ most: 500 })).toHaveLength(before);
});
