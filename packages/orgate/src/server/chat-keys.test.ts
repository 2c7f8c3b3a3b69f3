/** Clients of the older chat protocol, which send an API key in the address and come back with it. */
import { afterEach, expect, test } from "vitest";
import { readToken } from "../identity/access-store.ts";
import type { Log } from "../operations/logs.ts";
import { type Guarded, type GuardedOptions, openGuarded, until } from "./fixtures/guarded.ts";
import { raw } from "./fixtures/serving.ts";

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});
async function guarded(options: GuardedOptions): Promise<Guarded> {
  const one = await openGuarded(options);
  closing.push(one.stop);
  return one;
}
/** With the setting, as `orgate up` has it; `lines` is everything that was written to the log. */
async function taking(more: GuardedOptions = {}) {
  const lines: string[] = [];
  const log: Log = (level, event, fields = {}) => void lines.push(JSON.stringify({ level, event, ...fields }));
  const one = await guarded({
    ...more,
    log,
    identity: { chatKeyUsed: (user) => log("warn", "chat-key.used", { user }), ...more.identity },
  });
  return { one, lines };
}
const said = (one: Guarded, path: string, id: string) => {
  const ends = one.dial(path);
  const answered = ends.opened.then(() => {
    ends.socket.send(JSON.stringify({ type: "ChatSend", id, content: "hello" }));
    return until(() => ends.heard.find((text) => text.includes('"ChatChunk"')));
  });
  return { ...ends, answered };
};
const revoke = async (one: Guarded, token: string): Promise<void> => {
  const read = readToken(token);
  if (read === null) throw new Error("no token");
  await one.identity.accesses.revoke(read.access, { kind: "user", id: "ann" }, "lost");
};
const WRONG = `ogk_${"0".repeat(16)}_${"x".repeat(43)}`;

test("W-15 with the setting a client connects with its key, chats, drops, comes back with the same key and chats on; each use is told", async () => {
  const { one, lines } = await taking();
  const path = `/ws/chat?token=${await one.give()}`;
  const first = said(one, path, "1");
  expect(JSON.parse(await first.answered)).toMatchObject({ type: "ChatChunk", done: true });
  first.socket.terminate();
  await first.closed;
  const second = said(one, path, "2");
  expect(JSON.parse(await second.answered)).toMatchObject({ type: "ChatChunk", done: true });
  second.socket.terminate();
  expect(lines.filter((line) => line.includes("chat-key.used"))).toEqual(
    Array(2).fill('{"level":"warn","event":"chat-key.used","user":"ann"}'),
  );
});

test("W-15 without the setting it is refused in one line that says where a key goes", async () => {
  const one = await guarded({});
  const key = await one.give();
  expect(await one.dial(`/ws/chat?token=${key}`).closed).toBe(401);
  const problem = await one.identity.authenticate({ ...SOCKET, query: new URLSearchParams({ token: key }) });
  expect(problem).toMatchObject({
    status: 401,
    detail: expect.stringMatching(/^keys are not taken from an address$/),
    hint: expect.stringContaining("Bearer"),
  });
});
const SOCKET = { via: "socket", method: "GET", path: "/ws/chat", headers: {}, remote: "127.0.0.1" } as const;

test("W-15 with the setting nothing else is taken from an address: a wrong or revoked key, another socket, a request, two keys, a sign-in", async () => {
  const { one, lines } = await taking();
  const [key, expired, signIn] = [await one.give(), await one.give({ until: 1 }), await one.give({ means: "sign-in" })];
  const revoked = await one.give();
  await revoke(one, revoked);
  for (const path of [
    `/ws/chat?token=${WRONG}`,
    `/ws/chat?token=${expired}`,
    `/ws/chat?token=${revoked}`,
    `/ws/chat?token=${signIn}`,
    `/ws/chat?token=${key}&token=${key}`,
    `/ws/chat?key=${key}`,
    `/ws/v1?token=${key}`,
  ])
    expect([path, await one.dial(path).closed]).toEqual([path, 401]);
  expect((await one.get(`/api/v1/sessions?token=${key}`, null)).status).toBe(401);
  expect(lines.filter((line) => line.includes("chat-key.used"))).toEqual([]);
});

test("W-15 a limited key has its limits there too, and a key that is revoked cuts the socket", async () => {
  const { one } = await taking();
  const scoped = said(one, `/ws/chat?token=${await one.give({ agents: ["clerk"] })}`, "1");
  await scoped.opened;
  await until(() => scoped.heard.find((text) => text.includes('"Error"')));
  expect((await one.stand.runtime.sessions.list({ most: 10 })).filter(({ turns }) => turns > 0)).toEqual([]);
  scoped.socket.terminate();
  const key = await one.give();
  const open = one.dial(`/ws/chat?token=${key}`);
  await open.opened;
  await revoke(one, key);
  expect(await open.closed).toBe(1008);
});

test("W-15 no line of the log holds a key that came in an address, right or wrong", async () => {
  const { one, lines } = await taking();
  const key = await one.give();
  const ends = said(one, `/ws/chat?token=${key}`, "1");
  await ends.answered;
  ends.socket.terminate();
  await ends.closed;
  await one.dial(`/ws/chat?token=${WRONG}`).closed;
  await one.dial(`/ws/none?token=${key}`).closed;
  await one.get(`/nowhere?token=${key}`, null);
  expect(lines.length).toBeGreaterThan(4);
  for (const secret of [readToken(key)?.secret ?? key, "x".repeat(43)]) expect(lines.join("\n")).not.toContain(secret);
});

test("W-15 W-17 wrong keys in addresses, which any page can make a browser show, keep nobody waiting who shows a key in a header", async () => {
  const { one } = await taking({ bounds: { strangersBurst: 5, strangersPerSecond: 0.001 } });
  const key = await one.give();
  const outcomes: number[] = [];
  for (let i = 0; i < 12; i += 1) outcomes.push(await one.dial(`/ws/chat?token=${WRONG.replace("0", String(i % 10))}`).closed);
  expect(outcomes.at(-1)).toBe(429);
  expect((await one.get("/api/v1/sessions", key)).status).toBe(200);
});

test("W-17 a wrong key in the address is counted by the key that it claims to be, as one in a header is, and the right one gets in", async () => {
  const { one } = await taking({ bounds: { strangersBurst: 3, strangersPerSecond: 0.001 }, proxies: ["127.0.0.1"] });
  const key = await one.give();
  const wrong = `${key.slice(0, "ogk_".length + 16)}_${"B".repeat(43)}`;
  const from = (n: number, token: string) =>
    raw(one.at.port, [
      `GET /ws/chat?token=${token} HTTP/1.1\r\nhost: localhost\r\nx-forwarded-for: 198.51.100.${n}\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n`,
    ]).then((told) => Number(/^HTTP\/1\.1 (\d+)/.exec(told)?.[1]));
  const found = [];
  for (let n = 1; n <= 5; n += 1) found.push(await from(n, wrong));
  expect(found).toEqual([401, 401, 401, 429, 429]);
  const right = said(one, `/ws/chat?token=${key}`, "1");
  expect(JSON.parse(await right.answered)).toMatchObject({ type: "ChatChunk" });
  right.socket.terminate();
});
