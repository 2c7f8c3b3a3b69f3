import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { defineAgent, defineTool, type Tool } from "@orgate/core";
import { afterEach, expect, test } from "vitest";
import * as z from "zod";
import { type Advice, adviseDeclarations } from "./declaration-advice.ts";
import { NO_GROUPS, tryLoadFolder } from "./policy-load.ts";

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

function advise(policies: string, ...tools: readonly Tool[]): readonly Pick<Advice, "kind" | "about" | "tools">[] {
  const folder = mkdtempSync(join(tmpdir(), "orgate-advice-"));
  folders.push(folder);
  writeFileSync(join(folder, "own.cedar"), policies);
  const agents = [defineAgent({ name: "clerk", instructions: "work", model: "offline/echo", tools })];
  const loading = tryLoadFolder({ place: { folder, label: "policies", within: folder }, agents, groups: NO_GROUPS, surface: "cli" });
  if (loading.kind !== "loaded") throw new Error(JSON.stringify(loading.report.problems));
  const { policies: loaded, cast } = loading.loaded;
  return adviseDeclarations(loaded, cast.tools).map(({ kind, about, tools: named }) => ({ kind, about, tools: named }));
}

const input = z.strictObject({ to: z.email(), body: z.string() });
const mail = { name: "send_mail", description: "Sends a mail.", input, effects: ["network"], labels: [], run: () => "sent" } as const;
const THINK = 'permit(principal, action in [Action::"model", Action::"respond"], resource);\n';
const BY_TARGETS = `${THINK}permit(principal, action in Action::"network", resource) when { context.targets.vouched && context.outgoing.vouched };\n`;

test("a policy that decides by targets and outgoing text names the tools under it that declare none", () => {
  expect(advise(BY_TARGETS, defineTool(mail))).toEqual([
    { kind: "undeclared", about: "targets", tools: ["send_mail"] },
    { kind: "undeclared", about: "outgoing", tools: ["send_mail"] },
  ]);
  expect(advise(BY_TARGETS, defineTool({ ...mail, targets: { to: "recipient" }, outgoing: ["body"] }))).toEqual([]);
});

test("what a tool declares and no policy reads is named, and a tool with nothing to declare is not", () => {
  const all = `${THINK}permit(principal, action in Action::"network", resource);\n`;
  const clock = defineTool({
    name: "get_time",
    description: "Tells the time.",
    input: z.strictObject({}),
    effects: ["network"],
    run: () => "noon",
  });
  expect(advise(all, defineTool({ ...mail, targets: { to: "recipient" }, outgoing: ["body"] }), clock)).toEqual([
    { kind: "unread", about: "targets", tools: ["send_mail"] },
    { kind: "unread", about: "outgoing", tools: ["send_mail"] },
  ]);
  expect(advise(BY_TARGETS, clock)).toEqual([]);
});

test("labels are compared both ways; `untrusted` is never missed", () => {
  const policies = `${THINK}forbid(principal, action in Action::"read", resource) when { context.labels.contains("secret") && context.labels.contains("untrusted") };\n`;
  const read = defineTool({
    name: "read_row",
    description: "Reads a row.",
    input: z.strictObject({}),
    effects: ["read"],
    labels: ["pii"],
    run: () => "",
  });
  expect(advise(policies, read)).toEqual([
    { kind: "undeclared", about: "labels", tools: [] },
    { kind: "unread", about: "labels", tools: ["read_row"] },
  ]);
});

const order = z.strictObject({ order_id: z.string() });
const read = { name: "get_order", description: "Reads an order.", input: order, effects: ["read"], labels: [], run: () => ({}) } as const;
const cancel = { name: "cancel_order", description: "Cancels.", input: order, effects: ["write"], labels: [], run: () => "" } as const;
const signIn = {
  name: "sign_in",
  description: "Signs in.",
  input: z.strictObject({}),
  effects: ["read"],
  labels: [],
  run: () => ({}),
} as const;
const OWNED = `${THINK}permit(principal, action in Action::"write", resource) when { context has subject && context.targets.owned };\n`;

test("records and the arguments that refer to them are missed each without the other, and so is a tool that establishes the subject", () => {
  const of = { order_id: { kind: "id", of: "order" } } as const;
  const records = [{ type: "order", key: { arg: "order_id" }, fields: {} }];
  const customer = defineTool({ ...signIn, records: [{ type: "customer", key: "id", fields: {}, establishes: "subject" }] });
  const nobody = { kind: "undeclared", about: "subject", tools: [] };
  expect(advise(OWNED, defineTool({ ...cancel, targets: of }))).toEqual([
    { kind: "undeclared", about: "records", tools: ["cancel_order"] },
    nobody,
  ]);
  expect(advise(OWNED, defineTool({ ...cancel, targets: { order_id: "id" } }), defineTool({ ...read, records }))).toEqual([
    { kind: "unread", about: "records", tools: ["get_order"] },
    nobody,
  ]);
  expect(advise(OWNED, defineTool({ ...cancel, targets: of }), defineTool({ ...read, records }), customer)).toEqual([]);
  const fields = { open: { path: "open", type: "strings", of: "order" } } as const;
  const lists = defineTool({ ...signIn, records: [{ type: "customer", key: "id", fields, establishes: "subject" }] });
  expect(advise(OWNED, defineTool({ ...cancel, targets: of }), lists)).toEqual([]);
  const all = `${THINK}permit(principal, action in Action::"write", resource) when { context.targets.vouched };\n`;
  expect(advise(all, defineTool({ ...cancel, targets: of }), customer)).toEqual([
    { kind: "unread", about: "records", tools: ["sign_in"] },
    { kind: "unread", about: "subject", tools: ["sign_in"] },
  ]);
});

test("a policy about amounts names the tools that spend and mark none for whom they are", () => {
  const small = `${THINK}permit(principal, action in Action::"spend", resource)
when { context has amount && context.amount.total.day.lessThanOrEqual(decimal("100.00")) };\n`;
  const pay = {
    name: "pay",
    description: "Pays.",
    input: z.strictObject({ iban: z.string(), amount: z.number() }),
    effects: ["spend"],
    labels: [],
    run: () => "paid",
  } as const;
  expect(advise(small, defineTool({ ...pay, targets: { iban: "account" } }))).toContainEqual({
    kind: "undeclared",
    about: "amount",
    tools: ["pay"],
  });
  const marked = { iban: "account", amount: { kind: "number", per: "iban" } } as const;
  expect(advise(small, defineTool({ ...pay, targets: marked })).filter(({ kind }) => kind === "undeclared")).toEqual([]);
});
