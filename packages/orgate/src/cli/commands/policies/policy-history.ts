/** The policies of before: which set was in force since when, what it said, and what two of them decide differently. */
import { isSessionStream, type Millis, millis, type StreamId, seq, streamId } from "@orgate/core";
import { usageFault } from "@orgate/core/vocab";
import { countSet, setText } from "@orgate/protocol/view";
import { type Cell, EXIT, type Given, type RunCommand, table, visible } from "@orgate/shell/terminal";
import { compareSides, type DiffSide } from "../../../policies/agents-diff.ts";
import type { SetFile } from "../../../policies/policies.ts";
import { folderOrThrow, readFiles } from "../../../policies/policy-changes.ts";
import { digestFolder } from "../../../policies/policy-digests.ts";
import { readPolicyFolder } from "../../../policies/policy-files.ts";
import {
  diffFileDigests,
  findSet,
  findSetAt,
  findSetDigestAt,
  type HistoryRow,
  type KnownSet,
  listAppliableFiles,
  policyHistory,
  readSet,
} from "../../../policies/policy-history.ts";
import { type PolicyOptions, tryLoadFolder, tryLoadRead } from "../../../policies/policy-load.ts";
import { readProjectPast, tellDifferences } from "../agents/agents-diff.ts";
import { findSessionByText, openGivenProject, positive, withReadOnlyStore, withReadOnlyStoreIfAny } from "../project/project.ts";
import { loadPolicyOptions } from "./policy.ts";
import { showChanges } from "./policy-apply.ts";

type Look = Parameters<Parameters<typeof withReadOnlyStore>[1]>[0];

export const policyHistoryCommand: RunCommand = async (given, screen) => {
  const limit = positive(given.text("limit") ?? "50", "--limit");
  const { rows, next } = await withReadOnlyStoreIfAny(
    given,
    ({ journal }) => policyHistory(journal, { before: null, limit }),
    () => ({ rows: [], next: null }),
  );
  if (given.json) screen.line(JSON.stringify(rows));
  else if (rows.length === 0) screen.line("no policies were loaded so far: `orgate run` records the set it runs under");
  else {
    const head = ["entry", "since", "what", "set", "files", "made of", "by", "changes"];
    const told = rows.map(cellsOf);
    for (const line of table(head, told, screen.paint)) screen.line(line);
    if (next !== null) screen.line(screen.paint("dim", `… older entries: --limit ${limit * 10}`));
  }
  return EXIT.success;
};

/** G-21 either digest finds the set: that of its files tells sets apart that differ in comments alone, and matches an applied set with the one loaded. */
function cellsOf(row: HistoryRow): readonly Cell[] {
  const files = row.files?.slice(0, 12) ?? "–";
  const changes = row.changes.map(({ path, change }) => `${change} ${path}`).join(", ");
  const said = [changes, row.reason === "" ? "" : `(${row.reason})`, row.problems[0] ?? ""].filter((one) => one !== "").join(" ");
  return [
    String(row.seq),
    new Date(row.at).toISOString(),
    { text: row.kind, tone: row.kind === "refused" ? "bad" : row.kind === "applied" ? "good" : "plain" },
    row.digest?.slice(0, 12) ?? "–",
    row.stored || row.kind === "refused" ? files : `${files} (no text)`,
    row.counts === null ? "–" : setText(row.counts),
    row.by,
    said,
  ];
}

export const showPolicies: RunCommand = (given, screen) =>
  withReadOnlyStore(given, async (look) => {
    const set = await wantedSet(given, look);
    const files = await readSet(look.journal, set);
    if (given.json) screen.line(JSON.stringify({ ...factsOf(set), texts: files }));
    else {
      screen.line(headOf(set));
      for (const { path, text } of files) {
        screen.line(screen.paint("strong", visible(path)));
        for (const line of text.replace(/\n$/, "").split("\n")) screen.line(`  ${visible(line)}`);
      }
    }
    return EXIT.success;
  });

