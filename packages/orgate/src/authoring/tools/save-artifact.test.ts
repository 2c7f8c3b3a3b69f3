/** Attacks on `save_artifact`: each of these is tried with everything else as it should be. */
import { linkSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeEach, expect, test } from "vitest";
import { BASE, layOut, MANIFEST, type ProjectStand } from "../fixtures/project.ts";
import { cutWithDigest } from "../try-artifact.ts";
import { artifactFiles, previewSave, saveArtifact } from "./save-artifact.ts";

const GOOD =
  'metadata { description = "You read." }\nagent helper {\n  policy p { allow: [model, respond] }\n  with model = "offline/helper" {}\n}\n';
const agent = (name: string, body: string, more = ""): string =>
  `metadata { description = "You read." }\nagent ${name} {\n${body}\n  with model = "offline/x" {}\n}\n${more}`;

let stand: ProjectStand = layOut();
beforeEach(() => {
  stand.remove();
  stand = layOut();
});
afterAll(() => stand.remove());

const looked = (path: string, content: string) => previewSave(stand.config(), {}, artifactFiles(stand.config()), { path, content });
async function refusedBecause(path: string, content: string): Promise<string> {
  const before = readdirSync(stand.root, { recursive: true }).sort();
  const found = await looked(path, content);
  const why = found.kind === "unfit" ? found.problems.map(({ detail }) => detail).join("\n") : "FIT";
  await expect(saveArtifact(stand.config(), {}, { path, content }, { newly: [], people: false, used: false })).rejects.toThrow();
  expect(readdirSync(stand.root, { recursive: true }).sort()).toEqual(before);
  return why;
}

test.each([
  "../elsewhere.symbi",
  "agents/../orgate.toml",
  "agents/../../x.symbi",
  "/etc/x.symbi",
  "agents//x.symbi",
  "agents/./x.symbi",
  "agents/sub/x.symbi",
  "agents/x.symbi/",
  "agents/X.symbi",
  "Agents/x.symbi",
  "agents/х.symbi", // a Cyrillic letter
  "agents/x\u200b.symbi",
  "agents/x.symbi\0.md",
  "agents/x.ts",
  "agents/shell.symbi",
  "agents/shell.toml",
  "agents/shell.dsl",
  "policies/shell/more.cedar",
  "policies/shadow/shell/more.cedar",
  "policies/x/y.cedar",
  "policies/shell.cedar/../shell/x.cedar",
  ".orgate/constraints.toml",
  ".orgate/keys/root.cedar",
  "orgate.toml",
  "tools/x.ts",
  "tools/x.toml",
  "skills/x.symbi",
  "AGENTS.md",
])("S-8 nothing is written at %j", async (path) => {
  expect(await refusedBecause(path, GOOD)).not.toBe("FIT");
});

test("S-8 links, hard links and other spellings that lie there already lead nowhere", async () => {
  const outside = join(stand.root, "..", `outside-${process.pid}.symbi`);
  symlinkSync(outside, join(stand.root, "agents/linked.symbi"));
  expect(await refusedBecause("agents/linked.symbi", GOOD)).not.toBe("FIT");
  writeFileSync(join(stand.root, "agents/Helper.symbi"), GOOD.replace("helper", "other"));
  expect(await refusedBecause("agents/helper.symbi", GOOD)).toContain("Helper.symbi");
  linkSync(join(stand.root, "agents/shell.symbi"), join(stand.root, "agents/twin.symbi"));
  expect(await refusedBecause("agents/twin.symbi", GOOD)).not.toBe("FIT");
  renameSync(join(stand.root, "policies"), join(stand.root, "elsewhere"));
  symlinkSync("elsewhere", join(stand.root, "policies"));
  expect(await refusedBecause("policies/x.cedar", '@id("x") forbid(principal, action, resource);')).not.toBe("FIT");
});

test("S-10 what changed between the question and the save is not written over, and nothing is saved on another's yes", async () => {
  const first = await looked("agents/helper.symbi", GOOD);
  if (first.kind !== "fit") throw new Error("it is fit");
  stand.put("agents/helper.symbi", "// somebody else was quicker\n");
  await expect(saveArtifact(stand.config(), {}, { path: "agents/helper.symbi", content: GOOD }, first.shown)).rejects.toThrow(
    "not what was shown any more",
  );
  expect(readFileSync(join(stand.root, "agents/helper.symbi"), "utf8")).toContain("quicker");
  stand.remove();
  stand = layOut();
  const again = await looked("agents/helper.symbi", GOOD);
  if (again.kind !== "fit") throw new Error("it is fit");
  const edited = GOOD.replace("  policy", "  capabilities = [read_note]\n  policy").replace("respond]", "respond, read_note]");
  await expect(saveArtifact(stand.config(), {}, { path: "agents/helper.symbi", content: edited }, again.shown)).rejects.toThrow(
    "newly permits is not what was shown",
  );
  const saved = await saveArtifact(stand.config(), {}, { path: "agents/helper.symbi", content: GOOD }, again.shown);
  expect(saved.edit).toMatchObject({ before: null, after: GOOD });
  // after a crash between the write and its record it is there already: the same again is the same
  expect(await saveArtifact(stand.config(), {}, { path: "agents/helper.symbi", content: GOOD }, again.shown)).toMatchObject({
    edit: { after: GOOD },
  });
  expect(readdirSync(join(stand.root, "agents")).sort()).toEqual(["helper.symbi", "reader.symbi", "shell.symbi"]);
});

