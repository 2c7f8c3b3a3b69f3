/**
 * Which MCP servers there are: the person's own file, and the project's `.mcp.json`.
 *
 * T-35 `mcpServers` as other hosts write it, over stdio or streamable HTTP; what Orgate adds stands under `orgate`. An entry that cannot be
 *      used is named with the reason, and takes none of the others with it.
 * T-36 `${VAR}` and `${VAR:-default}` come from the environment when the server is started, and never before; what they held is in no error,
 *      note, result or entry of the journal.
 */

import { existsSync } from "node:fs";
import { join } from "node:path";
import {
  type Digest,
  digestJson,
  type Hash,
  type Json,
  type JsonObject,
  lowerFirst,
  recordDefinitionSchema,
  TARGET_KINDS,
} from "@orgate/core";
import { errorMessage, isLoopback, lazily } from "@orgate/core/vocab";
import * as z from "zod";
import type { Env } from "../node/env.ts";
import { MCP_FILE, type McpEntry, readMcpFile } from "./mcp-file.ts";

const target = lazily(() => z.enum(TARGET_KINDS));
const override = lazily(() =>
  z.strictObject({
    repeat: z.enum(["read", "idempotent", "once"]).exactOptional(),
    effects: z
      .array(z.enum(["read", "write", "execute", "network", "spend", "unsandboxed"]))
      .min(1)
      .exactOptional(),
    labels: z.array(z.string()).exactOptional(),
    riskTier: z.enum(["low", "medium", "high"]).exactOptional(),
    /** A person is asked before each call. */
    humanApproval: z.boolean().exactOptional(),
    /** The resource of a call: this argument, as this type. */
    resource: z.strictObject({ type: z.string(), arg: z.string() }).exactOptional(),
    timeoutMs: z.int().min(1).exactOptional(),
    maxCents: z.number().min(0).exactOptional(),
    targets: z
      .record(
        z.string(),
        z.union([
          target(),
          z.strictObject({
            kind: target(),
            known: z.array(z.string()).exactOptional(),
            of: z.string().exactOptional(),
            per: z.string().exactOptional(),
          }),
        ]),
      )
      .exactOptional(),
    outgoing: z.array(z.string()).exactOptional(),
    learns: z.array(z.strictObject({ set: z.string(), from: z.string() })).exactOptional(),
    records: z.array(recordDefinitionSchema()).exactOptional(),
    markup: z.enum(["clean", "keep"]).exactOptional(),
  }),
);

/** A person's settings for a tool, in place of the strictest defaults. `*`: all tools of the server. */
export type ToolOverride = Readonly<z.infer<ReturnType<typeof override>>>;

export type McpTransport =
  | Readonly<{ kind: "stdio"; command: string; args: readonly string[]; env: Readonly<Record<string, string>>; cwd: string | null }>
  | Readonly<{
      kind: "http";
      url: string;
      headers: Readonly<Record<string, string>>;
      auth: McpAuth /** Plain http to another machine is taken. */;
      insecure: boolean;
    }>;

/** How a server that asks for OAuth is satisfied. `person`: somebody signs in once (`orgate mcp login`); `client`: Orgate has credentials of its own. */
export type McpAuth = Readonly<
  | {
      grant: "person";
      clientId: string | null;
      clientSecret: string | null;
      metadataUrl: string | null;
      scope: string | null;
      port: number;
      issuer: string | null;
      hosts: readonly string[];
    }
  | {
      grant: "client";
      clientId: string;
      clientSecret: string | null;
      privateKey: string | null;
      algorithm: string;
      scope: string | null;
      issuer: string | null;
      hosts: readonly string[];
    }
>;

export type McpServer = Readonly<{
  name: string;
  origin: "user" | "project";
  /** Of the entry as it stands in its file: what trust is given to. */
  digest: Digest;
  transport: McpTransport;
  tools: Readonly<Record<string, ToolOverride>>;
  /** Whether it gets the project's folder when it asks. */
  roots: boolean;
  /** How long starting it and reading its catalogue may take. */
  connectMs: number;
  /** After so long without a call it is let go. */
  idleMs: number;
}>;

