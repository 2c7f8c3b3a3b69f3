/**
 * One connection to one MCP server, over the official client, which is loaded with the first of them.
 *
 * T-35 A server asks for nothing: requests of its own (a model's words, a person's answer) are refused; it learns the project's folder only
 *      where its entry says so.
 * T-35 A call that a server answers with questions of its own (revision 2026-07-28) goes on with them declined and its state unchanged, a
 *      bounded number of times; a question that cannot be declined ends the call as failed.
 * T-34 Nothing that a server sends is larger than a limit: a message beyond it ends the connection.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import type { Client, RequestOptions, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { escapeHidden, type JsonObject } from "@orgate/core";
import { lazily } from "@orgate/core/vocab";
import * as z from "zod";
import { makeOAuthProvider, openSignIns } from "./auth.ts";
import { MAX_TOOLS, truncate } from "./catalogue.ts";
import type { Launch, McpServer } from "./config.ts";
import { MAX_MESSAGE_BYTES, type McpReach, serverFetch } from "./fetch.ts";
import { type ProtocolEra, versionOptions } from "./protocol-versions.ts";

/** Longer than any call may take: the caller has a deadline, and says when it is over. */
const NO_TIMEOUT = 2 ** 31 - 1;
const STDERR_CHARS = 2_000;

export type Progress = Readonly<{ progress: number; total: number | null; message: string | null }>;
export type Hooks = Readonly<{ onListChanged(): void; onAsked(method: string): void; onClosed(): void }>;
export type McpClientSettings = Readonly<{
  version: string;
  /** The project's folder, for a server that may know it. */
  root: string;
  /** Where the person's own settings lie, the tokens of their sign-ins among them. */
  home: string;
  /** How the hosts are reached that a server names. */
  reach: McpReach;
}>;

type McpCall = Readonly<{
  tool: string;
  args: Readonly<Record<string, unknown>>;
  /** Sent with the call over HTTP, if the server speaks the revision that has them. */
  headers: Readonly<Record<string, string>>;
}>;

export type McpConnection = Readonly<{
  /** `tools/list`, all pages. */
  list(signal: AbortSignal): Promise<readonly unknown[]>;
  call(call: McpCall, onProgress: (progress: Progress) => void, signal: AbortSignal): Promise<unknown>;
  isOpen(): boolean;
  /** The last words of a server that has ended, for people. */
  lastWords(): string;
  close(): Promise<void>;
}>;

const page = lazily(() => z.looseObject({ tools: z.array(z.unknown()), nextCursor: z.string().optional() }));
const anything = lazily(() => z.looseObject({}));

export const loadMcpClient = (): Promise<Sdk> => import("@modelcontextprotocol/client");

type Connecting = Readonly<{
  server: McpServer;
  launch: Launch;
  settings: McpClientSettings;
  hooks: Hooks;
  era: ProtocolEra;
  signal: AbortSignal;
}>;

export async function connectMcp({ server, launch, settings, hooks, era, signal }: Connecting): Promise<McpConnection> {
  const { version, root } = settings;
  const sdk = await loadMcpClient();
  const capabilities = server.roots ? { roots: {} } : {};
  const client = new sdk.Client(
    { name: "orgate", version },
    { capabilities, inputRequired: { autoFulfill: false }, ...versionOptions(era) },
  );
  const roots = { roots: [{ uri: pathToFileURL(root).href, name: "project" }] };
  if (server.roots) client.setRequestHandler("roots/list", () => roots);
  const refuse = (method: string): never => {
    hooks.onAsked(truncate(escapeHidden(method), 100));
    throw new sdk.ProtocolError(sdk.ProtocolErrorCode.MethodNotFound, "orgate lets no server ask a model or a person");
  };
  client.fallbackRequestHandler = async ({ method }) => refuse(method);
  const answer: Answer = (method) => {
    if (method === "roots/list" && server.roots) return roots;
    if (method !== "elicitation/create") return refuse(method);
    hooks.onAsked(method);
    return { action: "decline" };
  };
  client.setNotificationHandler("notifications/tools/list_changed", () => hooks.onListChanged());
  const { transport, lastWords } = await openTransport(sdk, server.name, launch, settings);
  let open = true;
  client.onclose = () => {
    open = false;
    hooks.onClosed();
  };
  try {
    await client.connect(transport, { timeout: server.connectMs, signal });
  } catch (error) {
    open = false;
    await client.close().catch(() => {});
    throw withWords(error, lastWords());
  }
  // since 2026-07-28 a client must ask to hear of changes
  if (client.getProtocolEra() === "modern" && client.getServerCapabilities()?.tools?.listChanged === true)
    await client.listen({ toolsListChanged: true }, { timeout: server.connectMs, signal }).catch(() => {});
  return {
    list: (until) => listAll(client, server.connectMs, until),
    call: ({ tool, args, headers }, onProgress, until) =>
      callThrough(client, { name: tool, arguments: args }, answer, {
        signal: until,
        timeout: NO_TIMEOUT,
        onprogress: ({ progress, total, message }) => onProgress({ progress, total: total ?? null, message: message ?? null }),
        ...(client.getProtocolEra() === "modern" ? { headers } : {}),
      }),
    isOpen: () => open,
    lastWords,
    async close() {
      if ("terminateSession" in transport) await transport.terminateSession().catch(() => {}); // it may know nothing of sessions, or be gone
      await client.close().catch(() => {});
    },
  };
}

