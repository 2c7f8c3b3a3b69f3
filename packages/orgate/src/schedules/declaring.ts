/**
 * Declarations of a project, wherever they stand: `orgate.toml`, agents in TypeScript and TOML, `.symbi` files. Every mistake is reported
 * with its place, before anything is opened.
 */
import { relative } from "node:path";
import {
  type Agent,
  FaultError,
  lowerFirst,
  type ScheduleDeclaration,
  type ScheduleSpec,
  type WebhookDeclaration,
  type WebhookProvider,
} from "@orgate/core";
import type * as z from "zod";
import type { Config } from "../config/config.ts";
import { agentScheduleSchema, agentWebhookSchema, type ScheduleConfig, type WebhookConfig } from "../config/schedule-schema.ts";
import { readTextFile } from "../files/text-file.ts";
import { findTomlPosition, type TextPosition } from "../files/toml-text.ts";
import { type OnLoadFault, THROW_FAULT } from "../guard/modules.ts";
import { type Calendar, readTime } from "./calendar.ts";
import type { Declared } from "./store.ts";

/** `secrets` are names, never values: any of them may have signed a delivery. */
export type Webhook = Readonly<{
  name: string;
  path: string;
  provider: WebhookProvider;
  secrets: readonly HookSecret[];
  agent: string;
  input: string;
  owner: string;
  filter: readonly Filter[];
  maxBytes: number;
  contentTypes: readonly string[];
  windowMs: number;
  headers: Readonly<{ signature: string; id: string | null; timestamp: string | null }>;
  from: string;
}>;
export type HookSecret = Readonly<{ kind: "secret" | "env"; name: string }>;
export type Filter = Readonly<{ path: readonly string[]; equals?: unknown; contains?: string }>;

export type ScheduleSources = Readonly<{
  config: Pick<Config, "root" | "file" | "schedules" | "webhooks">;
  agents: readonly Readonly<{ agent: Agent; file: string }>[];
  /** Files that declare some beside their agents. */
  files?: readonly Readonly<{ schedules: readonly ScheduleDeclaration[]; webhooks: readonly WebhookDeclaration[] }>[];
  /** On whose behalf, where nobody is named. */
  owner: string;
  /** Whether there is such an agent; those of `agents` unless said. */
  isAgent?: (name: string) => boolean;
}>;
export function readSchedules(sources: ScheduleSources, calendar: Calendar, trouble: OnLoadFault = THROW_FAULT): readonly Declared[] {
  const { config, agents, files = [], owner } = sources;
  const found = new Map<string, Declared>();
  const add = (name: string, where: Where, written: () => ScheduleConfig): void => attempt(() => put(name, where, written), trouble);
  const put = (name: string, where: Where, written: () => ScheduleConfig): void => {
    const other = found.get(name);
    if (other !== undefined)
      throw declarationFault(where, `schedule \`${name}\` is already declared in ${other.from}`, "rename one of them");
    const given = written();
    mustBeAgent(sources, given.agent, where);
    const spec = told(where, () => toScheduleSpec(given, owner, calendar));
    found.set(name, { name, from: where.from, spec, isOwned: given.owner !== undefined });
  };
  for (const [name, written] of Object.entries(config.schedules))
    add(name, tableWhere("orgate.toml", config.file, ["schedules", name]), () => written);
  for (const { agent, file } of agents)
    for (const [name, written] of Object.entries(agent.definition.schedules ?? {})) {
      const where = tableWhere(relative(config.root, file), file, ["schedules", name]);
      add(name, where, () => ({ agent: agent.name, ...parsed(agentScheduleSchema(), written, where) }));
    }
  for (const one of files.flatMap(({ schedules }) => schedules)) add(one.name, symbiWhere(config, one), () => fromSymbi(one));
  return [...found.values()];
}

export function toScheduleSpec(w: ScheduleConfig, owner: string, calendar: Calendar): ScheduleSpec {
  const when = readTime({ cron: w.cron ?? null, at: w.at ?? null, timezone: w.timezone }, calendar);
  return {
    agent: w.agent,
    input: w.input,
    when,
    owner: w.owner ?? owner,
    oneShot: w.one_shot || when.kind === "at",
    jitterMs: w.jitter,
    overlap: w.overlap,
    atOnce: w.at_once,
    missed: w.missed,
    mostMissed: w.most_missed,
    graceMs: w.grace,
    session: w.session,
    retries: w.retries,
    failures: w.failures,
    enabled: w.enabled,
  };
}

