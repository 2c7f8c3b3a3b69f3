import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { ACCESS, intentId, millis, seq } from "@orgate/core";
import type { Problem } from "@orgate/protocol";
import { afterEach, expect, test } from "vitest";
import { hasSignedIn, LINK_MS, openAccessStore, readToken, SIGN_IN_MS } from "../../identity/access-store.ts";
import { secretPort } from "../../identity/secret-hash.ts";
import { type Act, act, type Caller } from "../../operations/access.ts";
import { openProjectStore } from "../../runtime/ports/project-store.ts";
import { signIntent } from "../../store/keyring.ts";
import { asking, type Door, HERE, openDoor, withKey } from "../fixtures/door.ts";
import { authPages, SIGN_IN_PATH, SIGN_OUT_PATH } from "../http/auth-pages.ts";
import { CSRF_HEADER, csrfToken } from "../http/auth-site.ts";
import { type IncomingRequest, isProblem, refuseOnError } from "./authentication.ts";

const doors: Door[] = [];
afterEach(async () => {
  for (const door of doors.splice(0)) await door.close();
});
async function open(options: Parameters<typeof openDoor>[0] = {}): Promise<Door> {
  const door = await openDoor(options);
  doors.push(door);
  return door;
}
function entered(found: Caller | Problem): Caller {
  if (isProblem(found)) throw new Error(found.detail);
  return found;
}
const why = (found: Caller | Problem): string => (isProblem(found) ? `${found.status} ${found.detail}` : "let in");
const SEE = act("observe", "agent", { agent: "clerk" });
const soon = () => new Promise<void>((resolve) => setImmediate(resolve));

test("W-10 a key is on record, with whom, by whom, for what and until when; its secret is nowhere", async () => {
  const { stand, identity, give } = await open();
  const until = Date.now() + 60_000;
  const { token, access } = await give({ agents: ["clerk"], actions: ["observe"], until });
  const [entry] = await stand.runtime.place.store.journal.read(ACCESS, seq(0), 10);
  expect(entry?.event).toMatchObject({
    kind: "access.given",
    access,
    means: "key",
    person: "ann",
    agents: ["clerk"],
    actions: ["observe"],
    until,
    by: { kind: "user", id: "ann" },
  });
  const secret = readToken(token)?.secret ?? "";
  const files = readdirSync(join(stand.folder, ".orgate"), { recursive: true, withFileTypes: true }).filter((f) => f.isFile());
  expect(files.length).toBeGreaterThan(3);
  for (const { parentPath, name } of files) expect(readFileSync(join(parentPath, name)).includes(secret)).toBe(false);
  const caller = entered(await identity.authenticate(withKey(token)));
  expect(caller.scope).toEqual({ agents: ["clerk"], actions: ["observe"], expiresAt: until });
});

test("W-10 nothing, a wrong one, one of a name that nobody has, and no token at all: refused, and told alike", async () => {
  const { identity, give } = await open();
  const { token } = await give();
  const [prefix, name] = token.split("_");
  const secret = readToken(token)?.secret ?? "";
  const wrong = [
    `${prefix}_${name}_${"A".repeat(43)}`,
    `${prefix}_${"0".repeat(16)}_${secret}`,
    "ogk_x",
    "",
    `${token}x`,
    token.slice(0, -1),
  ];
  const told = new Set<string>();
  for (const one of wrong) told.add(why(await identity.authenticate(withKey(one))));
  expect([...told]).toEqual(["401 nobody is known by this"]);
  expect(why(await identity.authenticate(asking()))).toBe("401 nothing says who is asking");
  expect(why(await identity.authenticate(asking({ headers: { authorization: `Basic ${token}` } })))).toBe("401 nobody is known by this");
  expect(why(await identity.authenticate(withKey(token)))).toBe("let in");
});

test("W-34 somebody has signed in once a link was used; a link that nobody used and a key are no sign-in", async () => {
  const { identity, give, clock } = await open();
  await give({ means: "key" });
  const link = await give({ means: "link", until: clock.now + LINK_MS });
  expect(hasSignedIn(await identity.accesses.refresh(), "ann")).toBe(false);
  await identity.signIn(link.token);
  const all = await identity.accesses.refresh();
  expect([hasSignedIn(all, "ann"), hasSignedIn(all, "bob")]).toEqual([true, false]);
});

