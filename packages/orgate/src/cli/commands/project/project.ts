/** Shared by several commands: the project with its agents and policies, the person, and the helpers for read-only commands. */

import { userInfo } from "node:os";
import { resolve } from "node:path";
import { type Agent, type Attachment, FaultError, type Principal, type UserAct } from "@orgate/core";
import { isPersonName } from "@orgate/core/journal";
import { errorMessage } from "@orgate/core/vocab";
import type { Given, Screen } from "@orgate/shell/terminal";
import type { ReadManifests } from "@orgate/toolclad";
import type { Config } from "../../../config/config.ts";
import { fileAt } from "../../../files/file-input.ts";
import { requesterName } from "../../../identity/requester.ts";
import type { Env } from "../../../node/env.ts";
import type { Policies } from "../../../policies/policies.ts";
import { loadRunnableProject } from "../../../project/load.ts";
import { readProjectManifests } from "../../../project/manifest-source.ts";
import type { ProjectMcp } from "../../../project/project-mcp.ts";
import { assertMayAct } from "../../../runtime/people/approvals.ts";
import { openPeopleGate } from "../../../runtime/people/people-gate.ts";
import { type OpenProjectStore, openProjectStore } from "../../../runtime/ports/project-store.ts";
import type { Person } from "../../../store/keyring.ts";
import { openPersons } from "../../../store/open-read-only.ts";
import { tell } from "./read-only.ts";

/** Its manifests, with all that is wrong with them. */
export const manifestsIn = ({ root, tools }: Pick<Config, "root" | "tools">): ReadManifests => readProjectManifests(root, tools);

/** With the right to append. */
export async function writingProject<T>(config: Pick<Config, "journal">, work: (place: OpenProjectStore) => Promise<T>): Promise<T> {
  const place = await openProjectStore({ ...config.journal, thread: "main" });
  try {
    return await work(place);
  } finally {
    await place.close();
  }
}

export * from "./read-only.ts";

export type CommandProject = Readonly<{
  config: Config;
  agents: readonly Agent[];
  gate: Policies;
  /** Its MCP servers; null where no agent names one. */
  mcp: ProjectMcp | null;
}>;

/** The project with its policies, for a command. `running`: the one agent that will run (Y-15). */
export async function loadCommandProject(config: Config, env: Env, running: string | null = null): Promise<CommandProject> {
  const { project, agents, gate } = await loadRunnableProject(config, { env, surface: "cli", running });
  return { config, agents, gate, mcp: project.mcp };
}

/** A-6 who runs a command is --as, else $ORGATE_USER, else the only key there is, else a key that is made for the user of the machine. */
export function findCaller(given: Given, screen: Screen): Person {
  const persons = openPersons(given.env);
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

/** `what`: the act in words, for the refusal. */
type PersonAct = Readonly<{ act: UserAct; what: string }>;

/** A-10 The person who runs the command, if the policies permit the act; throws otherwise, before anything is written. */
export async function permittedPerson(given: Given, screen: Screen, config: Config, { act, what }: PersonAct): Promise<Person> {
  const gate = ON_PROJECT.has(act.kind) ? openPeopleGate(config) : (await loadCommandProject(config, given.env)).gate;
  const person = findCaller(given, screen);
  assertMayAct(gate, person, act, what);
  return person;
}
/** Acts on the project or a person: neither agents nor tools matter to them. */
const ON_PROJECT: ReadonlySet<UserAct["kind"]> = new Set(["acknowledge", "manage-keys", "trust", "give-access"]);

/** A session as a policy sees it. */
export const sessionAct = <K extends "say" | "steer" | "cancel" | "close" | "erase">(
  kind: K,
  { session, agent, principal }: Readonly<{ session: string; agent: string; principal: Principal }>,
) => ({ kind, session, agent, requester: requesterName(principal) });

/** A person who may read the project's root key may certify; the journal records it. */
export async function certifyIfNeeded(
  given: Given,
  screen: Screen,
  place: Pick<OpenProjectStore, "keyring">,
  { name, key }: Person,
): Promise<void> {
  if ((await place.keyring.refresh()).keys.has(key.id) && place.keyring.ring().keys.get(key.id)?.withdrawn === null) return;
  await place.keyring.certifyPerson(name, key.publicKey);
  tell(given, screen, `certified ${key.id} as the key of \`${name}\` in this project`);
}

/** Files named by `--file`, relative to the folder that the command was given in. */
export const readGivenFiles = (given: Given): readonly Attachment[] => given.texts("file").map((path) => fileAt(resolve(given.cwd, path)));

/** TEXT, or what comes on stdin for `-`. */
export async function causeText(given: string, what: string, screen: Screen): Promise<string> {
  const text = given === "-" ? await fromInput(screen) : given;
  if (text.trim() === "") throw new FaultError({ kind: "usage", detail: `${what} is empty`, hint: "say something" });
  return text;
}

async function fromInput(screen: Screen): Promise<string> {
  try {
    return (await screen.readInput()).replace(/\r?\n$/, "");
  } catch (error) {
    const detail = `stdin cannot be read: ${errorMessage(error)}`;
    throw new FaultError({ kind: "usage", detail, hint: "pipe UTF-8 text of at most 1 MiB into it" }, error);
  }
}
