/** All MCP servers of one process: their links, and the tools of what was accepted. Nothing is connected before it is called. */
import type { Hash, Tool } from "@orgate/core";
import type { InvocationResult, McpInvocation, RunOptions } from "@orgate/toolclad";
import type { Env } from "../node/env.ts";
import { type Catalogue, readCatalogue } from "./catalogue.ts";
import type { McpClientSettings } from "./client.ts";
import type { McpServer } from "./config.ts";
import { type McpLink, mcpLink } from "./link.ts";
import { mcpTool } from "./tools.ts";

/** A server that may be called: its entry, and the catalogue that was accepted. */
export type OpenServer = Readonly<{ server: McpServer; accepted: Catalogue }>;
export type RefusedTool = Readonly<{ /** As the server calls it. */ tool: string; name: string; reason: string }>;
export type ServerTools = Readonly<{ tools: readonly Tool[]; refused: readonly RefusedTool[] }>;

export type McpHub = Readonly<{
  /** Of servers that were accepted; null for any other. */
  toolsOf(server: string): ServerTools | null;
  /** For contracts that call a server's tool (`[mcp]`): refused unless the tool was accepted. */
  run(invocation: McpInvocation, options: RunOptions): Promise<InvocationResult>;
  link(server: string): McpLink | null;
  close(): Promise<void>;
}>;

export type HubOptions = Readonly<{ servers: readonly OpenServer[]; env: Env; settings: McpClientSettings; hash: Hash }>;

export function mcpHub({ servers, env, settings, hash }: HubOptions): McpHub {
  const links = new Map(servers.map(({ server, accepted }) => [server.name, mcpLink({ server, accepted, env, settings, hash })]));
  const made = new Map(
    servers.map(({ server, accepted }): [string, ServerTools] => {
      const link = links.get(server.name);
      return [server.name, link === undefined ? { tools: [], refused: [] } : buildServerTools(accepted, link, hash)];
    }),
  );
  return {
    toolsOf: (server) => made.get(server) ?? null,
    link: (server) => links.get(server) ?? null,
    async run({ server, ...call }, { signal, onOutput }) {
      const link = links.get(server);
      if (link === undefined)
        return {
          kind: "refused",
          reason: `there is no MCP server \`${server}\` that was accepted`,
          hint: "`orgate mcp list` shows those there are",
        };
      return link.call(call, { signal, onProgress: ({ message }) => message !== null && onOutput(message), onAsked: () => {} });
    },
    async close() {
      await Promise.all([...links.values()].map((link) => link.close()));
    },
  };
}

/** T-3 what cannot be used is named, and takes nothing else with it. */
export function buildServerTools(accepted: Catalogue, link: McpLink, hash: Hash): ServerTools {
  const tools: Tool[] = [];
  const refused: RefusedTool[] = [];
  for (const reading of readCatalogue(accepted, hash)) {
    const made = reading.kind === "usable" ? mcpTool(reading, link) : reading.reason;
    if (typeof made === "string") refused.push({ tool: reading.offered.name, name: reading.name, reason: made });
    else tools.push(made);
  }
  return { tools, refused };
}
