/** A project's settings, read once and never again. Every setting here has one reader; a key that nobody reads is an error, not a comment. */
import { isIP } from "node:net";
import { homedir } from "node:os";
import { isAbsolute, join, resolve } from "node:path";
import {
  durationWords,
  type Limits,
  lazily,
  lowerFirst,
  POWER_CUTS,
  type PowerCut,
  type Prices,
  RECORD_FIELD_TYPES,
  type RecordFieldType,
  SEAL_MODES,
  type SealMode,
  suggestNearest,
  UTC,
} from "@orgate/core/vocab";
import * as z from "zod";
import type { Draft } from "../files/file-overlay.ts";
import { type ClusterConfig, clusterSchema, toClusterConfig } from "./cluster-schema.ts";
import { projectScheduleSchema, projectWebhookSchema, type ScheduleConfig, type WebhookConfig } from "./schedule-schema.ts";
import { isTimeZone } from "./time-zone.ts";

const member = lazily(() => z.string().regex(/^[A-Za-z0-9_-]{1,64}$/, "must be 1 to 64 of A-Z, a-z, 0-9, _ and -"));
/** A group and who is in it. */
const groups = lazily(() => z.record(member(), z.array(member())).default({}));

/** Of the subject of a session. */
const attribute = lazily(() => z.string().regex(/^[A-Za-z][A-Za-z0-9_]{0,63}$/, "must be letters, digits and _, a letter first"));

/** Of a million tokens. */
const amount = lazily(() => z.number().min(0));
const model = lazily(() => z.string().regex(/^[a-z0-9][a-z0-9-]*\/[\x21-\x7e]{1,128}$/, "must be `provider/name`"));
const price = lazily(() =>
  z.strictObject({ input: amount(), output: amount(), cachedInput: amount().exactOptional(), cacheWrite: amount().exactOptional() }),
);

/** Counters go back one day and are counted from the entries, so these stay at least that long. */
export const MIN_RETENTION_MS = 86_400_000;
const age = lazily(() =>
  z
    .string()
    .refine((text) => (durationWords(text) ?? 0) >= MIN_RETENTION_MS, "must be a time of at least 1d, such as 90d")
    .transform((text) => durationWords(text) ?? MIN_RETENTION_MS),
);

/** Schema of `orgate.toml`. */
const projectSchema = lazily(() =>
  z.strictObject({
    project: z.strictObject({
      name: z
        .string()
        .regex(/^[A-Za-z0-9][A-Za-z0-9 ._-]{0,63}$/, "must be 1 to 64 letters, digits, spaces, dots, _ and -, a letter or digit first"),
      agents: z
        .array(z.string().refine(isInside, "must be a path below the project's folder, without `..`"))
        .default(["agents/*.ts", "agents/*.toml", "agents/*.symbi", "agents/*.dsl"]),
      tools: z
        .array(z.string().refine(isInside, "must be a path below the project's folder, without `..`"))
        .default(["tools/*.ts", "tools/*.clad.toml"]),
    }),
    journal: z
      .strictObject({
        directory: z.string().min(1).default(".orgate"),
        power_cut: z.enum(POWER_CUTS).default("lose-nothing"),
        sealing: z.enum(SEAL_MODES).default("interval"),
      })
      .prefault({}),
    retention: z
      .strictObject({ archive: z.string().min(1).exactOptional(), closed: age().exactOptional(), idle: age().exactOptional() })
      .prefault({}),
    cluster: clusterSchema(),
    skills: z.strictObject({ home: z.boolean().default(false) }).prefault({}),
    groups: z.strictObject({ agents: groups(), users: groups() }).prefault({}),
    policies: z
      .strictObject({
        timezone: z.string().refine(isTimeZone, "must be a time zone, such as UTC or Europe/Berlin").default(UTC),
        subject: z.record(attribute(), z.enum(RECORD_FIELD_TYPES)).default({}),
      })
      .prefault({}),
    models: z.strictObject({ default: model().exactOptional() }).prefault({}),
    ports: z.strictObject({ module: z.string().refine(isInside, "must be a path below the project's folder, without `..`") }).optional(),
    prices: z.record(model(), price()).default({}),
    knowledge: z.strictObject({ embedding: model().exactOptional() }).prefault({}),
    coordinator: z
      .strictObject({
        iterations: z.int().min(1).exactOptional(),
        tokens: z.int().min(1).exactOptional(),
        turnMs: z.int().min(1).exactOptional(),
      })
      .prefault({}),
    server: z
      .strictObject({
        host: z.string().min(1).max(253).default("127.0.0.1"),
        port: z.int().min(0).max(65_535).default(4680),
        names: z.array(z.string().regex(/^(?:\*|[A-Za-z0-9.-]{1,253})$/, "must be a host's name, without a port, or `*`")).default([]),
        proxies: z.array(z.string().refine(isAddress, "must be an address or a network, such as 10.0.0.2 or 10.0.0.0/8")).default([]),
        turns_at_once: z.int().min(1).max(10_000).default(256),
        chat_keys_in_url: z.boolean().default(false),
      })
      .prefault({}),
    notify: z
      .strictObject({
        webhook: z.string().refine(isWebAddress, "must be an address of http or https, without a name or password in it"),
        secret_env: z.string().regex(/^[A-Za-z_][A-Za-z0-9_]{0,99}$/, "must be the name of an environment variable"),
      })
      .optional(),
    schedules: z.record(member(), projectScheduleSchema()).default({}),
    webhooks: z.record(member(), projectWebhookSchema()).default({}),
  }),
);

