/**
 * The MCP servers of a project: which there are, which may be started, and what was accepted of them.
 *
 * T-35 A server of the project's file is started only as it was trusted; one of the person's own file is theirs. The tools of either are
 *      used only as they were accepted. An agent without a server that it names is not run; the refusal says why and what to do.
 */
import { escapeHidden, type ProjectResources, type Unusable } from "@orgate/core";
import { httpReach } from "@orgate/toolclad/running";
import type { Config } from "../config/config.ts";
import type { Catalogue } from "../mcp/catalogue.ts";
import { type FoundServer, type FoundServers, type McpServer, mcpServers } from "../mcp/config.ts";
import { type McpHub, mcpHub, type ServerTools } from "../mcp/hub.ts";
import { readPinned, toolsSubject } from "../mcp/pins.ts";
import { sha256 } from "../node/crypto.ts";
import type { Env } from "../node/env.ts";
import { version } from "../node/version.ts";
import { orgateHome } from "../store/keyring.ts";
import { findTrustState, type Trusted } from "./trust.ts";

export type ServerState = "usable" | "untrusted" | "changed" | "unaccepted" | "bad" | "disabled" | "clash";

export type ProjectServer = Readonly<{
  name: string;
  origin: McpServer["origin"];
  digest: FoundServer["digest"];
  state: ServerState;
  /** Null when it can be used. */
  why: Unusable | null;
  /** Null where its entry is not whole. */
  server: McpServer | null;
  ignored: readonly string[];
  /** The accepted catalogue; null where none was accepted, or its file is missing. */
  accepted: Catalogue | null;
}>;

export type ProjectMcp = Readonly<{
  servers: readonly ProjectServer[];
  bad: FoundServers["bad"];
  hub: McpHub;
}>;

/** Reads files; starts nothing. */
export function projectMcp(config: Pick<Config, "root" | "journal">, trusted: Trusted, env: Env): ProjectMcp {
  const { servers: found, bad } = mcpServers({ root: config.root, home: orgateHome(env) }, sha256);
  const servers = found.map((one) => standing(one, config.journal.directory, trusted));
  const usable = servers.flatMap(({ state, server, accepted }) =>
    state === "usable" && server !== null && accepted !== null ? [{ server, accepted }] : [],
  );
  return {
    servers,
    bad,
    hub: mcpHub({
      servers: usable,
      env,
      settings: { version: version(), root: config.root, home: orgateHome(env), reach: httpReach },
      hash: sha256,
    }),
  };
}

function standing(found: FoundServer, directory: string, trusted: Trusted): ProjectServer {
  const { name, origin, digest } = found;
  const given = trusted.get(toolsSubject(name));
  const accepted = given === undefined ? null : readPinned(directory, name, given.digest, sha256);
  const at = { name, origin, digest, accepted, server: found.kind === "usable" ? found.server : null };
  const ignored = found.kind === "usable" ? found.ignored : [];
  const not = (state: ServerState, detail: string, hint: string): ProjectServer => ({ ...at, ignored, state, why: { detail, hint } });
  const shown = escapeHidden(name);
  if (found.kind === "unusable")
    return not(
      found.why,
      found.detail,
      found.why === "disabled" ? "say `disabled: false` in its entry" : "mend its entry; `orgate mcp list` looks again",
    );
  const stands = origin === "user" ? "trusted" : findTrustState(`mcp:${name}`, digest, trusted);
  if (stands === "changed")
    return not(
      "changed",
      "its entry has changed since it was trusted",
      `read it (\`orgate mcp list\`), then \`orgate mcp trust ${shown}\``,
    );
  if (stands !== "trusted") return not("untrusted", "it is not trusted", `read its entry in .mcp.json, then \`orgate mcp trust ${shown}\``);
  if (accepted === null) {
    const detail = given === undefined ? "no tool of it was accepted" : "what was accepted of it is not there any more";
    return not("unaccepted", detail, `\`orgate mcp diff ${shown}\` shows what it offers, \`orgate mcp trust ${shown}\` accepts it`);
  }
  return { ...at, ignored, state: "usable", why: null };
}

/** Names that agents may use: a server, for all that was accepted of it, or one tool. */
export function serverEquipment({ servers, hub, bad }: ProjectMcp): Pick<ProjectResources, "servers" | "unusableServers"> {
  const usable = servers.flatMap(({ name, state }): readonly (readonly [string, ServerTools])[] => {
    const tools = state === "usable" ? hub.toolsOf(name) : null;
    return tools === null ? [] : [[name, tools]];
  });
  const unusable = new Map(servers.flatMap(({ name, why }) => (why === null ? [] : [[name, why] as const])));
  for (const { file, detail } of bad) unusable.set("*", { detail: `${file}: ${detail}`, hint: "mend the file" }); // it may have been in there
  return { servers: new Map(usable), unusableServers: unusable };
}
