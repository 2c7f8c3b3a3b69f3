// @module-tag postgres
/** A database, or a network, that says nothing any more and closes no connection. */
import { once } from "node:events";
import { type AddressInfo, createConnection, createServer } from "node:net";
import type { Append, Hold } from "@orgate/core/journal";
import { intentId, isFault, millis, type StreamId, seq, sessionId, streamId } from "@orgate/core/vocab";
import { afterEach, expect, test } from "vitest";
import { noteOf } from "../fixtures/store.ts";
import { createSchema, type TestSchema, testUrl } from "./fixtures/schemas.ts";

const S = sessionId("s_silence0001");
const NOTES = streamId("notes");
const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

async function schema(): Promise<TestSchema> {
  const made = await createSchema();
  ends.push(made.drop);
  return made;
}
const append = (to: Hold | StreamId, after: number, text: string): Append => ({
  ...{ stream: typeof to === "string" ? to : to.session, hold: typeof to === "string" ? null : to, after: seq(after) },
  ...{ events: [{ at: millis(1_000), event: noteOf(text) }], consumes: [], unlessHalted: [] },
});
const note = (after: number, text: string): Append => append(NOTES, after, text);

type Way = Readonly<{ url: string; connections(): number; mute(): void; speak(): void }>;
/** A way to the server; while it is mute nothing that the server says arrives, and nothing is closed. */
async function openWay(): Promise<Way> {
  const target = new URL(testUrl());
  let [connections, isMute] = [0, false];
  const server = createServer((near) => {
    connections += 1;
    const far = createConnection(Number(target.port), target.hostname);
    for (const socket of [near, far]) socket.on("error", () => {});
    near.pipe(far);
    far.on("data", (bytes) => void (isMute || near.write(bytes)));
    far.on("close", () => near.destroy());
    ends.push(() => near.destroy());
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  ends.push(() => void server.close());
  const url = new URL(testUrl());
  url.port = String((server.address() as AddressInfo).port);
  return {
    url: url.href,
    connections: () => connections,
    mute: () => {
      isMute = true;
    },
    speak: () => {
      isMute = false;
    },
  };
}

test("J-3 a database that says nothing any more stops the store in one line, as one does that is away", async () => {
  const place = await schema();
  const way = await openWay();
  const store = await place.open({ url: way.url, listenUrl: testUrl(), poolSize: 1, patienceMs: 100, lockTimeoutMs: 100 });
  await store.journal.append(note(0, "written"));
  way.mute();
  const refused = await store.journal.append(note(1, "unanswered")).catch((error: unknown) => error);
  expect(isFault(refused, "journal-unwritable") && refused.message).toMatch(/^[^\n]*cannot be reached[^\n]*$/);
  expect(await store.stopped).toMatchObject({ kind: "journal-unwritable" });
  way.speak();
});

test("J-3 an append whose answer never comes is looked for over another connection, and is written once", async () => {
  const place = await schema();
  const way = await openWay();
  const store = await place.open({ url: way.url, listenUrl: testUrl(), poolSize: 4, lockTimeoutMs: 100 });
  await store.journal.append(note(0, "one"));
  way.mute();
  const written = store.journal.append(note(1, "two"));
  const { query, schema: name } = place.link;
  await expect.poll(async () => (await query(`SELECT 1 FROM "${name}".appends`)).length).toBe(2); // the database has it
  way.speak();
  expect(await written).toBe(2);
  expect(await store.journal.append(note(2, "three"))).toBe(3);
  expect((await store.journal.read(NOTES, seq(0), 10)).length).toBe(3);
});

test("I-1 J-25 a notification that is lost loses nothing: what others write is seen a moment later, and who listens in vain listens anew", async () => {
  const place = await schema();
  const way = await openWay();
  const [deaf, other] = [await place.open({ listenUrl: way.url }), await place.open()];
  const heard: string[] = [];
  ends.push(deaf.inbox.watch(S, () => heard.push("an intent")));
  ends.push(deaf.journal.watch((stream) => heard.push(stream ?? "anything")));
  way.mute();
  const steer = { kind: "steer", text: "left" } as const;
  await other.inbox.put({
    ...{ id: intentId("i_lost"), session: S, at: millis(5), by: { kind: "user", id: "ana" } },
    key: null,
    wish: steer,
    signature: null,
  });
  await expect.poll(() => heard, { timeout: 20_000 }).toContain("an intent");
  await other.journal.append(note(0, "unheard"));
  await other.seal();
  await expect.poll(() => heard, { timeout: 20_000 }).toContain("anything");
  await expect.poll(way.connections, { timeout: 20_000 }).toBeGreaterThan(1);
});
