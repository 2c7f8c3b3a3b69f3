import { join } from "node:path";
import { defineTool, folderFiles } from "orgate";
import * as z from "zod";

const logs = folderFiles({ root: join(import.meta.dirname, ".."), folder: "logs" });
const service = z.string().regex(/^[a-z][a-z0-9-]*$/);

export const readLog = defineTool({
  name: "read_log",
  description: "Reads the log of a service.",
  input: z.strictObject({ service }),
  effects: ["read"],
  repeat: "read",
  resource: ({ service }) => ({ type: "File", id: `logs/${service}.log` }),
  resourceTypes: ["File"],
  run: ({ service }) => logs.read(`${service}.log`),
});

/** An example: it only writes a line into the log. Put your own way to restart a service here. */
export const restartService = defineTool({
  name: "restart_service",
  description: "Restarts a service in production.",
  input: z.strictObject({ service }),
  effects: ["execute"],
  resource: ({ service }) => ({ type: "Host", id: service }),
  resourceTypes: ["Host"],
  run({ service }) {
    logs.append(`${service}.log`, "restarted\n");
    return `${service} was restarted`;
  },
});
