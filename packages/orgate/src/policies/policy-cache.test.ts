import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { type Agent, defineAgent, defineTool } from "@orgate/core";
import { caseSchema, type Engine, loadPolicies, toCaseAction, toCaseFacts } from "@orgate/core/gate";
import { afterEach, beforeEach, expect, test } from "vitest";
import * as z from "zod";
import { openCheckedCache } from "../files/checked-cache.ts";
import { openFileCache } from "../files/file-cache.ts";
import { sha256 } from "../node/crypto.ts";
import { cedarEngine } from "./cedar-engine.ts";
import { type FolderLoad, type LoadedFolder, loadFolder, NO_GROUPS, toPolicyWorld } from "./policy-load.ts";

let root = "";
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "orgate-memory-"));
  mkdirSync(join(root, ".orgate"));
  write("base.cedar", THINK + READ + ODD);
  write("base.cases.json", table("allow"));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const write = (name: string, text: string): void => {
  const file = join(root, "policies", name);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
};
const THINK = '@id("think")\npermit(principal, action in [Action::"model", Action::"respond"], resource);\n';
const READ = '@id("read")\npermit(principal, action in Action::"read", resource == Tool::"first");\n';
/** Cedar remarks on letters of two scripts in one word. */
const ODD = '@id("letters")\npermit(principal, action in Action::"read", resource) when { context.labels.contains("clеrk") };\n';
const table = (verdict: string): string =>
  JSON.stringify([
    { name: "it thinks", action: "model", verdict: "allow" },
    { name: "it looks", action: "tool:look", args: { page: 1 }, verdict },
    { name: "only pages", action: "tool:look", args: { page: "x" }, verdict: "deny", by: "contract" },
  ]);

const looks = (shelf: (page: number) => string): Agent =>
  defineAgent({
    name: "clerk",
    instructions: "Look things up.",
    model: "offline/clerk",
    tools: [
      defineTool({
        name: "look",
        description: "Looks at a page.",
        input: z.strictObject({ page: z.int() }),
        effects: ["read"],
        repeat: "read",
        resource: ({ page }) => ({ type: "Tool", id: shelf(page) }),
        run: ({ page }) => `page ${page}`,
      }),
    ],
  });

type Asked = { validated: number; decided: number };
function counted(): { readonly engine: Engine; readonly asked: Asked } {
  const engine = cedarEngine();
  const asked = { validated: 0, decided: 0 };
  return {
    asked,
    engine: {
      ...engine,
      validate(schema, policies) {
        asked.validated += Object.keys(policies).length;
        return engine.validate(schema, policies);
      },
      decide(kept, question) {
        asked.decided += 1;
        return engine.decide(kept, question);
      },
    },
  };
}
function load(agent: Agent = looks(() => "first"), stamp = "1"): { readonly loading: FolderLoad; readonly asked: Asked } {
  const { engine, asked } = counted();
  const place = { folder: join(root, "policies"), label: "policies", within: root };
  const checked = openCheckedCache(join(root, ".orgate"), stamp);
  return { loading: loadFolder({ place, agents: [agent], groups: NO_GROUPS, surface: "cli", checked }, engine), asked };
}
const loaded = ({ loading }: ReturnType<typeof load>): LoadedFolder => {
  if (loading.kind !== "loaded") throw new Error(`it is ${loading.kind}`);
  return loading.loaded;
};
const NOTHING: Asked = { validated: 0, decided: 0 };

test("G-37 what was found good is not asked again, and is told of as before", () => {
  const first = load();
  expect(first.asked).toEqual({ validated: 3, decided: 2 });
  const again = load();
  expect(again.asked).toEqual(NOTHING);
  expect(loaded(first).warnings).toHaveLength(1);
  const told = ({ digest, warnings, cases, policies }: LoadedFolder) => ({ digest, warnings, cases, policies });
  expect(told(loaded(again))).toEqual(told(loaded(first)));
});

test("G-37 a policy, a case, the tool's own code, or other code of ours: what changed is asked about, and a case that fails refuses the set each time", () => {
  load();
  write("more.cedar", '@id("more")\npermit(principal, action in Action::"read", resource) when { context.args.page > 7 };\n');
  expect(load().asked).toEqual({ validated: 1, decided: 2 });
  write("base.cases.json", table("deny"));
  for (const _ of [1, 2]) {
    const { loading, asked } = load();
    expect(loading).toMatchObject({ kind: "refused", problems: [{ detail: expect.stringContaining("expected deny, got allow") }] });
    expect(asked).toEqual({ validated: 0, decided: 1 });
  }
  write("base.cases.json", table("allow"));
  expect(load().asked).toEqual(NOTHING);
  expect(load(looks(() => "second")).loading).toMatchObject({
    kind: "refused",
    problems: [{ detail: expect.stringContaining("it looks") }],
  });
  expect(
    load(
      looks(() => "first"),
      "2",
    ).asked.validated,
  ).toBe(4);
});

test("G-37 what failed is asked about again also by the same memory, in one process", () => {
  write("base.cases.json", table("deny"));
  const { engine, asked } = counted();
  const place = { folder: join(root, "policies"), label: "policies", within: root };
  const checked = openCheckedCache(join(root, ".orgate"), "1");
  const again = () => loadFolder({ place, agents: [looks(() => "first")], groups: NO_GROUPS, surface: "cli", checked }, engine).kind;
  expect([again(), asked.decided, again(), asked.decided]).toEqual(["refused", 2, "refused", 3]);
});

test("G-37 a policy that does not fit the tools is refused each time, whatever else is remembered", () => {
  load();
  write("bad.cedar", '@id("bad")\npermit(principal, action == Action::"tool:look", resource) when { context.args.pages > 7 };\n');
  for (const _ of [1, 2]) expect(load()).toMatchObject({ loading: { kind: "refused" }, asked: { validated: 1 } });
});

