/** Every setting of `orgate.toml`, each with a value that makes a difference: a new one without a row fails. */
import { readFileSync } from "node:fs";
import { parse } from "smol-toml";
import { describe, expect, test } from "vitest";
import { readAddress } from "./cluster-schema.ts";
import { configKeys, toConfig } from "./config.ts";

/** A written setting, and the value that it changes. */
type Row = readonly [written: object, path: string, becomes: unknown];
const S = { agent: "a", cron: "* * * * *" };
const W = { agent: "a", path: "/hooks/x", provider: "github", secret: "s" };
const schedule = (more: object): object => ({ schedules: { x: { ...S, ...more } } });
const webhook = (more: object): object => ({ webhooks: { x: { ...W, ...more } } });
const cluster = (more: object): object => ({ cluster: { database: "postgres://ana@db:5432/orgate", ...more } });
const restate = (more: object): object =>
  cluster({ restate: { ingress: "http://127.0.0.1:8080", admin: "http://127.0.0.1:9070", ...more } });
const price = (more: object): object => ({ prices: { "p/m": { input: 1, output: 2, ...more } } });

const ROWS: Readonly<Record<string, Row>> = {
  "project.name": [{ project: { name: "other" } }, "name", "other"],
  "project.agents": [{ project: { name: "p", agents: ["x.ts"] } }, "agents", ["x.ts"]],
  "project.tools": [{ project: { name: "p", tools: ["t.ts"] } }, "tools", ["t.ts"]],
  "journal.directory": [{ journal: { directory: "j" } }, "journal.directory", "/p/j"],
  "journal.power_cut": [{ journal: { power_cut: "lose-last-result" } }, "journal.powerCut", "lose-last-result"],
  "journal.sealing": [{ journal: { sealing: "each" } }, "journal.sealing", "each"],
  "retention.archive": [{ retention: { archive: "kept" } }, "retention.archive", "/p/kept"],
  "retention.closed": [{ retention: { closed: "90d" } }, "retention.closedMs", 7_776_000_000],
  "retention.idle": [{ retention: { idle: "2d" } }, "retention.idleMs", 172_800_000],
  "cluster.database": [cluster({ database: { env: "D" } }), "journal.cluster.database", { kind: "env", name: "D" }],
  "cluster.listen": [cluster({ listen: { file: "f" } }), "journal.cluster.listen", { kind: "file", file: "/p/f" }],
  "cluster.schema": [cluster({ schema: "team" }), "journal.cluster.schema", "team"],
  "cluster.lease_seconds": [cluster({ lease_seconds: 3 }), "journal.cluster.leaseMs", 3_000],
  "cluster.pool": [cluster({ pool: 9 }), "journal.cluster.poolSize", 9],
  "cluster.statement_seconds": [cluster({ statement_seconds: 2 }), "journal.cluster.statementMs", 2_000],
  "cluster.lock_seconds": [cluster({ lock_seconds: 0.5 }), "journal.cluster.lockMs", 500],
  "cluster.restate.ingress": [restate({ ingress: "http://r:1/" }), "journal.cluster.restate.ingress", "http://r:1"],
  "cluster.restate.admin": [restate({ admin: "https://r:2" }), "journal.cluster.restate.admin", "https://r:2"],
  "cluster.restate.endpoint": [restate({ endpoint: "http://workers:9080" }), "journal.cluster.restate.endpoint", "http://workers:9080"],
  "cluster.restate.host": [restate({ host: "0.0.0.0" }), "journal.cluster.restate.host", "0.0.0.0"],
  "cluster.restate.port": [restate({ port: 1 }), "journal.cluster.restate.port", 1],
  "cluster.restate.identity": [restate({ identity: ["publickeyv1_abc"] }), "journal.cluster.restate.identity", ["publickeyv1_abc"]],
  "skills.home": [{ skills: { home: true } }, "skillsHome", expect.stringContaining("skills")],
  "knowledge.embedding": [
    { knowledge: { embedding: "openai/text-embedding-3-small" } },
    "knowledge.embedding",
    "openai/text-embedding-3-small",
  ],
  "groups.agents.*": [{ groups: { agents: { g: ["a"] } } }, "groups.agents.g", ["a"]],
  "groups.users.*": [{ groups: { users: { g: ["u"] } } }, "groups.users.g", ["u"]],
  "policies.timezone": [{ policies: { timezone: "Europe/Berlin" } }, "groups.world.zone", "Europe/Berlin"],
  "policies.subject.*": [{ policies: { subject: { tier: "string" } } }, "groups.world.subject.tier", "string"],
  "models.default": [{ models: { default: "offline/echo" } }, "models.default", "offline/echo"],
  "ports.module": [{ ports: { module: "ports.ts" } }, "ports", "ports.ts"],
  "prices.*.input": [price({ input: 3 }), "prices.p/m.input", 3],
  "prices.*.output": [price({ output: 4 }), "prices.p/m.output", 4],
  "prices.*.cachedInput": [price({ cachedInput: 0.5 }), "prices.p/m.cachedInput", 0.5],
  "prices.*.cacheWrite": [price({ cacheWrite: 5 }), "prices.p/m.cacheWrite", 5],
  "coordinator.iterations": [{ coordinator: { iterations: 3 } }, "coordinator.iterations", 3],
  "coordinator.tokens": [{ coordinator: { tokens: 3 } }, "coordinator.tokens", 3],
  "coordinator.turnMs": [{ coordinator: { turnMs: 3 } }, "coordinator.turnMs", 3],
  "server.host": [{ server: { host: "::1" } }, "server.host", "::1"],
  "server.port": [{ server: { port: 1 } }, "server.port", 1],
  "server.names": [{ server: { names: ["n"] } }, "server.names", ["n"]],
  "server.proxies": [{ server: { proxies: ["10.0.0.0/8"] } }, "server.proxies", ["10.0.0.0/8"]],
  "server.turns_at_once": [{ server: { turns_at_once: 1 } }, "server.turnsAtOnce", 1],
  "server.chat_keys_in_url": [{ server: { chat_keys_in_url: true } }, "server.chatKeysInUrl", true],
  "notify.webhook": [{ notify: { webhook: "http://x/", secret_env: "S" } }, "notify.webhook", "http://x/"],
  "notify.secret_env": [{ notify: { webhook: "http://x/", secret_env: "S" } }, "notify.secretEnv", "S"],
  "schedules.*.agent": [schedule({ agent: "b" }), "schedules.x.agent", "b"],
  "schedules.*.input": [schedule({ input: "i" }), "schedules.x.input", "i"],
  "schedules.*.cron": [schedule({ cron: "1 * * * *" }), "schedules.x.cron", "1 * * * *"],
  "schedules.*.at": [schedule({ at: "2030-01-01T00:00" }), "schedules.x.at", "2030-01-01T00:00"],
  "schedules.*.timezone": [schedule({ timezone: "Asia/Tokyo" }), "schedules.x.timezone", "Asia/Tokyo"],
  "schedules.*.owner": [schedule({ owner: "ana" }), "schedules.x.owner", "ana"],
  "schedules.*.one_shot": [schedule({ one_shot: true }), "schedules.x.one_shot", true],
  "schedules.*.jitter": [schedule({ jitter: "30s" }), "schedules.x.jitter", 30_000],
  "schedules.*.overlap": [schedule({ overlap: "queue" }), "schedules.x.overlap", "queue"],
  "schedules.*.at_once": [schedule({ at_once: 3 }), "schedules.x.at_once", 3],
  "schedules.*.missed": [schedule({ missed: "all" }), "schedules.x.missed", "all"],
  "schedules.*.most_missed": [schedule({ most_missed: 3 }), "schedules.x.most_missed", 3],
  "schedules.*.grace": [schedule({ grace: "5m" }), "schedules.x.grace", 300_000],
  "schedules.*.session": [schedule({ session: "shared" }), "schedules.x.session", "shared"],
  "schedules.*.retries": [schedule({ retries: 0 }), "schedules.x.retries", 0],
  "schedules.*.failures": [schedule({ failures: 0 }), "schedules.x.failures", 0],
  "schedules.*.enabled": [schedule({ enabled: false }), "schedules.x.enabled", false],
  "webhooks.*.agent": [webhook({ agent: "b" }), "webhooks.x.agent", "b"],
  "webhooks.*.path": [webhook({ path: "/y" }), "webhooks.x.path", "/y"],
  "webhooks.*.provider": [webhook({ provider: "slack" }), "webhooks.x.provider", "slack"],
  "webhooks.*.secret": [webhook({ secret: ["$S", "s"] }), "webhooks.x.secret", ["$S", "s"]],
  "webhooks.*.input": [webhook({ input: "i" }), "webhooks.x.input", "i"],
  "webhooks.*.owner": [webhook({ owner: "ana" }), "webhooks.x.owner", "ana"],
  "webhooks.*.filter": [webhook({ filter: { json_path: "a", equals: 1 } }), "webhooks.x.filter", { json_path: "a", equals: 1 }],
  "webhooks.*.max_bytes": [webhook({ max_bytes: 9 }), "webhooks.x.max_bytes", 9],
  "webhooks.*.content_types": [webhook({ content_types: ["text/plain"] }), "webhooks.x.content_types", ["text/plain"]],
  "webhooks.*.replay_window": [webhook({ replay_window: "1m" }), "webhooks.x.replay_window", 60_000],
  "webhooks.*.signature_header": [webhook({ signature_header: "x-s" }), "webhooks.x.signature_header", "x-s"],
  "webhooks.*.id_header": [webhook({ id_header: "x-i" }), "webhooks.x.id_header", "x-i"],
  "webhooks.*.timestamp_header": [webhook({ timestamp_header: "x-t" }), "webhooks.x.timestamp_header", "x-t"],
};
const configOf = (written: object): unknown => {
  const read = toConfig({ project: { name: "p" }, ...written }, "/p", "/p/orgate.toml");
  if (read.kind === "invalid") throw new Error(read.issue.detail);
  return read.config;
};
const at = (value: unknown, path: string): unknown =>
  path.split(".").reduce<unknown>((v, key) => (typeof v === "object" && v !== null ? Reflect.get(v, key) : undefined), value);

