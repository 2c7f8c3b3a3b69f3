// A real server, real keys, and hundreds of wrong ones in flight at the same time.
import { request } from "node:http";
import { afterEach, beforeEach, expect, test } from "vitest";
import { WebSocket } from "ws";
import { type Guarded, openGuarded } from "../fixtures/guarded.ts";
import { raw } from "../fixtures/serving.ts";
import { createSourceReader } from "../http/limits.ts";

let at: Guarded;
beforeEach(async () => {
  at = await openGuarded({ bounds: { strangersBurst: 5, strangersPerSecond: 0.001 } });
});
afterEach(() => at.stop());

const hex = (n: number) => n.toString(16).padStart(16, "0");
const wrongKey = (n: number) => `ogk_${hex(n)}_${"A".repeat(43)}`;
/** By Node's own client, without a limit on connections of its own. */
const asks = (headers: Readonly<Record<string, string>>): Promise<number> =>
  new Promise((resolve, reject) => {
    const asked = request(`${at.at.url}/api/v1/me`, { headers, agent: false }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    });
    asked.on("error", reject);
    asked.end();
  });
const ticketStatus = (ticket: string): Promise<number> =>
  raw(at.at.port, [
    `GET /ws/v1?token=${ticket} HTTP/1.1\r\nhost: localhost\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n`,
  ]).then((told) => Number(/^HTTP\/1\.1 (\d+)/.exec(told)?.[1]));

test("W-17 with hundreds of wrong keys, cookies and tickets in flight from one address, every valid request and the halt get through", async () => {
  const [key, cookie] = [await at.give(), await at.give({ means: "sign-in" })];
  const own = key.slice(0, "ogk_".length + 16); // the guesser knows which key there is
  const floods = Array.from({ length: 100 }, (_, n) => [
    asks({ authorization: `Bearer ${wrongKey(n)}` }),
    asks({ authorization: `Bearer ${own}_${"B".repeat(43)}` }),
    asks({ cookie: `orgate-${at.at.port}=ogs_${hex(n)}_${"A".repeat(43)}` }),
    ticketStatus(`ogt_${"C".repeat(43)}`),
  ]).flat();
  const valid = Array.from({ length: 50 }, () => [
    asks({ authorization: `Bearer ${key}` }),
    asks({ cookie: `orgate-${at.at.port}=${cookie}` }),
  ]).flat();
  const halted = at.post("/api/v1/halt", { scope: "all", reason: "stop" }, key);
  expect((await halted).status).toBeLessThan(300);
  expect(new Set(await Promise.all(valid))).toEqual(new Set([200]));
  const wrong = await Promise.all(floods);
  expect(new Set(wrong)).toEqual(new Set([401, 429]));
  expect(wrong.filter((status) => status === 401).length).toBeLessThanOrEqual(15); // five for each kind of thing that is shown
  expect(await at.stand.runtime.halts()).toHaveLength(1);
});

test("W-17 a guesser is slowed by the source, and by the key that is guessed at from many sources", async () => {
  await at.stop();
  at = await openGuarded({ bounds: { strangersBurst: 3, strangersPerSecond: 0.001 }, proxies: ["127.0.0.1"] });
  const key = await at.give();
  const [own = ""] = /^ogk_[0-9a-f]{16}/.exec(key) ?? [];
  const from = (n: number) => ({ "x-forwarded-for": `198.51.100.${n}` });
  const bySource = [];
  for (let n = 0; n < 5; n += 1) bySource.push(await asks({ ...from(1), authorization: `Bearer ${wrongKey(n)}` }));
  expect(bySource).toEqual([401, 401, 401, 429, 429]);
  expect(await asks({ ...from(2), authorization: `Bearer ${wrongKey(9)}` })).toBe(401);
  const byKey = [];
  for (let n = 10; n < 15; n += 1) byKey.push(await asks({ ...from(n), authorization: `Bearer ${own}_${"B".repeat(43)}` }));
  expect(byKey).toEqual([401, 401, 401, 429, 429]);
  for (const n of [1, 10]) expect(await asks({ ...from(n), authorization: `Bearer ${key}` })).toBe(200);
});

