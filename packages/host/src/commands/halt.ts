/**
 * The kill switch.
 *
 * A43 a halt is journalled before anybody is told of it, and says what it reached: which sessions were at work, and what became of them.
 *     A name that nobody knows is halted all the same, and said to be unknown. A project whose policies or agents do not load can be halted
 *     by whoever is certified in it, and is told that nothing was decided; to let it go on takes policies.
 */
import { setTimeout as pause } from "node:timers/promises";
import { principalName, type SessionId } from "@orgate/core";
import type { SessionSummary } from "@orgate/core/journal";
import { haltWork, resumeWork, standingOrders } from "../approvals.ts";
import { EXIT, type Given, type Run } from "../cli/command.ts";
import type { Screen } from "../cli/screen.ts";
import { age, count, table } from "../cli/table.ts";
import { visible } from "../cli/visible.ts";
import { NODE, type Person, type Place } from "../compose.ts";
import type { Config } from "../config.ts";
import { usage } from "./approvals.ts";
import { certified, type Desk, deskOf, looking, personOf, projectOf, tell, writing } from "./project.ts";

function scopeOf([what = "all", name]: readonly string[]): string {
  if (what === "all") {
    if (name !== undefined)
      throw usage(`\`all\` takes no name, and \`${name}\` was given`, "orgate halt agent NAME, or orgate halt tool NAME");
    return "all";
  }
  if (name === undefined) throw usage(`which ${what}?`, `write its name: orgate halt ${what} NAME`);
  return `${what}:${name}`;
}

type Ordered = Readonly<{ place: Place; scope: string; reason: string; person: Person }>;

async function ordering<D>(
  given: Given,
  screen: Screen,
  open: (config: Config) => Promise<D>,
  order: (desk: D, at: Ordered) => Promise<number>,
): Promise<number> {
  const scope = scopeOf(given.args);
  const reason = given.text("reason");
  if (reason === null || reason.trim() === "")
    throw usage("--reason is missing", "say why: the agents' turns end with it, and the journal keeps it");
  const config = projectOf(given);
  const desk = await open(config);
  const person = personOf(given, screen);
  return writing(config, async (place) => {
    await certified(given, screen, place, person);
    return order(desk, { place, scope, reason, person });
  });
}

type DeskOrNot = Readonly<{ desk: Desk; undecided: null } | { desk: null; undecided: string }>;

/** The kill switch must work when the project does not: what keeps it from being decided is told, and keeps nobody from halting. */
async function deskIfAny(config: Config): Promise<DeskOrNot> {
  try {
    return { desk: await deskOf(config), undecided: null };
  } catch (error) {
    return { desk: null, undecided: error instanceof Error ? error.message : String(error) };
  }
}

export const halt: Run = (given, screen) =>
  ordering(given, screen, deskIfAny, async ({ desk, undecided }, { place, scope, reason, person }) => {
    const busy = await atWork(place, scope);
    await haltWork({ place, gate: desk?.gate ?? null, person }, scope, reason);
    const unknown = desk === null ? null : unknownIn(desk, scope);
    const reached = await whatBecame(place, scope, busy);
    if (given.json) {
      const known = desk === null ? null : unknown === null;
      screen.line(JSON.stringify({ halted: scope, reason, by: person.name, reached, known, undecided }));
    } else {
      if (undecided !== null)
        screen.line(
          `${screen.paint("warn", "nothing could be decided, and it was let through because of that:")} ${visible(undecided)}; \`orgate resume-work\` is refused until this is mended`,
        );
      screen.line(
        `${screen.paint("bad", "halted")} ${visible(nameOf(scope))}: nothing of it begins any more, in any process, until \`orgate resume-work ${words(scope)}\``,
      );
      printReached(screen, scope, reached);
    }
    if (unknown !== null) tell(given, screen, unknown);
    return EXIT.success;
  });

