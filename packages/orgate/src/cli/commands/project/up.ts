/**
 * `orgate up`: the server of a project, until it is stopped.
 * W-34 a link to sign in with is printed until the operator has signed in, and when it is asked for: a log of restarts is no bunch of keys.
 * W-15 keys in the address of `/ws/chat` are taken on an address of this machine alone: TLS is a proxy's work, and is in front of that.
 * W-29 the first SIGTERM or SIGINT lets turns finish or parks them and closes with a reason; the second leaves at once, which loses nothing (rule 3).
 * Rule: W-33.
 */
import { type Agent, describeFault, type Fault, FaultError } from "@orgate/core";
import type { Screen } from "@orgate/shell/terminal";
import { count, EXIT, type Given, type RunCommand, visible } from "@orgate/shell/terminal";
import { programWarnings } from "@orgate/toolclad/running";
import type { Config } from "../../../config/config.ts";
import { writeServerAddress } from "../../../files/server-address.ts";
import { hasSignedIn } from "../../../identity/access-store.ts";
import { type Level, type Log, openLog } from "../../../operations/logs.ts";
import type { Policies } from "../../../policies/policies.ts";
import { problemLine, watchPolicies } from "../../../policies/policy-record.ts";
import { loadRunnableProject } from "../../../project/load.ts";
import { openProjectHookSecrets } from "../../../schedules/webhook-secrets.ts";
import type { Identity } from "../../../server/identity/auth.ts";
import type { Coordinator } from "../../../server/start.ts";
import { tellReload } from "../sessions/run.ts";
import { findCaller, openGivenProject, positive } from "./project.ts";
import { declaredIn, openServing } from "./serving.ts";

export const up: RunCommand = async (given, screen) => {
  const config = openGivenProject(given);
  const { host, port } = placeOf(given, config);
  const log = logOf(given, screen);
  const loaded = await loadRunnableProject(config, { env: given.env, surface: "api" });
  const person = findCaller(given, screen);
  const declared = declaredIn(loaded, person.name);
  if (given.flag("check")) {
    await loaded.project.mcp?.hub.close();
    await openProjectHookSecrets(config.journal.directory, declared.webhooks, given.env, () => {}); // `dev` ends a server for one that starts
    return would(given, screen, loaded.agents, loaded.gate);
  }
  const served = await openServing(given, screen, {
    loaded,
    person,
    declared,
    host,
    port,
    log,
    role: given.flag("cluster") ? "coordinator" : "server",
  });
  const { at, identity } = served;
  const untell = writeServerAddress(config.journal.directory, at.url);
  try {
    const unwatch = given.flag("watch") ? watchPolicies(loaded.gate, tellReload(given, screen)) : () => {};
    await announce(given, screen, { at, identity, person: person.name, config });
    const stopped = config.journal.cluster === null ? null : served.runtime.place.store.stopped; // a file's server goes on showing what there is
    const landed = await untilTold(log, stopped, () => at.leave());
    unwatch();
    if (!landed) {
      await served.letGo();
      untell();
      process.exit(EXIT.failure); // what is in flight ends with the process, and is dealt with at the next start
    }
    await served.close();
    return EXIT.success;
  } catch (error) {
    await served.close();
    throw error;
  } finally {
    untell();
  }
};

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
  if (server.chatKeysInUrl && !LOOPBACK.test(host))
    throw new FaultError({
      kind: "usage",
      detail: `\`server.chat_keys_in_url\` is set, and \`${host}\` is no address of this machine alone: keys would cross the network in plain addresses`,
      hint: "bind to 127.0.0.1 behind a proxy with TLS, or take the setting out",
    });
  return { host, port };
}
const LOOPBACK = /^(?:localhost|::1|127\.\d{1,3}\.\d{1,3}\.\d{1,3})$/;

export function logOf(given: Given, screen: Screen): Log {
  const least = LEVELS.find((level) => level === given.text("log")) ?? (screen.isAsideTerminal ? "warn" : "info");
  return openLog({ write: (line) => screen.aside(line.trimEnd()), now: Date.now, least });
}
const LEVELS: readonly Level[] = ["debug", "info", "warn", "error"];

async function would(given: Given, screen: Screen, agents: readonly Agent[], gate: Policies): Promise<number> {
  const { digest, warnings: ofPolicies } = gate.current();
  const warnings = [...ofPolicies.map(problemLine), ...(await programWarnings(agents))];
  if (given.json) screen.line(JSON.stringify({ loads: true, agents: agents.length, policies: digest, warnings }));
  else {
    screen.line(`it loads: ${count(agents.length, "agent")}, policies ${digest.slice(0, 12)}`);
    for (const warning of warnings) screen.line(`${screen.paint("warn", "!")} ${visible(warning)}`);
  }
  return EXIT.success;
}

type Announced = Readonly<{ at: Coordinator; identity: Identity; person: string; config: Config }>;
async function announce(given: Given, screen: Screen, { at, identity, person, config }: Announced): Promise<void> {
  const isDue = given.flag("link") || !hasSignedIn(await identity.accesses.refresh(), person);
  const link = !isDue ? null : await identity.link(person, { kind: "user", id: person });
  if (given.json) return screen.line(JSON.stringify({ url: at.url, port: at.port, signIn: link, pid: process.pid }));
  screen.line(`${screen.paint("strong", config.name)} is up at ${at.url}`);
  if (link !== null) screen.line(`sign in as ${person}, once, within 15 minutes: ${link}`);
  const another = link === null ? ` · a link to sign in: orgate keys create ${person} --link` : "";
  screen.line(
    screen.paint(
      "dim",
      `API ${at.url}/docs${another} · keys: orgate keys --help · Ctrl-C ends it: turns finish, or go on at the next start`,
    ),
  );
}

/** True when everything had landed. `stopped`: where the journal takes nothing any more, there is nothing to wait for. */
export function untilTold(log: Log, stopped: Promise<Fault> | null, leave: () => Promise<boolean>): Promise<boolean> {
  const { promise, resolve, reject } = Promise.withResolvers<boolean>();
  void stopped?.then((fault) => {
    log("error", "journal.stopped", { error: describeFault(fault).message });
    resolve(false);
  });
  let isLeaving = false;
  const onSignal = (signal: NodeJS.Signals): void => {
    log("info", "signal", { signal });
    if (isLeaving) process.exit(EXIT.interrupted);
    isLeaving = true;
    leave().then(resolve, reject);
  };
  process.on("SIGTERM", onSignal);
  process.on("SIGINT", onSignal);
  if (process.connected) process.once("disconnect", () => onSignal("SIGTERM")); // whoever started it has gone
  return promise;
}
