import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { layOut, type ProjectStand } from "../fixtures/project.ts";
import { type AuthorStand, openAuthor } from "../fixtures/serving.ts";

const closing: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});
async function begun(
  more: Readonly<Record<string, string>> = {},
  flags: readonly string[] = [],
): Promise<Readonly<{ stand: ProjectStand; at: AuthorStand }>> {
  const stand = layOut(more);
  closing.push(() => stand.remove());
  const at = await openAuthor(stand, flags);
  closing.push(() => at.close());
  return { stand, at };
}
const SHIPPED = readFileSync(join(import.meta.dirname, "../../../../../agents/shell.symbi"), "utf8");
/** The shipped agent on a model that says what the script says. */
const scripted = (rules: string): string =>
  SHIPPED.replace('model = "offline/author",', `model = "offline/scripted", model_options = { rules: [${rules}] },`);
const rule = (when: string, tool: string, path: string, content: string): string =>
  `{ when: ${when}, calls: [{ tool: "${tool}", args: { path: "${path}", content: ${JSON.stringify(content)} } }] }`;
const GOOD =
  'metadata { description = "You read." }\nagent helper {\n  capabilities = [read_note]\n  policy p { allow: [model, respond, read_note] }\n  with model = "offline/helper" {}\n}\n';
const agentsIn = (root: string): readonly string[] => readdirSync(join(root, "agents")).sort();
const answer = async (at: AuthorStand, how: "approve" | "deny"): Promise<void> => {
  const [question] = at.shell.questions();
  await at.say(how === "approve" ? `/approve ${question?.item.approval}` : `/deny ${question?.item.approval} not this`);
};

test("S120 it generates, validates, mends a real mistake, shows what it newly permits, asks, saves, and says what comes next", async () => {
  const bad = GOOD.replace("[read_note]", "[read_notes]").replace("read_note]", "read_notes]");
  const { stand, at } = await begun({
    "agents/shell.symbi": scripted(
      [
        rule("{}", "validate_dsl", "agents/helper.symbi", bad),
        rule('{ result: "^not valid" }', "validate_dsl", "agents/helper.symbi", GOOD),
        rule('{ result: "^valid" }', "save_artifact", "agents/helper.symbi", GOOD),
        '{ when: { called: ["save_artifact"] }, say: "Saved {{results.save_artifact.saved}}. Next: {{results.save_artifact.next}}" }',
      ].join(", "),
    ),
  });
  await at.say("make me a helper");
  expect(at.text()).toContain("there is no tool `read_notes`");
  expect(existsSync(join(stand.root, "agents/helper.symbi"))).toBe(false);
  const [question] = at.shell.questions();
  expect(question?.item).toMatchObject({
    tool: "save_artifact",
    summary: "agents/helper.symbi",
    resource: 'Artifact::"agents/helper.symbi"',
  });
  expect(question?.edit).toMatchObject({ path: "agents/helper.symbi", added: 6, removed: 0 });
  expect(question?.edit?.newly.join("\n")).toMatch(/newly permits: helper · tool:read_note .*deny → allow \(agents\/helper\.symbi\/4/);
  expect(at.text()).toMatch(/\+ agent helper \{[\s\S]*newly permits: helper[\s\S]*Save this\?/);
  await answer(at, "approve");
  expect(readFileSync(join(stand.root, "agents/helper.symbi"), "utf8")).toBe(GOOD);
  expect(at.text()).toContain("Saved agents/helper.symbi. Next: /spawn helper");
  expect(at.moves()).toBe(1);
}, 60_000);

test("S111 two validations that failed are enough: a third is refused, nothing is written, and neither does a save that skips them", async () => {
  const bad = GOOD.replace("capabilities", "capabilitees");
  const { stand, at } = await begun({
    "agents/shell.symbi": scripted(
      [
        rule("{}", "validate_dsl", "agents/helper.symbi", bad),
        rule('{ failed: false, result: "mend it" }', "validate_dsl", "agents/helper.symbi", bad),
        rule('{ failed: false, result: "stop:" }', "validate_dsl", "agents/helper.symbi", bad),
        rule('{ failed: true, result: "2 times" }', "save_artifact", "agents/other.symbi", bad),
        '{ when: { failed: true }, say: "I could not: {{result}}" }',
      ].join(", "),
    ),
  });
  await at.say("make me a helper");
  expect(at.text()).toContain("was not valid 2 times in this turn");
  expect(at.text()).toMatch(/I could not: .*nothing was written, it is not valid:\s+agents\/other\.symbi:3:3/s);
  expect(agentsIn(stand.root)).toEqual(["reader.symbi", "shell.symbi"]);
  expect(at.shell.questions()).toEqual([]);
}, 60_000);

test("S113 the offline author turns a sentence into a valid agent; a refusal is final; what it does not know saves nothing", async () => {
  const { stand, at } = await begun();
  await at.say('/spawn "an agent that reads notes and asks before it saves notes, but may not run tests"');
  expect(at.shell.questions()[0]?.item.summary).toBe("agents/reads-notes.symbi");
  await answer(at, "deny");
  expect(at.text()).toContain("Nothing was saved:");
  await at.say("what could an agent do here?");
  expect(at.text()).toContain("fixed rules, no language");
  expect(agentsIn(stand.root)).toEqual(["reader.symbi", "shell.symbi"]);
  await at.say('/spawn "keeper that reads notes and asks before it saves notes, but may not run tests"');
  await answer(at, "approve");
  const saved = readFileSync(join(stand.root, "agents/keeper.symbi"), "utf8");
  expect(saved).toContain("capabilities = [read_note, save_note]");
  expect(saved).toContain("require: approval(save_note");
  expect(saved).not.toContain("run_tests");
  expect(at.text()).toContain("Saved agents/keeper.symbi. Next: /spawn keeper");
}, 60_000);

test("S115 --yes is a session grant for save_artifact alone: listed, used by the next save, and asked again once it is revoked", async () => {
  const { stand, at } = await begun({}, ["yes"]);
  await at.say('/spawn "one that reads notes"');
  await at.say('/policy "ask before reader uses read_note"');
  expect(existsSync(join(stand.root, "agents/one.symbi"))).toBe(true);
  expect(existsSync(join(stand.root, "policies/reader-read_note.cedar"))).toBe(true);
  const grants = await at.shell.asked(at.shell.reach.client.call("grants", { query: { limit: 10 } }));
  expect(grants?.items).toMatchObject([{ agent: "shell", tool: "save_artifact", scope: "tool", session: at.shell.current()?.session }]);
  await at.shell.submit(`/revoke ${grants?.items[0]?.grant} enough`);
  await at.say('/tool "say that runs `echo {text}`"');
  expect(at.shell.questions()[0]?.item.summary).toBe("tools/say.clad.toml");
  expect(existsSync(join(stand.root, "tools/say.clad.toml"))).toBe(false);
}, 60_000);
