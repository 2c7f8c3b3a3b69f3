/** MCP servers for those who embed the runtime. Nothing is accepted by itself: what a server may be called with is what is passed in. */

import { describeFault, FaultError, type JsonObject, type Tool } from "@orgate/core";
import { errorMessage } from "@orgate/core/vocab";
import { httpReach } from "@orgate/toolclad/running";
import { assertArguments, isObject, need, objectWith } from "../node/argument-checks.ts";
import { sha256 } from "../node/crypto.ts";
import type { Env } from "../node/env.ts";
import { version } from "../node/version.ts";
import { orgateHome } from "../store/keyring.ts";
import type { Authorize } from "./auth.ts";
import { type Catalogue, compareCatalogues } from "./catalogue.ts";
import { type McpServer, parseServer, resolveLaunch } from "./config.ts";
import { mcpHub, type ServerTools } from "./hub.ts";
import { mcpLink } from "./link.ts";

export type { Catalogue as McpCatalogue, CatalogueDifference as McpDifference } from "./catalogue.ts";

export type McpSettings = Readonly<{
  /** Where `${VAR}` of entries comes from; `process.env` unless given. */
  env?: Env;
  /** The folder that a server with `orgate.roots` gets; the working folder by default. */
  folder?: string;
}>;

export type McpOptions = McpSettings &
  Readonly<{
    /** By name, each as `mcpServers` of `.mcp.json` has it. */
    servers: Readonly<Record<string, JsonObject>>;
    /** Accepted catalogues by server, as `listOfferedTools` returned them and a person reviewed them. Keep them in a file beside the code. */
    accepted: Readonly<Record<string, Catalogue>>;
  }>;

export type Mcp = Readonly<{
  /** Of what was accepted of a server: for `tools` of an agent. Throws where it is no server of these. */
  tools(server: string): readonly Tool[];
  /** Accepted tools that cannot be used, with the reason. */
  refused(server: string): ServerTools["refused"];
  close(): Promise<void>;
}>;

/** Starts nothing: a server is started by the first call of one of its tools, and compared with what was accepted first. */
export function openMcp(options: McpOptions): Mcp {
  const hint = "such as { servers, accepted }: docs/guide/mcp.md has a whole one";
  const object = need("an object", hint, isObject);
  assertArguments("openMcp", { options: objectWith({ servers: object, accepted: object }, hint) }, options);
  const { servers, accepted, ...given } = options;
  const { env, settings } = settingsOf(given);
  const open = Object.entries(accepted).map(([name, catalogue]) => {
    const entry = servers[name];
    if (entry === undefined)
      throw usage(`\`accepted\` names \`${name}\`, which is no server of these`, `there is: ${Object.keys(servers).join(", ")}`);
    return { server: mustBeServer(name, entry), accepted: catalogue };
  });
  const hub = mcpHub({ servers: open, env, settings, hash: sha256 });
  const of = (server: string): ServerTools => {
    const found = hub.toolsOf(server);
    if (found === null)
      throw usage(`nothing was accepted of MCP server \`${server}\``, "`listOfferedTools` tells what it offers: pass it as `accepted`");
    return found;
  };
  return { tools: (server) => of(server).tools, refused: (server) => of(server).refused, close: hub.close };
}

/** Starts the server, asks what it offers now, and ends it. */
export async function listOfferedTools(name: string, entry: JsonObject, given: McpSettings = {}): Promise<Catalogue> {
  const server = mustBeServer(name, entry);
  const link = mcpLink({ server, accepted: null, ...settingsOf(given), hash: sha256 });
  try {
    return await link.catalogue(AbortSignal.timeout(server.connectMs * 4));
  } finally {
    await link.close();
  }
}

export const compareMcpCatalogues = (accepted: Catalogue | null, now: Catalogue): ReturnType<typeof compareCatalogues> =>
  compareCatalogues(accepted, now, sha256);

/** Signs in at a server that wants OAuth. `authorize` sends the person to the address, and answers with the parameters they came back with. */
export async function signInMcp(
  name: string,
  entry: JsonObject,
  { redirectUrl, authorize, ...given }: McpSettings & Readonly<{ redirectUrl: string; authorize: Authorize }>,
): Promise<void> {
  const { env, settings } = settingsOf(given);
  await signInAt(mustBeServer(name, entry), env, { home: settings.home, redirectUrl, authorize });
}

type SigningIn = Readonly<{ home: string; redirectUrl: string; authorize: Authorize }>;

export async function signInAt(server: McpServer, env: Env, { home, redirectUrl, authorize }: SigningIn): Promise<void> {
  const launch = resolveLaunch(server, env);
  if (typeof launch === "string") throw usage(launch, "set it, or mend the entry of the server");
  const { transport, hide } = launch;
  if (transport.kind !== "http") throw usage("it is started here: there is nothing to sign in to", "give it what it needs as `env`");
  const [{ openSignIns, signIn }, { loadMcpClient }] = await Promise.all([import("./auth.ts"), import("./client.ts")]);
  try {
    await signIn(await loadMcpClient(), transport, openSignIns(home, server.name, transport.url), {
      reach: httpReach,
      redirectUrl,
      authorize,
    });
  } catch (error) {
    const said = error instanceof FaultError ? describeFault(error.fault) : null;
    const detail = hide(said?.message ?? errorMessage(error));
    throw new FaultError(
      { kind: "usage", detail: `signing in at \`${server.name}\` failed: ${detail}`, hint: said?.hint ?? "try it again" },
      error,
    );
  }
}

function settingsOf({ env = process.env, folder = process.cwd() }: McpSettings) {
  return { env, settings: { version: version(), root: folder, home: orgateHome(env), reach: httpReach } };
}

function mustBeServer(name: string, entry: JsonObject): McpServer {
  const found = parseServer({ name, entry }, "user", sha256);
  if (found.kind === "usable") return found.server;
  throw usage(`MCP server \`${name}\` cannot be used: ${found.detail}`, "docs/guide/mcp.md has every setting");
}

const usage = (detail: string, hint: string): FaultError => new FaultError({ kind: "usage", detail, hint });