export type FoundServer = Readonly<{ name: string; origin: McpServer["origin"]; digest: Digest }> &
  Readonly<
    | { kind: "usable"; server: McpServer /** Settings of other hosts, which mean nothing here. */; ignored: readonly string[] }
    | { kind: "unusable"; why: "bad" | "disabled" | "clash"; detail: string }
  >;

export type McpPlace = Readonly<{ root: string /** Where the person's own settings lie. */; home: string }>;
export type FoundServers = Readonly<{ servers: readonly FoundServer[] /** Files that cannot be read at all. */; bad: readonly BadFile[] }>;
export type BadFile = Readonly<{ file: string; detail: string }>;

/** Whose credentials these are: they are sent to nobody else. */
const issuer = lazily(() => z.url().nullable().default(null));
/** Hosts inside the own network at which one signs in: those that a server names are reached outside of it only. */
const hosts = lazily(() => z.array(z.string()).default([]));
const auth = lazily(() =>
  z
    .discriminatedUnion("grant", [
      z.strictObject({
        grant: z.literal("person"),
        clientId: z.string().nullable().default(null),
        clientSecret: z.string().nullable().default(null),
        /** Where a document about this client lies, for servers that take one in place of a registration. */
        metadataUrl: z.string().nullable().default(null),
        scope: z.string().nullable().default(null),
        /** Of the address that the sign-in comes back to, on this machine; any that is free unless said. */
        port: z.int().min(0).max(65_535).default(0),
        issuer: issuer(),
        hosts: hosts(),
      }),
      z.strictObject({
        grant: z.literal("client"),
        clientId: z.string(),
        clientSecret: z.string().nullable().default(null),
        privateKey: z.string().nullable().default(null),
        algorithm: z.string().default("ES256"),
        scope: z.string().nullable().default(null),
        issuer: issuer(),
        hosts: hosts(),
      }),
    ])
    .prefault({ grant: "person" }),
);
const own = lazily(() =>
  z
    .strictObject({
      auth: auth(),
      tools: z.record(z.string(), override()).default({}),
      roots: z.boolean().default(false),
      connectMs: z.int().min(100).max(600_000).default(20_000),
      idleMs: z.int().min(0).max(86_400_000).default(300_000),
      /** Plain http to another machine: anybody on the way can read and change it. */
      insecure: z.boolean().default(false),
    })
    .prefault({}),
);
const texts = lazily(() => z.record(z.string(), z.string()).default({}));
const type = lazily(() => z.enum(["stdio", "http", "streamable-http", "streamableHttp", "sse"]).optional());
const stdio = lazily(() =>
  z.looseObject({
    type: type(),
    command: z.string().min(1),
    args: z.array(z.string()).default([]),
    env: texts(),
    cwd: z.string().optional(),
  }),
);
const http = lazily(() => z.looseObject({ type: type(), url: z.string().min(1), headers: texts() }));

const KNOWN = new Set(["type", "command", "args", "env", "cwd", "url", "headers", "orgate", "disabled"]);
/** `__` parts a server's name from its tools': a name with it could stand for another's tool. */
const NAME = /^(?!.*__)[A-Za-z0-9][A-Za-z0-9_-]{0,30}(?<!_)$/;
export const SERVER_NAME_RULE = "1 to 31 of A-Z, a-z, 0-9, _ and -, a letter or digit first, no two _ in a row and none at the end";

/** The person's own come first: a project does not take a name that they use. */
export function mcpServers({ root, home }: McpPlace, hash: Hash): FoundServers {
  const bad: BadFile[] = [];
  const read = (file: string, shown: string): readonly McpEntry[] => {
    if (!existsSync(file)) return [];
    try {
      return readMcpFile(file);
    } catch (error) {
      bad.push({ file: shown, detail: errorMessage(error) });
      return [];
    }
  };
  const user = read(join(home, "mcp.json"), join(home, "mcp.json")).map((one) => parseServer(one, "user", hash));
  const project = read(join(root, MCP_FILE), MCP_FILE).map((one): FoundServer => {
    const found = parseServer(one, "project", hash);
    if (!user.some(({ name }) => name === one.name)) return found;
    const { name, origin, digest } = found;
    return { name, origin, digest, kind: "unusable", why: "clash", detail: "your own mcp.json has a server of this name" };
  });
  return { servers: [...user, ...project], bad };
}

