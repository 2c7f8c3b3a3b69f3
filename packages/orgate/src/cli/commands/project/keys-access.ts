/**
 * API keys and links to sign in with: what stands for a person where there is no key pair to sign with.
 *
 * W-10 an API key or a link is given by a person whom the policies let `give-access` to that person; it expires unless set otherwise, its secret is shown
 *      once, and it is listed and revoked under its id. What is one's own one may always revoke; where the project's policies or agents do not load,
 *      any certified person may revoke, and the output says that no policy decided.
 */
import {
  type AccessId,
  describeFault,
  durationWords,
  FaultError,
  type Gate,
  isFault,
  type Millis,
  millis,
  type Principal,
} from "@orgate/core";
import { USER_ACTIONS } from "@orgate/core/gate";
import { type Access, accessEnd } from "@orgate/core/journal";
import { ACT_NAMES } from "@orgate/protocol";
import type { Screen } from "@orgate/shell/terminal";
import { type Cell, EXIT, type Given, type RunCommand, table, visible } from "@orgate/shell/terminal";
import type { Config } from "../../../config/config.ts";
import { readServerAddress } from "../../../files/server-address.ts";
import { type AccessStore, LINK_MS, type NewAccess, openAccessStore } from "../../../identity/access-store.ts";
import { secretPort } from "../../../identity/secret-hash.ts";
import { assertMayAct, certifyActor } from "../../../runtime/people/approvals.ts";
import { openPeopleGate } from "../../../runtime/people/people-gate.ts";
import { NODE } from "../../../runtime/ports/outside.ts";
import type { Person } from "../../../store/keyring.ts";
import type { ReadOnlyStore } from "../../../store/open-read-only.ts";
import { certifyIfNeeded, findCaller, loadCommandProject, openGivenProject, tell, withReadOnlyStore, writingProject } from "./project.ts";

const DAYS = "90d";
/** Where the project's own settings put its server. */
function hereOf({ server: { host, port } }: Config): string {
  const name = host === "0.0.0.0" || host === "::" ? "127.0.0.1" : host.includes(":") ? `[${host}]` : host;
  return `http://${name}:${port}`;
}

type At = Readonly<{ book: AccessStore; by: Principal }>;

/** The acting person is known and certified. */
async function acting(given: Given, screen: Screen, person: Person, work: (at: At) => Promise<number>): Promise<number> {
  return writingProject(openGivenProject(given), async (place) => {
    await certifyIfNeeded(given, screen, place, person);
    const by = await certifyActor({ place, person }, "give access");
    return work({ by, book: openAccessStore({ journal: place.store.journal, secrets: secretPort, now: NODE.clock.now }) });
  });
}

export async function giveAccess(given: Given, screen: Screen): Promise<number> {
  const desk = await loadCommandProject(openGivenProject(given), given.env);
  const person = findCaller(given, screen);
  return acting(given, screen, person, async ({ book, by }) => {
    const [to = ""] = given.args;
    const isLink = given.flag("link");
    const agents = named(
      given,
      "agents",
      desk.agents.map(({ name }) => name),
    );
    const actions = named(given, "actions", ACTIONS);
    const note = given.text("note")?.trim() ?? "";
    const until = isLink ? millis(NODE.clock.now() + LINK_MS) : untilOf(given.text("expires") ?? DAYS);
    const giving: NewAccess = { means: isLink ? "link" : "key", person: to, agents, actions, until, note, by };
    assertMayAct(desk.gate, person, { kind: "give-access", to }, `give access to \`${to}\``);
    const { access, token } = await book.give(giving);
    const running = given.text("url") ?? readServerAddress(desk.config.journal.directory);
    const shown = isLink ? `${addressOf(running ?? hereOf(desk.config))}/sign-in#${token}` : token;
    if (given.json) screen.line(JSON.stringify({ ...toAccessView(access), [isLink ? "link" : "token"]: shown }));
    else {
      screen.line(shown);
      screen.aside(screen.paintAside("dim", `${access.access} stands for ${visible(to)}, ${limitsText(access)}, ${untilText(access)}`));
      screen.aside(screen.paintAside("dim", isLink ? "it is good once" : "it is shown this once: keep it where secrets are kept"));
      if (isLink && running === null)
        screen.aside(screen.paintAside("warn", "no server of this project runs here: if yours has another address, say it with --url"));
    }
    return EXIT.success;
  });
}

/** A person's actions over the wire: those that an access can be limited to. */
const ACTIONS: readonly string[] = ACT_NAMES.filter((name) => Object.hasOwn(USER_ACTIONS, name));

function named(given: Given, option: string, all: readonly string[]): readonly string[] | null {
  const text = given.text(option);
  if (text === null) return null;
  const names = [...new Set(text.split(",").filter((name) => name !== ""))];
  const unknown = names.find((name) => !all.includes(name));
  if (unknown !== undefined) throw usage(`--${option}: there is no \`${unknown}\``, `there are: ${all.join(", ")}`);
  if (names.length === 0) throw usage(`--${option} is empty`, "leave it out for all of them");
  return names;
}

