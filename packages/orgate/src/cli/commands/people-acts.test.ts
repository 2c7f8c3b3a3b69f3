// Commands that only some people may use: the policies refuse everybody else before anything is written.
import { tmpdir } from "node:os";
import { join } from "node:path";
import { HALT } from "@orgate/core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { forge } from "../../runtime/fixtures/forging.ts";
import { type Desk, makeDesk, POLICIES } from "./fixtures/desk.ts";

const ONLY_ANA = POLICIES.replace("permit(principal is User, action, resource);", 'permit(principal == User::"ana", action, resource);');

let desk: Desk;
let session: string;
const keyOf: Record<string, string> = {};
beforeAll(async () => {
  desk = makeDesk();
  desk.write("policies/desk.cedar", ONLY_ANA);
  desk.write("AGENTS.md", "Be brief.\n");
  for (const name of ["ana", "ben", "carl"]) keyOf[name] = ((await desk.json("keys", "create", name)) as { key: string }).key;
  ({ session } = (await desk.json("run", "desk", "--input", "hello", "--as", "ana")) as { session: string });
}, 120_000);
afterAll(() => desk.remove());

test("A-10 whoever the policies do not let erases nothing, trusts nothing, replaces and withdraws no key, runs no agent and speaks in no session", async () => {
  const acts: readonly (readonly string[])[] = [
    ["journal", "erase", "--session", session, "--reason", "x"],
    ["journal", "rotate-key"],
    ["journal", "rotate-key", "--writer"],
    ["trust", "add", "AGENTS.md"],
    ["keys", "withdraw", keyOf["carl"] ?? "", "--reason", "x"],
    ["run", "desk", "--input", "hello"],
    ["run", "desk", "--input", "hello", "--session", session],
    ["sessions", "say", session, "hello"],
    ["sessions", "say", session, "hello", "--after"],
    ["sessions", "steer", session, "hello"],
    ["sessions", "cancel", session],
    ["sessions", "clear", session],
    ["sessions", "compact", session],
    ["sessions", "model", session, "offline/desk"],
  ];
  const before = await desk.json("journal", "show", session);
  const keys = await desk.json("keys", "list");
  for (const act of acts) {
    const { code, stderr } = await desk.orgate(...act, "--as", "ben");
    expect([act.join(" "), code, stderr]).toEqual([act.join(" "), 1, expect.stringContaining("`ben` may not ")]);
  }
  expect(await desk.json("journal", "show", session)).toEqual(before);
  expect(await desk.json("keys", "list")).toEqual(keys);
  await desk.json("trust", "add", "AGENTS.md", "--as", "ana");
  const { code, stderr } = await desk.orgate("trust", "remove", "AGENTS.md", "--as", "ben");
  expect([code, stderr]).toEqual([1, expect.stringContaining("`ben` may not take back the trust in `AGENTS.md`")]);
}, 180_000);

test("A-10 a refused person leaves nothing in the journal: their key is not certified either", async () => {
  expect((await desk.from(tmpdir(), ["keys", "create", "dan"])).stdout).toContain("it is certified where it is first used");
  desk.write("known.md", "# Doors\n\nThe door is blue.\n");
  desk.write("list.json", '[{ "role": "user", "text": "hello" }]');
  const keys = await desk.json("journal", "show", "keys");
  for (const act of [
    ["known", "add", "people", "x@example.org", "--why", "x"],
    ["known", "remove", "people", "x@example.org", "--why", "x"],
    ["knowledge", "add", "known.md"],
    ["sessions", "fork", session],
    ["sessions", "close", session],
    ["sessions", "import", "list.json", "--agent", "desk"],
    ["breakers", "set", "tool:look", "open", "--reason", "x"],
    ["halt", "--reason", "x"],
    ["resume-work", "--reason", "x"],
  ]) {
    const { code, stderr } = await desk.orgate(...act, "--as", "dan");
    expect([act.join(" "), code, stderr]).toEqual([act.join(" "), 1, expect.stringContaining("`dan` may not ")]);
  }
  expect(await desk.json("journal", "show", "keys")).toEqual(keys);
}, 180_000);

test("W-5 a command under a key is done once, and another request under that key is refused", async () => {
  const fork = (...more: readonly string[]) => desk.orgate("sessions", "fork", session, ...more, "--key", "one", "--as", "ana", "--json");
  const [first, again, other] = [await fork(), await fork(), await fork("--at", "2")];
  expect([first.code, first.stderr, again.stdout]).toEqual([0, "", first.stdout]);
  expect([other.code, other.stderr]).toEqual([2, expect.stringContaining("this key was used for another request")]);
}, 60_000);

