import { chmodSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Desk, expectRefusal, expectRefusals, makeDesk } from "./fixtures/desk.ts";

const desks: Desk[] = [];
const newDesk = (below = ""): Desk => {
  const desk = makeDesk(below);
  desks.push(desk);
  return desk;
};
afterAll(() => {
  for (const desk of desks) desk.remove();
});

describe("wrong input", () => {
  let desk: Desk;
  beforeAll(() => {
    desk = newDesk();
  });
  /** With one file changed, then put back: refused, and nothing was made or run. */
  async function refusedWith(file: string, text: string | Uint8Array, message: string, args = ["run", "desk", "--input", "look"]) {
    const before = desk.has(file) ? desk.read(file) : null;
    desk.write(file, text);
    const found = await desk.orgate(...args);
    if (before === null) rmSync(join(desk.root, file));
    else desk.write(file, before);
    expectRefusal(found, 1, message);
    expect([desk.has("effects.txt"), desk.has(".orgate")]).toEqual([false, false]);
  }

  test("A-2 A-4 A-8 G-9 a project that is missing or broken is one clear line with its place, and nothing is run", async () => {
    await refusedWith("orgate.toml", '[project]\nname = "desk\n', "orgate.toml:2:");
    await refusedWith("orgate.toml", '[project]\nname = "desk"\nspeed = 1\n', "orgate.toml:3:1: there is no setting `project.speed`");
    await refusedWith("policies/desk.cedar", 'permit(principal, action == Action::"tool:lok", resource);\n', "policies/desk.cedar:1:");
    await refusedWith("policies/desk.cases.json", "[", "policies/desk.cases.json:1:2: not JSON");
    await refusedWith("agents/desk.ts", "export const x = {;\n", "desk.ts:1:");
    await refusedWith("agents/desk.ts", 'throw new Error("not today");\n', "desk.ts:1:7: cannot be loaded: not today");
    await refusedWith("agents/desk.ts", "export const x = 1;\n", "exports no agent");
    const elsewhere = await desk.orgate("sessions", "list", "--project", join(desk.root, "none"));
    expectRefusal(elsewhere, 1, "there is no such file");
    const json = await desk.orgate("run", "desk", "--input", "x", "--project", "/", "--json");
    expect(json).toMatchObject({ code: 1, stdout: "" });
    expect(JSON.parse(json.stderr)).toEqual({
      error: { kind: "file-bad", message: expect.any(String), hint: expect.stringContaining("--project") },
    });
  });

  test("A-3 A-9 an unknown agent, an empty input and no input are refused before anything is made", async () => {
    await expectRefusals(desk, [
      [["run", "nobody", "--input", "x"], 1, "there is no agent `nobody`\nhint: known agents: desk"],
      [["run", "desk", "--input", "  "], 2, "the input is empty"],
      [["run", "desk"], 2, "--input is missing"],
    ]);
    expectRefusal(await desk.start(["run", "desk", "--input", "-"], "").ended, 2, "the input is empty");
    expectRefusal(await desk.orgate("sessions", "show", "s_none"), 1, "journal.db` cannot be read as a journal: there is no such file");
    expect(await desk.orgate("sessions", "list")).toMatchObject({ code: 0, stderr: "" }); // nothing yet is no error
    expect([desk.has("effects.txt"), desk.has(".orgate")]).toEqual([false, false]);
  });

  test("G-1 without policies nothing runs, the model included, and the remedy is named", async () => {
    const bare = newDesk();
    rmSync(join(bare.root, "policies"), { recursive: true });
    const found = await bare.orgate("run", "desk", "--input", "look");
    expectRefusal(found, 1, "there is no policy in `policies`, so nothing runs, the model included");
    expect(found.stderr).toContain("`orgate init`");
    expect(bare.has(".orgate")).toBe(false);
    expect(bare.has("effects.txt")).toBe(false);
  });

  test("J-2 J-17 a damaged database and a broken key are named, nothing is run, and both files stay as they were", async () => {
    const damaged = newDesk();
    await damaged.json("run", "desk", "--input", "hello");
    const database = join(damaged.root, ".orgate", "journal.db");
    const good = readFileSync(database);
    writeFileSync(database, "this is no database, and long enough to be looked at as one".repeat(20));
    await expectRefusals(damaged, [
      [["run", "desk", "--input", "look"], 1, "cannot be read as a journal"],
      [["sessions", "list"], 1, "cannot be read as a journal"],
      [["journal", "verify"], 1, "cannot be read as a journal"],
    ]);
    expect(readFileSync(database, "utf8")).toMatch(/^this is no database/);
    writeFileSync(database, good);

    const key = join(damaged.root, ".orgate", "keys", "root.key");
    const secret = readFileSync(key);
    writeFileSync(key, "no key");
    await expectRefusals(damaged, [
      [["run", "desk", "--input", "look"], 1, "it is not a private Ed25519 key"],
      [["journal", "verify"], 1, "it is not a private Ed25519 key"],
    ]);
    writeFileSync(key, secret);
    chmodSync(key, 0o644);
    expectRefusal(await damaged.orgate("run", "desk", "--input", "look"), 1, "others may open it");
    chmodSync(key, 0o600);
    const [own = ""] = readdirSync(join(damaged.home, "keys"));
    writeFileSync(join(damaged.home, "keys", own), "no key");
    expectRefusal(await damaged.orgate("run", "desk", "--input", "look"), 1, "it is not a private Ed25519 key");
    expect(damaged.has("effects.txt")).toBe(false);
    expect((await damaged.orgate("journal", "verify")).code).toBe(0);
  });

  test("J-2 J-19 a session with a flipped byte is named and not driven on, and the project is read-only until somebody has looked; then others go on", async () => {
    const flipped = newDesk();
    const { session } = (await flipped.json("run", "desk", "--input", "a canary")) as { session: string };
    const database = join(flipped.root, ".orgate", "journal.db");
    const bytes = readFileSync(database);
    for (let at = bytes.indexOf("a canary"); at >= 0; at = bytes.indexOf("a canary", at)) bytes[at] = "b".charCodeAt(0); // pages that were split leave copies
    writeFileSync(database, bytes);
    expectRefusal(
      await flipped.orgate("sessions", "show", session),
      1,
      `of stream \`${session}\` is bad: its hash does not match its payload`,
    );
    const doubted = await flipped.orgate("run", "desk", "--input", "look");
    expect([doubted.code, doubted.stderr]).toEqual([1, expect.stringContaining("the project is read-only")]);
    const doctor = await flipped.orgate("doctor");
    expect([doctor.code, doctor.stdout]).toEqual([1, expect.stringContaining("the project is read-only")]);
    expect((await flipped.orgate("journal", "acknowledge", "--reason", "a bad disk", "--as-is")).code).toBe(0);
    expect((await flipped.orgate("run", "desk", "--input", "look")).code).toBe(0);
    const said = await flipped.orgate("sessions", "say", session, "go on");
    expect([said.code, said.stderr]).toEqual([1, expect.stringContaining("is bad: its hash does not match its payload")]);
    const verified = await flipped.orgate("journal", "verify");
    expect([verified.code, verified.stdout.includes(`of \`${session}\` is bad`)]).toEqual([1, true]);
  });
});

