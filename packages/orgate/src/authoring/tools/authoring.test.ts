import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import {
  type ApprovalId,
  callId,
  callKey,
  type Digest,
  epoch,
  type JsonObject,
  type SessionId,
  type Surface,
  sessionId,
  type ToolContext,
} from "@orgate/core";
import { caseSchema, toCaseAction, toCaseFacts } from "@orgate/core/gate";
import { carryOver, coversConsent, type UsedConsents } from "@orgate/shell";
import { afterEach, expect, test } from "vitest";
import { type AuthorStand, openAuthor } from "../../local-server/fixtures/serving.ts";
import { openPolicies } from "../../policies/policies.ts";
import { loadProject } from "../../project/load.ts";
import { BASE, layOut, MANIFEST, type ProjectStand } from "../fixtures/project.ts";
import { shellTools } from "./tools.ts";

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
  SHIPPED.replace("model_options = { author: true },", `model = "offline/scripted", model_options = { rules: [${rules}] },`);
const rule = (when: string, tool: string, path: string, content: string): string =>
  `{ when: ${when}, calls: [{ tool: "${tool}", args: { path: "${path}", content: ${JSON.stringify(content)} } }] }`;
const GOOD =
  'metadata { description = "You read." }\nagent helper {\n  capabilities = [read_note]\n  policy p { allow: [model, respond, read_note] }\n  with model = "offline/helper" {}\n}\n';
const agentsIn = (root: string): readonly string[] => readdirSync(join(root, "agents")).sort();
const answer = async (at: AuthorStand, how: "approve" | "deny"): Promise<void> => {
  const [question] = at.shell.openApprovals();
  await at.say(how === "approve" ? `/approve ${question?.item.approval}` : `/deny ${question?.item.approval} not this`);
};

