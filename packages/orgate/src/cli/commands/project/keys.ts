import { FaultError, isFault, type KeyHolder, type KeyId, type Principal } from "@orgate/core";
import type { Screen } from "@orgate/shell/terminal";
import { type Cell, EXIT, type Given, type RunCommand, table } from "@orgate/shell/terminal";
import type { Config } from "../../../config/config.ts";
import { openAccessStore } from "../../../identity/access-store.ts";
import { secretPort } from "../../../identity/secret-hash.ts";
import { NODE } from "../../../runtime/ports/outside.ts";
import { listServerKeys } from "../../../server/identity/operators.ts";
import type { Person } from "../../../store/keyring.ts";
import { openPersons, type ReadOnlyStore } from "../../../store/open-read-only.ts";
import { accessIn, assertMayTakeAccess, giveAccess, showAccess, toAccessView } from "./keys-access.ts";
import {
  certifyIfNeeded,
  findCaller,
  openGivenProject,
  permittedPerson,
  withReadOnlyStore,
  withReadOnlyStoreIfAny,
  writingProject,
} from "./project.ts";

export const create: RunCommand = async (given, screen) => {
  if (given.flag("api") && given.flag("link"))
    throw new FaultError({ kind: "usage", detail: "--api and --link are two things", hint: "make them one after the other" });
  if (given.flag("api") || given.flag("link")) return giveAccess(given, screen);
  const idle = ["agents", "actions", "expires", "note", "url"].find((option) => given.text(option) !== null);
  if (idle !== undefined)
    throw new FaultError({
      kind: "usage",
      detail: `--${idle} is for --api or --link`,
      hint: "a key pair is limited by the policies alone",
    });
  const config = projectIfAny(given); // a project that is there and broken is refused before anything is made
  const persons = openPersons(given.env);
  const person = persons.create(given.args[0] ?? "");
  if (config !== null) await writingProject(config, (place) => place.keyring.certifyPerson(person.name, person.key.publicKey));
  if (given.json) {
    const { id, publicKey } = person.key;
    screen.line(JSON.stringify({ name: person.name, key: id, publicKey, home: persons.home, certified: config !== null }));
    return EXIT.success;
  }
  screen.line(`made ${person.key.id} for ${person.name}, in ${persons.home}`);
  screen.line(config === null ? "no project here: it is certified where it is first used" : `certified in project ${config.name}`);
  return EXIT.success;
};

function projectIfAny(given: Given): Config | null {
  try {
    return openGivenProject(given);
  } catch (error) {
    if (isFault(error, "project-missing")) return null;
    throw error;
  }
}

export const listKeys: RunCommand = (given, screen) =>
  Promise.resolve(
    withReadOnlyStoreIfAny(
      given,
      (look) => listIn(look, given, screen),
      () => {
        screen.line(given.json ? "[]" : "no key yet: a project's keys are made by its first run");
        return EXIT.success;
      },
    ),
  );

async function listIn(look: ReadOnlyStore, given: Given, screen: Screen): Promise<number> {
  const ring = await look.keys();
  const root = ring.roots.at(-1);
  const mine = new Set(ownKeys(given));
  const keys = [...ring.keys.values()].map((key) => ({
    ...key,
    holder: key.of.kind === "root" ? "root" : key.of.kind === "writer" ? `writer ${key.of.writer}` : key.of.name,
    state: key.withdrawn !== null ? "withdrawn" : key.of.kind === "root" && key.key !== root ? "replaced" : "valid",
    yours: mine.has(key.key),
  }));
  const access = await accessIn(look, given.flag("all"));
  if (given.json) {
    screen.line(JSON.stringify([...keys.map(({ of: _, ...key }) => key), ...access.map(toAccessView)]));
    return EXIT.success;
  }
  const rows = keys.map((key): readonly Cell[] => [
    key.key,
    `${key.holder}${key.yours ? " (you)" : ""}`,
    { text: key.state, tone: key.state === "valid" ? "good" : "dim" },
    new Date(key.since).toISOString(),
    key.publicKey,
  ]);
  for (const line of table(["key", "of", "state", "since", "public key"], rows, screen.paint)) screen.line(line);
  if (access.length > 0) {
    screen.line("");
    showAccess(access, screen);
  }
  return EXIT.success;
}

