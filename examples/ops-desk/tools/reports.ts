/** What the reporter leaves behind. */
import { join } from "node:path";
import { defineTool, pathGuard } from "orgate";
import { desk, happened } from "../desk.ts";

const guard = pathGuard({ root: desk, also: [] });

export const writeReport = defineTool({
  name: "write_report",
  description: "Write a report about a service; the one of the same day is replaced.",
  input: {
    type: "object",
    properties: { service: { enum: ["payments"] }, text: { type: "string", minLength: 1, maxLength: 20_000 } },
    required: ["service", "text"],
    additionalProperties: false,
  },
  effects: ["write"],
  repeat: "idempotent", // the same text in the same place
  resource: ({ service }) => ({ type: "File", id: `reports/${String(service)}.txt` }),
  resourceTypes: ["File"],
  run({ service, text }, { key, start }) {
    happened("write_report", key, start);
    const file = join("reports", `${String(service)}.txt`);
    guard.makeFolder("reports");
    guard.write(file, String(text));
    return { written: file };
  },
});
