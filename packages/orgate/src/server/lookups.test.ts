import { type Digest, millis, type Seq, type SessionId, seq } from "@orgate/core";
import { item } from "@orgate/core/testing";
import { OPERATIONS, type OperationName, type OperationOutput, type VerifyLine, verifyLine } from "@orgate/protocol";
import { hourOf, sumUsage } from "@orgate/protocol/view";
import { afterEach, expect, test } from "vitest";
import { sha256 } from "../node/crypto.ts";
import { eraseEntries } from "../runtime/people/erase.ts";
import { type Serving, serving } from "./fixtures/serving.ts";

const open: Serving[] = [];
afterEach(async () => {
  for (const one of open.splice(0)) await one.stop();
});
async function serve(): Promise<Serving> {
  const one = await serving();
  open.push(one);
  return one;
}
async function told<K extends OperationName>(at: Serving, name: K, path: string, token = "full"): Promise<OperationOutput<K>> {
  const response = await at.get(`/api/v1${path}`, token);
  const value: unknown = await response.json();
  expect([path, response.status]).toEqual([path, 200]);
  const { answers } = OPERATIONS[name];
  if (answers.kind !== "json") throw new Error("not JSON");
  return answers.schema.parse(value) as OperationOutput<K>;
}
const run = async (at: Serving, agent: string, input: string): Promise<SessionId> => {
  const response = await at.post(`/api/v1/agents/${agent}/execute`, { input, waitMs: 5_000 });
  return ((await response.json()) as { session: SessionId }).session;
};

test("entries are found by what they are about; what was used is told of the agents that one sees", async () => {
  const at = await serve();
  const session = await run(at, "clerk", "look");
  await run(at, "other", "look");
  const found = await told(at, "journalEntries", "/journal/entries?tool=look&kind=gate.decided&agent=clerk");
  expect(found).toMatchObject({ next: null, behind: 0 });
  expect(found.items.map((item) => [item.kind, item.stream])).toEqual([["entry", session]]);
  const all = await told(at, "journalEntries", "/journal/entries?limit=3");
  expect(all.items.map(({ position }) => position)).toEqual([...all.items.map(({ position }) => position)].sort((a, b) => b - a));
  const older = await told(at, "journalEntries", `/journal/entries?limit=500&before=${all.next}`);
  expect(all.items.length + older.items.length).toBe(await at.runtime.place.store.journal.position());
  expect(older.items.at(-1)?.position).toBe(1);
  expect((await at.get("/api/v1/journal/entries", "scoped")).status).toBe(403);
  expect((await at.get("/api/v1/journal/entries?verdict=maybe")).status).toBe(400);

  const hour = hourOf(millis(Date.now()));
  const path = `/usage?from=${hour - 1}&to=${hour + 2}`;
  const agents = async (token: string) =>
    sumUsage((await told(at, "usage", path, token)).rows, ({ agent }) => agent).map(({ name, turns }) => [name, turns]);
  expect((await agents("full")).sort()).toEqual([
    ["clerk", 1],
    ["other", 1],
  ]);
  expect(await agents("scoped")).toEqual([["clerk", 1]]);
  expect(await agents("blind")).toEqual([]);
  expect((await told(at, "usage", `/usage?from=0&to=${hour - 100}`)).rows).toEqual([]);
  const byDay = await told(at, "usage", `${path}&days=${hour - 1}`);
  expect(byDay).toMatchObject({ cut: false, behind: 0 });
  expect(new Set(byDay.rows.map((row) => row.hour))).toEqual(new Set([hour - 1]));
  expect((await at.get(`/api/v1${path}&days=5,4`)).status).toBe(400);
});

test("O-9 an entry is shown as it is stored: its hash is that of what is shown, and the next one names it", async () => {
  const at = await serve();
  const session = await run(at, "clerk", "look");
  const one = await told(at, "storedEntry", `/sessions/${session}/entries/2`);
  const next = await told(at, "storedEntry", `/sessions/${session}/entries/3`);
  const hash = (...parts: readonly (string | number)[]): Digest => sha256(parts.join("\n"));
  expect(one.payloadHash).toBe(hash("orgate-payload-1", one.salt ?? "", one.payload ?? ""));
  expect(one.entryHash).toBe(hash("orgate-entry-1", one.previous, one.stream, one.seq, one.at, one.kind, one.payloadHash));
  expect(next.previous).toBe(one.entryHash);
  expect(one.seal?.signature).not.toBe("");
  const [entry] = await at.runtime.place.store.journal.read(session, seq(1), 1);
  expect(one.kind).toContain(entry?.event.kind);
  expect((await at.get(`/api/v1/sessions/${session}/entries/${9_999 as Seq}`)).status).toBe(404);
  expect((await at.get(`/api/v1/sessions/${session}/entries/0`)).status).toBe(400);
});

