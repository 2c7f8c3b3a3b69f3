import { createHmac } from "node:crypto";
import { DatabaseSync } from "node:sqlite";
import { seq } from "@orgate/core";
import { afterAll, expect, test } from "vitest";
import { openSnapshot } from "../store/open-read-only.ts";
import { hook } from "./fixtures/hooks.ts";
import { raw, type Serving, serving } from "./fixtures/serving.ts";

const SECRET = "shh";
const by = { kind: "user", id: "ann" } as const;
const declares = { schedules: [], webhooks: [hook("in")], secrets: new Map([["in", [SECRET]]]), by };
const mac = (body: string): string => `sha256=${createHmac("sha256", SECRET).update(body).digest("hex")}`;
const open: Serving[] = [];
afterAll(() => Promise.all(open.map((one) => one.stop())));
async function serve(...given: Parameters<typeof serving>): Promise<Serving> {
  const at = await serving(...given);
  open.push(at);
  return at;
}
const send = (at: Serving, body: string, more: Readonly<Record<string, string>> = {}): Promise<Response> =>
  fetch(`${at.at.url}/hooks/in`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-hub-signature-256": mac(body), ...more },
    body,
  });
const status = async (answer: Promise<Response>): Promise<number> => {
  const { status: code, body } = await answer;
  await body?.cancel();
  return code;
};

test("Z-12 strangers without end and a delivery that is sent again and again are told to wait; a genuine one is taken all the while", async () => {
  const at = await serve({
    serve: { declares, bounds: { strangersBurst: 3, strangersPerSecond: 0.001, burst: 2, perSecond: 0.001 } },
  });
  const wrong = `sha256=${"0".repeat(64)}`;
  const strangers: number[] = [];
  for (let n = 0; n < 6; n += 1)
    strangers.push(await status(send(at, "{}", n % 2 === 0 ? { "x-hub-signature-256": wrong } : { "x-hub-signature-256": "" })));
  expect(strangers).toEqual([401, 401, 401, 429, 429, 429]);
  const replays: number[] = [];
  for (let n = 0; n < 5; n += 1) replays.push(await status(send(at, '{"n":1}', { "x-github-delivery": `d-${n}` })));
  expect(replays).toEqual([202, 200, 200, 429, 429]);
  expect(await status(send(at, '{"n":2}'))).toBe(202);
  expect(await status(send(at, '{"n":3}'))).toBe(429); // two sessions is what the webhook may open at once
});

test("Z-12 who shows no signature is refused before the body is there", async () => {
  const at = await serve({ serve: { declares } });
  const answer = await raw(at.at.port, [
    "POST /hooks/in HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\ncontent-length: 200000\r\n\r\n",
    "{",
  ]);
  expect(answer).toContain(" 401 ");
});

test("Z-12 what is nested too deeply is refused, short or long; what lines would blow up is told in one; a field twice has both values", async () => {
  const at = await serve({ serve: { declares } });
  const nested = (depth: number, inner: string): string => "[".repeat(depth) + inner + "]".repeat(depth);
  expect(await status(send(at, nested(65, "1")))).toBe(400);
  expect(await status(send(at, nested(100_000, "")))).toBe(400);
  expect(await status(send(at, nested(64, "1")))).toBe(202);
  const wide = nested(60, Array.from({ length: 20_000 }, () => 1).join());
  expect(await status(send(at, wide))).toBe(202);
  expect(await status(send(at, "a=1&a=2&b=3", { "content-type": "application/x-www-form-urlencoded" }))).toBe(202);
  const inputs: string[] = [];
  for (const { session } of await at.runtime.sessions.list({ most: 10 }))
    for (const { event } of await at.runtime.place.store.journal.read(session, seq(0), 9))
      if (event.kind === "turn.started") inputs.push(event.input);
  expect(Math.max(...inputs.map(({ length }) => length))).toBeLessThan(4 * wide.length + 2_000);
  expect(inputs.some((input) => input.includes('"a": [\n    "1",\n    "2"\n  ],\n  "b": "3"'))).toBe(true);
});

test("Z-3 Z-10 a delivery stays known when the table of what was opened has to be made again, once somebody has looked", async () => {
  const at = await serve({ keep: true, serve: { declares } });
  expect(await status(send(at, '{"n":1}', { "x-github-delivery": "d-1" }))).toBe(202);
  await at.stop();
  open.splice(open.indexOf(at), 1);
  const db = new DatabaseSync(`${at.folder}/.orgate/journal.db`);
  db.exec("DROP TABLE externals; DROP TABLE revoked");
  db.close();
  await expect(serve({ folder: at.folder, serve: { declares } })).rejects.toThrow("table `externals`: it is gone");
  const look = openSnapshot(`${at.folder}/.orgate`);
  await look.alarms.acknowledge({ by: "ana", reason: "a drill" });
  await look.close();
  const next = await serve({ folder: at.folder, serve: { declares } });
  expect(await status(send(next, '{"n":1}', { "x-github-delivery": "d-2" }))).toBe(200);
  expect(await status(send(next, '{"n":2}', { "x-github-delivery": "d-1" }))).toBe(200);
});