/** Throws for what is not answered. */
type Answer = (method: string) => JsonObject;
const asking = lazily(() =>
  z.looseObject({
    resultType: z.literal("input_required"),
    inputRequests: z.record(z.string(), z.looseObject({ method: z.string() })).default({}),
    requestState: z.string().optional(),
  }),
);
const MAX_ROUNDS = 10;
/** Before a server is asked again that only wants time. */
const PACE_MS = 250;

/** One call to its end. Its state goes back as it came; the server has said that it has not ended, so this is no second call. */
async function callThrough(
  client: Client,
  params: Readonly<Record<string, unknown>>,
  answer: Answer,
  options: RequestOptions,
): Promise<unknown> {
  let more = {};
  for (let round = 1; round <= MAX_ROUNDS; round += 1) {
    const given = await client.request({ method: "tools/call", params: { ...params, ...more } }, anything(), {
      ...options,
      allowInputRequired: true,
    });
    const read = asking().safeParse(given);
    if (!read.success) return given;
    const { inputRequests, requestState } = read.data;
    const inputResponses = Object.fromEntries(Object.entries(inputRequests).map(([name, { method }]) => [name, answer(method)]));
    const isAsked = Object.keys(inputResponses).length > 0;
    if (!isAsked) await sleep(PACE_MS, undefined, { signal: options.signal });
    more = { ...(isAsked ? { inputResponses } : {}), ...(requestState === undefined ? {} : { requestState }) };
  }
  throw new Error(`it still asks for something after ${MAX_ROUNDS} rounds`);
}

/** No further than there may be tools: a cursor that never ends is a server's own doing. */
async function listAll(client: Client, timeout: number, signal: AbortSignal): Promise<readonly unknown[]> {
  const tools: unknown[] = [];
  let cursor: string | undefined;
  for (let pages = 0; pages <= MAX_TOOLS && tools.length <= MAX_TOOLS; pages += 1) {
    const params = cursor === undefined ? {} : { cursor };
    const { tools: more, nextCursor } = await client.request({ method: "tools/list", params }, page(), { signal, timeout });
    tools.push(...more);
    if (nextCursor === undefined) return tools;
    cursor = nextCursor;
  }
  if (tools.length > MAX_TOOLS) return tools;
  throw new Error("its list of tools does not end");
}

type Sdk = typeof import("@modelcontextprotocol/client");
type Opened = Readonly<{
  transport: StreamableHTTPClientTransport | import("@modelcontextprotocol/client/stdio").StdioClientTransport;
  lastWords(): string;
}>;

type TransportSettings = Pick<McpClientSettings, "home" | "reach">;

async function openTransport(sdk: Sdk, name: string, { transport: t, hide }: Launch, { home, reach }: TransportSettings): Promise<Opened> {
  if (t.kind === "http") {
    const reconnectionOptions = {
      initialReconnectionDelay: 500,
      maxReconnectionDelay: 10_000,
      reconnectionDelayGrowFactor: 2,
      maxRetries: 5,
    };
    const authProvider = makeOAuthProvider(sdk, t, openSignIns(home, name, t.url));
    const who = authProvider === null ? {} : { authProvider };
    const settings = { requestInit: { headers: t.headers }, fetch: serverFetch(t, reach), reconnectionOptions, ...who };
    return { transport: new sdk.StreamableHTTPClientTransport(new URL(t.url), settings), lastWords: () => "" };
  }
  const { StdioClientTransport } = await import("@modelcontextprotocol/client/stdio");
  const { command, args, env, cwd } = t;
  const place = cwd === null ? {} : { cwd };
  const transport = new StdioClientTransport({ command, args: [...args], env, stderr: "pipe", maxBufferSize: MAX_MESSAGE_BYTES, ...place });
  let said = "";
  transport.stderr?.on("data", (chunk: Buffer) => {
    said = (said + chunk.toString("utf8")).slice(-STDERR_CHARS);
  });
  return { transport, lastWords: () => escapeHidden(hide(said.trim().split("\n").at(-1) ?? "").toWellFormed()) };
}

function withWords(error: unknown, words: string): unknown {
  return words === "" || !(error instanceof Error) ? error : new Error(`${error.message}; it said: ${words}`, { cause: error });
}