function fromSymbi(one: ScheduleDeclaration): ScheduleConfig {
  const { agent, input, when, timezone, oneShot, jitterMs, overlap, missed, session, retries, enabled } = one;
  return {
    ...agentScheduleSchema().parse({}),
    ...(when.kind === "cron" ? { cron: when.expression } : { at: when.at }),
    agent,
    input,
    timezone,
    one_shot: oneShot,
    jitter: jitterMs,
    overlap,
    missed,
    session,
    retries,
    enabled,
  };
}

export function readWebhooks(sources: ScheduleSources, trouble: OnLoadFault = THROW_FAULT): readonly Webhook[] {
  const { config, agents, files = [], owner } = sources;
  const found = new Map<string, Webhook>();
  const paths = new Map<string, string>();
  const add = (hook: Webhook, where: Where): void => {
    const other = found.get(hook.name);
    if (other !== undefined)
      throw declarationFault(where, `webhook \`${hook.name}\` is already declared in ${other.from}`, "rename one of them");
    const same = paths.get(hook.path);
    if (same !== undefined)
      throw declarationFault(where, `the path \`${hook.path}\` is that of webhook \`${same}\``, "a path is one webhook's");
    mustBeAgent(sources, hook.agent, where);
    mustBePath(hook.path, where);
    if (hook.windowMs < 1_000) throw declarationFault(where, "nothing is in time within `replay_window`", "write 5m, or at least 1s");
    for (const secret of hook.secrets) mustBeItsOwn(secret, hook, [...found.values()], where);
    found.set(hook.name, hook);
    paths.set(hook.path, hook.name);
  };
  for (const [name, written] of Object.entries(config.webhooks)) {
    const where = tableWhere("orgate.toml", config.file, ["webhooks", name]);
    attempt(() => add(hookOf(name, written, owner, where.from), where), trouble);
  }
  for (const { agent, file } of agents)
    for (const [name, written] of Object.entries(agent.definition.webhooks ?? {})) {
      const where = tableWhere(relative(config.root, file), file, ["webhooks", name]);
      attempt(
        () => add(hookOf(name, { agent: agent.name, ...parsed(agentWebhookSchema(), written, where) }, owner, where.from), where),
        trouble,
      );
    }
  for (const one of files.flatMap(({ webhooks }) => webhooks)) {
    const where = symbiWhere(config, one);
    attempt(() => add(hookFromSymbi(one, owner, where.from), where), trouble);
  }
  return [...found.values()];
}

export const secretText = ({ kind, name }: HookSecret): string => (kind === "env" ? `$${name}` : name);

/** Z-12 a signature does not say to which path it was sent. */
function mustBeItsOwn(secret: HookSecret, hook: Webhook, others: readonly Webhook[], where: Where): void {
  const text = secretText(secret);
  const other = others.find(({ secrets }) => secrets.some((one) => secretText(one) === text));
  if (other === undefined) return;
  const detail = `its secret \`${text}\` is that of webhook \`${other.name}\` (${other.from}): each would take the other's deliveries`;
  throw declarationFault(where, detail, `give each its own: \`orgate secrets set ${hook.name}-hook\``);
}

function hookOf(name: string, w: WebhookConfig, owner: string, from: string): Webhook {
  const filters = Array.isArray(w.filter) ? w.filter : [w.filter];
  return {
    name,
    path: w.path,
    provider: w.provider,
    secrets: [w.secret].flat().map((one) => (one.startsWith("$") ? { kind: "env", name: one.slice(1) } : { kind: "secret", name: one })),
    agent: w.agent,
    input: w.input,
    owner: w.owner ?? owner,
    filter: filters.map(({ json_path, equals, contains }) => ({
      path: stepsOf(json_path),
      ...(equals === undefined ? {} : { equals }),
      ...(contains === undefined ? {} : { contains }),
    })),
    maxBytes: w.max_bytes,
    contentTypes: w.content_types,
    windowMs: w.replay_window,
    headers: {
      signature: w.signature_header.toLowerCase(),
      id: w.id_header?.toLowerCase() ?? null,
      timestamp: w.timestamp_header?.toLowerCase() ?? null,
    },
    from,
  };
}

function hookFromSymbi(one: WebhookDeclaration, owner: string, from: string): Webhook {
  const { name, path, provider, secrets, agent, filter, input, replayWindowMs, maxBytes } = one;
  const rest = hookOf(name, { ...agentWebhookSchema().parse({ path, provider, secret: "its-own" }), agent }, owner, from);
  const { test } = filter ?? { test: null };
  return {
    ...rest,
    secrets,
    input: input ?? rest.input,
    windowMs: replayWindowMs,
    maxBytes,
    filter:
      filter === null || test === null
        ? []
        : [{ path: stepsOf(filter.path), ...(test.kind === "equals" ? { equals: test.value } : { contains: test.text }) }],
  };
}

