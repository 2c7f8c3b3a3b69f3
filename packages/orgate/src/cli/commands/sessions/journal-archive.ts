/** J-35 what the retention names leaves the journal for files that prove themselves. */
import { resolve } from "node:path";
import { FaultError, isFault } from "@orgate/core";
import type { SessionSummary } from "@orgate/core/journal";
import { durationWords } from "@orgate/core/vocab";
import { count, EXIT, type Given, type RunCommand, type Screen, visible } from "@orgate/shell/terminal";
import { type Config, MIN_RETENTION_MS } from "../../../config/config.ts";
import { assertMayAct } from "../../../runtime/people/approvals.ts";
import { type Archived, archiveSessions, findArchivable, type Retention } from "../../../runtime/people/archive.ts";
import { NODE } from "../../../runtime/ports/outside.ts";
import type { OpenProjectStore } from "../../../runtime/ports/project-store.ts";
import {
  certifyIfNeeded,
  findCaller,
  findSessionByText,
  loadCommandProject,
  openGivenProject,
  sessionAct,
  writingProject,
} from "../project/project.ts";

export const archive: RunCommand = async (given, screen) => {
  const config = openGivenProject(given);
  const folder = folderOf(given, config);
  const retention = retentionOf(given, config);
  const { gate } = await loadCommandProject(config, given.env);
  const person = findCaller(given, screen);
  return writingProject(config, async (place) => {
    const sessions = await sessionsOf(given, place, retention);
    const [may, kept] = splitPermitted(sessions, (one) => assertMayAct(gate, person, sessionAct("erase", one), `archive ${one.session}`));
    if (given.flag("dry-run")) return listed(given, screen, may, kept);
    if (may.length > 0) await certifyIfNeeded(given, screen, place, person);
    const all: Archived[] = [...kept];
    const archiving = { place, folder, by: { kind: "user", id: person.name } as const, reason: given.text("reason")?.trim() ?? "" };
    for await (const one of archiveSessions(
      archiving,
      may.map(({ session }) => session),
    )) {
      all.push(one);
      if (!given.json) screen.line(lineOf(one));
    }
    return told(given, screen, all);
  });
};

const lineOf = (one: Archived): string =>
  one.kind === "archived"
    ? `${one.session}: ${count(one.entries, "entry", "entries")} in ${visible(one.file)}`
    : `${one.session} is kept: ${visible(one.why)}`;

function listed(given: Given, screen: Screen, may: readonly SessionSummary[], kept: readonly Archived[]): number {
  if (given.json) screen.line(JSON.stringify({ sessions: may.map(({ session }) => session), kept }));
  else {
    for (const { session, agent, state, lastAt, seq } of may)
      screen.line(`${session}: ${agent}, ${state} since ${new Date(lastAt).toISOString()}, ${count(seq, "entry", "entries")}`);
    for (const one of kept) screen.line(lineOf(one));
    screen.line(`${count(may.length, "session")} would be archived; nothing was changed`);
  }
  return EXIT.success;
}

function told(given: Given, screen: Screen, all: readonly Archived[]): number {
  const archived = all.filter((one) => one.kind === "archived");
  const isScrubbed = archived.every(({ truncated }) => truncated);
  if (given.json) screen.line(JSON.stringify({ archived, kept: all.filter((one) => one.kind === "kept") }));
  else {
    screen.line(`${count(archived.length, "session")} archived, ${all.length - archived.length} kept`);
    if (archived.length > 0)
      screen.line(
        "the journal still verifies; `orgate journal verify FILE` verifies each file. Keep the files: the content is nowhere else",
      );
    if (!isScrubbed) screen.line("a reader was in the way: old pages go when it ends");
  }
  return isScrubbed && !all.some((one) => one.kind === "kept" && one.why.startsWith("its file")) ? EXIT.success : EXIT.failure;
}

/** The policies decide on each session, like for `journal erase`. */
function splitPermitted(
  sessions: readonly SessionSummary[],
  assertMay: (one: SessionSummary) => void,
): readonly [may: readonly SessionSummary[], kept: readonly Archived[]] {
  const may: SessionSummary[] = [];
  const kept: Archived[] = [];
  for (const one of sessions)
    try {
      assertMay(one);
      may.push(one);
    } catch (error) {
      if (!isFault(error, "not-permitted")) throw error;
      kept.push({ kind: "kept", session: one.session, why: error.message });
    }
  return [may, kept];
}

async function sessionsOf(given: Given, { store }: OpenProjectStore, retention: Retention): Promise<readonly SessionSummary[]> {
  const named = given.texts("session");
  if (named.length > 0) return Promise.all(named.map((text) => findSessionByText(store.journal, text)));
  const { closedMs, idleMs } = retention;
  if (closedMs === null && idleMs === null)
    throw new FaultError({
      kind: "usage",
      detail: "nothing says which sessions are to be archived",
      hint: "give --session, --closed or --idle, or set `closed` or `idle` in [retention] of orgate.toml",
    });
  return findArchivable(store.journal, retention, NODE.clock.now());
}

function folderOf(given: Given, { retention }: Config): string {
  const out = given.text("out");
  if (out !== null && out.trim() !== "") return resolve(given.cwd, out);
  if (retention.archive !== null) return retention.archive;
  throw new FaultError({
    kind: "usage",
    detail: "nothing says where archives go",
    hint: "give --out DIR, or set `archive` in [retention] of orgate.toml",
  });
}

const retentionOf = (given: Given, { retention }: Config): Retention => ({
  closedMs: timeOf(given, "closed") ?? retention.closedMs,
  idleMs: timeOf(given, "idle") ?? retention.idleMs,
});

function timeOf(given: Given, option: "closed" | "idle"): number | null {
  const text = given.text(option);
  if (text === null) return null;
  const ms = durationWords(text) ?? 0;
  if (ms >= MIN_RETENTION_MS) return ms;
  throw new FaultError({
    kind: "usage",
    detail: `--${option} is \`${text}\``,
    hint: "use a time of at least 1d, such as 90d: counters go back a day",
  });
}
