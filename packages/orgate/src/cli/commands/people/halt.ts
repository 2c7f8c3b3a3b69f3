/**
 * The kill switch.
 *
 * Q-16 a halt is journalled before it is announced, and reports its reach: which sessions were at work, and how they ended.
 *     A name that the project does not have is refused (Q-15), unless `--anyway` says that it is meant. A project whose policies or agents do not load can be halted
 *     by any certified person, and the output says that no policy decided; to lift it takes policies.
 */

import { setTimeout as pause } from "node:timers/promises";
import { isSessionStream, principalName, type SessionId } from "@orgate/core";
import { eachPage, type Journal, type Position, type SessionSummary, type WrittenEntry } from "@orgate/core/journal";
import { errorMessage } from "@orgate/core/vocab";
import type { OperationOutput } from "@orgate/protocol";
import type { Screen } from "@orgate/shell/terminal";
import { ageText, type Cell, count, EXIT, type Given, type RunCommand, table, visible } from "@orgate/shell/terminal";
import type { Config } from "../../../config/config.ts";
import { assertMayAct, haltWork, resumeWork } from "../../../runtime/people/approvals.ts";
import { refuseUnknownScope } from "../../../runtime/people/halt-scope.ts";
import { NODE } from "../../../runtime/ports/outside.ts";
import type { OpenProjectStore } from "../../../runtime/ports/project-store.ts";
import type { Person } from "../../../store/keyring.ts";
import { configIfAny } from "../../operations/read-store.ts";
import type { OperationView } from "../../operations/run.ts";
import {
  type CommandProject,
  certifyIfNeeded,
  findCaller,
  loadCommandProject,
  openGivenProject,
  tell,
  writingProject,
} from "../project/project.ts";
import { usage } from "./approvals.ts";

function scopeOf([what = "all", name]: readonly string[]): string {
  if (what === "all") {
    if (name !== undefined)
      throw usage(`\`all\` takes no name, and \`${name}\` was given`, "orgate halt agent NAME, or orgate halt tool NAME");
    return "all";
  }
  if (name === undefined) throw usage(`which ${what}?`, `write its name: orgate halt ${what} NAME`);
  return `${what}:${name}`;
}

type Ordered = Readonly<{ place: OpenProjectStore; scope: string; reason: string; person: Person }>;

/** `gate` is null where the policies do not load: then nothing is decided. */
type Opened<D> = Readonly<{ desk: D; config: Pick<Config, "journal">; gate: CommandProject["gate"] | null }>;
type Ordering<D> = Readonly<{
  what: string;
  hint: string;
  open(given: Given): Promise<Opened<D>>;
  order(desk: D, at: Ordered): Promise<number>;
}>;

async function ordering<D>(given: Given, screen: Screen, { what, hint, open, order }: Ordering<D>): Promise<number> {
  const scope = scopeOf(given.args);
  const reason = given.text("reason");
  if (reason === null || reason.trim() === "") throw usage("--reason is missing", hint);
  const { desk, config, gate } = await open(given);
  const person = findCaller(given, screen);
  if (gate !== null) assertMayAct(gate, person, { kind: "halt", scope }, what.replace("SCOPE", scope)); // before anything is recorded, their key included
  return writingProject(config, async (place) => {
    await certifyIfNeeded(given, screen, place, person);
    return order(desk, { place, scope, reason, person });
  });
}

async function deskIn(given: Given): Promise<Opened<CommandProject>> {
  const config = openGivenProject(given);
  const desk = await loadCommandProject(config, given.env);
  return { desk, config, gate: desk.gate };
}

type DeskOrNot = Readonly<{ desk: CommandProject; undecided: null } | { desk: null; undecided: string }>;

/** The kill switch must work when the project does not: a reason why no policy can decide is printed, and keeps nobody from halting. */
async function deskIfAny(given: Given): Promise<Opened<DeskOrNot>> {
  const config = configIfAny(given);
  if ("undecided" in config) return { desk: { desk: null, undecided: config.undecided }, config, gate: null };
  try {
    const desk = await loadCommandProject(config, given.env);
    return { desk: { desk, undecided: null }, config, gate: desk.gate };
  } catch (error) {
    return { desk: { desk: null, undecided: errorMessage(error) }, config, gate: null };
  }
}

