/** Every way in beside the routes and frames of the tables: sockets, their older messages, pages, probes. One without a row fails. */
import { type ChatClientMessage, chatClientMessage } from "@orgate/protocol";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Guarded, openGuarded, until } from "../fixtures/guarded.ts";
import { CHAT_ROWS, WAY_ROWS } from "../fixtures/matrix.ts";
import { CSRF_HEADER, csrfToken } from "../http/auth-site.ts";
import { PROBES } from "../http/server.ts";

let one: Guarded;
const shown: Record<string, Readonly<Record<string, string>>> = {};

beforeAll(async () => {
  one = await openGuarded();
  const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
  const signIn = await one.give({ means: "sign-in" });
  const cookie = { cookie: `orgate-${one.at.port}=${signIn}`, [CSRF_HEADER]: csrfToken(signIn) };
  const spent = await one.give({ means: "sign-in" });
  Object.assign(shown, {
    none: {},
    wrong: bearer(`ogk_${"0".repeat(16)}_${"x".repeat(43)}`),
    expired: bearer(await one.give({ until: 1 })),
    scoped: bearer(await one.give({ agents: ["clerk"] })),
    looking: bearer(await one.give({ actions: ["observe"] })),
    full: bearer(await one.give()),
    "cross-site": { ...cookie, origin: "http://evil.example" },
    silent: cookie, // with the cookie, and no word about where it comes from
    own: { ...cookie, origin: one.at.url },
    spent: { cookie: `orgate-${one.at.port}=${spent}`, [CSRF_HEADER]: csrfToken(spent), origin: one.at.url },
  });
  await one.post("/sign-out", undefined, null, shown.spent);
});
afterAll(() => one.stop());

const ways = (): readonly string[] => [
  ...PROBES.map((path) => `GET ${path}`),
  ...one.pages.flatMap((page) => page.ways),
  ...Object.keys(one.talks).map((path) => `WS ${path}`),
];

/** The status for somebody with this credential; 101 for a socket that opens. */
async function tried(way: string, who: string): Promise<number> {
  const [method = "", path = ""] = way.split(" ");
  const headers = { accept: "text/html", ...shown[who] };
  if (method !== "WS")
    return (await fetch(`${one.at.url}${path}`, { method, headers, ...(method === "POST" ? { body: "ogl_nothing" } : {}) })).status;
  const ends = one.dial(path, headers);
  const outcome = await Promise.race([ends.opened.then(() => 101), ends.closed]);
  ends.socket.terminate();
  return outcome;
}

test("W-7 every way in beside the tables has its row, and no row is left over", () => {
  expect([...ways()].sort()).toEqual(Object.keys(WAY_ROWS).sort());
  expect(chatClientMessage.options.map(({ shape }) => shape.type.value).sort()).toEqual(Object.keys(CHAT_ROWS).sort());
});

test.each(Object.entries(WAY_ROWS))("W-7 %s: none, wrong, expired, limited, whole, cross-site", async (way, row) => {
  const got: Record<string, number> = {};
  for (const who of Object.keys(row)) got[who] = await tried(way, who);
  expect(got).toEqual(row);
});

const MESSAGES: Readonly<Record<ChatClientMessage["type"], ChatClientMessage>> = {
  ChatSend: { type: "ChatSend", id: "1", content: "hello" },
  Ping: { type: "Ping" },
};

test.each(Object.entries(CHAT_ROWS))("W-7 message %s of `/ws/chat`, by everybody whose socket opens", async (type, row) => {
  for (const [who, expected] of Object.entries(row)) {
    const ends = one.dial("/ws/chat", shown[who]);
    await ends.opened;
    const before = (await one.stand.runtime.sessions.list({ most: 500 })).reduce((sum, { turns }) => sum + turns, 0);
    ends.socket.send(JSON.stringify(MESSAGES[type as ChatClientMessage["type"]]));
    const told = await until(() => ends.heard.find((text) => /"Pong"|"Error"|You said/.test(text)));
    ends.socket.terminate();
    expect([who, JSON.parse(told).type]).toEqual([who, expected]);
    const after = (await one.stand.runtime.sessions.list({ most: 500 })).reduce((sum, { turns }) => sum + turns, 0);
    expect([who, after - before]).toEqual([who, expected === "ChatChunk" ? 1 : 0]);
  }
});

test("W-11 a link that is wrong, spent, expired, of another kind or sent by another site signs nobody in; guessing is stopped", async () => {
  const post = async (body: string, headers: Readonly<Record<string, string>> = { origin: one.at.url }) => {
    const got = await fetch(`${one.at.url}/sign-in`, { method: "POST", body, headers: { "content-type": "text/plain", ...headers } });
    return [got.status, got.headers.getSetCookie().length] as const;
  };
  const link = await one.give({ means: "link" });
  expect(await post(link, { origin: "http://evil.example" })).toEqual([403, 0]);
  expect(await post(link, {})).toEqual([403, 0]);
  expect(await post(link)).toEqual([204, 2]);
  expect(await post(link)).toEqual([401, 0]);
  expect(await post(await one.give({ means: "link", until: 1 }))).toEqual([401, 0]);
  expect(await post(await one.give())).toEqual([401, 0]);
  expect(await post("x".repeat(2_000))).toEqual([413, 0]);
});

test("W-30 `/metrics` answers as the documented place does, to everybody alike", async () => {
  const place = "/api/v1/metrics/prometheus";
  const asked = async (path: string, who: string, method = "GET") => {
    const response = await fetch(`${one.at.url}${path}`, { method, headers: { ...shown[who] } });
    const names = (await response.text()).split("\n").filter((line) => line.startsWith("# TYPE "));
    return [who, response.status, response.headers.get("content-type"), names];
  };
  for (const who of Object.keys(shown)) expect(await asked("/metrics", who)).toEqual(await asked(place, who));
  expect((await asked("/metrics", "none"))[1]).toBe(401);
  expect(await asked("/metrics", "full")).toMatchObject([
    "full",
    200,
    expect.stringContaining("text/plain"),
    expect.arrayContaining([expect.stringContaining("orgate_")]),
  ]);
  expect((await asked("/metrics", "full", "POST"))[1]).toBe((await asked(place, "full", "POST"))[1]);
  expect((await asked("/metrics/", "full"))[1]).toBe(404);
});
