/**
 * The `policy` stream: which set was in force since when, what was applied, what was refused; and the texts of every set, stored once each.
 * J-27 a text is stored before the first entry that names it, in a stream named by its digest: the same set costs nothing again, a changed file one text.
 */
import {
  type Digest,
  type FileChange,
  isFault,
  type Journal,
  type JournalEvent,
  type Millis,
  POLICY,
  type Principal,
  type Seq,
  type SystemEvent,
  seq,
  textStream,
  toCanonicalJson,
} from "@orgate/core";
import { eachEntry, policyFileList } from "@orgate/core/journal";
import { watchFolder } from "../files/folder-watch.ts";
import { sha256 } from "../node/crypto.ts";
import { findStreamEnd } from "../store/stream-end.ts";
import type { Policies, PolicyProblem, ReloadOutcome, SetFile } from "./policies.ts";
import type { LoadedFolder } from "./policy-load.ts";

type Where = Readonly<{ journal: Pick<Journal, "append" | "read" | "streams" | "writer">; now(): Millis }>;
type Loaded = Extract<SystemEvent, { kind: "policy.loaded" }>;
type Applied = Extract<SystemEvent, { kind: "policy.applied" }>;

const MOST_PROBLEMS = 20;
const PAGE = 100;
const TRIES = 100;

export type PolicyRecording = Readonly<{
  /** Takes up what other processes have applied since the last look. Without news it reads nothing but the end of the stream (G-15). */
  refresh(): Promise<void>;
  stop(): void;
}>;

/** From now on every change of the set is journalled before it is in force (G-15), and a set that another process applies is taken up (G-15). */
export async function recordPolicies(where: Where, policies: Policies): Promise<PolicyRecording> {
  const by: Principal = { kind: "system", id: where.journal.writer };
  const stop = policies.recordedBy(async (change) => {
    if (change.kind !== "loaded") await append(where, async () => refusedEvent("reload", change, by));
    if (change.kind !== "refused") await recordLoaded(where, change.loaded, by);
  });
  const refresh = await followApplied(where.journal, policies);
  await recordLoaded(where, policies.current(), by);
  return { refresh, stop };
}

/** One look at a time; what could not be taken up (the journal does not take its record) is tried again at the next. */
async function followApplied(journal: Where["journal"], policies: Policies): Promise<() => Promise<void>> {
  let seen = await findStreamEnd(journal, POLICY);
  const last = await lastOf(journal, seen, "policy.applied");
  // applied after the files were read, and before anybody looked
  if (last !== null && last.before === policies.current().folderDigest) await policies.takeUp({ files: last.files, before: [] });
  const look = async (): Promise<void> => {
    let end = seen;
    const applied: Applied[] = [];
    for await (const { seq: place, event } of eachEntry(journal, POLICY, seen)) {
      if (event.kind === "policy.applied") applied.push(event);
      end = place;
    }
    const newest = applied.at(-1);
    if (newest !== undefined) await policies.takeUp({ files: newest.files, before: applied.map(({ before }) => before) });
    seen = end;
  };
  let queue: Promise<void> = Promise.resolve();
  return () => {
    const turn = queue.then(look);
    queue = turn.catch(() => {});
    return turn;
  };
}

/** Nothing is written when the last entry says the same, texts included. */
const recordLoaded = (where: Where, { digest, files, sources }: LoadedFolder, by: Principal): Promise<void> =>
  append(where, async (last) => {
    if (last?.texts === true && last.digest === digest && toCanonicalJson(last.files) === toCanonicalJson(files)) return null;
    await storeTexts(where, sources);
    return { kind: "policy.loaded", digest, files, texts: true, by };
  });

/** Reloads when a file changes; `told` gets the result, also when the journal could not take it. */
export function watchPolicies(
  policies: Policies,
  told: (reloaded: ReloadOutcome | Readonly<{ kind: "failed"; error: unknown }>) => void,
): () => void {
  const watching = watchFolder(policies.place.folder, () => {
    void policies.reload().then(told, (error: unknown) => told({ kind: "failed", error }));
  });
  return () => watching.close();
}