export const halt: RunCommand = (given, screen) =>
  ordering(given, screen, {
    what: "halt SCOPE",
    hint: "say why: the agents' turns end with it, and the journal keeps it",
    open: deskIfAny,
    order: async ({ desk, undecided }, { place, scope, reason, person }) => {
      const before = await place.store.journal.position();
      const unknown = desk === null ? null : refuseUnknownScope(desk.agents, scope, "--anyway");
      if (unknown !== null && !given.flag("anyway")) throw unknown;
      await haltWork({ place, gate: desk?.gate ?? null, person }, scope, reason); // before anything is looked at: looking takes time
      const reached = await whatBecame(place, scope, before);
      if (given.json) {
        const known = desk === null ? null : unknown === null;
        screen.line(JSON.stringify({ halted: scope, reason, by: person.name, reached, known, undecided }));
      } else {
        if (undecided !== null)
          screen.line(
            `${screen.paint("warn", "nothing could be decided, and it was let through because of that:")} ${visible(undecided)}; \`orgate resume-work\` is refused until this is mended`,
          );
        screen.line(
          `${screen.paint("bad", "halted")} ${visible(nameOf(scope))}: nothing of it begins any more, in any process, until \`orgate resume-work ${words(scope)} --reason "…"\``,
        );
        printReached(screen, scope, reached);
      }
      if (unknown !== null)
        tell(given, screen, `this project has no ${words(scope)}: it is halted all the same, should it come from elsewhere`);
      return EXIT.success;
    },
  });

export const liftHalt: RunCommand = (given, screen) =>
  ordering(given, screen, {
    what: "let SCOPE go on",
    hint: "say why it may go on: the journal keeps it",
    open: deskIn,
    order: async ({ gate }, { place, scope, reason, person }) => {
      await place.orders.refresh();
      const before = place.orders.now().halts;
      const lifted = scope === "all" ? [...before.keys()] : [...before.keys()].filter((s) => s === scope);
      await resumeWork({ place, gate, person }, scope, reason);
      const left = [...place.orders.now().halts.keys()];
      const waiting = await toGoOn(place);
      if (given.json) screen.line(JSON.stringify({ resumed: lifted, left, waiting }));
      else {
        screen.line(`${lifted.map((s) => visible(nameOf(s))).join(", ")} may go on`);
        if (left.length > 0) screen.line(screen.paint("warn", `still halted: ${left.map((s) => visible(nameOf(s))).join(", ")}`));
        else screen.line(screen.paint("dim", "turns that were halted stay ended: `orgate sessions say` begins another"));
        if (waiting.length > 0)
          screen.line(
            `${count(waiting.length, "session")} can go on: a running server takes them up by itself; without one, \`orgate sessions resume ID\`: ${waiting.join(", ")}`,
          );
      }
      return EXIT.success;
    },
  });

const MOST_TO_NAME = 20;
/** Turns that want driving and that nobody drives: an approval that waited with the halt, or a process that is gone. */
async function toGoOn({ store }: OpenProjectStore): Promise<readonly SessionId[]> {
  const page = await store.journal.sessions({ state: "running", agent: null, before: null, most: MOST_TO_NAME });
  const holders = await store.holders(page.map(({ session }) => session));
  return page.flatMap(({ session }) => (holders.has(session) ? [] : [session]));
}

export const listHalts: OperationView<"halts"> = {
  print: ({ items }, { screen }) => {
    const now = NODE.clock.now();
    const row = (h: OperationOutput<"halt">): readonly (string | Cell)[] => [
      { text: nameOf(h.scope), tone: "bad" },
      ageText(now - h.at),
      principalName(h.by),
      h.reason,
    ];
    if (items.length === 0) screen.line("nothing is halted");
    else for (const line of table(["halted", "since", "by", "reason"], items.map(row), screen.paint)) screen.line(line);
  },
};

