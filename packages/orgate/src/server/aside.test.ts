// A real server and real threads: what is long goes on aside, others are answered meanwhile, and whoever leaves takes their thread along.
import { get as httpGet, type IncomingMessage } from "node:http";
import { afterEach, beforeEach, expect, test } from "vitest";
import { exportInWorker } from "../store/threads/export-worker.ts";
import { verifyInWorker } from "../store/threads/verify-worker.ts";
import { type Guarded, openGuarded } from "./fixtures/guarded.ts";

let at: Guarded;
let key = "";
beforeEach(async () => {
  at = await openGuarded();
  key = await at.give();
  for (let n = 0; n < 30; n += 1) await at.stand.runtime.complete("clerk", `say ${"much ".repeat(2_000)}${n}`);
});
afterEach(() => at.stop());

const directory = () => `${at.stand.folder}/.orgate`;
const place = () => ({ snapshot: directory(), keys: `${directory()}/keys` });
const lines = (text: string) => text.trim().split("\n");

test("W-20 an export is made aside: nothing of it is read in the server's own thread, and it is whole", async () => {
  const { records } = await at.stand.runtime.place.store.snapshot();
  let reads = 0;
  const { entries } = records;
  Object.assign(records, {
    entries: (stream: Parameters<typeof entries>[0]) => {
      reads += 1;
      return entries.call(records, stream);
    },
  });
  const text = await (await at.get("/api/v1/journal/export", key)).text();
  expect(JSON.parse(lines(text).at(-1) ?? "")).toMatchObject({ kind: "end" });
  expect(lines(text).length).toBeGreaterThan(200);
  expect(reads).toBe(0);
  const session = (await at.stand.runtime.sessions.list({ most: 1 })).at(0)?.session ?? "";
  const one = await (await at.get(`/api/v1/journal/export?session=${session}`, key)).text();
  expect(JSON.parse(lines(one).at(-1) ?? "")).toMatchObject({ kind: "end" });
});

test("W-20 while a reader takes its time others are answered; a second export of the same caller is refused with a sentence, and let in once the first has left", async () => {
  const held = await new Promise<IncomingMessage>((resolve, reject) => {
    httpGet(`${at.at.url}/api/v1/journal/export`, { headers: { authorization: `Bearer ${key}` }, agent: false }, resolve).on(
      "error",
      reject,
    );
  });
  held.pause();
  for (let n = 0; n < 20; n += 1) expect((await at.get("/api/v1/me", key)).status).toBe(200);
  const second = await at.get("/api/v1/journal/export", key);
  expect([second.status, second.headers.get("retry-after")]).toEqual([429, "1"]);
  expect(await second.json()).toMatchObject({ kind: "too-many", detail: "you have an export going on, and 1 at once is the limit" });
  held.destroy();
  const statuses: number[] = [];
  while (statuses.at(-1) !== 200) {
    const third = await at.get("/api/v1/journal/export", key);
    statuses.push(third.status);
    await third.arrayBuffer();
  }
  expect(new Set(statuses).size).toBeLessThanOrEqual(2);
});

test("W-20 the thread of an export, and of a verification, has ended when its reader has left", async () => {
  const left = new AbortController();
  const pieces = exportInWorker(directory(), null, left.signal);
  expect((await pieces.next()).done).toBe(false);
  left.abort();
  await expect(pieces.next()).rejects.toThrow(/abort/i); // it rejects once the thread has ended
  const gone = new AbortController();
  const verifying = verifyInWorker(place(), () => {}, gone.signal);
  gone.abort();
  await expect(verifying).rejects.toThrow(/abort/i);
  expect(await verifyInWorker(place(), () => {}, new AbortController().signal)).toMatchObject({ ok: true });
});

test("W-20 a verification goes on for whoever still waits, and ends with the last", async () => {
  const first = new AbortController();
  const headers = { authorization: `Bearer ${key}` };
  const [one, two] = [
    fetch(`${at.at.url}/api/v1/journal/verify`, { headers, signal: first.signal }),
    fetch(`${at.at.url}/api/v1/journal/verify`, { headers }),
  ];
  first.abort();
  await expect(one).rejects.toThrow();
  expect(await (await two).json()).toMatchObject({ ok: true });
});