/** By a digest, a time or an entry; without any of them, the set that was loaded last. */
async function wantedSet(given: Given, { journal }: Look): Promise<KnownSet> {
  const [digest] = given.args;
  const [at, entry] = [given.text("at"), given.text("entry")];
  if ([digest, at ?? undefined, entry ?? undefined].filter((one) => one !== undefined).length > 1)
    throw usageFault("it takes one of a digest, --at and --entry", "`orgate policy show --help` shows examples");
  if (digest !== undefined) return findSet(journal, digest);
  if (entry === null) return findSetAt(journal, at === null ? millis(Number.MAX_SAFE_INTEGER) : timeOf(at));
  const { stream, place } = entryOf(entry);
  const session = isSessionStream(stream) ? (await findSessionByText(journal, stream)).session : null;
  if (session === null) throw usageFault(`\`${stream}\` is no session`, "decisions stand in sessions: --entry s_0mh3k2:12");
  const isThere = (await journal.read(session, seq(place - 1), 1)).length === 1;
  const named = isThere ? await findSetDigestAt(journal, session, seq(place)) : null;
  if (named === null) throw usageFault(`session \`${session}\` has no entry ${place}`, "`orgate sessions show` tells how long it is");
  return findSet(journal, named.digest, named.at);
}

function entryOf(text: string): { readonly stream: StreamId; readonly place: number } {
  const [, stream, place] = /^(.+)[:#]([1-9]\d{0,9})$/.exec(text) ?? [];
  if (stream === undefined) throw usageFault(`--entry is \`${text}\``, "write the session and the entry's number: s_0mh3k2:12");
  return { stream: streamId(stream), place: Number(place) };
}

function timeOf(text: string): Millis {
  const at = Date.parse(text);
  if (Number.isNaN(at)) throw usageFault(`--at is \`${text}\``, "write a date or a time: 2026-03-01, 2026-03-01T12:00:00Z");
  return millis(at);
}

const factsOf = ({ digest, files, at, by, seq: place, list }: KnownSet) => ({ digest, files, at, by, entry: place, list });
const headOf = ({ digest, files, at, by, list }: KnownSet): string =>
  `set ${(digest ?? files).slice(0, 12)}: ${setText(countSet(list.map(({ path }) => path)))}, ${digest === null ? "applied" : "loaded"} ${new Date(at).toISOString()} by ${visible(by)}`;

/** G-21 the files as they differ, and what the two sets decide differently with the agents and tools of now. */
export const diffPolicies: RunCommand = async (given, screen) => {
  const [a = "", b = "now"] = given.args;
  const config = openGivenProject(given);
  const options = await loadPolicyOptions(config, given.env);
  const [before, after] = await withReadOnlyStore(
    given,
    async (look) => [await filesOf(a, look, options), await filesOf(b, look, options)] as const,
  );
  const changes = diffFileDigests(before, after);
  const [old, next] = [sideOf(before, options), sideOf(after, options)];
  const found = typeof old === "string" || typeof next === "string" ? null : compareSides(old, next, await readProjectPast(config), null);
  const unloadable = [old, next].flatMap((side) => (typeof side === "string" ? [side] : []));
  if (given.json) screen.line(JSON.stringify({ same: changes.length === 0, changes, decisions: found, unloadable }));
  else {
    showChanges(screen, textsIn(before), textsIn(after), changes);
    if (changes.length === 0) screen.line("the same files");
    if (found !== null) tellDifferences(screen, found, `${visible(a)} against ${visible(b)}`);
    for (const why of unloadable) screen.line(screen.paint("warn", `what they decide cannot be compared: ${visible(why)}`));
  }
  return changes.length === 0 ? EXIT.success : EXIT.failure;
};

const textsIn = (files: readonly SetFile[]): ReadonlyMap<string, string> => new Map(files.map(({ path, text }) => [path, text]));

async function filesOf(wanted: string, { journal }: Look, options: PolicyOptions): Promise<readonly SetFile[]> {
  if (wanted !== "now") return readSet(journal, await findSet(journal, wanted));
  const loading = tryLoadFolder(options);
  return loading.kind === "loaded" ? loading.loaded.sources : digestFolder(folderOrThrow(readPolicyFolder(options.place))).sources;
}

/** A string: why it does not load with the agents and tools of now. */
function sideOf(files: readonly SetFile[], options: PolicyOptions): DiffSide | string {
  const { place, read } = readFiles(listAppliableFiles(files), "policies");
  const loading = tryLoadRead(read, { ...options, place });
  if (loading.kind === "loaded")
    return {
      agents: options.agents,
      loaded: loading.loaded,
      cases: read.kind === "folder" ? read.folder.tables.flatMap((t) => t.cases.map((c) => c.case)) : [],
    };
  const [first] = loading.kind === "refused" ? loading.problems : [];
  return first === undefined ? "there is no policy in it" : `${first.file}:${first.line}:${first.column}: ${first.detail}`;
}
