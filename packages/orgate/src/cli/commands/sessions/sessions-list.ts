import type { SessionSummary } from "@orgate/core/journal";
import type { StandingHalt } from "@orgate/core/vocab";
import { FaultError, haltText, liftText } from "@orgate/core/vocab";
import type { Screen, Tone } from "@orgate/shell/terminal";
import { ageText, count, EXIT, type Given, type RunCommand, table, visible } from "@orgate/shell/terminal";
import { findSessionHalt, readHalts, type SessionHaltPorts } from "../../../runtime/people/halted.ts";
import type { ReadOnlyStore } from "../../../store/open-read-only.ts";
import { positive, withReadOnlyStoreIfAny } from "../project/read-only.ts";

/** State as people call it: a turn that nobody drives was interrupted. */
export type ShownSession = SessionSummary["state"] | "interrupted" | "halted";
/** One whose delegate waits for a person, or is driven by somebody, waits itself. */
export async function shownState(look: ReadOnlyStore, s: SessionSummary, halt: StandingHalt | null): Promise<ShownSession> {
  if (s.state !== "running" || (await look.holder(s.session)) !== null) return s.state;
  if (halt !== null) return "halted";
  for (const id of s.children) {
    const child = await look.journal.session(id);
    const below = child === null ? "interrupted" : await shownState(look, child, null);
    if (below === "waiting" || below === "running") return "waiting";
  }
  return "interrupted";
}
export const TONES: Readonly<Record<ShownSession, Tone>> = {
  idle: "plain",
  running: "accent",
  waiting: "warn",
  interrupted: "warn",
  halted: "bad",
  closed: "dim",
};

export const listSessions: RunCommand = async (given, screen) => {
  const none = (): number => {
    screen.line(given.json ? "[]" : NONE);
    return EXIT.success;
  };
  return withReadOnlyStoreIfAny(given, (look) => listIn(look, given, screen), none);
};

const NONE = 'no sessions yet: `orgate run AGENT --input "…"` opens one';

async function listIn(look: ReadOnlyStore, given: Given, screen: Screen): Promise<number> {
  const most = positive(given.text("limit") ?? "50", "--limit");
  const wanted = given.text("state");
  const page = { state: stateOf(wanted), agent: given.text("agent"), before: null, most };
  const halts = await readHalts(look.journal);
  const found = await foundIn(look, halts, page, wanted === "interrupted" || wanted === "halted" ? wanted : null);
  if (page.agent !== null && found.length === 0) await mustHaveSessions(look, page.agent);
  if (given.json) {
    screen.line(JSON.stringify(found));
    return EXIT.success;
  }
  if (found.length === 0) screen.line(wanted === null ? NONE : `no session is ${wanted}`);
  const now = Date.now();
  const own = found.some((s) => s.external !== null);
  const delegated = found.some((s) => s.parent !== null);
  const rows = found.map((s) => {
    const state = s.shown;
    return [
      s.session,
      { text: state, tone: TONES[state] },
      s.agent,
      ageText(now - s.lastAt),
      String(s.turns),
      s.ending ?? "-",
      ...(own ? [s.external ?? "-"] : []),
      ...(delegated ? [s.parent ?? "-"] : []),
      openOf(s),
      s.title ?? "-",
    ];
  });
  const head = [
    "session",
    "state",
    "agent",
    "age",
    "turns",
    "ending",
    ...(own ? ["id"] : []),
    ...(delegated ? ["works for"] : []),
    "open",
    "title",
  ];
  for (const line of found.length === 0 ? [] : table(head, rows, screen.paint)) screen.line(line);
  const held = new Set(found.flatMap(({ halted }) => (halted === null ? [] : [halted])));
  for (const halt of held) screen.line(screen.paint("warn", visible(`${haltText(halt)}: ${liftText(halt)}`)));
  return EXIT.success;
}

type Page = Parameters<ReadOnlyStore["journal"]["sessions"]>[0];
/** The journal does not know who drives: what it calls running is asked for piece by piece until enough of it are in the wanted state. */
async function foundIn(look: ReadOnlyStore, halts: SessionHaltPorts["halts"], page: Page, only: "interrupted" | "halted" | null) {
  const found: Awaited<ReturnType<typeof shownIn>>[] = [];
  for (let { before } = page; ; ) {
    const piece = await look.journal.sessions({ ...page, before });
    const shown = await Promise.all(piece.map((s) => shownIn(look, s, halts)));
    found.push(...shown.filter((s) => only === null || s.shown === only));
    const last = piece.at(-1);
    if (only === null || last === undefined || found.length >= page.most) return found.slice(0, page.most);
    before = { openedAt: last.openedAt, session: last.session };
  }
}

/** With who holds it and which halt it waits with. */
export async function shownIn(look: ReadOnlyStore, s: SessionSummary, halts: SessionHaltPorts["halts"]) {
  const holder = await look.holder(s.session);
  const halted = await findSessionHalt({ journal: look.journal, halts, isHeld: holder !== null }, s);
  return { ...s, holder, halted, shown: await shownState(look, s, halted) };
}

/** A-9 a name that is typed wrong must not read as an agent that has done nothing. */
async function mustHaveSessions({ journal }: ReadOnlyStore, agent: string): Promise<void> {
  if ((await journal.sessions({ state: null, agent, before: null, most: 1 })).length > 0) return;
  throw new FaultError({
    kind: "usage",
    detail: `no session was ever opened for an agent \`${agent}\``,
    hint: "`orgate agents list` shows the agents of the project, `orgate sessions list` every session",
  });
}

function stateOf(text: string | null): SessionSummary["state"] | null {
  if (text === "interrupted" || text === "halted") return "running"; // what the journal calls it
  return text === "idle" || text === "running" || text === "waiting" || text === "closed" ? text : null;
}

const openOf = (s: SessionSummary): string =>
  [s.openQuestions > 0 ? count(s.openQuestions, "question") : "", s.openUnknowns > 0 ? count(s.openUnknowns, "unknown outcome") : ""]
    .filter((part) => part !== "")
    .join(", ");
