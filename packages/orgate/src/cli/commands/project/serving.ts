/**
 * A project that is served from this process: its agents and policies loaded, its runtime opened, a coordinator around it. `orgate up` serves everybody,
 * the shell serves itself; what they serve is the same.
 */
import { millis } from "@orgate/core";
import { openApi } from "@orgate/protocol";
import type { Given, Screen } from "@orgate/shell/terminal";
import { loadRunners } from "@orgate/toolclad/running";
import type { Config } from "../../../config/config.ts";
import { version } from "../../../node/version.ts";
import { errorText, type Log } from "../../../operations/logs.ts";
import type { RunnableProject } from "../../../project/load.ts";
import type { Runtime } from "../../../runtime/api.ts";
import { loadProjectPorts } from "../../../runtime/ports/project-ports.ts";
import { createRuntime } from "../../../runtime/runtime.ts";
import { openCalendar } from "../../../schedules/calendar.ts";
import { readSchedules, readWebhooks } from "../../../schedules/declaring.ts";
import { openProjectHookSecrets } from "../../../schedules/webhook-secrets.ts";
import { connectDesk, DESK_SURFACES, findCoordinatorAgents } from "../../../server/coordinator-tools.ts";
import { identityHandlers, sitePages } from "../../../server/http/site.ts";
import { type Identity, openIdentity } from "../../../server/identity/auth.ts";
import type { Access } from "../../../server/identity/authentication.ts";
import { openSockets } from "../../../server/live/sockets.ts";
import { type Coordinator, type CoordinatorOptions, type Declares, openCoordinator } from "../../../server/start.ts";
import type { Person } from "../../../store/keyring.ts";
import { findClusterWeaknesses } from "../../../store/open-cluster.ts";
import { makeNotify, tellReload, tellWarnings } from "../sessions/run.ts";
import { certifyIfNeeded } from "./project.ts";
import { tell } from "./read-only.ts";

/** Schedules and webhooks that its files and settings declare. */
export type ServedDeclarations = Readonly<Pick<Declares, "schedules" | "webhooks">>;
export function declaredIn({ config, project }: RunnableProject, owner: string): ServedDeclarations {
  const sources = { config, agents: project.agents, files: project.sources, owner };
  return { schedules: readSchedules(sources, openCalendar()), webhooks: readWebhooks(sources) };
}

export type ServingOptions = Readonly<{
  loaded: RunnableProject;
  person: Person;
  /** Null: schedules are only shown; the server that serves everybody fires them. */
  declared: ServedDeclarations | null;
  host: string;
  port: number;
  role?: CoordinatorOptions["role"];
  log: Log;
  /** Who else is let in; the project's identities unless given. */
  access?(identity: Identity, person: Person): Promise<Access>;
}>;
export type Served = Readonly<{
  at: Coordinator;
  runtime: Runtime;
  identity: Identity;
  person: Person;
  /** After the coordinator has left. */
  close(): Promise<void>;
  /** The same where something has not landed, and the process has to end: the journal stays open until it does. */
  letGo(): Promise<void>;
}>;

export async function openServing(given: Given, screen: Screen, options: ServingOptions): Promise<Served> {
  const { loaded, person, declared, host, port, log, access, role = "server" } = options;
  const { config, project, agents, gate } = loaded;
  await loadRunners();
  const declares = declared === null ? null : await openDeclared(given, { config, person, log }, declared);
  const runtime = await openProjectRuntime(given, screen, loaded, person);
  const origins = (): readonly string[] => originsOf(config, at?.url ?? `http://${host}:${port}`);
  let at: Coordinator | null = null;
  try {
    await certifyIfNeeded(given, screen, runtime.place, person);
    const { directory } = config.journal;
    const desks = findCoordinatorAgents(agents, project.coordinator);
    const chatKeys = config.server.chatKeysInUrl ? { chatKeyUsed: (user: string) => log("warn", "chat-key.used", { user }) } : {};
    const identity = await openIdentity({
      place: runtime.place,
      directory,
      gate,
      now: () => millis(Date.now()),
      origins,
      coordinators: desks,
      ...chatKeys,
    });
    const door = access === undefined ? identity : await access(identity, person);
    at = await coordinatorOf({ loaded, runtime, identity, door, log, host, port, role, origins, declares });
    if (config.server.chatKeysInUrl) log("warn", "chat-keys.in-url", { path: "/ws/chat", setting: "server.chat_keys_in_url" });
    tellWarnings(given, screen, gate);
    const untold = gate.onTakenUp(tellReload(given, screen));
    const letGo = async (): Promise<void> => {
      untold();
      identity.close();
      await project.mcp?.hub.close();
    };
    const close = async (): Promise<void> => {
      await letGo();
      await runtime.close();
    };
    return { at, runtime, identity, person, letGo, close };
  } catch (error) {
    await project.mcp?.hub.close();
    await runtime.close();
    throw error;
  }
}

