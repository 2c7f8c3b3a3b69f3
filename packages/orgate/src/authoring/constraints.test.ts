import { mkdirSync, rmSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { constraintKeys, readConstraints } from "./constraints.ts";
import { layOut, MANIFEST } from "./fixtures/project.ts";
import { findFlaws } from "./try-artifact.ts";

const stand = layOut({ "tools/loud.clad.toml": MANIFEST.replace('"say"', '"loud"').replace("[args", 'risk_tier = "high"\n[args') });
afterAll(() => stand.remove());

const agent = (more: string, capabilities = "read_note", rules = ""): string => `metadata { description = "You read." }
agent one {
  capabilities = [${capabilities}]
  policy p {
    allow: [model, respond]
    ${rules}
  }
  with model = "offline/one"${more === "" ? "" : `, ${more}`} {}
}
`;
const scheduled = (cron: string): string => `${agent("")}\nschedule s { cron: "${cron}" agent: one input: "go" }\n`;
const manifest = (more: string, from = MANIFEST): string => from.replace("[args", `${more}\n[args`);
const policy = (text: string): string => `@id("x") ${text}\n`;
const [A, P, T] = ["agents/one.symbi", "policies/one.cedar", "tools/one.clad.toml"];
const HOST = '\n[args.host]\nposition = 2\nrequired = true\ntype = "';

/** Setting, then what it refuses and what it takes. */
const TABLE: readonly (readonly [setting: string, toml: string, path: string, refused: string, taken: string])[] = [
  ["max_memory", 'max_memory = "256MB"', T, MANIFEST, manifest("[tool.orgate]\nmemory_mb = 256")],
  ["max_cpu", "max_cpu = 2", T, MANIFEST, manifest("[tool.orgate]\nprocesses = 2")],
  ["max_tier", 'max_tier = "none"', A, agent("sandbox = process"), agent("sandbox = none")],
  ["max_tier", 'max_tier = "none"', T, MANIFEST, manifest('[tool.orgate]\nsandbox = "none"')],
  ["min_security_tier", 'min_security_tier = "process"', A, agent("", "run_tests"), agent("sandbox = process", "run_tests")],
  ["min_security_tier", 'min_security_tier = "process"', T, manifest('[tool.orgate]\nsandbox = "none"'), MANIFEST],
  ["required_sandbox", 'required_sandbox = "process"', A, agent(""), agent("sandbox = process")],
  ["required_sandbox", 'required_sandbox = "process"', T, manifest('[tool.orgate]\nsandbox = "none"'), MANIFEST],
  ["min_audit_level", 'min_audit_level = "changes"', A, agent("", "save_note"), agent("", "save_note", "audit: save_note")],
  [
    "min_audit_level",
    'min_audit_level = "changes"',
    A,
    agent("", "save_note", 'audit: save_note if args.text == "x"'),
    agent("", "read_note"),
  ],
  ["min_audit_level", 'min_audit_level = "all"', A, agent("", "read_note"), agent("", "read_note", "audit: tools")],
  ["forbidden_capabilities", 'forbidden_capabilities = ["execute"]', A, agent("", "run_tests"), agent("")],
  [
    "forbidden_capabilities",
    'forbidden_capabilities = ["save_note"]',
    A,
    agent("", "save_note"),
    `// save_note is not for this one\n${agent("")}`,
  ],
  ["forbidden_capabilities", 'forbidden_capabilities = ["agent:reader"]', A, agent("", '"agent:reader"'), agent("")],
  ["forbidden_capabilities", 'forbidden_capabilities = ["execute"]', T, MANIFEST, manifest('[tool.orgate]\neffects = ["read"]')],
  [
    "forbidden_capabilities",
    'forbidden_capabilities = ["read_note"]',
    P,
    policy('permit(principal == Agent::"reader", action in Action::"read", resource);'),
    policy('permit(principal == Agent::"reader", action in Action::"read", resource) unless { action == Action::"tool:read_note" };'),
  ],
  ["max_cron_frequency", 'max_cron_frequency = "1h"', A, scheduled("*/5 * * * *"), scheduled("0 * * * *")],
  ["max_cron_frequency", 'max_cron_frequency = "1h"', A, scheduled("0,30 9 * * 1"), scheduled("0 9 * * 1")],
  [
    "cedar.require_schema_verified",
    "[cedar]\nrequire_schema_verified = true",
    P,
    policy('permit(principal == Agent::"nobody-here", action == Action::"tool:read_note", resource);'),
    policy('permit(principal == Agent::"reader", action == Action::"tool:read_note", resource);'),
  ],
  [
    "cedar.require_approval_for_execute",
    "[cedar]\nrequire_approval_for_execute = true",
    P,
    policy('permit(principal == Agent::"reader", action in Action::"execute", resource);'),
    policy('@ask("Run it?") permit(principal == Agent::"reader", action in Action::"execute", resource);'),
  ],
  [
    "cedar.require_approval_for_execute",
    "[cedar]\nrequire_approval_for_execute = true",
    A,
    agent("", "run_tests", "allow: run_tests"),
    agent("", "run_tests", "require: approval(run_tests)"),
  ],
  [
    "cedar.forbid_wildcard_principal",
    "[cedar]\nforbid_wildcard_principal = true",
    P,
    policy('permit(principal is Agent, action == Action::"tool:read_note", resource);'),
    policy('forbid(principal, action == Action::"tool:read_note", resource) when { context.args.text == "permit(principal" };'),
  ],
  [
    "cedar.forbid_wildcard_resource_on",
    '[cedar]\nforbid_wildcard_resource_on = ["write"]',
    P,
    policy('permit(principal == Agent::"reader", action in Action::"write", resource) when { resource.id like "*" };'),
    policy('permit(principal == Agent::"reader", action in Action::"write", resource) when { resource.id like "notes/*" };'),
  ],
  ["toolclad.max_risk_tier", '[toolclad]\nmax_risk_tier = "medium"', T, MANIFEST.replace("[args", 'risk_tier = "high"\n[args'), MANIFEST],
  ["toolclad.max_risk_tier", '[toolclad]\nmax_risk_tier = "medium"', A, agent("", "loud"), agent("")],
  [
    "toolclad.require_evidence_above_tier",
    '[toolclad]\nrequire_evidence_above_tier = "low"',
    T,
    MANIFEST.replace("[args", 'risk_tier = "medium"\n[args'),
    manifest('[tool.evidence]\noutput_dir = "{evidence_dir}/say"', MANIFEST.replace("[args", 'risk_tier = "medium"\n[args')),
  ],
  [
    "toolclad.require_scope_check",
    "[toolclad]\nrequire_scope_check = true",
    T,
    `${MANIFEST.replace("{text}", "{text} {host}").replace("[command]", `${HOST}url"\n[command]`)}`,
    `${MANIFEST.replace("{text}", "{text} {host}").replace("[command]", `${HOST}scope_target"\n[command]`)}`,
  ],
];

test.each(TABLE)("S-9 %s (%s) refuses what goes beyond it, and takes what does not", async (setting, toml, path, refused, taken) => {
  stand.put(".orgate/constraints.toml", toml);
  const flaws = await findFlaws(stand.config(), { path, content: refused }, {});
  expect(flaws.map(({ hint }) => hint).join("\n")).toContain(`\`${setting}\``);
  expect(flaws.every(({ file, line }) => file === path && line > 0)).toBe(true);
  expect(await findFlaws(stand.config(), { path, content: taken }, {})).toEqual([]);
});

test("S-9 the table has every setting there is", () => {
  expect([...new Set(TABLE.map(([setting]) => setting))].sort()).toEqual([...constraintKeys()].sort());
});

test("S-9 a setting that is not known, or not understood, is refused with its place, and nothing is fit until it is mended", async () => {
  stand.put(".orgate/constraints.toml", "max_cpu = 2\n[cedar]\nforbid_wildcard_principals = true\n");
  expect(() => readConstraints(stand.root)).toThrow(/constraints\.toml:3:1.*forbid_wildcard_principals.*forbid_wildcard_principal/s);
  expect(await findFlaws(stand.config(), { path: A, content: agent("") }, {})).toMatchObject([
    { file: ".orgate/constraints.toml", line: 3 },
  ]);
  stand.put(".orgate/constraints.toml", 'max_memory = "much"\n');
  expect(() => readConstraints(stand.root)).toThrow(/constraints\.toml:1:1.*max_memory/s);
  stand.put(".orgate/constraints.toml", "max_cpu = \n");
  expect(() => readConstraints(stand.root)).toThrow(/not TOML/);
});

test("S-9 constraints that are there and cannot be read let nothing be authored", async () => {
  const file = join(stand.root, ".orgate", "constraints.toml");
  mkdirSync(dirname(file), { recursive: true });
  rmSync(file, { force: true });
  symlinkSync(join(stand.root, "gone.toml"), file); // what it leads to is not there just now
  expect(await findFlaws(stand.config(), { path: A, content: agent("") }, {})).toMatchObject([{ file: ".orgate/constraints.toml" }]);
  rmSync(file);
  mkdirSync(file);
  expect(() => readConstraints(stand.root)).toThrow(/is a folder/);
  rmSync(file, { recursive: true });
  expect(await findFlaws(stand.config(), { path: A, content: agent("") }, {})).toEqual([]);
});