test("A-4 every setting has a row, and no row is left over", () => {
  expect(Object.keys(ROWS).sort()).toEqual([...configKeys()].sort());
});

describe("every setting is read", () => {
  test.each(Object.entries(ROWS))("A-4 %s", (_, [written, path, becomes]) => {
    expect(at(configOf(written), path)).toEqual(becomes);
    expect(at(configOf({}), path)).not.toEqual(becomes);
  });
});

test("A-4 every setting is on a page of the guide, and the page of projects is itself one that loads", () => {
  const page = (name: string): string => readFileSync(new URL(`../../../../docs/guide/${name}.md`, import.meta.url), "utf8");
  const [project, schedules, webhooks] = [page("project"), page("schedules"), page("webhooks")];
  const pageOf = (key: string): string => (key.startsWith("schedules.") ? schedules : key.startsWith("webhooks.") ? webhooks : project);
  const missing = configKeys().filter((key) => {
    const word = key.split(".").findLast((part) => part !== "*") ?? key;
    return !(pageOf(key).includes("`" + word + "`") || new RegExp("^\\[?(?:[a-z]+\\.)?" + word + "(?: =|\\])", "m").test(pageOf(key)));
  });
  expect(missing).toEqual([]);
  const written = /```toml\n([\s\S]*?)```/.exec(project)?.[1] ?? "";
  expect(toConfig(parse(written), "/p", "/p/orgate.toml").kind).toBe("config");
});