test("W-17 a halt is not kept waiting by whatever else its caller has asked", async () => {
  await at.stop();
  at = await openGuarded({ bounds: { burst: 2, perSecond: 0.001 } });
  const key = await at.give();
  const asked = [];
  for (let n = 0; n < 4; n += 1) asked.push(await asks({ authorization: `Bearer ${key}` }));
  expect(asked).toEqual([200, 200, 429, 429]);
  expect((await at.post("/api/v1/halt", { scope: "all", reason: "stop" }, key)).status).toBeLessThan(300);
});

test("W-10 however many show what nobody knows, the journal is read once for all who wait", async () => {
  const { journal } = at.stand.runtime.place.store;
  const read = journal.read.bind(journal);
  let reads = 0;
  Object.assign(journal, {
    read: (...given: Parameters<typeof read>) => {
      if (given[0] === "access") reads += 1;
      return read(...given);
    },
  });
  const statuses = await Promise.all(Array.from({ length: 200 }, (_, n) => at.identity.authenticate(askingWith(wrongKey(n)))));
  expect(statuses.every((one) => "status" in one && one.status === 401)).toBe(true);
  expect(reads).toBeLessThanOrEqual(4);
});
const askingWith = (token: string) =>
  ({
    via: "http",
    method: "GET",
    path: "/",
    query: new URLSearchParams(),
    headers: { authorization: `Bearer ${token}` },
    remote: "r",
  }) as const;

test("W-19 X-Forwarded-For is believed of the proxies that are named, the last address that is not theirs counts, and one network of IPv6 is one source", () => {
  const come = (proxies: readonly string[], remoteAddress: string, said?: string | string[]) =>
    createSourceReader(proxies)({ socket: { remoteAddress }, headers: said === undefined ? {} : { "x-forwarded-for": said } } as never);
  expect(come([], "10.0.0.2", "1.2.3.4")).toBe("10.0.0.2");
  expect(come(["10.0.0.3"], "10.0.0.2", "1.2.3.4")).toBe("10.0.0.2");
  expect(come(["10.0.0.0/8"], "10.0.0.2", "6.6.6.6, 1.2.3.4")).toBe("1.2.3.4");
  expect(come(["10.0.0.0/8"], "::ffff:10.0.0.2", "1.2.3.4, 10.0.0.9")).toBe("1.2.3.4");
  expect(come(["10.0.0.2"], "10.0.0.2", "not an address")).toBe("10.0.0.2");
  expect(come(["10.0.0.2"], "10.0.0.2")).toBe("10.0.0.2");
  expect(come([], "2001:db8:1:2:3:4:5:6")).toBe(come([], "2001:db8:1:2::9"));
  expect(come([], "2001:db8:1:2::9")).not.toBe(come([], "2001:db8:1:3::9"));
});

test("W-17 a socket opens with a valid ticket while wrong ones are shown", async () => {
  const key = await at.give();
  const wrong = Array.from({ length: 50 }, () => ticketStatus(`ogt_${"C".repeat(43)}`));
  const made = (await (await at.post("/api/v1/tickets", undefined, key)).json()) as { ticket?: string };
  const socket = new WebSocket(`${at.at.url.replace("http", "ws")}/ws/v1?token=${made.ticket}`);
  await new Promise((resolve, reject) => {
    socket.onopen = resolve;
    socket.onerror = reject;
  });
  socket.close();
  expect(new Set(await Promise.all(wrong))).toEqual(new Set([401, 429]));
});

test("W-17 wrong sign-in links are slowed by their source, and a valid one signs in all the while", async () => {
  const signIn = async (link: string) =>
    (await fetch(`${at.at.url}/sign-in`, { method: "POST", body: link, headers: { origin: at.at.url } })).status;
  const wrong = [];
  for (let n = 0; n < 8; n += 1) wrong.push(await signIn(`ogl_${hex(n)}_${"A".repeat(43)}`));
  expect(wrong).toEqual([401, 401, 401, 401, 401, 429, 429, 429]);
  expect(await signIn(await at.give({ means: "link" }))).toBe(204);
});
