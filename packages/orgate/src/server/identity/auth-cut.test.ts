/** Access that ends while something is open: over real sockets and streams of a real server. */
import { join } from "node:path";
import { millis } from "@orgate/core";
import { CLOSE, frameText } from "@orgate/protocol";
import { afterEach, expect, test } from "vitest";
import { openAccessStore, readToken } from "../../identity/access-store.ts";
import { secretPort } from "../../identity/secret-hash.ts";
import { type OpenProjectStore, openProjectStore } from "../../runtime/ports/project-store.ts";
import { withKey } from "../fixtures/door.ts";
import { type Dialled, type Guarded, openGuarded, until } from "../fixtures/guarded.ts";
import { latch } from "../fixtures/stand.ts";
import { CSRF_HEADER, csrfToken } from "../http/auth-site.ts";
import { isProblem } from "./authentication.ts";

const open: Guarded[] = [];
afterEach(async () => {
  for (const one of open.splice(0)) await one.stop();
});
async function guarded(options: Parameters<typeof openGuarded>[0] = {}): Promise<Guarded> {
  const one = await openGuarded(options);
  open.push(one);
  return one;
}
const accessOf = (token: string) => {
  const read = readToken(token);
  if (read === null) throw new Error("no token");
  return read.access;
};
const ANN = { kind: "user", id: "ann" } as const;
const HELLO = frameText({ kind: "hello", version: 1, resume: [{ id: "all", to: { kind: "all" }, after: 0 }] });

/** Both kinds of socket, greeted, and saying nothing more. */
async function quiet({ dial }: Guarded, headers: Readonly<Record<string, string>>): Promise<readonly Dialled[]> {
  const both = [dial("/ws/v1", headers), dial("/ws/chat", headers)];
  for (const { opened } of both) await opened;
  both[0]?.socket.send(HELLO);
  both[1]?.socket.send(JSON.stringify({ type: "Ping" }));
  for (const { heard } of both) await until(() => heard[0]);
  return both;
}

/** In another process, as far as the journal can tell: its writes are noticed by the server by itself. */
async function elsewhere({ stand }: Guarded, work: (place: OpenProjectStore) => Promise<unknown>): Promise<void> {
  const place = await openProjectStore({ directory: join(stand.folder, ".orgate"), thread: "main", powerCut: "lose-last-moments" });
  await work(place);
  await place.close();
}
const SOMETHING = { means: "key", person: "zoe", agents: [], actions: [], until: null, note: "", by: ANN } as const;

/** Whether a body ended or broke off. */
async function bodyOf(response: Response): Promise<"whole" | "broken"> {
  try {
    for await (const _ of response.body ?? []);
    return "whole";
  } catch {
    return "broken";
  }
}

test("W-12 a revoked key is cut off at once: silent sockets, event streams, exports, and an answer that took its time", async () => {
  const hold = latch();
  const one = await guarded({ hold });
  const key = await one.give();
  const sockets = await quiet(one, { authorization: `Bearer ${key}` });
  const events = await one.get("/api/v1/stream?after=0", key);
  const running = one.post("/api/v1/agents/clerk/execute", { input: "wait" }, key);
  await hold.reached;
  const body = bodyOf(events);
  await one.identity.accesses.revoke(accessOf(key), ANN, "lost");
  for (const { closed } of sockets) expect(await closed).toBe(CLOSE.policy);
  expect(JSON.parse(sockets[0]?.heard.at(-1) ?? "")).toMatchObject({ kind: "closing", again: false, problem: { status: 401 } });
  expect(JSON.parse(sockets[1]?.heard.at(-1) ?? "")).toMatchObject({ type: "Error", request_id: null });
  expect(await body).toBe("broken");
  hold.open();
  const late = await running;
  expect([late.status, await late.text()]).toEqual([401, expect.not.stringContaining("waited")]);
  expect(one.stand.runs.wait).toBe(1); // what was asked for is done, and told to nobody
});