test("O-9 an entry of any stream is told as it is stored, to whom may read the whole journal", async () => {
  const at = await serve();
  const session = await run(at, "clerk", "look");
  const { items } = await told(at, "journalEntries", "/journal/entries?limit=500");
  const own = items.find(({ stream }) => !stream.startsWith("s_"));
  const one = await told(at, "journalEntry", `/journal/entries/${own?.stream}/${own?.seq}`);
  expect([one.stream, one.seq, one.at]).toEqual([own?.stream, own?.seq, own?.at]);
  expect(await told(at, "journalEntry", `/journal/entries/${session}/2`)).toEqual(
    await told(at, "storedEntry", `/sessions/${session}/entries/2`),
  );
  expect((await at.get("/api/v1/journal/entries/nothing/1")).status).toBe(404);
  expect((await at.get(`/api/v1/journal/entries/${session}/2`, "scoped")).status).toBe(403);
});

test("a verification tells how far it is, and two at once are one", async () => {
  const at = await serve();
  await run(at, "clerk", "look");
  const lines = async (): Promise<readonly VerifyLine[]> =>
    (await (await at.get("/api/v1/journal/verify/progress")).text())
      .trim()
      .split("\n")
      .map((line) => verifyLine.parse(JSON.parse(line)));
  const [first, second] = await Promise.all([lines(), lines()]);
  const position = await at.runtime.place.store.journal.position();
  expect(first.filter(({ kind }) => kind === "progress").at(-1)).toEqual({ kind: "progress", entries: position, of: position });
  expect(first.at(-1)).toMatchObject({ kind: "result", result: { ok: true, problems: [], entries: position } });
  expect(second.at(-1)).toEqual(first.at(-1));
  expect((await at.get("/api/v1/journal/verify/progress", "scoped")).status).toBe(403);
});

test("S-20 what is known is told newest first or by words, of one agent or of all; who may not read the journal is not told", async () => {
  const at = await serve();
  const store = at.runtime.place.knowledgeStore();
  const fact = (object: string) => ({ kind: "fact", subject: "the heron", predicate: "eats", object }) as const;
  store.put(item(fact("fish"), { agent: "clerk", created: millis(1) }));
  store.put(item(fact("frogs"), { agent: "other", created: millis(2) }));
  const texts = async (query: string) =>
    (await told(at, "knowledge", `/knowledge${query}`)).items.map(({ text, agent }) => [agent, /fish|frogs/.exec(text)?.[0]]);
  expect(await texts("")).toEqual([
    ["other", "frogs"],
    ["clerk", "fish"],
  ]);
  expect(await texts("?agent=clerk")).toEqual([["clerk", "fish"]]);
  expect(await texts("?agent=clerk&words=heron")).toEqual([["clerk", "fish"]]);
  expect(await texts("?words=heron")).toEqual([]); // what agents keep for themselves is theirs
  expect((await at.get("/api/v1/knowledge", "scoped")).status).not.toBe(200);
});

test("W-9 sessions are found by title, by any of their ids and by what was lately said in them, by those who may see them; what is erased is not", async () => {
  const at = await serve();
  const mine = await run(at, "clerk", "Count the Quokkas\nand the wombats");
  const theirs = await run(at, "other", "hide the quokkas");
  const opened = await at.post("/api/v1/sessions", { agent: "clerk", id: "ws-0123456789abcdef" });
  const named = ((await opened.json()) as { session: SessionId }).session;
  const found = async (text: string, token = "full") =>
    (await told(at, "sessions", `/sessions?text=${encodeURIComponent(text)}`, token)).items.map(({ session }) => session);
  expect(await found("quokkas")).toEqual([theirs, mine]);
  expect(await found("COUNT quokkas")).toEqual([mine]);
  expect(await found("wombats")).toEqual([mine]); // not in its title
  expect(await found("ws-01234567")).toEqual([named]);
  expect(await found(mine.slice(3, 12))).toContain(mine);
  expect(await found("nobody said this")).toEqual([]);
  expect(await found("quokkas", "scoped")).toEqual([mine]);
  expect(await found("quokkas", "blind")).toEqual([]);
  expect((await told(at, "sessions", `/sessions?text=quokkas&limit=1`)).items).toHaveLength(1);
  expect((await at.get("/api/v1/sessions?text=")).status).toBe(400);
  const { items } = await told(at, "sessions", "/sessions");
  expect(items.map(({ title }) => title)).toEqual([null, "hide the quokkas", "Count the Quokkas"]);

  const by = { kind: "user", id: "ann" } as const;
  await eraseEntries(at.runtime.place, { session: mine, first: seq(1), last: items.at(-1)?.seq ?? seq(1), by, reason: "asked for" });
  expect(await found("wombats")).toEqual([]);
  expect(await found("quokkas")).toEqual([theirs]);
  expect((await told(at, "sessions", "/sessions")).items.map(({ title }) => title)).toEqual([null, "hide the quokkas", null]);
});