/** A broken key of the caller's own does not hide the others'. */
function ownKeys(given: Given): readonly string[] {
  const persons = openPersons(given.env);
  return persons.names().flatMap((name) => {
    try {
      return [persons.open(name).key.id];
    } catch (error) {
      if (isFault(error, "key-bad")) return [];
      throw error;
    }
  });
}

/** A-11 With a person's key goes all that stands for that person: what the server holds for them first, so that a cut leaves nobody let in. */
export const withdrawKey: RunCommand = async (given, screen) => {
  const config = openGivenProject(given);
  const [key = ""] = given.args;
  const reason = given.text("reason")?.trim() ?? "";
  if (reason === "") throw new FaultError({ kind: "usage", detail: "--reason is missing", hint: "say why: the journal keeps it" });
  const { one, of } = await withReadOnlyStore(given, async (look) => meantKey(look, key));
  const person = findCaller(given, screen);
  if (person.key.id !== one && !(of.kind === "person" && of.name === person.name))
    await assertMayWithdraw(given, screen, { config, person, of });
  return writingProject(config, async (place) => {
    if (person.key.id !== one) await certifyIfNeeded(given, screen, place, person);
    const by: Principal = { kind: "user", id: person.name };
    const { keys } = await place.keyring.refresh();
    const counting = (id: KeyId): boolean => keys.get(id)?.withdrawn === null;
    const held = of.kind === "person" ? listServerKeys(config.journal.directory, of.name).filter(counting) : [];
    const ended = [...new Set([...held, ...(counting(one) ? [one] : [])])];
    for (const id of ended) await place.keyring.withdraw(id, by, reason);
    const book = openAccessStore({ journal: place.store.journal, secrets: secretPort, now: NODE.clock.now });
    const revoked = of.kind === "person" ? await book.revokeAll(of.name, by) : [];
    if (ended.length + revoked.length === 0)
      throw new FaultError({
        kind: "usage",
        detail: `\`${one}\` was withdrawn before: nothing was done`,
        hint: "`orgate keys list` shows what counts",
      });
    const left = [...place.keyring.ring().keys.values()].filter((k) => of.kind === "person" && isOf(k.of, of.name) && k.withdrawn === null);
    if (given.json) screen.line(JSON.stringify({ withdrawn: one, reason, ended, revoked, left: left.map((k) => k.key) }));
    else {
      for (const id of ended) screen.line(`${id} counts no more${held.includes(id) ? ": the server held it for them" : ""}`);
      for (const access of revoked) screen.line(`${access} is revoked`);
      for (const k of left) screen.line(`${k.key} is theirs too, and still counts: \`orgate keys withdraw ${k.key} --reason WHY\` ends it`);
    }
    return EXIT.success;
  });
};

const isOf = (of: KeyHolder, name: string): boolean => of.kind === "person" && of.name === name;

async function meantKey(look: ReadOnlyStore, key: string): Promise<Readonly<{ one: KeyId; of: KeyHolder }>> {
  const found = [...(await look.keys()).keys.values()].filter(({ key: id }) => id === key || id.startsWith(key));
  const [one, ...others] = found;
  if (others.length > 0)
    throw new FaultError({ kind: "usage", detail: `\`${key}\` is the beginning of ${found.length} keys`, hint: "write more of it" });
  if (one !== undefined) return { one: one.key, of: one.of };
  throw new FaultError({
    kind: "key-bad",
    key,
    detail: "it is not certified in this project",
    hint: "`orgate keys list` shows those that are",
  });
}

type Withdrawal = Readonly<{ config: Config; person: Person; of: KeyHolder }>;

/** Withdrawing a key is the safe direction: it does not wait for broken policies to be repaired. */
async function assertMayWithdraw(given: Given, screen: Screen, { config, person, of }: Withdrawal): Promise<void> {
  if (of.kind !== "person")
    return void (await permittedPerson(given, screen, config, { act: { kind: "manage-keys" }, what: "withdraw this key" }));
  assertMayTakeAccess(given, screen, { config, person, of: of.name, what: `withdraw the key of \`${of.name}\`` });
}