/** One entry. */
export function parseServer({ name, entry }: McpEntry, origin: McpServer["origin"], hash: Hash): FoundServer {
  const at = { name, origin, digest: digestJson(entry, hash) };
  const unusable = (detail: string, why: "bad" | "disabled" = "bad"): FoundServer => ({ ...at, kind: "unusable", why, detail });
  if (!NAME.test(name)) return unusable(`a server's name is ${SERVER_NAME_RULE}`);
  if (!isObject(entry)) return unusable("it is no object");
  if ("disabled" in entry && entry.disabled === true) return unusable("it is disabled", "disabled");
  const extra = own().safeParse("orgate" in entry ? entry.orgate : {});
  if (!extra.success) return unusable(issueOf(extra.error, "orgate"));
  const { tools, roots, connectMs, idleMs, insecure, auth: said } = extra.data;
  if (said.grant === "client" && (said.clientSecret === null) === (said.privateKey === null))
    return unusable("`orgate.auth` needs either `clientSecret` or `privateKey`");
  const isSecret = said.grant === "client" || said.clientSecret !== null;
  if (isSecret && said.issuer === null)
    return unusable("`orgate.auth` needs `issuer`, whose credentials these are: else the server would say who gets them");
  const transport = transportOf(entry, insecure, said);
  if (typeof transport === "string") return unusable(transport);
  const server: McpServer = { ...at, transport, tools, roots, connectMs, idleMs };
  return { ...at, kind: "usable", server, ignored: Object.keys(entry).filter((key) => !KNOWN.has(key)) };
}

const isObject = (value: Json): value is JsonObject => typeof value === "object" && value !== null && !Array.isArray(value);

function transportOf(entry: JsonObject, insecure: boolean, auth: McpAuth): McpTransport | string {
  if ("command" in entry && "url" in entry) return "it has both `command` and `url`: one of them says how it is reached";
  if ("command" in entry) {
    const read = stdio().safeParse(entry);
    if (!read.success) return issueOf(read.error, "");
    const { command, args, env, cwd = null } = read.data;
    if (read.data.type !== undefined && read.data.type !== "stdio") return `\`type\` is ${read.data.type}, and it has a \`command\``;
    return { kind: "stdio", command, args, env, cwd };
  }
  if (!("url" in entry)) return "it has neither `command` nor `url`";
  const read = http().safeParse(entry);
  if (!read.success) return issueOf(read.error, "");
  const { url, headers } = read.data;
  if (read.data.type === "sse") return "`type` is sse, which the protocol has given up: name its streamable HTTP address, as `http`";
  if (read.data.type === "stdio") return "`type` is stdio, and it has a `url`";
  return findAddressProblem(url, insecure) ?? { kind: "http", url, headers, auth, insecure };
}

/** An address with variables is judged by its fixed parts; the rest is checked once they are known. */
export function findAddressProblem(url: string, insecure: boolean): string | null {
  const plain = url.replaceAll(VARIABLE, "x");
  const parsed = URL.canParse(plain) ? new URL(plain) : null;
  if (parsed === null && /^\$\{/.test(url)) return null;
  if (parsed === null || (parsed.protocol !== "http:" && parsed.protocol !== "https:")) return "`url` must be an address of http or https";
  if (parsed.username !== "" || parsed.password !== "") return "`url` must not hold a name or password: use `headers`";
  if (parsed.protocol === "http:" && !insecure && !isLoopback(parsed.hostname))
    return "`url` is plain http to another machine: use https, or say `orgate: { insecure: true }`";
  return null;
}

function issueOf(error: z.ZodError, within: string): string {
  const [issue] = error.issues;
  if (issue === undefined) return "not understood";
  const keys = issue.code === "unrecognized_keys" ? issue.keys.slice(0, 1) : [];
  const path = [within, ...issue.path, ...keys].filter((part) => part !== "").join(".");
  if (keys.length > 0) return `there is no setting \`${path}\``;
  return `\`${path}\`: ${lowerFirst(issue.message)}`;
}

// ── variables ──

const VARIABLE = /\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}/g;