function untilOf(text: string): Millis | null {
  if (text === "never") return null;
  const ms = durationWords(text);
  if (ms === null) throw usage(`--expires is \`${text}\``, "write a time such as 12h or 90d, or never");
  return millis(NODE.clock.now() + ms);
}

function addressOf(text: string): string {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol))
    throw usage(`--url is \`${text}\``, `write the server's address, such as http://127.0.0.1:4680`);
  return url.origin;
}

// ── what there is ──

/** Those that count; with `all`, those that do not any more too. */
export async function accessIn(look: ReadOnlyStore, all: boolean): Promise<readonly Access[]> {
  const book = openAccessStore({
    journal: { read: look.journal.read, append: () => Promise.reject(new Error("this is for looking only")) },
    secrets: secretPort,
    now: NODE.clock.now,
  });
  const found = [...(await book.refresh()).values()];
  return all ? found : found.filter((one) => accessEnd(one, NODE.clock.now()) === null);
}

/** As it is shown: without what its secret is checked against. */
export function toAccessView(access: Access): Omit<Access, "check"> & Readonly<{ state: string }> {
  const { check: _, ...shown } = access;
  return { ...shown, state: accessEnd(access, NODE.clock.now()) ?? "valid" };
}

export function showAccess(found: readonly Access[], screen: Screen): void {
  const rows = found.map((one): readonly Cell[] => {
    const state = accessEnd(one, NODE.clock.now()) ?? "valid";
    return [
      one.access,
      `${one.means} for ${visible(one.person)}`,
      { text: state, tone: state === "valid" ? "good" : "dim" },
      limitsText(one),
      untilText(one),
      visible(one.note),
    ];
  });
  for (const line of table(["access", "of", "state", "limited to", "until", "note"], rows, screen.paint)) screen.line(line);
}

const limitsText = ({ agents, actions }: Access): string =>
  [agents, actions].flatMap((list) => (list === null ? [] : [list.map((one) => visible(one)).join(", ")])).join("; ") ||
  "the policies alone";
const untilText = ({ until }: Access): string => (until === null ? "until it is revoked" : `until ${new Date(until).toISOString()}`);

export const revokeAccess: RunCommand = async (given, screen) => {
  const reason = given.text("reason")?.trim() ?? "";
  if (reason === "") throw usage("--reason is missing", "say why: the journal keeps it");
  const access = await withReadOnlyStore(given, async (look) => oneOf(await accessIn(look, true), given.args[0] ?? ""));
  const person = findCaller(given, screen);
  if (access.revoked !== null)
    throw usage(`\`${access.access}\` was revoked before: nothing was done`, `by ${access.revoked.by.id}: ${access.revoked.reason}`);
  if (access.person !== person.name)
    assertMayTakeAccess(given, screen, {
      config: openGivenProject(given),
      person,
      of: access.person,
      what: `revoke the access of \`${access.person}\``,
    });
  return acting(given, screen, person, async ({ book, by }) => {
    const { revoked } = await book.revoke(access.access, by, reason);
    if (given.json) screen.line(JSON.stringify({ revoked: access.access, person: access.person, reason: revoked?.reason ?? reason }));
    else screen.line(`${access.access} stands for ${visible(access.person)} no more`);
    return EXIT.success;
  });
};

type TakenAccess = Readonly<{ config: Config; person: Person; of: string; what: string }>;

/** Taking access away is the safe direction: it must not wait for broken policies to be repaired. */
export function assertMayTakeAccess(given: Given, screen: Screen, { config, person, of, what }: TakenAccess): void {
  const gate = gateIfAny(given, screen, config);
  if (gate !== null) assertMayAct(gate, person, { kind: "give-access", to: of }, what);
}
function gateIfAny(given: Given, screen: Screen, config: Config): Pick<Gate, "decideFor"> | null {
  try {
    return openPeopleGate(config);
  } catch (error) {
    if (!isFault(error)) throw error;
    tell(given, screen, `nothing was decided, since the project does not load: ${describeFault(error.fault).message}`);
    return null;
  }
}

function oneOf(all: readonly Access[], text: string): Access {
  const part = text.replace(/^x_/, "");
  const found = all.filter(({ access }: { readonly access: AccessId }) => part.length >= 4 && access.startsWith(`x_${part}`));
  const [one, ...others] = found;
  if (one === undefined) throw usage(`there is no access \`${text}\``, "`orgate keys list --all` shows all of it");
  if (others.length > 0) throw usage(`\`${text}\` is the beginning of ${found.length}`, "write more of it");
  return one;
}

const usage = (detail: string, hint: string): FaultError => new FaultError({ kind: "usage", detail, hint });