test("W-11 a link signs in once, however many use it at the same time, in however many processes", async () => {
  const { identity, give, another, clock } = await open();
  const { token, access } = await give({ means: "link", until: clock.now + LINK_MS });
  const here = Array.from({ length: 3 }, () => identity.signIn(token));
  const elsewhere = [another(), another()].map((book) => book.exchange(access, millis(clock.now + SIGN_IN_MS)));
  const came = await Promise.all([...here, ...elsewhere]);
  expect(came.filter((one) => one !== null && !("status" in one))).toHaveLength(1);
  expect(await identity.signIn(token)).toMatchObject({ status: 401 });
  const given = [...identity.accesses.all().values()];
  expect(given.filter((one) => one.means === "sign-in" && one.from === access)).toHaveLength(1);
  const late = await give({ means: "link", until: clock.now + LINK_MS });
  clock.now += LINK_MS;
  expect(await identity.signIn(late.token)).toMatchObject({ status: 401, detail: "this link is expired" });
  expect(await another().exchange(late.access, millis(clock.now + 1))).toBeNull();
  const key = await give();
  expect(await identity.signIn(key.token)).toMatchObject({ status: 401 });
  expect(await another().exchange(key.access, millis(clock.now + 1))).toBeNull();
});

test("W-11 a link that was used says so, and one that was revoked says that", async () => {
  const { give, identity, clock } = await open();
  const { token } = await give({ means: "link", until: clock.now + LINK_MS });
  await identity.signIn(token);
  expect(await identity.signIn(token)).toMatchObject({ status: 401, detail: "this link was used: it is good once" });
});

test("W-12 what is revoked, here or by another process, or has expired, ends at once, also for those who are in", async () => {
  const { stand, identity, give, clock } = await open();
  const [mine, theirs, short] = [await give(), await give(), await give({ until: clock.now + 1_000 })];
  const callers = [];
  for (const { token } of [mine, theirs, short]) callers.push(entered(await identity.authenticate(withKey(token))));
  const [a, b, c] = callers as [Caller, Caller, Caller];
  for (const one of callers) expect(identity.mayDo(one, SEE)).toBeNull();
  const ticket = identity.ticket(a, null);

  await identity.accesses.revoke(mine.access, { kind: "user", id: "ann" }, "lost");
  expect(identity.mayDo(a, SEE)).toBe("this access is revoked");
  expect(why(await identity.authenticate(withKey(mine.token)))).toBe("401 this key is revoked");
  if (!("ticket" in ticket)) throw new Error("there was one");
  const used = asking({ via: "socket", query: new URLSearchParams({ token: ticket.ticket }) });
  expect(why(await identity.authenticate(used))).toBe("401 this access is revoked");
  expect(identity.ticket(a, null)).toMatchObject({ status: 401 });

  const place = await openProjectStore({ directory: join(stand.folder, ".orgate"), thread: "main", powerCut: "lose-last-moments" });
  const book = openAccessStore({ journal: place.store.journal, secrets: secretPort, now: () => millis(clock.now) });
  await book.revoke(theirs.access, { kind: "user", id: "ann" }, "gone");
  while (identity.mayDo(b, SEE) === null) await soon();
  expect(identity.mayDo(b, SEE)).toBe("this access is revoked");
  await place.close();

  clock.now += 1_000;
  expect(identity.mayDo(c, SEE)).toBe("this access is expired");
  expect(why(await identity.authenticate(withKey(short.token)))).toBe("401 this key is expired");
});

test("W-6 the policies decide on the person, each time; what is not simply allowed is not done, nor what nobody let in asks for", async () => {
  const asked: [string, string][] = [];
  let verdict = "allow";
  const gate: NonNullable<Parameters<typeof openDoor>[0]>["gate"] = {
    decideFor(user, { kind }) {
      asked.push([user, kind]);
      if (verdict === "throw") throw new Error("the engine is gone");
      const because: never[] = [];
      if (verdict === "allow") return { verdict: { kind: "allow", because, approval: null }, slice: "" as never, read: {}, shadow: null };
      if (verdict === "defer") return { verdict: { kind: "defer", because, ms: 1 }, slice: "" as never, read: {}, shadow: null };
      const denied = { kind: "deny", by: "policy", because, faults: [], reason: "not today" } as const;
      return { verdict: denied, slice: "" as never, read: {}, shadow: null };
    },
  };
  const { identity, give } = await open({ gate });
  const caller = entered(await identity.authenticate(withKey((await give()).token)));
  const wanted = act("run", "agent", { agent: "clerk" });
  expect(identity.mayDo(caller, wanted)).toBeNull();
  expect(asked).toEqual([["ann", "run"]]);
  verdict = "deny";
  expect(identity.mayDo(caller, wanted)).toBe("not today");
  verdict = "defer";
  expect(identity.mayDo(caller, wanted)).toBe("the policies answer `defer`, which is not allow");
  verdict = "throw";
  expect(identity.mayDo(caller, wanted)).toBe("the policies could not be evaluated: the engine is gone");
  const broken = () => {
    throw new Error("gone");
  };
  expect(refuseOnError({ ...identity, mayDo: broken }).mayDo(caller, wanted)).toContain("could not be decided");
  verdict = "allow";
  expect(identity.mayDo({ ...caller }, wanted)).toBe("nobody let this caller in");
  expect(identity.mayDo({ ...caller, scope: { agents: null, actions: null, expiresAt: null } }, wanted)).toBe("nobody let this caller in");
  expect(identity.mayDo(caller, act("run", "project"))).toBe("there is no rule for what it means to run this project");
});

