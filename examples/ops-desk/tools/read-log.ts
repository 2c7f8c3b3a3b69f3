/** What ops and the reporter look at. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { defineTool } from "orgate";
import { desk, happened } from "../desk.ts";

export const service = {
  type: "object",
  properties: { service: { enum: ["payments"] } },
  required: ["service"],
  additionalProperties: false,
} as const;

export const readLog = defineTool({
  name: "read_log",
  description: "Read the log of a service.",
  input: service,
  effects: ["read"],
  repeat: "read",
  run: ({ service: name }, { key, start }) => {
    happened("read_log", key, start);
    return readFileSync(join(desk, "logs", `${String(name)}.txt`), "utf8");
  },
});