/** Ready to be started; `hide` takes what must not be seen out of any text. */
export type Launch = Readonly<{ transport: McpTransport; hide(text: string): string }>;

/** Names of the environment variables that a server's entry uses: shown to the person who trusts it. */
export const listVariables = (transport: McpTransport): readonly string[] => [
  ...new Set(textsOf(transport).flatMap((text) => [...text.matchAll(VARIABLE)].map(([, name = ""]) => name))),
];

const textsOf = (t: McpTransport): readonly string[] =>
  t.kind === "stdio"
    ? [t.command, ...t.args, ...Object.values(t.env), t.cwd ?? ""]
    : [t.url, ...Object.values(t.headers), ...Object.values(t.auth).map(String)];

/** A string says why it cannot be started. */
export function resolveLaunch(server: McpServer, env: Env): Launch | string {
  const missing = new Set<string>();
  const secrets = new Map<string, string>();
  const secret = (value: string, shown: string): void => {
    if (value.length >= 6 && !secrets.has(value)) secrets.set(value, shown);
  };
  const expand = (text: string): string =>
    text.replaceAll(VARIABLE, (_, name: string, otherwise: string | undefined) => {
      const value = env[name] || otherwise;
      if (value === undefined) missing.add(name);
      else if (env[name] && !PUBLIC.has(name)) secret(value, `[${name}]`);
      return value ?? "";
    });
  const each = (record: Readonly<Record<string, string>>): Record<string, string> =>
    Object.fromEntries(Object.entries(record).map(([key, value]) => [key, expand(value)]));

  const t = server.transport;
  const transport: McpTransport =
    t.kind === "stdio"
      ? { ...t, command: expand(t.command), args: t.args.map(expand), env: each(t.env), cwd: t.cwd === null ? null : expand(t.cwd) }
      : { ...t, url: expand(t.url), headers: each(t.headers), auth: authWith(t.auth, expand) };
  if (missing.size > 0) return `${[...missing].map((name) => `\`${name}\``).join(", ")} is not set in the environment`;
  if (transport.kind === "stdio") {
    for (const [key, value] of Object.entries(transport.env)) if (SECRET_NAME.test(key)) secret(value, `[${key}]`);
  } else {
    const trouble = findAddressProblem(transport.url, transport.insecure);
    if (trouble !== null) return trouble;
    for (const value of secretsOf(transport.auth)) secret(value, "[credential]");
    for (const [key, value] of Object.entries(transport.headers)) for (const part of [value, ...value.split(" ")]) secret(part, `[${key}]`);
  }
  const longestFirst = [...secrets].sort(([a], [b]) => b.length - a.length);
  return { transport, hide: (text) => longestFirst.reduce((at, [value, shown]) => at.replaceAll(value, shown), text) };
}

const secretsOf = (given: McpAuth): readonly string[] =>
  [given.clientSecret, given.grant === "client" ? given.privateKey : null].filter((one) => one !== null);

function authWith(given: McpAuth, expand: (text: string) => string): McpAuth {
  const maybe = (text: string | null): string | null => (text === null ? null : expand(text));
  return given.grant === "person"
    ? { ...given, clientId: maybe(given.clientId), clientSecret: maybe(given.clientSecret) }
    : { ...given, clientId: expand(given.clientId), clientSecret: maybe(given.clientSecret), privateKey: maybe(given.privateKey) };
}

/** Where things lie is no secret, and hiding it would make texts unreadable. */
const PUBLIC = new Set(["HOME", "PWD", "USER", "LOGNAME", "PATH", "SHELL", "TMPDIR", "LANG", "TERM"]);
const SECRET_NAME = /key|token|secret|pass|auth|cred/i;