test("W-12 a turn that is being told is told no further once the key is revoked, over `/ws/chat` and to `useChat`", async () => {
  const hold = latch();
  const one = await guarded({ hold });
  const key = await one.give();
  const chat = one.dial("/ws/chat", { authorization: `Bearer ${key}` });
  await chat.opened;
  chat.socket.send(JSON.stringify({ type: "ChatSend", id: "1", content: "wait" }));
  await until(() => chat.heard.find((text) => text.includes("ToolCallStarted")));
  const messages = [{ id: "m1", role: "user", parts: [{ type: "text", text: "look" }] }];
  const ui = await one.post(
    "/api/v1/agents/clerk/chat",
    { id: "c1", messages: [{ ...messages[0], parts: [{ type: "text", text: "wait" }] }] },
    key,
  );
  const body = bodyOf(ui);
  await one.identity.accesses.revoke(accessOf(key), ANN, "lost");
  expect(await chat.closed).toBe(CLOSE.policy);
  expect(await body).toBe("broken");
  hold.open();
  expect(chat.heard.some((text) => text.includes("waited"))).toBe(false);
});

test("W-12 a key whose time is up is cut off without anybody saying anything; so are a ticket's socket and a sign-in's once it has signed out", async () => {
  const one = await guarded();
  const key = await one.give();
  const { ticket } = (await (await one.post("/api/v1/tickets", undefined, key)).json()) as { ticket: string };
  const byTicket = one.dial(`/ws/v1?token=${ticket}`);
  const sockets = [...(await quiet(one, { authorization: `Bearer ${key}` })), byTicket];
  const body = bodyOf(await one.get("/api/v1/stream", key));
  one.clock.ahead = 3_600_001;
  await elsewhere(one, ({ store }) =>
    openAccessStore({ journal: store.journal, secrets: secretPort, now: () => millis(0) }).give(SOMETHING),
  );
  for (const { closed } of sockets) expect(await closed).toBe(CLOSE.policy);
  expect(await body).toBe("broken");

  one.clock.ahead = 0;
  const signIn = await one.give({ means: "sign-in" });
  const cookie = { cookie: `orgate-${one.at.port}=${signIn}`, origin: one.at.url };
  const own = await quiet(one, cookie);
  expect((await one.post("/sign-out", undefined, null, { ...cookie, [CSRF_HEADER]: csrfToken(signIn) })).status).toBe(204);
  for (const { closed } of own) expect(await closed).toBe(CLOSE.policy);
});

test("W-12 nobody has to say anything for the time to be up, and what ended is told once, also to who asks afterwards", async () => {
  const one = await guarded();
  const end = Date.now() + 3_600_000;
  const caller = await one.identity.authenticate(withKey(await one.give({ until: end })));
  if (isProblem(caller)) throw new Error(caller.detail);
  one.clock.ahead = end - Date.now() - 50;
  const told: string[] = [];
  await new Promise<void>((resolve) => {
    one.identity.watch(caller, (why) => resolve(void told.push(why)));
    one.identity.watch(caller, () => told.push("never"))();
  });
  one.identity.watch(caller, (why) => told.push(why));
  expect(told).toEqual(["this access is expired", "this access is expired"]);
});

test("W-12 a person's key that is withdrawn cuts off whoever stands for them, and nobody else", async () => {
  const one = await guarded();
  const [anns, bobs] = [await one.give(), await one.give({ person: "bob" })];
  const [a, b] = [await quiet(one, { authorization: `Bearer ${anns}` }), await quiet(one, { authorization: `Bearer ${bobs}` })];
  const bob = await one.identity.operator("bob");
  await elsewhere(one, ({ keyring }) => keyring.withdraw(bob.person.key.id, ANN, "left"));
  for (const { closed } of b) expect(await closed).toBe(CLOSE.policy);
  for (const { socket } of a) expect(socket.readyState).toBe(socket.OPEN);
});
