/** What several commands need: the project, the person, the session that was meant. */
import { userInfo } from "node:os";
import { resolve } from "node:path";
import { type Agent, type Attachment, FaultError, isFault, isSessionId, type SessionId, type Surface } from "@orgate/core";
import { isPersonName, type Journal, type SessionSummary } from "@orgate/core/journal";
import type { Given } from "../cli/command.ts";
import type { Screen } from "../cli/screen.ts";
import {
  hasJournal,
  isManifest,
  type Look,
  mustHaveSkills,
  openLook,
  openPlace,
  openProject,
  type Person,
  type Place,
  personsOf,
  type ReadManifests,
  readManifests,
} from "../compose.ts";
import type { Config } from "../config.ts";
import { fileAt } from "../file-input.ts";
import { openPolicies, type Policies } from "../policies.ts";
import { loadProjectAgents } from "../project-agents.ts";
import type { ProjectMcp } from "../project-mcp.ts";
import type { Env } from "../secrets.ts";

export const projectOf = (given: Given): Config => openProject(given.project, given.cwd);

/** Its manifests, with all that is wrong with them. */
export const manifestsIn = ({ root, tools }: Pick<Config, "root" | "tools">): ReadManifests =>
  readManifests(root, tools.filter(isManifest));

/** Reads, and closes whatever happens. */
export async function looking<T>(given: Given, work: (look: Look, config: Config) => Promise<T>): Promise<T> {
  const config = projectOf(given);
  const look = openLook(config.journal.directory);
  try {
    return await work(look, config);
  } finally {
    await look.close();
  }
}

/** The same where there may be nothing to look at yet: a project's journal begins with its first run. */
export const lookingIfAny = <T>(given: Given, work: (look: Look) => Promise<T>, none: () => T): Promise<T> | T =>
  hasJournal(projectOf(given).journal.directory) ? looking(given, work) : none();

/** With the right to append. */
export async function writing<T>(config: Pick<Config, "journal">, work: (place: Place) => Promise<T>): Promise<T> {
  const { directory, synchronous } = config.journal;
  const place = await openPlace({ directory, thread: "main", synchronous });
  try {
    return await work(place);
  } finally {
    await place.close();
  }
}

export type Desk = Readonly<{
  config: Config;
  agents: readonly Agent[];
  gate: Policies;
  /** Its MCP servers; null where no agent names one. */
  mcp: ProjectMcp | null;
}>;

/**
 * Everything that can be wrong with a project is found here, before anything is opened for writing. `running`: the one agent that is to be run; then the files of others, its delegates'
 * aside, are read and compiled, but not checked a second time by Cedar (Y62).
 */
export async function deskOf(config: Config, env: Env, running: string | null = null): Promise<Desk> {
  const loaded = await loadProjectAgents(config, "wanted", env);
  const agents = loaded.agents.map(({ agent }) => agent);
  const gate = policiesFor(config, agents, "cli", running === null ? undefined : withDelegates(running, agents));
  return { config, agents, gate, mcp: loaded.mcp };
}

/** It, whom it may delegate to, and whom they may. */
function withDelegates(name: string, agents: readonly Agent[]): ReadonlySet<string> {
  const found = new Set<string>();
  const left = [name];
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    if (found.has(next)) continue;
    found.add(next);
    left.push(...(agents.find((agent) => agent.name === next)?.delegates ?? []));
  }
  return found;
}

/** A policy about a server's tools, or about one that is wrong as it is written, may not load: then that is what is wrong, and not the policy. */
export function policiesFor(config: Config, agents: readonly Agent[], surface: Surface, only?: ReadonlySet<string>): Policies {
  try {
    return openPolicies(config, agents, surface, only);
  } catch (error) {
    if (isFault(error, "policies-refused"))
      agents.filter((a) => a.missingServers.length + a.missingTools.length > 0).forEach(mustHaveSkills);
    throw error;
  }
}

