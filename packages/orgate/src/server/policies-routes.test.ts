/** The policies over HTTP: listed, checked, tried, put in place. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { defineAgent, defineTool, POLICY } from "@orgate/core";
import { IDEMPOTENCY_KEY } from "@orgate/protocol";
import { afterEach, beforeEach, expect, test } from "vitest";
import * as z from "zod";
import { readProject } from "../config/project-toml.ts";
import { openPolicies } from "../policies/policies.ts";
import { type Serving, serving } from "./fixtures/serving.ts";

const BASE = `@id("think") permit(principal, action == Action::"model", resource);
@id("answer") permit(principal, action == Action::"respond", resource);
@id("editors") permit(principal == User::"ann", action == Action::"edit-policy", resource);
`;
const FORBID = `@id("never") @reason("not on Sundays") forbid(principal, action == Action::"model", resource);\n`;
let folder: string;
let at: Serving;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "orgate-policies-"));
  mkdirSync(join(folder, "policies"));
  writeFileSync(join(folder, "orgate.toml"), '[project]\nname = "p"\n');
  writeFileSync(join(folder, "policies/base.cedar"), BASE);
  const config = readProject(folder);
  const pay = defineTool({ name: "pay", description: "Pays.", input: z.strictObject({ amount: z.int() }), run: () => null });
  const agents = [defineAgent({ name: "clerk", instructions: "x", model: "offline/echo", tools: [pay] })];
  at = await serving({ agents, gate: openPolicies(config, agents, "api"), serve: { config } });
});
afterEach(async () => {
  await at.stop();
  rmSync(folder, { recursive: true, force: true });
});

const files = (text: string, path = "base.cedar") => ({ files: [{ path, text }] });
const because = (text: string, path?: string) => ({ ...files(text, path), reason: "a drill" });
const post = async (
  path: string,
  body: unknown,
  key = crypto.randomUUID() as string,
): Promise<readonly [number, Record<string, unknown>]> => {
  const got = await at.post(`/api/v1/policies${path}`, body, { [IDEMPOTENCY_KEY]: key });
  return [got.status, (await got.json()) as Record<string, unknown>];
};
const idsNow = async (): Promise<readonly string[]> =>
  ((await (await at.get("/api/v1/policies")).json()) as { policies: { id: string }[] }).policies.map(({ id }) => id).sort();
const onDisk = () => readFileSync(join(folder, "policies/base.cedar"), "utf8");
const applied = async () =>
  (await at.runtime.place.store.journal.tail(0, 1_000)).flatMap((one) =>
    one.kind === "entry" && one.entry.stream === POLICY ? [one.entry.event.kind] : [],
  );

test("W-32 the policies in force are listed with where they stand; a check says of files whether they would be taken, and changes nothing", async () => {
  expect(await idsNow()).toEqual(["base/answer", "base/editors", "base/think"]);
  expect(await post("/check", files(BASE + FORBID))).toMatchObject([200, { ok: true, problems: [] }]);
  const [, wrong] = await post("/check", files(`${BASE}permit(principal, action == Action::"dance", resource);`));
  expect(wrong).toMatchObject({ ok: false, problems: [{ file: expect.stringContaining("base.cedar"), line: 4 }] });
  expect(onDisk()).toBe(BASE);
  expect(await idsNow()).toEqual(["base/answer", "base/editors", "base/think"]);
});

test("W-32 files that would lie elsewhere are refused, by check and by apply", async () => {
  for (const path of ["../base.cedar", "/tmp/base.cedar", "a/../../b.cedar", "a\\..\\..\\b.cedar", "a\0.cedar", ""])
    for (const [way, body] of [
      ["/check", files(BASE, path)],
      ["/apply", because(BASE, path)],
    ] as const)
      expect([path, way, (await post(way, body))[0]]).toEqual([path, way, 400]);
  expect(onDisk()).toBe(BASE);
});

test("W-32 one action is tried against the policies in force, with what decided it; what is no action is refused", async () => {
  const model = { agent: "clerk", action: "model", resource: { type: "Model", id: "offline/echo" } };
  const [status, allowed] = await post("/evaluate", model);
  expect([status, allowed.verdict]).toEqual([200, expect.objectContaining({ kind: "allow", because: ["base/think"] })]);
  for (const body of [
    {},
    { agent: "clerk" },
    { ...model, dance: 1 },
    { agent: 1, action: "model" },
    { agent: "clerk", action: "tool:nothing" },
  ])
    expect([body, [400, 200].includes((await post("/evaluate", body))[0])]).toEqual([body, true]);
  expect((await post("/evaluate", { ...model, dance: 1 }))[0]).toBe(400);
});

test("G-19 what cannot be asked is a problem, not a denial: no such agent or tool, arguments that do not fit", async () => {
  const asked = async (body: object) => {
    const [status, { detail, hint }] = await post("/evaluate", body);
    return [status, detail, hint];
  };
  expect(await asked({ agent: "clerk", action: "tool:pai", args: { amount: 1 } })).toEqual([
    400,
    "there is no tool `pai`",
    expect.stringContaining("did you mean `pay`?"),
  ]);
  expect(await asked({ agent: "clerk", action: "tool:pay", args: { amount: "x" } })).toMatchObject([
    400,
    expect.stringContaining("amount"),
    expect.any(String),
  ]);
  expect(await asked({ agent: "clark", action: "model" })).toMatchObject([
    400,
    "there is no agent `clark`",
    expect.stringContaining("clerk"),
  ]);
  expect((await post("/evaluate", { agent: "clerk", action: "tool:pay", args: { amount: 1 } }))[0]).toBe(200);
});

test("G-16 policies are applied with a reason or not at all", async () => {
  expect((await post("/apply", files(BASE + FORBID)))[0]).toBe(400);
  expect((await post("/apply", { ...files(BASE + FORBID), reason: "  " }))[0]).toBe(400);
  expect(onDisk()).toBe(BASE);
});

test("W-32 policies are put in place all at once, on record, and in force at once; the same key is one change, another request under it is refused", async () => {
  const before = await applied();
  const [one, two] = [await post("/apply", because(BASE + FORBID), "k1"), await post("/apply", because(BASE + FORBID), "k1")];
  expect(one).toMatchObject([200, { changes: [{ path: "base.cedar", change: "changed" }] }]);
  expect(two).toEqual(one);
  expect((await post("/apply", because(BASE), "k1"))[0]).toBe(422);
  expect(await idsNow()).toEqual(["base/answer", "base/editors", "base/never", "base/think"]);
  expect((await applied()).slice(before.length).filter((kind) => kind === "policy.applied")).toHaveLength(1);
  expect((await at.runtime.complete("clerk", "hello")).ending).toBe("denied");
});

test("W-32 what does not load, or would not be allowed by the policies in force, changes nothing and is on record", async () => {
  const before = (await applied()).length;
  expect((await post("/apply", because("permit(")))[0]).toBe(422);
  expect((await post("/apply", { files: [] }))[0]).toBeGreaterThanOrEqual(400);
  expect(onDisk()).toBe(BASE);
  const shut = BASE.replace('User::"ann"', 'User::"zoe"');
  expect((await post("/apply", because(shut)))[0]).toBe(200);
  expect(await post("/apply", because(BASE))).toMatchObject([403, { kind: "not-permitted" }]); // ann has locked herself out
  expect(onDisk()).toBe(shut);
  expect((await applied()).slice(before).filter((kind) => kind === "policy.refused").length).toBe(2);
});

test("each policy names the agents that it can decide for, by its scope", async () => {
  await post("/apply", because(`${BASE}@id("own") permit(principal == Agent::"clerk", action == Action::"remember", resource);`));
  const { policies } = (await (await at.get("/api/v1/policies")).json()) as { policies: { id: string; agents: string[] }[] };
  expect(Object.fromEntries(policies.map(({ id, agents }) => [id, agents]))).toEqual({
    "base/think": ["clerk"],
    "base/answer": ["clerk"],
    "base/own": ["clerk"],
    "base/editors": [],
  });
});

test("O-8 the files are told as they lie there now, tables among them, with what is wrong in its line, while what was in force goes on", async () => {
  const told = async () => (await (await at.get("/api/v1/policies/files")).json()) as Record<string, readonly Record<string, unknown>[]>;
  expect(await told()).toMatchObject({ files: [{ path: "policies/base.cedar", text: BASE, surface: null, table: false }], problems: [] });
  const row = { name: "it may think", agent: "clerk", action: "model", verdict: "deny" };
  writeFileSync(join(folder, "policies/base.cases.json"), JSON.stringify([row]));
  mkdirSync(join(folder, "policies/webhook"));
  writeFileSync(join(folder, "policies/webhook/more.cedar"), FORBID);
  const tables = await told();
  expect(tables.files?.map(({ path, surface, table }) => [path, surface, table])).toEqual([
    ["policies/base.cases.json", null, true],
    ["policies/base.cedar", null, false],
    ["policies/webhook/more.cedar", "webhook", false],
  ]);
  expect(tables.cases).toMatchObject([{ file: "policies/base.cases.json", name: "it may think", passed: false }]);
  writeFileSync(join(folder, "policies/base.cedar"), `${BASE}permit(nonsense);`);
  expect((await told()).problems).toMatchObject([{ file: "policies/base.cedar", line: 4 }]);
  expect(await idsNow()).toEqual(["base/answer", "base/editors", "base/think"]);
  expect((await at.get("/api/v1/policies/files", "scoped")).status).toBe(403);
});

test("W-32 the sets of before are told with who applied them and why, and are read with the texts they had", async () => {
  const get = async (path: string) => (await (await at.get(`/api/v1/policies${path}`)).json()) as Record<string, never>;
  await post("/apply", { ...files(BASE + FORBID), reason: "Sundays" });
  const { rows, next } = (await get("/history")) as unknown as {
    rows: readonly { kind: string; files: string; digest: string }[];
    next: null;
  };
  expect(next).toBeNull();
  expect(rows).toMatchObject([
    { kind: "loaded", counts: { policies: 1, tables: 0, agents: 0 }, stored: true, changes: [{ path: "base.cedar", change: "changed" }] },
    { kind: "applied", by: "user:ann", reason: "Sundays", stored: true, changes: [{ path: "base.cedar", change: "changed" }] },
    { kind: "loaded", counts: { policies: 1, tables: 0, agents: 0 } },
  ]);
  expect(await get("/history?limit=1")).toMatchObject({ rows: [{ seq: 3 }], next: 3 });
  expect(await get("/history?limit=1&before=3")).toMatchObject({ rows: [{ seq: 2, kind: "applied" }], next: 2 });
  const first = rows[2]?.digest ?? "";
  for (const digest of [first, first.slice(0, 8), rows[2]?.files])
    expect(await get(`/sets/${digest}`)).toMatchObject({ digest: first, texts: [{ path: "base.cedar", text: BASE }], appliable: 1 });
  expect((await at.get("/api/v1/policies/sets/ffffffffffff")).status).toBe(400);
  expect((await at.get("/api/v1/policies/sets/zz")).status).toBe(400);
  const { session } = await at.runtime.complete("clerk", "hello");
  const under = await (await at.get(`/api/v1/sessions/${session}/entries/3/policies`)).json();
  expect(under).toEqual({ digest: rows[0]?.digest, files: rows[0]?.files });
});

test("W-32 an earlier set is applied again through the same decision as any other, and one request names files or a set", async () => {
  const { digest: first } = (await (await at.get("/api/v1/policies")).json()) as { digest: string };
  await post("/apply", because(BASE + FORBID));
  expect(await post("/apply", { set: first.slice(0, 12), reason: "back" })).toMatchObject([
    200,
    { digest: first, changes: [{ path: "base.cedar" }] },
  ]);
  expect(onDisk()).toBe(BASE);
  expect((await post("/apply", { set: first, reason: "x", ...files(BASE) }))[0]).toBe(400);
  expect((await post("/apply", {}))[0]).toBe(400);
  const shut = BASE.replace('User::"ann"', 'User::"zoe"');
  await post("/apply", because(shut));
  expect(await post("/apply", { set: first, reason: "back" })).toMatchObject([403, { kind: "not-permitted" }]);
  expect(onDisk()).toBe(shut);
});

const table = (cases: readonly unknown[]) => ({ path: "base.cases.json", text: JSON.stringify(cases) });

test("W-20 a check of a large set is made aside: others are answered before it is, more than three at once of a caller are refused, and cases are decided as ever", async () => {
  const many = Array.from(
    { length: 300 },
    (_, n) =>
      `@id("p${n}") permit(principal == Agent::"clerk", action == Action::"tool:pay", resource) when { context.args.amount < ${n} };`,
  );
  const pays = (amount: number, verdict: string) => ({
    name: `pays ${amount}`,
    agent: "clerk",
    action: "tool:pay",
    args: { amount },
    verdict,
  });
  const body = { files: [{ path: "base.cedar", text: BASE + many.join("\n") }, table([pays(5, "allow"), pays(400, "deny")])] };
  let done = 0;
  const checks = [0, 1, 2].map(() =>
    post("/check", body).finally(() => {
      done += 1;
    }),
  );
  const statuses = [];
  for (let n = 0; n < 10; n += 1) statuses.push((await at.get("/api/v1/me")).status);
  expect([statuses, done]).toEqual([Array(10).fill(200), 0]);
  expect(await post("/check", body)).toMatchObject([429, { kind: "too-many", detail: expect.stringContaining("checks of policies") }]);
  for (const found of await Promise.all(checks)) {
    expect(found).toMatchObject([200, { ok: true, problems: [] }]);
    expect(found[1]["cases"]).toMatchObject([{ passed: true }, { passed: true }]);
  }
  const [, wrong] = await post("/check", {
    files: [...body.files.slice(0, 1), table([pays(5, "deny"), { ...pays(5, "allow"), args: { amount: "much" } }])],
  });
  expect(wrong).toMatchObject({ ok: false, cases: [{ passed: false }, { passed: false }] });
});
