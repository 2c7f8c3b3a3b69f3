/**
 * `orgate up`: the server of a project, until it is told to go.
 * W170 a link to sign in with is printed until the operator has signed in, and when it is asked for: a log of restarts is no bunch of keys.
 * W171 `--check` loads all that the server would, says what is wrong and where, and opens nothing.
 * W86 the first SIGTERM or SIGINT lets turns finish or parks them and closes with a reason; the second leaves at once, which loses nothing (rule 3).
 */
import { FaultError, millis } from "@orgate/core";
import { openApi } from "@orgate/core/wire";
import { hasSignedIn } from "../access-book.ts";
import { EXIT, type Given, type Run } from "../cli/command.ts";
import type { Screen } from "../cli/screen.ts";
import { count } from "../cli/table.ts";
import { openCalendar, openRequestKeys, secretStore } from "../compose.ts";
import type { Config } from "../config.ts";
import { type Identity, openIdentity } from "../coordinator/auth.ts";
import { type Coordinator, type Declares, openCoordinator } from "../coordinator/coordinator.ts";
import { connectDesk, DESK_SURFACES, desksOf } from "../coordinator/desk.ts";
import { type Level, type Log, openLog } from "../coordinator/logs.ts";
import { identityHandlers, sitePages } from "../coordinator/site.ts";
import { socketsOf } from "../coordinator/sockets.ts";
import type { CoordinatorTools } from "../coordinator/tools.ts";
import type { Policies } from "../policies.ts";
import { watchPolicies } from "../policy-record.ts";
import { loadProjectAgents } from "../project-agents.ts";
import { createRuntime, type Runtime } from "../runtime.ts";
import { schedulesIn, webhookSecrets, webhooksIn } from "../schedules/declaring.ts";
import { secretsFrom } from "../secrets.ts";
import { version } from "../version.ts";
import { notifyOf, tellReload } from "./driving.ts";
import { certified, personOf, policiesFor, positive, projectOf } from "./project.ts";

export const up: Run = async (given, screen) => {
  const config = projectOf(given);
  const { host, port } = placeOf(given, config);
  const log = logOf(given, screen);
  const loaded = await loadProjectAgents(config, "wanted", given.env);
  const agents = loaded.agents.map(({ agent }) => agent);
  const gate = policiesFor(config, agents, "api");
  const person = personOf(given, screen);
  const sources = { config, agents: loaded.agents, symbi: loaded.sources.map(({ symbi }) => symbi), owner: person.name };
  const [schedules, webhooks] = [schedulesIn(sources, openCalendar()), webhooksIn(sources)];
  if (given.flag("check")) {
    await loaded.mcp?.hub.close();
    return would(given, screen, loaded.agents.length, gate);
  }
  const secrets = await webhookSecrets(webhooks, secretsFrom(secretStore(config.journal.directory), given.env, null), given.env);
  const principal = { kind: "user", id: person.name } as const;
  const { directory, synchronous } = config.journal;
  const notify = notifyOf(given, screen, config);
  const runtime = await createRuntime({
    directory,
    agents,
    gate,
    principal,
    surface: "api",
    surfaces: DESK_SURFACES,
    thread: "worker",
    synchronous,
    env: given.env,
    folder: config.root,
    project: config.name,
    ...(notify === null ? {} : { notify }),
    ...(config.knowledge.embedding === null ? {} : { embedding: config.knowledge.embedding }),
  });
  let at: Coordinator | null = null;
  try {
    await certified(given, screen, runtime.place, person);
    const origins = (): readonly string[] => originsOf(config, at?.url ?? `http://${host}:${port}`);
    const identity = await openIdentity({
      place: runtime.place,
      directory,
      gate,
      now: () => millis(Date.now()),
      origins,
      desks: desksOf(agents, loaded.desk),
    });
    at = await serving({
      config,
      runtime,
      identity,
      desk: loaded.desk,
      log,
      host,
      port,
      origins,
      declares: { schedules, webhooks, secrets, by: principal },
    });
    const unwatch = given.flag("watch") ? watchPolicies(gate, tellReload(given, screen)) : () => {};
    await announce(given, screen, { at, identity, person: person.name, config });
    const landed = await untilTold(log, at);
    unwatch();
    identity.close();
    await loaded.mcp?.hub.close();
    if (!landed) process.exit(EXIT.failure); // what is in flight ends with the process, and is dealt with at the next start
    await runtime.close();
    return EXIT.success;
  } catch (error) {
    await loaded.mcp?.hub.close();
    await runtime.close();
    throw error;
  }
};