/** A16 who runs a command is --as, else $ORGATE_USER, else the only key there is, else a key that is made for the user of the machine. */
export function personOf(given: Given, screen: Screen): Person {
  const persons = personsOf(given.env);
  const named = given.text("as") ?? (given.env.ORGATE_USER || null);
  const names = persons.names();
  if (named !== null) {
    if (names.includes(named) || !isPersonName(named)) return persons.open(named);
    throw new FaultError({
      kind: "key-bad",
      key: named,
      detail: `there is no such key in ${persons.home}`,
      hint: `\`orgate keys create ${named}\` makes one${names.length === 0 ? "" : `; there are: ${names.join(", ")}`}`,
    });
  }
  const [only, ...others] = names;
  if (only === undefined) {
    const person = persons.create(machineUser());
    tell(given, screen, `made a key for \`${person.name}\`, ${person.key.id}, in ${persons.home}: it signs what you ask of sessions`);
    return person;
  }
  if (others.length === 0) return persons.open(only);
  throw new FaultError({
    kind: "usage",
    detail: `you have several keys: ${names.join(", ")}`,
    hint: "say who you are with --as NAME or $ORGATE_USER",
  });
}

function machineUser(): string {
  let name = "";
  try {
    name = userInfo()
      .username.toLowerCase()
      .replaceAll(/[^a-z0-9_-]/g, "-")
      .slice(0, 32);
  } catch {
    // an account without a name
  }
  return isPersonName(name) ? name : "operator";
}

/** Whoever may read the project's root key may certify; the journal says that it was done. */
export async function certified(given: Given, screen: Screen, place: Pick<Place, "keyring">, { name, key }: Person): Promise<void> {
  if ((await place.keyring.refresh()).keys.has(key.id) && place.keyring.ring().keys.get(key.id)?.withdrawn === null) return;
  await place.keyring.certifyPerson(name, key.publicKey);
  tell(given, screen, `certified ${key.id} as the key of \`${name}\` in this project`);
}

/** Beside the result: on stderr, as JSON where JSON was asked for. */
export function tell(given: Given, screen: Screen, text: string): void {
  screen.aside(given.json ? JSON.stringify({ note: text }) : screen.paintAside("dim", text));
}

const PAGE = 500;
const SHORTEST = 4;

/** A15 an id may be shortened to its beginning or its end, as long as it means one session; one's own id is written whole. */
export async function sessionOf(journal: Pick<Journal, "session" | "find" | "sessions">, text: string): Promise<SessionSummary> {
  const exact = isSessionId(text) ? await journal.session(text) : await journal.find(text);
  if (exact !== null) return exact;
  const found: SessionSummary[] = [];
  const part = text.replace(/^s_/, "");
  const isMeant = (id: SessionId): boolean => id.startsWith(`s_${part}`) || (!text.startsWith("s_") && id.endsWith(part));
  if (part.length >= SHORTEST) {
    for (let before: { openedAt: SessionSummary["openedAt"]; session: SessionId } | null = null; ; ) {
      const page: readonly SessionSummary[] = await journal.sessions({ state: null, agent: null, before, most: PAGE });
      found.push(...page.filter(({ session }) => isMeant(session)));
      const last = page.at(-1);
      if (last === undefined || page.length < PAGE) break;
      before = last;
    }
  }
  const [one, ...others] = found;
  if (one === undefined) throw new FaultError({ kind: "session-unknown", session: text });
  if (others.length === 0) return one;
  const some = found.slice(0, 3).map(({ session }) => session);
  throw new FaultError({
    kind: "usage",
    detail: `\`${text}\` is the beginning or end of ${found.length} sessions`,
    hint: `write more of it: ${some.join(", ")}${found.length > some.length ? ", …" : ""}`,
  });
}

/** What `--file` names, from where the command was given. */
export const filesOf = (given: Given): readonly Attachment[] => given.texts("file").map((path) => fileAt(resolve(given.cwd, path)));

/** TEXT, or what comes on stdin for `-`. */
export async function textOf(given: string, what: string, screen: Screen): Promise<string> {
  const text = given === "-" ? await fromInput(screen) : given;
  if (text.trim() === "") throw new FaultError({ kind: "usage", detail: `${what} is empty`, hint: "say something" });
  return text;
}

async function fromInput(screen: Screen): Promise<string> {
  try {
    return (await screen.readInput()).replace(/\r?\n$/, "");
  } catch (error) {
    const detail = `stdin cannot be read: ${error instanceof Error ? error.message : String(error)}`;
    throw new FaultError({ kind: "usage", detail, hint: "pipe UTF-8 text of at most 1 MiB into it" }, error);
  }
}

export function positive(text: string, what: string): number {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
  throw new FaultError({ kind: "usage", detail: `${what} is \`${text}\``, hint: "use a whole number of at least 1" });
}