test("A-10 J-9 whoever the policies let does all of it, erasing twice is told, and everybody withdraws their own key", async () => {
  for (const act of [
    ["sessions", "say", session, "hello"],
    ["sessions", "clear", session],
    ["trust", "remove", "AGENTS.md"],
    ["journal", "rotate-key"],
    ["journal", "erase", "--session", session, "--reason", "asked for"],
  ])
    expect([act.join(" "), await desk.orgate(...act, "--as", "ana")]).toEqual([act.join(" "), expect.objectContaining({ code: 0 })]);
  const twice = await desk.orgate("journal", "erase", "--session", session, "--reason", "again", "--as", "ana");
  expect(twice.stdout).toMatch(/^nothing was left to erase: entries \d+-\d+ of s_\w+ were erased before\n/);
  const own = await desk.orgate("keys", "withdraw", keyOf["ben"] ?? "", "--reason", "lost", "--as", "ben");
  expect([own.code, own.stderr]).toEqual([0, ""]);
}, 180_000);

test("A-10 an alarm is acknowledged by whoever the policies let, also where the agents do not load", async () => {
  const other = makeDesk();
  other.write("policies/desk.cedar", ONLY_ANA);
  for (const name of ["ana", "ben"]) await other.json("keys", "create", name);
  await other.json("run", "desk", "--input", "hello", "--as", "ana");
  expect((await other.orgate("halt", "--reason", "stop", "--as", "ana")).code).toBe(0);
  const by = { kind: "user", id: "ana" } as const;
  forge(join(other.root, ".orgate"), HALT, { kind: "work.resumed", scope: "all", by, reason: "x" }, "copied", (db) =>
    db.exec("DELETE FROM halts"),
  );
  expect((await other.orgate("run", "desk", "--input", "hello", "--as", "ana")).code).toBe(1);
  other.write("agents/desk.ts", "this is no program");
  const acknowledge = (as: string) => other.orgate("journal", "acknowledge", "--as-is", "--reason", "looked", "--as", as);
  const refused = await acknowledge("ben");
  expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining("`ben` may not acknowledge alarms of the journal")]);
  expect((await acknowledge("ana")).stdout).toContain("acknowledged 2 alarms");
  other.remove();
}, 180_000);

test("A-11 with a person's key goes all that stands for them: the server's key for them, API keys, sign-ins; a second time is an error", async () => {
  const other = makeDesk();
  const { key } = (await other.json("keys", "create", "carl")) as { key: string };
  await other.json("keys", "create", "ana");
  const { token, access } = (await other.json("keys", "create", "carl", "--api", "--as", "ana")) as { token: string; access: string };
  const unused = (await other.json("keys", "create", "carl", "--api", "--as", "ana")) as { token: string; access: string };
  const server = other.start(["up", "--port", "0", "--json", "--as", "ana"]);
  try {
    await expect.poll(() => server.stdout(), { timeout: 30_000 }).toContain("\n");
    const { url } = JSON.parse(server.stdout().split("\n", 1)[0] ?? "") as { url: string };
    const me = (shown: string) => fetch(`${url}/api/v1/me`, { headers: { authorization: `Bearer ${shown}` } });
    expect((await me(token)).status).toBe(200);
    const done = (await other.json("keys", "withdraw", key, "--reason", "stolen", "--as", "ana")) as Record<string, readonly string[]>;
    expect(done["ended"]).toHaveLength(2); // and the one that the server held
    expect([...(done["revoked"] ?? [])].sort()).toEqual([access, unused.access].sort());
    for (const shown of [token, unused.token]) {
      await expect.poll(async () => (await me(shown)).status, { timeout: 30_000 }).toBe(401); // the server hears of it from the journal
      const refused = await me(shown);
      expect([refused.status, ((await refused.json()) as { detail: string }).detail]).toEqual([
        401,
        "the key that stands for `carl` was withdrawn",
      ]);
    }
    const again = await other.orgate("keys", "withdraw", key, "--reason", "stolen", "--as", "ana");
    expect([again.code, again.stderr]).toEqual([2, expect.stringContaining("was withdrawn before: nothing was done")]);
    const twice = await other.orgate("keys", "revoke", access, "--reason", "again", "--as", "ana");
    expect([twice.code, twice.stderr]).toEqual([2, expect.stringContaining("was revoked before: nothing was done")]);
  } finally {
    server.kill("SIGKILL");
    await server.ended;
    other.remove();
  }
}, 180_000);