test("G-37 a damaged or forged memory opens nothing: what is enforced is read from the policies alone", () => {
  load();
  const file = join(root, ".orgate", "checked.json");
  const good = readFileSync(file, "utf8");
  for (const text of ["", "{", '{"stamp":"1"}', good.replace(/":\[\]/, '":[{}]'), good.replace('"stamp":"1"', '"stamp":"0"')]) {
    writeFileSync(file, text);
    expect(load().asked).toEqual({ validated: 3, decided: 2 });
  }
  // as good a forgery as can be: everything that is ever looked up passed
  write("base.cedar", THINK);
  const { engine } = counted();
  const place = { folder: join(root, "policies"), label: "policies", within: root };
  const checked = { find: () => [], keep: () => {}, save: () => {} };
  const forged = loaded({
    loading: loadFolder({ place, agents: [looks(() => "first")], groups: NO_GROUPS, surface: "cli", checked }, engine),
    asked: NOTHING,
  });
  const looking = caseSchema.parse({ name: "it looks", agent: "clerk", action: "tool:look", args: { page: 1 }, verdict: "allow" });
  const { action } = toCaseAction(looking, forged.cast.tools);
  expect(forged.gateFor("cli").decide(action, toCaseFacts(looking, forged.cast.tools)).verdict.kind).toBe("deny");
});

test("G-37 Cedar looks at each policy by itself: one by one, it finds and remarks the same as of all together", () => {
  const engine = cedarEngine();
  type Given = Parameters<Engine["validate"]>[1];
  const seen: { schema: unknown; policies: Given }[] = [];
  const spied: Engine = {
    ...engine,
    validate(schema, policies) {
      seen.push({ schema, policies });
      return engine.validate(schema, policies);
    },
  };
  const texts = [
    THINK,
    READ,
    ODD,
    '@id("bad")\npermit(principal, action == Action::"tool:look", resource) when { context.args.pages > 7 };\n',
    '@id("odd")\nforbid(principal == Agent::"clеrk", action, resource);\n',
  ];
  loadPolicies(
    [{ path: "policies/a.cedar", name: "a", text: texts.join(""), shadow: false }],
    toPolicyWorld([looks(() => "first")], NO_GROUPS),
    spied,
  );
  const [{ schema, policies } = { schema: null, policies: {} }] = seen;
  const parts = (given: Given) => {
    const answer = engine.validate(schema, given);
    if (answer.type === "failure") throw new Error("the schema is refused");
    return { errors: answer.validationErrors, warnings: answer.validationWarnings };
  };
  const each = Object.entries(policies).map(([id, text]) => parts({ [id]: text }));
  const sorted = <T extends { readonly policyId: string }>(all: readonly T[]): readonly T[] =>
    all.toSorted((a, b) => (a.policyId < b.policyId ? -1 : 1));
  const whole = parts(policies);
  expect(Object.keys(policies)).toHaveLength(5);
  expect(whole.errors.length).toBeGreaterThan(0);
  expect(whole.warnings.length).toBeGreaterThan(1);
  expect(sorted(each.flatMap((one) => one.errors))).toEqual(sorted(whole.errors));
  expect(sorted(each.flatMap((one) => one.warnings))).toEqual(sorted(whole.warnings));
});

// ── what was made of texts ──

function reading(cedar = "1") {
  const asked = { counted: 0, parsed: 0 };
  const real = cedarEngine();
  const engine: Engine = {
    ...real,
    count(text) {
      asked.counted += 1;
      return real.count(text);
    },
    parse(text) {
      asked.parsed += 1;
      return real.parse(text);
    },
  };
  const home = join(root, "home");
  mkdirSync(home, { recursive: true, mode: 0o700 });
  const remembered = openFileCache({ home, root, stamp: "", hash: sha256 });
  const place = { folder: join(root, "policies"), label: "policies", within: root };
  const options = { place, agents: [looks(() => "first")], groups: NO_GROUPS, surface: "cli" as const };
  const loading = loadFolder({ ...options, read: { remembered, cedar } }, engine);
  remembered.save();
  return { asked, loading, plain: loadFolder(options, real) };
}

test("R-9 a text that this engine has read before is not read again, and the set is the one that it is without any memory", () => {
  expect(reading().asked).toEqual({ counted: 1, parsed: 3 });
  const again = reading();
  expect(again.asked).toEqual({ counted: 0, parsed: 0 });
  const told = (loading: FolderLoad) =>
    loading.kind === "loaded" ? [loading.loaded.digest, loading.loaded.policies, loading.loaded.cases] : loading;
  expect(told(again.loading)).toEqual(told(again.plain));
  expect(reading("2").asked).toEqual({ counted: 1, parsed: 3 }); // another engine
});

test("R-9 a changed text is read, and one that is wrong is read and refused each time, whatever is remembered of the others", () => {
  reading();
  write("base.cedar", THINK + READ.replace("permit", "forbid") + ODD);
  const { loading, plain, asked } = reading();
  expect(asked).toEqual({ counted: 1, parsed: 1 });
  expect(loading).toMatchObject({ kind: "refused", problems: [{ detail: expect.stringContaining("it looks") }] });
  expect(loading).toEqual(plain);
  write("base.cedar", THINK + READ.replace(");", ") when { nonsense };") + ODD);
  for (const _ of [1, 2]) {
    const wrong = reading();
    expect(wrong.loading.kind).toBe("refused");
    expect(wrong.loading).toEqual(wrong.plain);
    expect(wrong.asked).toEqual({ counted: 1, parsed: 1 });
  }
});