test("J-28 `journal verify` without a journal verifies nothing and exits 2, whether the project never ran or its folder is gone", async () => {
  const desk = newDesk();
  const refused = await desk.orgate("journal", "verify");
  expectRefusal(refused, 2, "nothing was verified");
  expect(refused.stderr).toContain("`orgate run` makes one");
  await desk.json("run", "desk", "--input", "look");
  expect((await desk.orgate("journal", "verify")).code).toBe(0);
  rmSync(join(desk.root, ".orgate"), { recursive: true });
  const gone = await desk.orgate("journal", "verify", "--json");
  expect([gone.code, gone.stdout, gone.stderr]).toEqual([2, "", expect.stringContaining("nothing was verified")]);
});

test("A-12 in a project that never ran, what lists says that there is nothing; a journal that is gone is no empty one", async () => {
  const desk = newDesk();
  for (const words of [
    ["approvals", "grants"],
    ["keys", "list"],
    ["approvals", "list"],
    ["sessions", "list"],
  ])
    expect([words, await desk.json(...words)]).toEqual([words, []]);
  const head = `w1@1:${"0".repeat(64)}`;
  expectRefusal(await desk.orgate("journal", "verify", "--head", head), 2, "there is no journal, and a head to compare it with");
  await desk.json("run", "desk", "--input", "read");
  const state = join(desk.root, ".orgate");
  for (const name of readdirSync(state).filter((name) => name.startsWith("journal.db"))) rmSync(join(state, name));
  for (const words of [
    ["approvals", "grants"],
    ["approvals", "list"],
    ["keys", "list"],
    ["journal", "verify"],
    ["sessions", "list"],
  ])
    expect([words, (await desk.orgate(...words)).code]).toEqual([words, 1]);
});