const nameOf = (scope: string): string => (scope === "all" ? "all work" : scope.replace(":", " "));
const words = (scope: string): string => scope.replace(":", " ");

type AtWork = Readonly<{ session: SessionId; agent: string; process: number | null }>;
type Reached = AtWork & Readonly<{ state: "ended" | "held" | "stopping" | "going-on" }>;

const PATIENCE_MS = 5_000;
const LOOK_EVERY_MS = 50;
const PAGE = 500;

/** Those that a living process drives. */
async function atWork({ store }: OpenProjectStore, scope: string): Promise<readonly AtWork[]> {
  const agent = scope.startsWith("agent:") ? scope.slice("agent:".length) : null;
  const busy: AtWork[] = [];
  for (const state of ["running", "waiting"] as const)
    for await (const page of eachPage<SessionSummary>((before, most) => store.journal.sessions({ state, agent, before, most }))) {
      const holders = await store.holders(page.map(({ session }) => session)); // most of those that wait are parked, and held by nobody
      for (const { session, agent: name } of page) {
        const holder = holders.get(session);
        if (holder !== undefined) busy.push({ session, agent: name, process: holder.pid });
      }
    }
  return busy;
}

/**
 * A halt of all or of an agent ends their turns, which is waited for; a tool's ends its calls, and they go on.
 * A turn that ended before anybody looked is found in the journal, which says which turns were halted since.
 */
async function whatBecame(place: OpenProjectStore, scope: string, before: Position): Promise<readonly Reached[]> {
  const { journal } = place.store;
  const busy = new Map((await atWork(place, scope)).map((one) => [one.session, one]));
  if (scope.startsWith("tool:")) return [...busy.values()].map((one) => ({ ...one, state: "going-on" }));
  const over = new Map<SessionId, "ended" | "held">();
  let seen = before;
  for (const until = performance.now() + PATIENCE_MS; ; await pause(LOOK_EVERY_MS)) {
    for (let found = await journal.tail(seen, PAGE); found.length > 0; found = await journal.tail(seen, PAGE)) {
      seen = found.at(-1)?.position ?? seen;
      for (const { session, agent } of await haltedIn(journal, found, scope))
        if (!busy.has(session)) busy.set(session, { session, agent, process: null });
    }
    for (const session of busy.keys()) {
      const isDriven = (await place.store.holder(session)) !== null; // before its state: a turn that ends between the two looks has ended, and does not wait
      if ((await journal.session(session))?.state === "idle") over.set(session, "ended");
      else if (!isDriven) over.set(session, "held"); // nobody drives it: it waits, and nothing of it begins
    }
    if (over.size === busy.size || performance.now() >= until) break;
  }
  return [...busy.values()].map((one) => ({ ...one, state: over.get(one.session) ?? "stopping" }));
}

async function haltedIn(
  journal: Pick<Journal, "session">,
  found: readonly WrittenEntry[],
  scope: string,
): Promise<readonly SessionSummary[]> {
  const halted = found.flatMap((w) =>
    w.kind === "entry" && w.entry.event.kind === "turn.halted" && w.entry.event.scope === scope ? [w.stream] : [],
  );
  const summaries = await Promise.all(halted.filter(isSessionStream).map((session) => journal.session(session)));
  return summaries.filter((s) => s !== null);
}

const STATES = {
  ended: "its turn has ended",
  held: "it waits for a person, and with the halt: its approval requests stay open",
  stopping: "its turn has not ended yet",
  "going-on": "it goes on without that tool",
};

function printReached(screen: Screen, scope: string, reached: readonly Reached[]): void {
  if (reached.length === 0) {
    screen.line("no session was at work");
    return;
  }
  const processes = new Set(reached.map((r) => r.process)).size;
  screen.line(
    `it reached ${count(reached.length, "session")} in ${count(processes, "process", "processes")}${scope.startsWith("tool:") ? "" : ":"}`,
  );
  for (const { session, agent, process, state } of reached)
    screen.line(`  ${session} ${visible(agent)}${process === null ? "" : ` (process ${process})`}: ${STATES[state]}`);
}
