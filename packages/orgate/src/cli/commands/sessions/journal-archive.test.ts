import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { millis } from "@orgate/core/vocab";
import { afterAll, expect, test } from "vitest";
import { openProject } from "../../../config/project-toml.ts";
import { archiveSessions, findArchivable } from "../../../runtime/people/archive.ts";
import { askingDesk, parked, withPeople } from "../fixtures/asking.ts";
import { expectRefusal, makeDesk } from "../fixtures/desk.ts";
import { writingProject } from "../project/project.ts";

const desk = makeDesk();
afterAll(() => desk.remove());

const say = async (input: string): Promise<string> => ((await desk.json("run", "desk", "--input", input)) as { session: string }).session;
const DAY = 86_400_000;

test("J-35 `journal archive` drops a session's content once its file has all of it; file and journal verify, and the erasure names the file by its digest", async () => {
  const text = "the word is marzipan";
  const session = await say(text);
  const before = (await desk.json("journal", "show", session)) as readonly { hash: string }[];
  const done = (await desk.json("journal", "archive", "--session", session, "--out", "kept", "--reason", "a year is over")) as {
    archived: readonly { file: string; digest: string; entries: number }[];
  };
  const file = join(desk.root, "kept", `${session}.jsonl`);
  expect(done).toMatchObject({ archived: [{ session, file, entries: before.length }], kept: [] });
  expect(readFileSync(file, "utf8")).toContain(text);
  expect((await desk.orgate("journal", "show", session)).stdout).not.toContain(text);
  expect(((await desk.json("journal", "show", session)) as readonly { hash: string }[]).map(({ hash }) => hash)).toEqual(
    before.map(({ hash }) => hash),
  );
  expect(await desk.json("journal", "verify", file)).toMatchObject({ verified: true, what: "session", stream: session });
  expect(await desk.json("journal", "verify")).toMatchObject({ verified: true, counts: { erased: before.length } });
  const [erasure] = ((await desk.json("journal", "show", "erasures")) as readonly { event: { reason: string } }[]).slice(-1);
  expect(erasure?.event.reason).toBe(`a year is over: archived in ${session}.jsonl, SHA-256 ${done.archived[0]?.digest}`);
});

test("J-35 nothing is dropped when the file cannot be written, or cannot be verified", async () => {
  const session = await say("please look");
  mkdirSync(join(desk.root, "full", `${session}.jsonl`), { recursive: true }); // a folder in the file's place
  expectRefusal(await desk.orgate("journal", "archive", "--session", session, "--out", "full"), 1, "cannot be written");
  const config = openProject(desk.root, desk.root);
  await writingProject(config, async (place) => {
    const strange = { ...place, keys: { ...place.keys, root: () => ({ ...place.keys.root(), publicKey: `ed25519:${"A".repeat(43)}=` }) } };
    const archiving = { place: strange, folder: join(desk.root, "strange"), by: { kind: "user", id: "ana" } as const, reason: "" };
    for await (const one of archiveSessions(archiving, [session as never]))
      expect(one).toMatchObject({ kind: "kept", why: expect.stringContaining("its file does not verify") });
  });
  expect(await desk.json("journal", "show", session)).not.toContainEqual(expect.objectContaining({ event: null }));
});

test("J-35 the retention finds sessions by their age and state, and no session twice", async () => {
  const [idle, closed] = [await say("one"), await say("two")];
  await desk.json("sessions", "close", closed);
  await writingProject(openProject(desk.root, desk.root), async ({ store: { journal } }) => {
    const now = millis(Date.now() + 100 * DAY);
    const found = async (retention: Parameters<typeof findArchivable>[1], at = now) =>
      (await findArchivable(journal, retention, at)).map(({ session }) => session as string);
    expect(await found({ closedMs: 90 * DAY, idleMs: null })).toEqual([closed]);
    expect(await found({ closedMs: null, idleMs: 90 * DAY })).toContain(idle);
    expect(await found({ closedMs: 101 * DAY, idleMs: 101 * DAY })).toEqual([]);
  });
  await desk.json("journal", "archive", "--session", closed, "--out", "kept");
  await writingProject(openProject(desk.root, desk.root), async ({ store: { journal } }) =>
    expect(await findArchivable(journal, { closedMs: 90 * DAY, idleMs: null }, millis(Date.now() + 100 * DAY))).toEqual([]),
  );
});

test("J-35 a session in which a person is asked is kept, and so is one that the policies do not let this person erase", async () => {
  const asking = askingDesk();
  try {
    await withPeople(asking, "ana", "eve");
    const { session } = await parked(asking, "pay");
    const archive = () => asking.json("journal", "archive", "--session", session, "--out", "kept", "--as", "ana");
    expect(await archive()).toMatchObject({ archived: [], kept: [{ session, why: "it is waiting" }] });
    const policies = join(asking.root, "policies", "zz-keep.cedar");
    writeFileSync(policies, '@id("keep") forbid(principal is User, action == Action::"erase", resource);');
    expect(await archive()).toMatchObject({ archived: [], kept: [{ session, why: expect.stringContaining("keep") }] });
    expect(existsSync(join(asking.root, "kept", `${session}.jsonl`))).toBe(false);
  } finally {
    asking.remove();
  }
});

test("what is wrong with the question is said in one line", async () => {
  expectRefusal(await desk.orgate("journal", "archive"), 2, "nothing says where archives go");
  expectRefusal(await desk.orgate("journal", "archive", "--out", "kept"), 2, "nothing says which sessions are to be archived");
  expectRefusal(await desk.orgate("journal", "archive", "--out", "kept", "--closed", "5m"), 2, "--closed is `5m`");
  desk.write("orgate.toml", '[project]\nname = "desk"\n[retention]\nclosed = "3h"\n');
  expectRefusal(await desk.orgate("journal", "archive"), 1, "`retention.closed`: must be a time of at least 1d, such as 90d");
  desk.write("orgate.toml", '[project]\nname = "desk"\n[retention]\narchive = "kept"\nclosed = "90d"\n');
  expect(await desk.json("journal", "archive", "--dry-run")).toEqual({ sessions: [], kept: [] });
});

test("J-35 a command that dies between the record of an erasure and the erasure itself is made good by the next one", async () => {
  const session = await say("the word is nougat");
  await desk.json("sessions", "close", session);
  const later = millis(Date.now() + 100 * DAY);
  await writingProject(openProject(desk.root, desk.root), async (place) => {
    const dying = { ...place, store: { ...place.store, erase: () => Promise.reject(new Error("killed")) } };
    const archiving = { place: dying, folder: join(desk.root, "twice"), by: { kind: "user", id: "ana" } as const, reason: "" };
    const archived = async (by: Parameters<typeof archiveSessions>[0]) => {
      const all = [];
      for await (const one of archiveSessions(by, [session as never])) all.push(one);
      return all;
    };
    await expect(archived(archiving)).rejects.toThrow("killed");
    const { journal } = place.store;
    expect((await findArchivable(journal, { closedMs: DAY, idleMs: null }, later)).map((one) => one.session as string)).toContain(session);
    expect(await archived({ ...archiving, place })).toMatchObject([{ kind: "archived" }]);
    expect((await findArchivable(journal, { closedMs: DAY, idleMs: null }, later)).map((one) => one.session as string)).not.toContain(
      session,
    );
  });
  expect((await desk.orgate("journal", "show", session)).stdout).not.toContain("nougat");
  expect(await desk.json("journal", "verify")).toMatchObject({ verified: true });
});