test("A-4 the address of a database is written without its password, or is found in a variable or a file when it is opened", () => {
  const database = (written: unknown): unknown => at(configOf({ cluster: { database: written } }), "journal.cluster.database");
  expect(database("postgres://ana@db/orgate")).toEqual({ kind: "text", text: "postgres://ana@db/orgate" });
  for (const wrong of [
    "postgres://ana:secret@db/orgate",
    "postgres://db/x?password=secret",
    "mysql://db/x",
    "",
    5,
    { env: "a b" },
    { other: "x" },
  ])
    expect(() => database(wrong)).toThrow("without a password");
  expect(readAddress({ kind: "env", name: "D" }, { D: " postgres://db/x\n" })).toBe("postgres://db/x");
  expect(() => readAddress({ kind: "env", name: "D" }, {})).toThrow("the address of the database is to come from $D");
  expect(() => readAddress({ kind: "file", file: "/nowhere/url" }, {})).toThrow("cannot be read from `/nowhere/url`");
});

test("A-4 the settings that deploy/ has for many machines are read", () => {
  const written = parse(readFileSync(new URL("../../../../deploy/project/orgate.toml", import.meta.url), "utf8"));
  const read = toConfig(written, "/p", "/p/orgate.toml");
  expect(read).toMatchObject({
    kind: "config",
    config: {
      journal: {
        directory: "/var/lib/orgate",
        cluster: {
          ...{ database: { kind: "env", name: "ORGATE_DATABASE" }, listen: { kind: "env", name: "ORGATE_LISTEN" } },
          ...{ schema: "example", leaseMs: 10_000, poolSize: 8, statementMs: 30_000, lockMs: 10_000 },
        },
      },
    },
  });
});

test("A-4 a setting that is not there is refused, with the one that was meant", () => {
  const detail = (value: object): string => {
    const read = toConfig({ project: { name: "p" }, ...value }, "/p", "/p/orgate.toml");
    return read.kind === "invalid" ? read.issue.detail : "taken";
  };
  expect(detail({ serve: {} })).toBe("there is no setting `serve`; did you mean `server`?");
  expect(detail({ server: { prot: 1 } })).toBe("there is no setting `server.prot`; did you mean `port`?");
  expect(detail(schedule({ time_zone: "UTC" }))).toBe("there is no setting `schedules.x.time_zone`; did you mean `timezone`?");
  expect(detail(webhook({ xyzzy: 1 }))).toContain("there is no setting `webhooks.x.xyzzy`; known: agent, path");
});
