import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { KINDS, type Kind } from "../../../starter/starters.ts";
import { warmCommand } from "../fixtures/warm.ts";

let folder = "";
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "orgate-init-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

type Ended = Readonly<{ code: number | null; stdout: string; stderr: string }>;
/** Far from any node_modules: what a project imports must be found all the same. */
function orgate(cwd: string, ...args: readonly string[]): Promise<Ended> {
  const { PATH, NODE_COMPILE_CACHE } = process.env;
  const at = join(folder, cwd);
  return warmCommand(args, at, at, { PATH, NODE_COMPILE_CACHE, ORGATE_HOME: join(folder, "home") });
}
const json = async (cwd: string, ...args: readonly string[]): Promise<unknown> => {
  const { code, stdout, stderr } = await orgate(cwd, ...args, "--json");
  if (code !== 0 && code !== 3) throw new Error(`${args.join(" ")} exited ${code}: ${stderr}`);
  return JSON.parse(stdout);
};

const ASKS: Readonly<Record<Kind, readonly [string, string, string, string]>> = {
  assistant: ["what is on today?", "remember the milk", "save_note", "today"],
  developer: ["read hello.txt", "write hello.txt", "write_file", "hello"],
  operations: ["why is checkout slow?", "restart checkout", "restart_service", "checkout"],
  payments: ["what is due?", "pay the bill", "pay", "due"],
  secretary: ["what is in my inbox?", "forward the news as they ask", "send_mail", "mail"],
  support: ["when are you open?", "cancel O-1, my code is 4711", "cancel_order", "open"],
};
/** Calls that come before the one that asks. */
const READS_FIRST: Readonly<Partial<Record<Kind, number>>> = { payments: 1, secretary: 1, support: 2 };

describe.each(KINDS)("a project of kind %s", (kind) => {
  const [reads, acts, tool, says] = ASKS[kind];

  test("A-14 is made without a question, and passes its check with every case at once", async () => {
    expect(await json(".", "init", kind, "--kind", kind, "--yes")).toMatchObject({ kind, name: kind });
    const checked = (await json(kind, "policy", "check")) as {
      ok: boolean;
      warnings: unknown[];
      untyped: unknown[];
      cases: { passed: boolean }[];
    };
    expect([checked.ok, checked.warnings, checked.untyped]).toEqual([true, [], []]);
    expect(checked.cases.length).toBeGreaterThan(10);
    expect(readFileSync(join(folder, kind, ".gitignore"), "utf8").split("\n")).toContain(".orgate/");
  });

  test("A-3 A-2 A-14 its agents run at once, module and TOML alike, and nothing needs to be installed", async () => {
    const run = await orgate(kind, "run", kind, "--input", reads, "--json");
    expect([run.code, JSON.parse(run.stdout)]).toMatchObject([0, { ending: "completed", calls: 1 }]);
    expect(run.stderr).not.toMatch(/warning/i);
    const helper = await orgate(kind, "run", "helper", "--input", says, "--json");
    expect([helper.code, JSON.parse(helper.stdout)]).toMatchObject([
      0,
      { ending: "completed", calls: 1, output: expect.stringMatching(/^It says: /) },
    ]);
  });

  test("Q-5 what it asks about is listed, bound to its digest, and answered: approved it runs once, denied it does not", async () => {
    const asked = (await json(kind, "run", kind, "--input", acts)) as { state: string; session: string };
    expect(asked.state).toBe("waiting");
    const before = READS_FIRST[kind] ?? 0;
    const [open] = (await json(kind, "approvals", "list")) as { approval: string; digest: string; tool: string; session: string }[];
    if (open === undefined) throw new Error("no question");
    expect(open).toMatchObject({ tool, session: asked.session });
    const other = await orgate(kind, "approvals", "approve", open.approval, "--digest", "0123456789ab");
    expect([other.code, other.stderr]).toEqual([2, expect.stringContaining(`is about ${open.digest}, not 0123456789ab`)]);
    expect(await json(kind, "approvals", "approve", open.approval.slice(-6), "--digest", open.digest)).toMatchObject({
      state: "taken",
      event: { kind: "approval.answered", answer: { kind: "approve" } },
      result: { ending: "completed", calls: before + 1 },
    });
    expect(await json(kind, "approvals", "list")).toEqual([]);

    await json(kind, "run", kind, "--input", acts);
    const [second] = (await json(kind, "approvals", "list")) as { approval: string }[];
    const silent = await orgate(kind, "approvals", "deny", second?.approval ?? "");
    expect([silent.code, silent.stderr]).toEqual([2, expect.stringContaining("--reason is missing")]);
    expect(await json(kind, "approvals", "deny", second?.approval ?? "", "--reason", "not now")).toMatchObject({
      result: { ending: "completed", calls: before, output: expect.stringContaining("not allowed") },
    });
  });

  test("Q-7 Q-5 somebody who is in no group that may approve answers nothing", async () => {
    await json(kind, "run", kind, "--input", acts);
    await orgate(kind, "keys", "create", `eve-${kind}`);
    const [open] = (await json(kind, "approvals", "list")) as { approval: string; session: string }[];
    const eve = await orgate(kind, "approvals", "approve", open?.approval ?? "", "--as", `eve-${kind}`);
    expect([eve.code, eve.stderr]).toEqual([1, expect.stringContaining(`\`eve-${kind}\` may not answer it: no policy permits approve`)]);
    // not even sent: whoever holds the session would have refused it, and said so in the journal
    expect((await orgate(kind, "journal", "show", open?.session ?? "")).stdout).not.toContain("intent.refused");
    rmSync(join(folder, "home", "keys", `eve-${kind}.key`));
    const missing = await orgate(kind, "approvals", "approve", "a_nothing");
    expect([missing.code, missing.stderr]).toEqual([2, expect.stringContaining("there is no open approval request `a_nothing`")]);
  });

  test("A-14 nothing that is there is overwritten", async () => {
    const before = readdirSync(join(folder, kind), { recursive: true }).sort();
    const again = await orgate(".", "init", kind, "--kind", kind, "--yes");
    expect([again.code, again.stderr]).toEqual([1, expect.stringContaining("it is there already")]);
    expect(readdirSync(join(folder, kind), { recursive: true }).sort()).toEqual(before);
  });
});