/** Names and places, in order: `$.commits[0].id`. */
const stepsOf = (path: string): readonly string[] =>
  path
    .replace(/^\$\.?/, "")
    .replaceAll(/\[(\d+)\]/g, ".$1")
    .split(".")
    .filter((step) => step !== "");

/** Paths of the server itself and the console. */
const TAKEN = /^\/(?:$|api(?:\/|$)|ws(?:\/|$)|docs(?:\/|$)|sign-|livez$|readyz$|assets(?:\/|$)|index\.html$)/;
const PATH = /^\/[A-Za-z0-9_.-]+(?:\/[A-Za-z0-9_.-]+)*$/;

function mustBePath(path: string, where: Where): void {
  const isPath = PATH.test(path) && path.length <= 200 && !path.split("/").some((part) => part === "." || part === "..");
  if (!isPath)
    throw declarationFault(
      where,
      `\`${path}\` is no path for a webhook`,
      "write /hooks/NAME: letters, digits, `_`, `.`, `-`, and `/` between them",
    );
  if (TAKEN.test(path)) throw declarationFault(where, `the server itself answers at \`${path}\``, "write /hooks/NAME");
}

/** `table` of a TOML file: where it stands is looked for once something is wrong with it. */
type Where = Readonly<{
  from: string;
  what: string;
  line?: number;
  column?: number;
  table?: Readonly<{ file: string; path: readonly string[] }>;
}>;
const tableWhere = (from: string, file: string, path: readonly [string, string]): Where => ({
  from,
  what: path.join("."),
  ...(file.endsWith(".toml") ? { table: { file, path } } : {}),
});
const symbiWhere = ({ root }: Pick<Config, "root">, { name, place }: ScheduleDeclaration | WebhookDeclaration): Where => ({
  from: relative(root, place.file),
  what: name,
  line: place.line,
  column: place.column,
});

function mustBeAgent({ agents, isAgent }: ScheduleSources, agent: string, where: Where): void {
  if (isAgent?.(agent) ?? agents.some((one) => one.agent.name === agent)) return;
  throw declarationFault(where, `there is no agent \`${agent}\``, `there are: ${agents.map((one) => one.agent.name).join(", ") || "none"}`);
}

/** In code fields are written `atOnce`, in TOML `at_once`. */
function parsed<S extends z.ZodType>(schema: S, written: unknown, where: Where): z.output<S> {
  const fields = typeof written === "object" && written !== null ? Object.entries(written) : [];
  const read = schema.safeParse(
    Object.fromEntries(fields.map(([key, value]) => [key.replaceAll(/[A-Z]/g, (c) => `_${c.toLowerCase()}`), value])),
  );
  if (read.success) return read.data;
  const [issue] = read.error.issues;
  const key = issue?.code === "unrecognized_keys" ? (issue.keys[0] ?? "") : (issue?.path.join(".") ?? "");
  const detail =
    issue?.code === "unrecognized_keys"
      ? `there is no setting \`${key}\``
      : `\`${key}\`: ${lowerFirst(issue?.message ?? "not understood")}`;
  throw declarationFault(where, detail, "docs/guide/schedules.md and docs/guide/webhooks.md have every setting");
}

function attempt(work: () => void, trouble: OnLoadFault): void {
  try {
    work();
  } catch (error) {
    if (!(error instanceof FaultError)) throw error;
    trouble(error);
  }
}

function told<T>(where: Where, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof FaultError) || error.fault.kind !== "usage") throw error;
    throw declarationFault(where, error.fault.detail, error.fault.hint);
  }
}

export function declarationFault({ from, what, line, column, table }: Where, detail: string, hint: string): FaultError {
  const found = table === undefined ? null : standsAt(table);
  return new FaultError({
    kind: "file-bad",
    file: from,
    line: line ?? found?.line ?? null,
    column: column ?? found?.column ?? null,
    detail: `\`${what}\`: ${detail}`,
    hint,
  });
}

/** Null where it does not lie there, or no more: it may be a change that is only tried. */
function standsAt({ file, path }: NonNullable<Where["table"]>): TextPosition | null {
  try {
    return findTomlPosition(readTextFile(file, MOST_TOML), path);
  } catch {
    return null;
  }
}
const MOST_TOML = 1024 * 1024;
