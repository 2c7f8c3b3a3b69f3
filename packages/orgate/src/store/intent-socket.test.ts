import { existsSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createConnection } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Intent, intentId, keyId, millis, sessionId, writerId } from "@orgate/core/vocab";
import { afterEach, beforeEach, expect, test } from "vitest";
import {
  type IntentListener,
  type IntentListenerPorts,
  listenForIntents,
  listSockets,
  MAX_LINE_BYTES,
  offerIntent,
  readRequest,
} from "./intent-socket.ts";

const W1 = writerId("w1");
const intent: Intent = {
  id: intentId("i_1"),
  session: sessionId("s_12345678"),
  at: millis(5),
  by: { kind: "user", id: "ana" },
  key: keyId("k_1"),
  wish: { kind: "cancel", reason: "enough" },
  signature: "sig",
};

let directory = "";
let put: Intent[] = [];
let door: IntentListener | null = null;
const reception: IntentListenerPorts = {
  drives: (session) => session === intent.session,
  authenticate: async ({ signature }) =>
    signature === "sig" ? { kind: "genuine" } : { kind: "refused", reason: "the signature does not match" },
  async put(one) {
    if (put.some(({ id }) => id === one.id)) return "known";
    put.push(one);
    return "new";
  },
};
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "og-"));
  put = [];
});
afterEach(async () => {
  await door?.close();
  door = null;
  rmSync(directory, { recursive: true });
});
async function open(): Promise<string> {
  door = await listenForIntents(directory, W1, reception);
  return door?.path ?? "";
}

/** Bytes as they are, and what came back. */
function sent(path: string, bytes: string | Uint8Array): Promise<string> {
  return new Promise((resolve, reject) => {
    let answer = "";
    const socket = createConnection(path, () => socket.write(bytes));
    socket.setEncoding("utf8").on("data", (text: string) => {
      answer += text;
    });
    socket.on("close", () => resolve(answer)).on("error", (error) => (answer === "" ? reject(error) : resolve(answer)));
  });
}

test("W-1 an intent is put into the inbox and answered; the same one again is known", async () => {
  const path = await open();
  expect(await offerIntent(path, intent)).toEqual({ kind: "new" });
  expect(await offerIntent(path, intent)).toEqual({ kind: "known" });
  expect(put).toEqual([intent]);
  expect(listSockets(directory)).toEqual([path]);
});

test("W-1 the answer waits until the intent is durable", async () => {
  let durable = (): void => {};
  const stored = new Promise<"new">((resolve) => {
    durable = () => resolve("new");
  });
  let asked = (): void => {};
  const reached = new Promise<void>((resolve) => {
    asked = resolve;
  });
  door = await listenForIntents(directory, W1, {
    ...reception,
    put: () => {
      asked();
      return stored;
    },
  });
  let answered = false;
  const answer = offerIntent(door?.path ?? "", intent).then((found) => {
    answered = true;
    return found;
  });
  await reached;
  expect(answered).toBe(false);
  durable();
  expect(await answer).toEqual({ kind: "new" });
});

test("W-1 what is not driven here is elsewhere; what is not genuine is refused; nothing is put", async () => {
  const path = await open();
  expect(await offerIntent(path, { ...intent, session: sessionId("s_87654321") })).toEqual({ kind: "elsewhere" });
  expect(await offerIntent(path, { ...intent, signature: "other" })).toEqual({ kind: "refused", reason: "the signature does not match" });
  expect(put).toEqual([]);
});

const line = (change: Record<string, unknown>) => JSON.stringify({ kind: "put", version: 1, intent: { ...intent, ...change } });
test.each<[string, string]>([
  ["no JSON", "hello"],
  ["a key twice", line({}).replace('"version":1', '"version":1,"version":1')],
  ["another version", line({}).replace('"version":1', '"version":2')],
  ["an unknown field", line({ approved: true })],
  ["a missing field", JSON.stringify({ kind: "put", version: 1, intent: { ...intent, by: undefined } })],
  ["an unknown wish", line({ wish: { kind: "erase" } })],
  ["a wish with more", line({ wish: { kind: "cancel", reason: "", force: true } })],
  ["no session", line({ session: "../../etc" })],
  ["an empty text", line({ wish: { kind: "say", text: "" } })],
  ["a digest that is none", line({ wish: { kind: "answer", approval: "a", digest: "x", answer: { kind: "approve" } } })],
])("W-1 %s is answered with an error, and nothing is done", async (_, text) => {
  const path = await open();
  expect(JSON.parse(await sent(path, `${text}\n`))).toMatchObject({
    kind: "refused",
    reason: expect.stringMatching(/^not (JSON|an intent)/),
  });
  expect(put).toEqual([]);
  expect(await offerIntent(path, intent)).toEqual({ kind: "new" }); // the next one is served
});

test("W-1 every kind of wish is understood", () => {
  const hex = "a".repeat(64);
  const wishes = [
    { kind: "say", text: "x" },
    { kind: "steer", text: "x" },
    { kind: "answer", approval: "a_1", digest: hex, answer: { kind: "deny", reason: "no" } },
    { kind: "late", call: "1.0", outcome: { kind: "done", output: { a: [1, null] } } },
  ];
  for (const wish of wishes) expect(readRequest(line({ wish }))).toMatchObject({ kind: "intent", intent: { wish } });
});

test("W-1 a line beyond its limit is refused without being kept, and a half line is not acted on", async () => {
  const path = await open();
  const long = await sent(path, new Uint8Array(MAX_LINE_BYTES + 1).fill(0x61)).catch(() => "");
  if (long !== "") expect(JSON.parse(long)).toMatchObject({ kind: "refused", reason: expect.stringContaining("at most") });
  const half = createConnection(path, () => half.end(line({})));
  await new Promise((closed) => half.resume().on("close", closed));
  expect(put).toEqual([]);
});

test("W-2 the folder is its owner's alone, the socket goes with the process, and a stale one is replaced", async () => {
  mkdirSync(join(directory, "run"), { mode: 0o755 });
  writeFileSync(join(directory, "run", "w1.sock"), "left behind");
  const path = await open();
  expect(statSync(join(directory, "run")).mode & 0o777).toBe(0o700);
  expect(await offerIntent(path, intent)).toEqual({ kind: "new" });
  await door?.close();
  door = null;
  expect(existsSync(path)).toBe(false);
  expect(await offerIntent(path, intent)).toBeNull();
});

test("W-2 where the path is too long, or the folder cannot be made, there is no socket and no error", async () => {
  expect(await listenForIntents(join(directory, "x".repeat(100)), W1, reception)).toBeNull();
  writeFileSync(join(directory, "run"), "a file");
  expect(await listenForIntents(directory, W1, reception)).toBeNull();
  expect(listSockets(join(directory, "none"))).toEqual([]);
});