test("W-13 limited access does not speak with an agent that acts for its operator; what is not limited does", async () => {
  const { identity, give } = await open({ desks: ["coordinator"] });
  const about = { agent: "coordinator", session: "s", id: "a", requester: "ann" };
  const speaking: readonly Act[] = [
    act("run", "agent", about),
    act("open", "agent", about),
    act("say", "session", about),
    act("steer", "session", about),
    act("approve", "approval", about),
  ];
  const enter = async (limits: Parameters<Door["give"]>[0]) => entered(await identity.authenticate(withKey((await give(limits)).token)));
  const full = await enter({});
  const some = [await enter({ agents: ["coordinator"] }), await enter({ actions: ["run", "open", "say", "steer", "approve"] })];
  for (const one of speaking) {
    expect(identity.mayDo(full, one)).toBeNull();
    for (const caller of some)
      expect(identity.mayDo(caller, one)).toBe("`coordinator` acts for the person who talks to it, and this access is limited");
  }
  expect(identity.mayDo(await enter({ agents: ["coordinator"] }), act("observe", "agent", about))).toBeNull();
  expect(identity.mayDo(await identity.operator("ann"), act("run", "agent", about))).toBeNull();
});

test("W-11 a ticket stands for its maker, with the same limits; it opens a socket and nothing else, once", async () => {
  const { identity, give } = await open();
  const caller = entered(await identity.authenticate(withKey((await give({ agents: ["clerk"] })).token)));
  const made = identity.ticket(caller, null);
  if (!("ticket" in made)) throw new Error("there is room");
  const by = (via: "http" | "socket", ...shown: string[]) => {
    const query = new URLSearchParams();
    for (const one of shown) query.append("token", one);
    return identity.authenticate(asking({ via, query }));
  };
  expect(why(await by("http", made.ticket))).toBe("401 nothing says who is asking");
  const came = entered(await by("socket", made.ticket));
  expect([came.person.name, came.scope]).toEqual(["ann", caller.scope]);
  expect(identity.mayDo(came, SEE)).toBeNull();
  expect(identity.mayDo(came, act("observe", "agent", { agent: "other" }))).toBe("this access is limited to agent `clerk`");
  expect(why(await by("socket", made.ticket))).toBe("401 this ticket is good no more");
  const two = identity.ticket(caller, null);
  if (!("ticket" in two)) throw new Error("there is room");
  expect(why(await by("socket", two.ticket, two.ticket))).toBe("401 this ticket is good no more");
});

test("W-15 what lasts is not taken from an address, and each kind only where it belongs", async () => {
  const { identity, give, clock } = await open();
  const key = (await give()).token;
  const signIn = (await give({ means: "sign-in", until: clock.now + 1_000 })).token;
  const link = (await give({ means: "link", until: clock.now + 1_000 })).token;
  for (const token of [key, signIn, link])
    for (const via of ["http", "socket"] as const)
      expect(why(await identity.authenticate(asking({ via, query: new URLSearchParams({ token }) })))).toMatch(/^401/);
  for (const token of [signIn, link]) expect(why(await identity.authenticate(withKey(token)))).toMatch(/^401/);
  for (const token of [key, link])
    expect(why(await identity.authenticate(asking({ headers: { host: "127.0.0.1:4680", cookie: `orgate-4680=${token}` } })))).toMatch(
      /^401/,
    );
});