test.each([
  [
    "an agent with the shell's tools",
    "agents/x.symbi",
    agent("x", "  capabilities = [save_artifact]\n  policy p { allow: [save_artifact] }"),
    "the shell's alone",
  ],
  [
    "an agent that has the shell do things",
    "agents/x.symbi",
    agent("x", '  capabilities = ["agent:shell"]'),
    "have the shell do something",
  ],
  ["another shell", "agents/x.symbi", agent("shell", "  policy p { allow: [model] }"), "already defined"],
  [
    "a schedule for the shell",
    "agents/x.symbi",
    agent("x", "", 'schedule s { cron: "0 3 * * *" agent: shell input: "save everything" }\n'),
    "run by itself",
  ],
  [
    "a permit for the shell by name",
    "policies/x.cedar",
    '@id("x") permit(principal == Agent::"shell", action == Action::"tool:save_artifact", resource);',
    "to the shell itself",
  ],
  [
    "a permit for the shell in a list",
    "policies/x.cedar",
    '@id("x") permit(principal in [Agent::"reader", Agent::"shell"], action == Action::"model", resource);',
    "single entity",
  ],
  [
    "a policy that would stop the policies from loading",
    "policies/x.cedar",
    '@id("x") permit(principal, action == Action::"tool:nothing", resource);',
    "tool:nothing",
  ],
  [
    "a manifest that hands a value to a shell",
    "tools/x.clad.toml",
    MANIFEST.replace('binary = "echo"', 'binary = "sh"').replace("echo {text}", "sh -c {text}"),
    "a value would become a program",
  ],
  ["a tool under a name that the shell is permitted", "tools/x.clad.toml", MANIFEST.replace('"say"', '"search"'), "a tool of the shell's"],
  ["a tool that takes another's name", "tools/x.clad.toml", MANIFEST.replace('"say"', '"read_note"'), "read_note"],
])("S-11 not fit: %s", async (_, path, content, why) => {
  expect(await refusedBecause(path, content)).toContain(why);
});

test("S-11 a permit for everybody that would let the shell do what asks, or what it may not, is not fit; one that changes nothing for it is", async () => {
  // the shell's own policy asks before a save; the project's people took its permit for running agents away
  const shell = readFileSync(join(stand.root, "policies/shell/shell.cedar"), "utf8");
  stand.put("policies/shell/shell.cedar", shell.replace(/@id\("run"\)[\s\S]*?resource\);\n/, ""));
  rmSync(join(stand.root, "policies/shell/shell.cases.json"));
  const wide = '@id("x") permit(principal, action in Action::"execute", resource);';
  expect(await refusedBecause("policies/x.cedar", wide)).toContain("let the shell itself do more: tool:run_agent");
  expect((await looked("policies/x.cedar", '@id("x") permit(principal, action in Action::"write", resource);')).kind).toBe("fit");
  expect(
    (
      await looked(
        "policies/base.cedar",
        `${BASE}\n@id("more") permit(principal == Agent::"reader", action == Action::"recall", resource);`,
      )
    ).kind,
  ).toBe("fit");
});

test("S-10 what is wrong is told with its place, in whichever file; a table that does not hold refuses its policy", async () => {
  expect(await looked("agents/x.symbi", agent("x", "  policy p { allow: pay }"))).toMatchObject({
    kind: "unfit",
    problems: [{ file: "agents/x.symbi", line: 3, detail: expect.stringContaining("`pay` is no tool") }],
  });
  expect(
    await looked("policies/x.cedar", '@id("x")\npermit(principal, action == Action::"model", resource) when { context.nothing };'),
  ).toMatchObject({ kind: "unfit", problems: [{ file: "policies/x.cedar", line: 2 }] });
  expect(await looked("tools/x.clad.toml", MANIFEST.replace("version", "versoin"))).toMatchObject({
    kind: "unfit",
    problems: [{}, { file: "tools/x.clad.toml", line: 3, detail: expect.stringContaining("versoin") }],
  });
  stand.put("policies/deny.cedar", '@id("d") forbid(principal == Agent::"reader", action == Action::"tool:read_note", resource);');
  const table = '[{ "name": "reads", "agent": "reader", "action": "tool:read_note", "args": { "text": "x" }, "verdict": "allow" }]';
  expect(await looked("policies/deny.cases.json", table)).toMatchObject({
    kind: "unfit",
    problems: [{ file: "policies/deny.cases.json", detail: expect.stringContaining("case `reads`") }],
  });
  expect((await looked("policies/deny.cases.json", table.replace('"allow"', '"deny"'))).kind).toBe("fit");
  mkdirSync(join(stand.root, "policies/cli"), { recursive: true });
  expect(
    (await looked("policies/cli/x.cedar", '@id("x") permit(principal == Agent::"reader", action == Action::"recall", resource);')).kind,
  ).toBe("fit");
});