test("S-10 it generates, validates, mends a real mistake, shows what it newly permits, asks, saves, and says what comes next", async () => {
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
  const [question] = at.shell.openApprovals();
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

test("S-21 two validations that failed are enough: a third is refused, nothing is written, and neither does a save that skips them", async () => {
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
  expect(at.shell.openApprovals()).toEqual([]);
}, 60_000);

test("S-21 the offline author turns a sentence into a valid agent; a refusal is final; what it does not know saves nothing", async () => {
  const { stand, at } = await begun();
  await at.say('/spawn "an agent that reads notes and asks before it saves notes, but may not run tests, and never send mail"');
  expect(at.text()).toContain("It is given no way to run_tests.");
  expect(at.shell.openApprovals()[0]?.item.summary).toBe("agents/reads-notes.symbi");
  await answer(at, "deny");
  expect(at.text()).toContain("Nothing was saved:");
  await at.say("what could an agent do here?");
  expect(at.text()).toContain("fixed rules, no language");
  expect(at.text()).toMatch(/No tool here has the name\s+of: send mail\./);
  expect(agentsIn(stand.root)).toEqual(["reader.symbi", "shell.symbi"]);
  await at.say('/spawn "keeper that reads notes and asks before it saves notes, but may not run tests"');
  await answer(at, "approve");
  const saved = readFileSync(join(stand.root, "agents/keeper.symbi"), "utf8");
  expect(saved).toContain("capabilities = [read_note, save_note]");
  expect(saved).toContain("require: approval(save_note");
  expect(saved).not.toContain("run_tests");
  expect(at.text()).toContain("Saved agents/keeper.symbi. Next: /spawn keeper");
}, 60_000);

test("S-12 Q-10 --yes is a yes to the first save of a conversation: nothing is granted, and the next save is asked about", async () => {
  const { stand, at } = await begun({}, ["yes"]);
  await at.say('/spawn "one that reads notes"', "ended");
  expect(existsSync(join(stand.root, "agents/one.symbi"))).toBe(true);
  const grants = await at.shell.unwrap(at.shell.connection.client.call("grants", { query: { limit: 10 } }));
  expect(grants?.items).toEqual([]);
  await at.say('/tool "say that runs `echo {text}`"');
  const [asked] = at.shell.openApprovals();
  expect(asked?.item.summary).toBe("tools/say.clad.toml");
  expect(existsSync(join(stand.root, "tools/say.clad.toml"))).toBe(false);
  const { session = "", item } = asked ?? {};
  const view = await at.shell.unwrap(at.shell.connection.client.call("approval", { params: { approval: item?.approval as ApprovalId } }));
  expect(view).toMatchObject({ widest: null, grants: [] });
  const bound = { session: session as SessionId, approval: item?.approval as ApprovalId, digest: item?.digest as Digest };
  expect(await at.shell.answer(bound, { kind: "grant", grant: { scope: "digest", until: "turn" } })).toBe(false);
  expect(at.text()).toContain("approved each time: no grant covers it");
}, 60_000);

test("S-12 --yes is used up with its conversation when the server is begun anew", async () => {
  const stand = layOut();
  closing.push(async () => stand.remove());
  const consented: UsedConsents = new Set();
  const first = await openAuthor(stand, ["yes"], consented);
  await first.say('/spawn "one that reads notes"', "ended");
  expect(first.moves()).toBe(1); // the server is to be begun anew with it
  const session = first.shell.current()?.session;
  await first.close();
  const next = await openAuthor(stand, ["yes"], consented);
  closing.push(next.close);
  if (session !== undefined) next.shell.continueIn(session, "shell");
  await next.say('/tool "say that runs `echo {text}`"');
  expect(next.shell.openApprovals()[0]?.item.summary).toBe("tools/say.clad.toml");
  expect(next.shell.hasPendingWork()).toBe(false);
  expect(next.text()).not.toContain("--yes:");
}, 60_000);

test("S-12 what changes what people may do, or what runs behind a tool that agents have, is asked about each time: --yes does not cover it", async () => {
  const mallory = '@id("x") permit(principal == User::"mallory", action in [Action::"approve", Action::"edit-policy"], resource);';
  const { stand, at } = await begun(
    {
      "agents/shell.symbi": scripted(
        [
          rule('{ says: "agent" }', "save_artifact", "agents/helper.symbi", GOOD),
          rule('{ says: "people" }', "save_artifact", "policies/x.cedar", mallory),
          rule('{ says: "tool" }', "save_artifact", "tools/say.clad.toml", MANIFEST.replace("echo {text}", "echo -n {text}")),
          '{ when: { called: ["save_artifact"] }, say: "done" }',
        ].join(", "),
      ),
      "tools/say.clad.toml": MANIFEST,
      "agents/speaker.symbi": GOOD.replaceAll("helper", "speaker").replaceAll("read_note", "say"),
    },
    ["yes"],
  );
  await at.say("save people");
  expect(at.shell.openApprovals()).toMatchObject([
    { item: { summary: "policies/x.cedar" }, edit: { newly: ["newly permits people: approve, edit-policy (x/x)"] } },
  ]);
  await answer(at, "deny");
  await at.say("save agent", "ended");
  expect(existsSync(join(stand.root, "agents/helper.symbi"))).toBe(true); // by --yes, which the first question did not use up
  await at.say("save tool");
  expect(at.shell.openApprovals()).toMatchObject([
    {
      item: {
        summary: "tools/say.clad.toml",
        asks: [{ policy: { id: "shell/shell/save" } }, { policy: { id: "shell/shell/save-what-is-used" } }],
      },
      edit: { newly: ["another tool behind a name: say, which speaker has"] },
    },
  ]);
  await answer(at, "deny");
  expect(readFileSync(join(stand.root, "tools/say.clad.toml"), "utf8")).toBe(MANIFEST);
  await at.say("save people");
  expect(at.shell.openApprovals()).toMatchObject([{ item: { summary: "policies/x.cedar" } }]);
  expect(existsSync(join(stand.root, "policies/x.cedar"))).toBe(false);
}, 60_000);

test("S-12 --yes answers what one's own conversations ask, and nobody else's", () => {
  const asks = ["shell/shell/save"].map((id) => ({ policy: { id } }));
  const save = { agent: "shell", item: { tool: "save_artifact", asks } };
  const ann = { kind: "user", id: "ann" } as const;
  expect(coversConsent(save, ann, "ann")).toBe(true);
  expect(coversConsent(save, { kind: "user", id: "bob" }, "ann")).toBe(false);
  expect(coversConsent(save, { kind: "agent", id: "ann" }, "ann")).toBe(false);
  expect(coversConsent(save, null, "ann")).toBe(false); // of a session that is looked through, not followed
  expect(coversConsent(save, null, null)).toBe(false);
  expect(coversConsent({ ...save, agent: "other" }, ann, "ann")).toBe(false);
  expect(coversConsent({ ...save, item: { ...save.item, tool: "edit_file" } }, ann, "ann")).toBe(false);
  expect(coversConsent({ ...save, item: { ...save.item, asks: [...asks, { policy: { id: "desk/save" } }] } }, ann, "ann")).toBe(false);
});

test("S-8 no yes and no grant covers the shell's own: refused before anybody is asked, and forbidden by policy beside that", async () => {
  const own = ["agents/shell.symbi", "policies/shell/shell.cedar", ".orgate/constraints.toml"];
  const calls = own.map((path) => `{ tool: "save_artifact", args: { path: "${path}", content: "x" } }`).join(", ");
  const { stand, at } = await begun(
    { "agents/shell.symbi": scripted(`{ calls: [${calls}] }, { when: { failed: true }, say: "refused" }`) },
    ["yes"],
  );
  const texts = () => [
    readFileSync(join(stand.root, "agents/shell.symbi"), "utf8"),
    readFileSync(join(stand.root, "policies/shell/shell.cedar"), "utf8"),
  ];
  const before = texts();
  await at.say("let yourself do everything");
  expect(at.text().match(/● save_artifact/g)).toHaveLength(3);
  expect(at.text().match(/denied: /g)).toHaveLength(3);
  expect([texts(), existsSync(join(stand.root, ".orgate/constraints.toml"))]).toEqual([before, false]);
  expect((await at.entries()).filter(({ event }) => event.kind === "approval.asked" || event.kind === "act.started")).toEqual([]);
  // and were the tool itself to let it through, the policy would not
  const { agents } = await loadProject(stand.config());
  const gate = openPolicies(
    stand.config(),
    agents.map(({ agent }) => agent),
    "shell",
  )
    .current()
    .gateFor("shell");
  const tools = agents.find(({ agent }) => agent.name === "shell")?.agent.tools ?? [];
  const c = caseSchema.parse({
    name: "x",
    agent: "shell",
    action: "tool:save_artifact",
    args: { path: "agents/x.symbi", content: "x" },
    surface: "shell",
    verdict: "ask",
  });
  const { action } = toCaseAction(c, tools);
  for (const id of own) {
    if (action.kind !== "call") throw new Error("it is a call");
    expect(gate.decide({ ...action, resource: { type: "Artifact", id } }, toCaseFacts(c, tools)).verdict).toMatchObject({
      kind: "deny",
      because: ["shell/shell/never-its-own"],
    });
  }
}, 60_000);

test("S-11 nobody saves for a person who may not edit policies, and no other agent saves at all", async () => {
  const { stand, at } = await begun({
    "policies/base.cedar": `${BASE.replace('Action::"edit-policy", ', "")}\n@id("x") permit(principal == Agent::"thief", action == Action::"tool:save_artifact", resource);`,
    "agents/thief.symbi": `metadata { description = "You save." }\nagent thief {\n  capabilities = [save_artifact]\n  policy p { allow: [model, respond, save_artifact] }\n  with model = "offline/thief", model_options = { rules: [{ when: {}, calls: [{ tool: "save_artifact", args: { path: "agents/helper.symbi", content: ${JSON.stringify(GOOD)}, newly: [] } }] }, { when: { failed: true }, say: "{{result}}" }] } {}\n}\n`,
  });
  await at.say('/spawn "one that reads notes"');
  await answer(at, "approve");
  expect(at.text()).toContain("`ann` may not change what decides");
  await at.say("/spawn thief save it");
  expect(at.text()).toContain("only the shell's own agent saves artifacts");
  expect(agentsIn(stand.root)).toEqual(["reader.symbi", "shell.symbi", "thief.symbi"]);
}, 60_000);

const CONTEXT: ToolContext = {
  session: sessionId("s_00000001"),
  key: callKey(sessionId("s_00000001"), callId("1.0")),
  epoch: epoch(1),
  start: 1,
  signal: new AbortController().signal,
  spent: () => {},
  note: () => {},
  evidence: () => {},
  wouldPermit: () => "yes",
};

test("S-11 nothing is saved where the shell works for another agent, or at another surface: what asks there is not its own", async () => {
  const stand = layOut();
  closing.push(() => stand.remove());
  const saveAt = async (surface: Surface | null): Promise<unknown> => {
    const voices = { refuses: () => null, speaker: { principal: { kind: "user", id: "ann" } as const } };
    const { tools } = shellTools(stand.config(), {}, { tools: [], speaking: async () => ({ agent: "shell", surface, voices }) });
    const save = tools.find(({ name }) => name === "save_artifact");
    const newly = ["permits: one · model · deny → allow"];
    return save?.run({ path: "agents/one.symbi", content: GOOD, newly, people: false }, CONTEXT);
  };
  for (const elsewhere of ["coordinator", null] as const)
    await expect(saveAt(elsewhere)).rejects.toThrow("in a conversation with the shell itself");
  await expect(saveAt("shell")).rejects.toThrow("is not what was shown"); // looked at, and only then
  expect(agentsIn(stand.root)).toEqual(["reader.symbi", "shell.symbi"]);
}, 60_000);

test("S-14 what was saved is there before a server begun anew, and every conversation goes on, nothing of it printed twice", async () => {
  const { stand, at } = await begun({}, ["yes"]);
  await at.say('/spawn "one that reads notes"', "ended");
  expect(at.moves()).toBe(1);
  const again = await openAuthor(stand);
  closing.push(() => again.close());
  expect(at.shell.agents().map(({ name }) => name)).not.toContain("one");
  expect(again.shell.agents().map(({ name }) => name)).toContain("one");
  const printed = at.text();
  carryOver(at.shell, again.shell);
  await at.close();
  await again.say("what can you do?");
  expect(again.text()).toContain("fixed rules, no language");
  expect(again.text()).not.toContain("Author an agent");
  expect(printed).toContain("Author an agent");
  expect(again.shell.current()?.session).toBe(at.shell.current()?.session);
  await again.say("/spawn one hello");
  expect(again.shell.current()?.view).toMatchObject({ agent: "one", turn: 1 });
}, 60_000);

test("S-20 a name starts what is there; words are for the shell's agent, and a project without one is told how it gets it", async () => {
  const { stand, at } = await begun();
  await at.say("/spawn reader hello there");
  expect(at.shell.addressee()).toBe("reader");
  await at.shell.submit("/spawn nobody");
  expect(at.text()).toContain("there is no agent `nobody`");
  await at.say('/behavior "summary(text) that sums up a text"');
  expect(at.shell.openApprovals()[0]?.item.summary).toBe("agents/summary.symbi");
  await answer(at, "approve");
  expect(readFileSync(join(stand.root, "agents/summary.symbi"), "utf8")).toContain("agent summary(text: String)");
  const bare = layOut();
  closing.push(() => bare.remove());
  rmSync(join(bare.root, "agents/shell.symbi"));
  rmSync(join(bare.root, "policies/shell"), { recursive: true });
  const without = await openAuthor(bare);
  closing.push(() => without.close());
  for (const line of ['/spawn "an agent that reads"', '/policy "x"', '/tool "y"', '/behavior "z"']) await without.shell.submit(line);
  expect(without.text().match(/`\/init shell` writes agents\/shell\.symbi/g)).toHaveLength(4);
}, 60_000);

test("S-21 the shipped agent: its limits, a context that is less than a turn has, its temperature, one more try", async () => {
  const { stand } = await begun();
  const { agents } = await loadProject(stand.config());
  const shell = agents.find(({ agent }) => agent.name === "shell")?.agent;
  expect(shell?.limits).toMatchObject({ iterations: 20, tokens: 200_000, contextTokens: 80_000, temperature: 0.3 });
  expect(shell?.retry).toEqual({ times: 1, backoffMs: 3_000, maxBackoffMs: 3_000 });
  expect(shell?.context.kind).toBe("mask");
  expect(shell?.delegates).toEqual(["reader"]);
}, 60_000);

const MATE = `metadata { description = "You help." }
agent mate {
  capabilities = [read_note]
  policy p { allow: [model, respond] }
  with model = "offline/mate" {}
}
`;
const ELSEWHERE = {
  "orgate.toml":
    '[project]\nname = "desk"\nagents = ["agents/*.symbi", "crew/*.symbi"]\ntools = ["tools/*.ts", "kit/*.ts"]\n[groups.users]\noperators = ["ann"]\n',
  "src/a": "a",
  "crew/mate.symbi": MATE,
  "kit/one.ts": `import { defineTool } from "orgate";
export const one = defineTool({ name: "one", description: "one", input: { type: "object", properties: {} }, repeat: "read", run: () => "one" });
`,
};

test("S-13 without --allow-shell there is no such tool; with it every command asks, in a sandbox that sees no state and writes nothing that decides", async () => {
  const { stand, at } = await begun({
    ...ELSEWHERE,
    "agents/shell.symbi": scripted(
      `{ when: { says: "^run (?<line>.+)$" }, calls: [{ tool: "shell", args: { command: "{{line}}" } }] }, { when: { failed: true }, say: "{{result}}" }`,
    ),
  });
  await at.say("run echo hi");
  expect(at.text()).toMatch(/no tool|there is no such tool|unknown tool/i);
  await at.close();
  closing.pop();
  const allowed = await openAuthor(stand, ["allow-shell", "yes"]);
  closing.push(() => allowed.close());
  const run = async (line: string): Promise<string> => {
    await allowed.say(`run ${line}`);
    expect(allowed.shell.openApprovals()[0]?.item).toMatchObject({
      tool: "shell",
      summary: line,
      asks: [{ question: "Run this command?", grant: null }],
    });
    await answer(allowed, "approve");
    return JSON.stringify((await allowed.entries()).findLast(({ event }) => event.kind === "act.ended")?.event);
  };
  const first = await run("echo hi");
  if (/was not run: /.test(first)) return; // no sandbox on this machine: then nothing runs
  expect(first).toContain("hi");
  expect(await run("ls .orgate/keys; cat .orgate/journal.db | wc -c")).not.toMatch(/root|writer/);
  await run("echo x > policies/base.cedar; echo y > agents/reader.symbi; echo z > notes.txt");
  expect(readFileSync(join(stand.root, "policies/base.cedar"), "utf8")).toBe(BASE);
  expect(readFileSync(join(stand.root, "agents/reader.symbi"), "utf8")).toContain("agent reader");
  await run("echo > crew/mate.symbi; echo > crew/b.symbi; echo > kit/b.ts; echo > src/z"); // S-8
  expect(readFileSync(join(stand.root, "crew/mate.symbi"), "utf8")).toBe(MATE);
  expect(["crew/b.symbi", "kit/b.ts", "src/z"].map((path) => existsSync(join(stand.root, path)))).toEqual([false, false, true]);
}, 60_000);

test("S-8 agents and tools that the project keeps in other folders are read by the shell, and not edited", () => {
  const stand = layOut(ELSEWHERE);
  closing.push(async () => stand.remove());
  const { tools } = shellTools(stand.config(), {}, { tools: [], speaking: () => Promise.reject(new Error("nobody speaks")) });
  const check = (name: string, args: JsonObject) => tools.find((tool) => tool.name === name)?.check(args).kind;
  for (const path of ["crew/mate.symbi", "kit/one.ts"])
    expect([check("read_file", { path }), check("edit_file", { path, old_string: "a", new_string: "b" })]).toEqual(["valid", "invalid"]);
});