async function openDeclared(
  given: Given,
  { config, person, log }: Readonly<{ config: Config; person: Person; log: Log }>,
  declared: ServedDeclarations,
): Promise<Declares> {
  const failed = (error: unknown): void => log("error", "webhook.secrets", { error: errorText(error) });
  const secrets = await openProjectHookSecrets(config.journal.directory, declared.webhooks, given.env, failed);
  return { ...declared, secrets, by: { kind: "user", id: person.name } };
}

/** The project's runtime as the server has it: its ports, surfaces, notices and embedding. */
export async function openProjectRuntime(
  given: Given,
  screen: Screen,
  { config, agents, gate, surface }: RunnableProject,
  { name }: Person,
): Promise<Runtime> {
  const notify = makeNotify(given, screen, config);
  const { embedding } = config.knowledge;
  const { cluster } = config.journal;
  const runtime = await createRuntime({
    directory: config.journal.directory,
    agents,
    gate,
    principal: { kind: "user", id: name },
    surface,
    surfaces: DESK_SURFACES,
    thread: "worker",
    powerCut: config.journal.powerCut,
    sealing: config.journal.sealing,
    cluster,
    env: given.env,
    folder: config.root,
    project: config.name,
    ...(notify === null ? {} : { notify }),
    ...(embedding === null ? {} : { embedding }),
    ...(await loadProjectPorts(config, given.env)),
  });
  if (cluster === null) return runtime;
  for (const weakness of await findClusterWeaknesses(cluster).catch(() => [])) tell(given, screen, weakness); // it was reached a moment ago
  return runtime;
}

type Around = Pick<ServingOptions, "loaded" | "log" | "host" | "port"> &
  Readonly<{
    role: NonNullable<CoordinatorOptions["role"]>;
    runtime: Runtime;
    identity: Identity;
    door: Access;
    origins(): readonly string[];
    declares: Declares | null;
  }>;

function coordinatorOf(around: Around): Promise<Coordinator> {
  const { runtime, identity, door, log, host, port, role, origins, declares } = around;
  const { config, project } = around.loaded;
  const description = openApi(version());
  return openCoordinator({
    runtime,
    access: door,
    host,
    port,
    role,
    version: version(),
    describe: () => description, // for anybody: made once
    config,
    names: config.server.names,
    proxies: config.server.proxies,
    atOnce: config.server.turnsAtOnce,
    log,
    ...(declares === null ? {} : { declares }),
    pages: sitePages(identity, origins, version()),
    more: (front, operations) => {
      connectDesk(project.coordinator, front, operations, identity);
      const live = openSockets(front, operations, door, log);
      return { handlers: { ...identityHandlers(identity), ...live.handlers }, talks: live.talks };
    },
  });
}

/** Its origins: its address, and the names that a proxy gives it. */
function originsOf({ server }: Config, url: string): readonly string[] {
  const port = new URL(url).port;
  const local = ["127.0.0.1", "localhost", "[::1]"].map((name) => `http://${name}:${port}`);
  return [...new Set([url, ...local, ...server.names.filter((name) => name !== "*").map((name) => `https://${name}`)])];
}
