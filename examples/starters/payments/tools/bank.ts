import { join } from "node:path";
import { defineTool, folderFiles } from "orgate";
import * as z from "zod";

const bank = folderFiles({ root: join(import.meta.dirname, ".."), folder: "bank" });

/** Who pays writes what stands in it: untrusted, as every output is unless its definition says otherwise. */
export const readStatement = defineTool({
  name: "read_statement",
  description: "Reads the person's account statement.",
  input: z.strictObject({}),
  effects: ["read"],
  repeat: "read",
  run: () => bank.read("statement"),
});

/** An example: it only writes a line into a file. Put your own bank here; the definition is what matters. */
export const pay = defineTool({
  name: "pay",
  description: "Pays an amount from the person's account.",
  input: z.strictObject({ to: z.string().regex(/^[A-Z]{2}[A-Z0-9]{13,32}$/), euros: z.int().min(1) }),
  effects: ["spend"],
  // Whom it pays, and how much: policies know whether the user named them, and what was paid so far, to this payee and to all.
  targets: { to: "account", euros: { kind: "number", per: "to" } },
  // Who was paid once is known from then on.
  learns: [{ set: "payees", from: "to" }],
  run({ to, euros }) {
    bank.append("payments", `${euros} to ${to}\n`);
    return "paid";
  },
});