export const resume: Run = (given, screen) =>
  ordering(given, screen, deskOf, async ({ gate }, { place, scope, reason, person }) => {
    await place.orders.refresh();
    const before = place.orders.now().halts;
    const lifted = scope === "all" ? [...before.keys()] : [...before.keys()].filter((s) => s === scope);
    if (lifted.length > 0) await resumeWork({ place, gate, person }, scope, reason);
    const left = [...place.orders.now().halts.keys()];
    if (given.json) screen.line(JSON.stringify({ resumed: lifted, left }));
    else {
      screen.line(
        lifted.length === 0 ? `${visible(nameOf(scope))} was not halted` : `${lifted.map((s) => visible(nameOf(s))).join(", ")} may go on`,
      );
      if (left.length > 0) screen.line(screen.paint("warn", `still halted: ${left.map((s) => visible(nameOf(s))).join(", ")}`));
      else if (lifted.length > 0)
        screen.line(screen.paint("dim", "turns that were halted stay ended: `orgate sessions say` begins another"));
    }
    return EXIT.success;
  });

export const list: Run = (given, screen) =>
  looking(given, async (look) => {
    const now = NODE.clock.now();
    const { halts } = await standingOrders(look.journal, now);
    if (given.json) screen.line(JSON.stringify(halts));
    else if (halts.length === 0) screen.line("nothing is halted");
    else
      for (const line of table(
        ["halted", "since", "by", "reason"],
        halts.map((h) => [{ text: nameOf(h.scope), tone: "bad" }, age(now - h.at), principalName(h.by), h.reason]),
        screen.paint,
      ))
        screen.line(line);
    return EXIT.success;
  });

const nameOf = (scope: string): string => (scope === "all" ? "all work" : scope.replace(":", " "));
const words = (scope: string): string => scope.replace(":", " ");

/** A typing error must not pass for a halt; a name from elsewhere must not prevent one. */
function unknownIn({ agents }: Desk, scope: string): string | null {
  const [kind, name] = scope.split(":");
  const known =
    kind === "agent" ? agents.map((a) => a.name) : kind === "tool" ? [...new Set(agents.flatMap((a) => a.tools.map((t) => t.name)))] : null;
  if (known === null || (name !== undefined && known.includes(name))) return null;
  return `this project has no ${kind} \`${name}\` (it has: ${known.join(", ") || "none"}): it is halted all the same, should it come from elsewhere`;
}

type AtWork = Readonly<{ session: SessionId; agent: string; process: number | null }>;
type Reached = AtWork & Readonly<{ state: "ended" | "stopping" | "going-on" }>;

const PATIENCE_MS = 5_000;
const LOOK_EVERY_MS = 50;
const PAGE = 500;

/** Those that a living process drives. */
async function atWork({ store }: Place, scope: string): Promise<readonly AtWork[]> {
  const agent = scope.startsWith("agent:") ? scope.slice("agent:".length) : null;
  const busy: AtWork[] = [];
  for (const state of ["running", "waiting"] as const)
    for (let before: SessionSummary | null = null; ; ) {
      const page: readonly SessionSummary[] = await store.journal.sessions({ state, agent, before, most: PAGE });
      for (const { session, agent: name } of page) {
        const holder = store.holder(session);
        if (holder !== null) busy.push({ session, agent: name, process: holder.pid });
      }
      before = page.at(-1) ?? null;
      if (before === null || page.length < PAGE) break;
    }
  return busy;
}

/** A halt of all or of an agent ends their turns, which is waited for; a tool's ends its calls, and they go on. */
async function whatBecame({ store: { journal } }: Place, scope: string, busy: readonly AtWork[]): Promise<readonly Reached[]> {
  if (scope.startsWith("tool:")) return busy.map((one) => ({ ...one, state: "going-on" }));
  const over = new Set<SessionId>();
  for (const until = performance.now() + PATIENCE_MS; ; await pause(LOOK_EVERY_MS)) {
    for (const { session } of busy) if ((await journal.session(session))?.state === "idle") over.add(session);
    if (over.size === busy.length || performance.now() >= until) break;
  }
  return busy.map((one) => ({ ...one, state: over.has(one.session) ? "ended" : "stopping" }));
}

const STATES = { ended: "its turn has ended", stopping: "its turn has not ended yet", "going-on": "it goes on without that tool" };

function printReached(screen: Screen, scope: string, reached: readonly Reached[]): void {
  if (reached.length === 0) {
    screen.line("no session was at work");
    return;
  }
  const processes = new Set(reached.map((r) => r.process)).size;
  screen.line(
    `it reached ${count(reached.length, "session")} in ${count(processes, "process", "processes")}${scope.startsWith("tool:") ? "" : ":"}`,
  );
  for (const r of reached) screen.line(`  ${r.session} ${visible(r.agent)} (process ${r.process ?? "?"}): ${STATES[r.state]}`);
}