test("G-39 G-40 a new support project changes nothing of another customer, and nothing for somebody who was not identified", async () => {
  await json(".", "init", "desk", "--kind", "support", "--yes");
  const run = (input: string) => json("desk", "run", "support", "--input", input);
  expect(await run("cancel O-1, my code is 4711")).toMatchObject({ state: "waiting" });
  for (const input of ["cancel O-2, my code is 4711", "cancel O-1, my code is 4712"])
    expect(await run(input)).toMatchObject({ ending: "completed", output: expect.stringContaining("not allowed") });
  expect(readdirSync(join(folder, "desk", "shop"))).toEqual(["hours"]);
});

test("A-14 a package's own files are kept; without a terminal and without --yes nothing is made; a kind must be known", async () => {
  mkdirSync(join(folder, "mine"));
  writeFileSync(join(folder, "mine", "package.json"), '{ "name": "mine", "type": "module" }');
  expect((await orgate("mine", "init")).stderr).toContain("there is no terminal to ask on");
  expect(readdirSync(join(folder, "mine"))).toEqual(["package.json"]);
  expect((await orgate("mine", "init", "--kind", "pirate", "--yes")).code).toBe(2);
  await json("mine", "init", "--yes");
  expect(readFileSync(join(folder, "mine", "package.json"), "utf8")).toBe('{ "name": "mine", "type": "module" }');
  mkdirSync(join(folder, "other", "policies"), { recursive: true });
  expect((await orgate(".", "init", "other", "--yes")).stderr).toContain("it is there already");
  expect(readdirSync(join(folder, "other"))).toEqual(["policies"]);
});

test("A-14 all is made or nothing: a file in the way is named; what was kept is told, and that the keys would be published", async () => {
  mkdirSync(join(folder, "blocked"));
  writeFileSync(join(folder, "blocked", "agents"), "a file");
  const blocked = await orgate(".", "init", "blocked", "--yes");
  expect([blocked.code, blocked.stderr]).toEqual([1, expect.stringContaining("agents: it is no folder; nothing was written")]);
  expect(readdirSync(join(folder, "blocked"))).toEqual(["agents"]);
  const file = await orgate(".", "init", join("blocked", "agents"), "--yes");
  expect([file.code, file.stderr]).toEqual([1, expect.stringContaining("it is no folder")]);
  mkdirSync(join(folder, "it's mine"));
  writeFileSync(join(folder, "it's mine", ".gitignore"), "node_modules\n");
  const kept = await orgate(".", "init", "it's mine", "--yes");
  expect(kept.stdout).toContain("kept as they were: .gitignore\n! put .orgate/ into .gitignore");
  expect(kept.stdout).toContain("cd 'it'\\''s mine' && orgate run");
});

test("S-21 a new project has the shell's agent and its policies, which load; one that has none gets them, and nothing is overwritten", async () => {
  await json(".", "init", "fresh", "--profile", "minimal", "--yes");
  const shipped = ["agents/shell.symbi", "policies/shell/shell.cases.json", "policies/shell/shell.cedar"];
  for (const file of shipped) expect(readFileSync(join(folder, "fresh", file), "utf8").length).toBeGreaterThan(100);
  expect(await json("fresh", "policy", "check")).toMatchObject({ ok: true });
  for (const file of shipped) rmSync(join(folder, "fresh", file));
  rmSync(join(folder, "fresh/policies/shell"), { recursive: true });
  expect(await json("fresh", "init", "--shell")).toMatchObject({ files: shipped });
  expect(await json("fresh", "policy", "check")).toMatchObject({ ok: true });
  writeFileSync(join(folder, "fresh/agents/shell.symbi"), "// mine");
  expect((await orgate("fresh", "init", "--shell")).code).not.toBe(0);
  expect(readFileSync(join(folder, "fresh/agents/shell.symbi"), "utf8")).toBe("// mine");
});

test("no page and no file of a new project says that orgate is in a public registry", async () => {
  await json(".", "init", "unpublished", "--yes");
  const repository = join(import.meta.dirname, "../../../../../..");
  const pages = ["README.md", "packages/orgate/README.md", "packages/core/README.md", "docs/guide/library.md"].map((page) =>
    join(repository, page),
  );
  const made = readFileSync(join(folder, "unpublished", "README.md"), "utf8");
  expect(made).toContain("Orgate is not in a public registry yet");
  for (const text of [made, ...pages.map((page) => readFileSync(page, "utf8"))])
    expect(text).not.toMatch(/npmjs\.com|npm (?:install|i)(?: -\S+| --\S+)* orgate\b/);
});

test("the smallest program of the library's page is whole: it is the example that runs", () => {
  const repository = join(import.meta.dirname, "../../../../../..");
  const page = readFileSync(join(repository, "docs/guide/library.md"), "utf8");
  const example = readFileSync(join(repository, "examples/src/01-minimal.ts"), "utf8");
  expect(/```ts\n([\s\S]*?)```/.exec(page)?.[1]).toBe(example.slice(example.indexOf("import")));
});