test("S-10 what people may newly do is told by its policy, and policies of a surface by what they decide there", async () => {
  const newly = async (path: string, content: string): Promise<string> => {
    const found = await looked(path, content);
    return found.kind === "fit" ? found.shown.newly.join("\n") : found.problems.map(({ detail }) => detail).join("\n");
  };
  expect(
    await newly(
      "policies/x.cedar",
      '@id("x") permit(principal == User::"mallory", action in [Action::"approve", Action::"edit-policy"], resource);',
    ),
  ).toBe("newly permits people: approve, edit-policy (x/x)");
  expect(await newly("policies/x.cedar", '@id("x") permit(principal is Agent, action == Action::"recall", resource);')).not.toContain(
    "people",
  );
  expect(await newly("policies/base.cedar", BASE.replace('Action::"halt"', 'Action::"halt", Action::"give-access"'))).toContain(
    "newly permits people: approve",
  );
  expect(
    await newly("policies/webhook/x.cedar", '@id("x") forbid(principal == Agent::"reader", action == Action::"tool:read_note", resource);'),
  ).toMatch(/newly forbids: reader · tool:read_note .*allow → deny \(webhook\/x\/x\)/);
});

test("S-11 nothing authored lets the shell save unasked at another surface, nor where nobody can tell what it lets it do", async () => {
  const wide = '@id("x") permit(principal, action == Action::"tool:save_artifact", resource);';
  expect(await refusedBecause("policies/x.cedar", wide)).toContain("let the shell itself do more: tool:save_artifact, deny → allow");
  expect(await refusedBecause("policies/api/x.cedar", wide)).toContain("let the shell itself do more: tool:save_artifact");
  expect(await refusedBecause("policies/x.cedar", '@id("x") permit(principal, action in Action::"govern", resource);')).toContain(
    "let the shell itself do more",
  );
  stand.put("policies/broken.cedar", "permit(");
  const mended = (more: string): string => `@id("a") permit(principal == Agent::"reader", action == Action::"recall", resource);\n${more}`;
  expect(await refusedBecause("policies/broken.cedar", mended(wide))).toContain("might let the shell itself do more");
  expect((await looked("policies/broken.cedar", mended(""))).kind).toBe("fit");
});

test("S-8 the manifest behind a tool that a person gave the shell is not rewritten by it", async () => {
  stand.put("tools/say.clad.toml", MANIFEST);
  const other = MANIFEST.replace('template = "echo {text}"', 'template = "echo -n {text}"');
  expect((await looked("tools/say.clad.toml", other)).kind).toBe("fit");
  const shell = readFileSync(join(stand.root, "agents/shell.symbi"), "utf8");
  stand.put("agents/shell.symbi", shell.replace("list_agents,", "list_agents, say,"));
  expect(await refusedBecause("tools/say.clad.toml", other)).toContain("`say` is a tool that the shell itself uses");
});

test("S-12 a manifest behind a tool that agents have is told with who has it; a new one, or the same once more, is not", async () => {
  stand.put("tools/say.clad.toml", MANIFEST);
  const other = MANIFEST.replace('template = "echo {text}"', 'template = "echo -n {text}"');
  const shown = async (content: string, path = "tools/say.clad.toml") => {
    const found = await looked(path, content);
    return found.kind === "fit" ? [found.shown.used, found.shown.newly[0]] : found.problems;
  };
  expect(await shown(other)).toEqual([false, "nothing is decided otherwise"]); // nobody has it
  stand.put(
    "agents/reader.symbi",
    readFileSync(join(stand.root, "agents/reader.symbi"), "utf8").replaceAll("read_note]", "read_note, say]"),
  );
  expect(await shown(other)).toEqual([true, "another tool behind a name: say, which reader has"]);
  expect(await shown(MANIFEST)).toEqual([false, "nothing is decided otherwise"]);
  expect(await shown(MANIFEST.replace('"say"', '"whisper"'), "tools/whisper.clad.toml")).toEqual([false, "nothing is decided otherwise"]);
});

test("S-5 what is newly permitted beyond what there is room for is told apart as well", () => {
  const lines = Array.from({ length: 60 }, (_, i) => `newly permits: x · tool:t${i}`);
  const other = lines.with(50, "newly permits: x · tool:pay");
  expect(cutWithDigest(lines)).toHaveLength(41);
  expect(cutWithDigest(lines).at(-1)).toMatch(/^… 20 more \([0-9a-f]{12}\)/);
  expect(cutWithDigest(other)).not.toEqual(cutWithDigest(lines));
  expect(cutWithDigest([...lines])).toEqual(cutWithDigest(lines));
  expect(cutWithDigest(lines.slice(0, 40))).toEqual(lines.slice(0, 40));
});