export type Config = Readonly<{
  /** The project's folder, absolute. */
  root: string;
  /** The working folder, absolute, links resolved: `root` or below it. */
  from: string;
  /** Its `orgate.toml`. */
  file: string;
  name: string;
  /** Paths and globs below `root`, for `loadAgents`. */
  agents: readonly string[];
  /** Paths and globs below `root`: modules and manifests (`.clad.toml`) whose tools an agent in TOML may name. */
  tools: readonly string[];
  /** Absolute: where the policies lie. */
  policies: string;
  /** Absolute: the person's own skills, where the project wants them; null where it does not. */
  skillsHome: string | null;
  /** Group → members: what `AgentGroup` and `UserGroup` stand for in policies. */
  groups: Groups;
  /** The model of every agent that names none, `provider/name`; null: the offline model, which is built in. */
  models: Readonly<{ default: string | null }>;
  /** A module below `root` whose default export replaces parts of the runtime; null: none. */
  ports: string | null;
  /** Model prices by `provider/name`: for agents without prices of their own. */
  prices: Readonly<Record<string, Prices>>;
  /** `embedding`: what makes vectors of what is known, `provider/name`; null: it is found by its words alone. */
  knowledge: Readonly<{ embedding: string | null }>;
  /** Limits of the coordinator, in place of those of its file. */
  coordinator: Readonly<Partial<Pick<Limits, "iterations" | "tokens" | "turnMs">>>;
  /** `directory`, absolute: where the journal's database, blobs, keys, locks and sockets lie. `cluster`: the database in place of files; null: SQLite. */
  journal: Readonly<{ directory: string; powerCut: PowerCut; sealing: SealMode; cluster: ClusterConfig | null }>;
  /** When sessions are archived, and where to (absolute); null: never, nowhere. */
  retention: Readonly<{ archive: string | null; closedMs: number | null; idleMs: number | null }>;
  /** Where `orgate up` listens, the names under which it is reached beside its address, the proxies in front of it, and how many sessions it drives at once. */
  /** `chatKeysInUrl`: whether `/ws/chat` takes an API key at `?token=`. */
  server: Readonly<{
    host: string;
    port: number;
    names: readonly string[];
    proxies: readonly string[];
    turnsAtOnce: number;
    chatKeysInUrl: boolean;
  }>;
  /** URL that is notified when something waits for a person, and the environment variable with the signing secret; null: none. */
  notify: Readonly<{ webhook: string; secretEnv: string }> | null;
  /** By name, as they are written. */
  schedules: Readonly<Record<string, ScheduleConfig>>;
  webhooks: Readonly<Record<string, WebhookConfig>>;
  /** Files read in place of those on disk, to try a change. Not a setting. */
  drafts?: readonly Draft[];
  /** Whether the shell's agent has the tool `shell`: `orgate shell --allow-shell`. No setting either. */
  allowShell?: boolean;
}>;

export type Members = Readonly<Record<string, readonly string[]>>;
export type Groups = Readonly<{
  agents: Members;
  users: Members;
  /** What else policies read of the project: whose clocks `context.now` shows, and which attributes callers give a subject. */
  world?: Readonly<{ zone: string; subject: Readonly<Record<string, RecordFieldType>> }>;
}>;

export type ConfigIssue = Readonly<{ path: readonly PropertyKey[]; detail: string }>;
export type ReadConfig = Readonly<{ kind: "config"; config: Config } | { kind: "invalid"; issue: ConfigIssue }>;