type Serving = Readonly<{
  config: Config;
  runtime: Runtime;
  identity: Identity;
  desk: CoordinatorTools;
  log: Log;
  host: string;
  port: number;
  origins(): readonly string[];
  declares: Declares;
}>;

async function serving({ config, runtime, identity, desk, log, host, port, origins, declares }: Serving): Promise<Coordinator> {
  const description = openApi(version());
  return openCoordinator({
    runtime,
    access: identity,
    keys: openRequestKeys(config.journal.directory),
    host,
    port,
    version: version(),
    describe: () => description, // for anybody: made once
    config,
    names: config.server.names,
    atOnce: config.server.turnsAtOnce,
    log,
    declares,
    pages: sitePages(identity, origins, version()),
    more: (front) => {
      connectDesk(desk, front, identity);
      const live = socketsOf(front, identity, log);
      return { handlers: { ...identityHandlers(identity), ...live.handlers }, talks: live.talks };
    },
  });
}

/** What it is called: by its address, and by the names that a proxy gives it. */
function originsOf({ server }: Config, url: string): readonly string[] {
  const port = new URL(url).port;
  const local = ["127.0.0.1", "localhost", "[::1]"].map((name) => `http://${name}:${port}`);
  return [...new Set([url, ...local, ...server.names.filter((name) => name !== "*").map((name) => `https://${name}`)])];
}

function placeOf(given: Given, { server }: Config): Readonly<{ host: string; port: number }> {
  const text = given.text("port");
  const port = text === null ? server.port : text === "0" ? 0 : positive(text, "--port");
  if (port > 65_535)
    throw new FaultError({ kind: "usage", detail: `--port is \`${port}\``, hint: "use a number up to 65535; 0 takes a free one" });
  const host = given.text("host") ?? server.host;
  if (!/^[^\s/]+$/.test(host))
    throw new FaultError({
      kind: "usage",
      detail: `--host is \`${host}\``,
      hint: "name an address or a name of this machine: 127.0.0.1, or 0.0.0.0 for all",
    });
  return { host, port };
}

function logOf(given: Given, screen: Screen): Log {
  const least = LEVELS.find((level) => level === given.text("log")) ?? (screen.isAsideTerminal ? "warn" : "info");
  return openLog({ write: (line) => screen.aside(line.trimEnd()), now: Date.now, least });
}
const LEVELS: readonly Level[] = ["debug", "info", "warn", "error"];

function would(given: Given, screen: Screen, agents: number, gate: Policies): number {
  const { digest } = gate.current();
  if (given.json) screen.line(JSON.stringify({ loads: true, agents, policies: digest }));
  else screen.line(`it loads: ${count(agents, "agent")}, policies ${digest.slice(0, 12)}`);
  return EXIT.success;
}

type Announced = Readonly<{ at: Coordinator; identity: Identity; person: string; config: Config }>;
async function announce(given: Given, screen: Screen, { at, identity, person, config }: Announced): Promise<void> {
  const isDue = given.flag("link") || !hasSignedIn(await identity.book.refresh(), person);
  const link = !isDue ? null : await identity.link(person, { kind: "user", id: person });
  if (given.json) return screen.line(JSON.stringify({ url: at.url, port: at.port, signIn: link, pid: process.pid }));
  screen.line(`${screen.paint("strong", config.name)} is up at ${at.url}`);
  if (link !== null) screen.line(`sign in as ${person}, once, within 15 minutes: ${link}`);
  const elsewhere = at.port === config.server.port ? "" : ` --url ${at.url}`;
  const another = link === null ? ` · a link to sign in: orgate keys create ${person} --link${elsewhere}` : "";
  screen.line(
    screen.paint(
      "dim",
      `API ${at.url}/docs${another} · keys: orgate keys --help · Ctrl-C ends it: turns finish, or go on at the next start`,
    ),
  );
}

/** True when everything had landed. */
function untilTold(log: Log, at: Coordinator): Promise<boolean> {
  const { promise, resolve, reject } = Promise.withResolvers<boolean>();
  let isLeaving = false;
  const onSignal = (signal: NodeJS.Signals): void => {
    log("info", "signal", { signal });
    if (isLeaving) process.exit(EXIT.interrupted);
    isLeaving = true;
    at.leave().then(resolve, reject);
  };
  process.on("SIGTERM", onSignal);
  process.on("SIGINT", onSignal);
  if (process.connected) process.once("disconnect", () => onSignal("SIGTERM")); // whoever started it has gone
  return promise;
}
