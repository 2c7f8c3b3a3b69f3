/** What billing looks up, and pays back. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { defineTool } from "orgate";
import { desk, happened } from "../desk.ts";

const charge = { type: "string", pattern: "^ch_[0-9]+$" } as const;
type Charge = { readonly charge: string; readonly cents: number; readonly state: string };
const charges = (): readonly Charge[] => JSON.parse(readFileSync(join(desk, "charges", "today.json"), "utf8"));

export const findCharge = defineTool({
  name: "find_charge",
  description: "Look up a charge: what it was, and what became of it.",
  input: { type: "object", properties: { charge }, required: ["charge"], additionalProperties: false },
  effects: ["read"],
  repeat: "read",
  run: ({ charge: id }) => {
    const found = charges().find((one) => one.charge === id);
    if (found === undefined) throw new Error(`there is no charge ${String(id)}`);
    return found;
  },
});

export const refund = defineTool({
  name: "refund",
  description: "Pay a charge back.",
  input: {
    type: "object",
    properties: { charge, cents: { type: "integer", minimum: 1 } },
    required: ["charge", "cents"],
    additionalProperties: false,
  },
  effects: ["spend"],
  resource: ({ charge: id }) => ({ type: "Charge", id: String(id) }),
  resourceTypes: ["Charge"],
  run: ({ charge: id, cents }, { key, start }) => {
    happened("refund", key, start);
    return { refunded: String(id), cents: Number(cents) };
  },
});