/** `value` is the parsed file; `root` the folder it lies in. */
export function toConfig(value: unknown, root: string, file: string): ReadConfig {
  const read = projectSchema().safeParse(value);
  if (!read.success) return { kind: "invalid", issue: issueOf(read.error) };
  const {
    project,
    journal,
    retention,
    cluster,
    server,
    knowledge,
    skills,
    groups,
    policies,
    models,
    ports,
    prices,
    coordinator,
    notify,
    schedules,
    webhooks,
  } = read.data;
  return {
    kind: "config",
    config: Object.freeze({
      root,
      from: root,
      file,
      name: project.name,
      agents: Object.freeze(project.agents),
      tools: Object.freeze(project.tools),
      policies: join(root, "policies"),
      skillsHome: skills.home ? join(homedir(), ".agents", "skills") : null,
      groups: Object.freeze({ ...groups, world: Object.freeze({ zone: policies.timezone, subject: policies.subject }) }),
      models: Object.freeze({ default: models.default ?? null }),
      ports: ports?.module ?? null,
      prices,
      knowledge: Object.freeze({ embedding: knowledge.embedding ?? null }),
      coordinator,
      journal: Object.freeze({
        directory: resolve(root, journal.directory),
        powerCut: journal.power_cut,
        sealing: journal.sealing,
        cluster: toClusterConfig(cluster, root),
      }),
      retention: Object.freeze({
        archive: retention.archive === undefined ? null : resolve(root, retention.archive),
        closedMs: retention.closed ?? null,
        idleMs: retention.idle ?? null,
      }),
      server: Object.freeze({
        host: server.host,
        port: server.port,
        names: Object.freeze(server.names),
        proxies: Object.freeze(server.proxies),
        turnsAtOnce: server.turns_at_once,
        chatKeysInUrl: server.chat_keys_in_url,
      }),
      notify: notify === undefined ? null : Object.freeze({ webhook: notify.webhook, secretEnv: notify.secret_env }),
      schedules,
      webhooks,
    }),
  };
}

function isInside(path: string): boolean {
  return path !== "" && !isAbsolute(path) && !path.split(/[\\/]/).includes("..") && !path.includes("\0");
}

function isAddress(text: string): boolean {
  const [address = "", prefix, ...more] = text.split("/");
  const bits = isIP(address) === 6 ? 128 : 32;
  return isIP(address) !== 0 && more.length === 0 && (prefix === undefined || (/^\d{1,3}$/.test(prefix) && Number(prefix) <= bits));
}

function isWebAddress(text: string): boolean {
  const url = URL.canParse(text) ? new URL(text) : null;
  return (url?.protocol === "http:" || url?.protocol === "https:") && url.username === "" && url.password === "";
}

type Shape = Readonly<{ properties?: Readonly<Record<string, Shape>>; additionalProperties?: Shape | boolean }>;
const shapeOf = (): Shape => z.toJSONSchema(projectSchema(), { io: "input", unrepresentable: "any" }) as Shape;

/** Every setting there is, from the schema itself; `*` stands for a name that the project chooses. */
export function configKeys(): readonly string[] {
  const walk = (shape: Shape, path: string): readonly string[] => {
    const named = Object.entries(shape.properties ?? {}).flatMap(([key, inner]) => walk(inner, path === "" ? key : `${path}.${key}`));
    const { additionalProperties: any } = shape;
    const chosen = typeof any === "object" ? walk(any, `${path}.*`) : [];
    return named.length + chosen.length > 0 ? [...named, ...chosen] : [path];
  };
  return walk(shapeOf(), "");
}

function keysAt(path: readonly PropertyKey[]): readonly string[] {
  let at: Shape = shapeOf();
  for (const step of path) {
    const { properties = {}, additionalProperties: any } = at;
    at = properties[String(step)] ?? (typeof any === "object" ? any : {});
  }
  return Object.keys(at.properties ?? {});
}

/** The key itself, where a key is what is wrong. */
function issueOf(error: z.ZodError): ConfigIssue {
  const [issue] = error.issues;
  if (issue === undefined) return { path: [], detail: "not understood" };
  if (issue.code === "unrecognized_keys") {
    const [key = ""] = issue.keys;
    const meant = suggestNearest(key, keysAt(issue.path));
    return { path: [...issue.path, key], detail: `there is no setting \`${[...issue.path, key].join(".")}\`; ${meant}` };
  }
  const name = issue.path.join(".");
  const said = (issue.code === "invalid_key" ? issue.issues[0]?.message : undefined) ?? issue.message; // of a name, what is wrong with it
  const message = lowerFirst(said);
  const missing = issue.code === "invalid_type" && issue.input === undefined && message.endsWith("received undefined");
  return { path: issue.path, detail: missing ? `\`${name}\` is missing` : `\`${name}\`: ${message}` };
}
