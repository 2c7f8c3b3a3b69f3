/** `.mcp.json`, as other hosts write it: the servers by name, each entry as it stands. What they mean is `mcp/config.ts`'s affair. */

import type { Json } from "@orgate/core";
import { readJson } from "@orgate/core";
import { readTextFile } from "../files/text-file.ts";

export const MCP_FILE = ".mcp.json";
const MAX_BYTES = 1024 * 1024;

export type McpEntry = Readonly<{ name: string; entry: Json }>;

/** By name. Throws a plain `Error` whose message is one phrase about the file. */
export function readMcpFile(file: string): readonly McpEntry[] {
  const json = readJson(readTextFile(file, MAX_BYTES));
  if (json.kind === "not-json") throw new Error(`not JSON: ${json.detail} (line ${json.line})`);
  const { value } = json;
  const listed = typeof value === "object" && value !== null && !Array.isArray(value) && "mcpServers" in value ? value.mcpServers : null;
  if (typeof listed !== "object" || listed === null || Array.isArray(listed)) throw new Error("there is no `mcpServers` in it");
  return Object.entries(listed)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, entry]) => ({ name, entry }));
}