export type PolicyReplacement = Readonly<{
  before: readonly SetFile[];
  after: readonly SetFile[];
  changes: readonly FileChange[];
  reason: string;
}>;

/** Both sets are stored, as lists of files and as texts: what was replaced can be applied again, even if it was never loaded. */
export async function recordApplied(where: Where, by: Principal, { before, after, changes, reason }: PolicyReplacement): Promise<void> {
  const [old, next] = [listOf(before), listOf(after)];
  await storeTexts(where, [...before, ...after, old, next]);
  const [files, replaced] = [next.digest, old.digest];
  await append(where, async () => ({ kind: "policy.applied", files, before: replaced, changes, reason, texts: true, by }));
}

function listOf(set: readonly SetFile[]): Pick<SetFile, "digest" | "text"> {
  const text = policyFileList(set.map(({ path, digest }) => ({ path, digest })));
  return { digest: sha256(text), text };
}

export const recordRefused = (where: Where, by: Principal, refused: RefusedPolicies): Promise<void> =>
  append(where, async () => refusedEvent("apply", refused, by));
export type RefusedPolicies = Readonly<{ problems: readonly PolicyProblem[]; files: Digest | null }>;

/** Small: as many problems as a person reads. */
function refusedEvent(during: "reload" | "apply", { problems, files }: RefusedPolicies, by: Principal): SystemEvent {
  const lines = problems.slice(0, MOST_PROBLEMS).map((p) => problemLine(p).slice(0, 500));
  const more = problems.length - lines.length;
  return { kind: "policy.refused", during, files, problems: more > 0 ? [...lines, `and ${more} more`] : lines, by };
}

export const problemLine = ({ file, line, column, detail }: PolicyProblem): string => `${file}:${line}:${column}: ${detail}`;

/** Each once, even if another process stores the same meanwhile: a stream named by a digest has one entry, and the second is refused. */
async function storeTexts({ journal, now }: Where, texts: readonly Pick<SetFile, "digest" | "text">[]): Promise<void> {
  const store = async ({ digest, text }: Pick<SetFile, "digest" | "text">): Promise<void> => {
    const stream = textStream(digest);
    if ((await journal.read(stream, seq(0), 1)).length > 0) return;
    const events = [{ at: now(), event: { kind: "policy.stored", digest, text } as const }];
    try {
      await journal.append({ stream, after: seq(0), hold: null, events, consumes: [], unlessHalted: [] });
    } catch (error) {
      if (!isFault(error, "append-conflict")) throw error;
    }
  };
  const distinct = new Map(texts.map((one) => [one.digest, one]));
  await Promise.all([...distinct.values()].map(store)); // at once, so that they share a commit
}

/** `plan` gets the last loaded set; if another process was first, that changes, and the plan is made again. */
async function append(where: Where, plan: (last: Loaded | null) => Promise<SystemEvent | null>): Promise<void> {
  const { journal, now } = where;
  for (let tries = 1; ; tries += 1) {
    const after = await findStreamEnd(journal, POLICY);
    const event = await plan(await lastOf(journal, after, "policy.loaded"));
    if (event === null) return;
    try {
      await journal.append({ stream: POLICY, after, hold: null, events: [{ at: now(), event }], consumes: [], unlessHalted: [] });
      return;
    } catch (error) {
      if (!isFault(error, "append-conflict") || tries === TRIES) throw error;
    }
  }
}

/** Read from the end: what a start costs does not grow with the history. */
async function lastOf<Kind extends SystemEvent["kind"]>(
  journal: Pick<Journal, "read">,
  end: Seq,
  kind: Kind,
): Promise<Extract<SystemEvent, { kind: Kind }> | null> {
  const isWanted = (event: JournalEvent): event is Extract<SystemEvent, { kind: Kind }> => event.kind === kind;
  for (let to: number = end; to > 0; to -= PAGE) {
    const from = Math.max(0, to - PAGE);
    const found = (await journal.read(POLICY, seq(from), to - from)).map(({ event }) => event).findLast(isWanted);
    if (found !== undefined) return found;
  }
  return null;
}
