import { cpSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { type Desk, makeDesk } from "./fixtures/desk.ts";

const desks: Desk[] = [];
afterAll(() => {
  for (const desk of desks) desk.remove();
});

const TOOLS = `import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { defineTool } from "orgate";
import * as z from "zod";
export const pay = defineTool({ name: "pay", description: "pays", input: z.strictObject({ euros: z.int() }), effects: ["spend"],
  run: ({ euros }) => { appendFileSync(join(import.meta.dirname, "..", "paid.txt"), euros + "\\n"); return "paid"; } });
`;
const RULES = `{ rules: [
    { when: { called: ["pay"] }, say: "{{result}}" },
    { when: { }, calls: [{ tool: "pay", args: { euros: 40 } }] },
  ] }`;
const payer = (body: string, allow = "pay"): string => `agent payer(bill: String) {
  capabilities = [pay]

  policy money {
    allow: ${allow}
  }

  with model = "offline/payer", model_options = ${RULES} {
${body}
  }
}
`;
const BODY = `    // what the bill says
    let amount = read_amount(bill);
    if amount > limit {
      return refuse(bill);
    }
    pay(euros = amount);`;

function bank(body = BODY, allow = "pay"): Desk {
  const desk = makeDesk();
  desks.push(desk);
  desk.write("tools/bank.ts", TOOLS);
  desk.write("agents/payer.symbi", payer(body, allow));
  desk.write(
    "policies/desk.cedar",
    'permit(principal, action in [Action::"model", Action::"respond"], resource);\npermit(principal is User, action, resource);\npermit(principal == Agent::"desk", action, resource);\n',
  );
  return desk;
}
type Shown = { instructions: string; procedure: string; digest: string };
const shown = async (desk: Desk) => (await desk.json("agents", "show", "payer")) as Shown;

test("Y-7 a body is a part of the instructions, delimited; its comments and its layout are for people", async () => {
  const desk = bank();
  const before = await shown(desk);
  expect(before.procedure).toMatch(/No program runs it.*\n\n```symbi\n\{\n {2}let amount = read_amount\(bill\);\n[\s\S]*\n\}\n```$/);
  expect(before.instructions).toBe(`${before.procedure}\n\nYou are given \`bill\` (String): what the user says.`);
  desk.write("agents/payer.symbi", payer(BODY.replace("what the bill says", "looks it up").replaceAll("\n      ", " ")));
  expect((await shown(desk)).digest).toBe(before.digest);
  desk.write("agents/payer.symbi", payer(BODY.replace("amount > limit", "amount >= limit")));
  expect((await shown(desk)).digest).not.toBe(before.digest);
});

test("Y-7 nothing in a body runs: a call of it that the model proposes is decided by the gate, and one that it does not propose does not happen", async () => {
  const paid = bank();
  expect(await paid.json("run", "payer", "--input", "40 euros")).toMatchObject({ ending: "completed", calls: 1 });
  const denied = bank(`${BODY}\n    pay(euros = 1_000_000);`, "model");
  expect(await denied.json("run", "payer", "--input", "40 euros")).toMatchObject({ calls: 0 });
});

test("Y-13 validate tells which names of a procedure nothing explains, with their places, and calls the file good", async () => {
  const desk = bank(BODY.replace("pay(euros", "pya(euros"));
  const told = (await desk.json("agents", "validate")) as {
    ok: boolean;
    warnings: { line: number; column: number; detail: string; hint: string }[];
  };
  expect(told.ok).toBe(true);
  expect(told.warnings.map(({ line, column, detail, hint }) => `${line}:${column} ${detail} | ${hint}`)).toEqual([
    "13:18 `read_amount` is no tool of agent `payer`, and no function of this file | the agent does it by itself, as its name says; for a tool, name one of its capabilities",
    "14:17 nothing here is named `limit` | known: amount, bill",
    "15:14 `refuse` is no tool of agent `payer`, and no function of this file | the agent does it by itself, as its name says; for a tool, name one of its capabilities",
    "17:5 `pya` is no tool of agent `payer`, and no function of this file | did you mean `pay`?",
  ]);
});

test("Y-13 explain and show tell the procedure as the model reads it; diff tells a body that reads otherwise", async () => {
  const desk = bank();
  const explained = await desk.orgate("agents", "explain", "payer");
  expect(explained.stdout).toContain("agents/payer.symbi:8 its bodies are a part of its instructions");
  expect(explained.stdout).toContain("    pay(euros = amount);");
  expect(await desk.json("agents", "explain", "payer")).toMatchObject({ procedure: expect.stringContaining("read_amount(bill)") });
  const shownText = await desk.orgate("agents", "show", "payer");
  expect(shownText.stdout).toContain("  let amount = read_amount(bill);");
  const before = join(desk.root, "..", "before-procedure");
  cpSync(desk.root, before, { recursive: true, filter: (path) => !path.includes(".orgate") });
  desk.write("agents/payer.symbi", payer(BODY.replace("amount > limit", "amount > 100")));
  const diff = await desk.orgate("agents", "diff", before);
  expect(diff.code).toBe(1);
  expect(diff.stdout).toContain("instructions");
});