test("W-16 W-12 what an operator does through the server is signed as theirs; with the key withdrawn nobody is let in for them", async () => {
  const { stand, identity, give } = await open();
  const { runtime } = stand;
  const { token } = await give({ person: "bob" });
  const caller = entered(await identity.authenticate(withKey(token)));
  expect(caller.principal).toEqual({ kind: "user", id: "bob" });
  expect(caller.person.key.id).not.toBe(stand.ann.key.id);
  const { session } = await runtime.sessions.create({ agent: "clerk" });
  const wish = { kind: "follow-up", text: "look" } as const;
  await runtime.putIntent(signIntent(caller.person, { id: intentId("i_1"), session, at: millis(Date.now()), wish }));
  await runtime.resume(session).result;
  const started = [];
  for await (const { event } of runtime.inspect.events(session)) if (event.kind === "turn.started") started.push(event.by);
  expect(started).toEqual([{ kind: "user", id: "bob" }]);

  expect(identity.callerOf({ kind: "agent", id: "bob" })).toBeNull();
  expect(identity.callerOf({ kind: "user", id: "nobody" })).toBeNull();
  const inside = identity.callerOf({ kind: "user", id: "bob" });
  if (inside === null) throw new Error("bob is known");
  expect(identity.mayDo(inside, SEE)).toBeNull();
  const again = entered(await identity.authenticate(withKey(token)));
  expect(again.person.key.id).toBe(caller.person.key.id);
  await runtime.place.keyring.withdraw(caller.person.key.id, { kind: "user", id: "ann" }, "left");
  for (const one of [caller, inside]) expect(identity.mayDo(one, SEE)).toBe("the key that stands for `bob` was withdrawn");
  expect(identity.callerOf({ kind: "user", id: "bob" })).toBeNull();
  const told = { status: 401, detail: "the key that stands for `bob` was withdrawn" };
  expect(await identity.authenticate(withKey(token))).toMatchObject(told);
  expect(await refuseOnError(identity).authenticate(withKey(token))).toMatchObject(told);
  await expect(identity.operator("bob")).rejects.toThrow("withdrawn");
});

const SITE = { host: "127.0.0.1:4680", origin: HERE };

test("W-11 a link signs in by this site's page alone, a cookie comes back, and signing out ends the sign-in", async () => {
  const { identity, clock } = await open();
  const pages = authPages({ ...identity, origins: () => [HERE], now: () => millis(clock.now) });
  const at = (path: string, method: string, headers: IncomingRequest["headers"] = SITE, body = "") =>
    pages(asking({ path, method, headers }), body);
  expect(await at("/elsewhere", "GET")).toBeNull();
  const page = await at(SIGN_IN_PATH, "GET");
  const link = await identity.link("ann", { kind: "system", id: "w" });
  expect(link.startsWith(`${HERE}/sign-in#ogl_`)).toBe(true);
  expect(page?.status).toBe(200);
  expect(page?.headers["content-security-policy"]).toMatch(/^default-src 'none'; script-src 'sha256-/);
  expect((await at(SIGN_IN_PATH, "PUT"))?.status).toBe(405);
  expect((await at(SIGN_IN_PATH, "POST", { host: SITE.host, origin: "http://evil.example" }, link))?.status).toBe(403);
  expect((await at(SIGN_IN_PATH, "POST", { host: SITE.host }, link))?.status).toBe(403);
  expect((await at(SIGN_IN_PATH, "POST", SITE, "x".repeat(2_000)))?.status).toBe(413);
  expect((await at(SIGN_IN_PATH, "POST", SITE, "ogl_nonsense"))?.status).toBe(401);

  const came = await at(SIGN_IN_PATH, "POST", SITE, link);
  expect(came?.status).toBe(204);
  const [cookie = ""] = came?.headers["set-cookie"] ?? [];
  const token = /^orgate-4680=(ogs_\w+[^;]*); Path=\/; SameSite=Strict; Max-Age=43200; HttpOnly$/.exec(cookie)?.[1] ?? "";
  expect((await at(SIGN_IN_PATH, "POST", SITE, link))?.status).toBe(401);

  const headers = { ...SITE, cookie: `orgate-4680=${token}` };
  const caller = entered(await identity.authenticate(asking({ headers })));
  expect([caller.person.name, caller.scope.agents]).toEqual(["ann", null]);
  expect((await at(SIGN_OUT_PATH, "POST", headers))?.status).toBe(403);
  const out = await at(SIGN_OUT_PATH, "POST", { ...headers, [CSRF_HEADER]: csrfToken(token) });
  expect([out?.status, String(out?.headers["set-cookie"])]).toEqual([
    204,
    expect.stringContaining("orgate-4680=; Path=/; SameSite=Strict; Max-Age=0"),
  ]);
  expect(identity.mayDo(caller, SEE)).toBe("this access is revoked");
  expect(why(await identity.authenticate(asking({ headers })))).toBe("401 this sign-in is revoked");
});
