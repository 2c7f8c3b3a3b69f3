/**
 * What people do with the store of knowledge: put documents and exports into it, have things forgotten. Everything is decided as `edit-knowledge` on the
 * scope, by a certified person, and journalled before the store is touched (rule 2).
 * N33 a file that has not changed is not read in again; one that is gone from a folder that is read in again is superseded.
 * N34 a tombstone is in the journal before anything is gone; with `erase` the journal's own copies go too, and whoever wants that is told first which
 *     sessions can no longer resume.
 */
import {
  canonical,
  type Embedder,
  type Entry,
  FaultError,
  isFault,
  type JournalEvent,
  KNOWLEDGE,
  type KnowledgeId,
  type KnowledgeItem,
  type KnowledgeStore,
  type Label,
  type Millis,
  type Principal,
  type Scope,
  type Seq,
  type SessionId,
  type StoredItem,
  seq,
} from "@orgate/core";
import type { Journal, SessionSummary } from "@orgate/core/journal";
import { documentKind, idFrom, LONGEST_EMBEDDED, piecesOf, readLine, textOf } from "@orgate/core/knowledge";
import { type Acting, known, mayAct } from "./approvals.ts";
import { type Place, sha256 } from "./compose.ts";
import { eraseEntries } from "./erasing.ts";

export type Editor = Omit<Acting, "place"> & Readonly<{ place: Place; now: () => Millis }>;

/** Whose it is to be, and what it carries. */
export type Placing = Readonly<{ scope: Scope; agent: string | null; labels: readonly Label[]; verified: boolean }>;
/** `path` from the project's folder on; `directory` is the folder it is about, null for what lies elsewhere. */
export type DocumentText = Readonly<{ path: string; directory: string | null; text: string }>;
export type Added = Readonly<{ documents: number; unchanged: number; added: number; kept: number; gone: number }>;

const BATCH = 50;

/** `gone`: documents that were there and are not any more. `told` after each of them. */
export async function addDocuments(
  editor: Editor,
  placing: Placing,
  { documents, gone = [] }: Readonly<{ documents: readonly DocumentText[]; gone?: readonly string[] }>,
  told: (done: number) => void = () => {},
): Promise<Added> {
  const store = editor.place.knowledgeStore();
  const { scope, agent, labels, verified } = placing;
  const by = await permitted(editor, scope, "add to what is known");
  const key = (path: string) => ({ path, scope, agent });
  const digestOf = (text: string) => sha256(canonical({ text, labels: [...labels].sort(), verified }));
  const isSame = ({ path, text }: DocumentText): boolean =>
    store.documents(path).some((one) => one.scope === scope && one.agent === agent && one.digest === digestOf(text));
  const changed = documents.filter((one) => !isSame(one));
  const total = { documents: changed.length, unchanged: documents.length - changed.length, added: 0, kept: 0, gone: 0 };
  const work = [...changed, ...gone.map((path): DocumentText => ({ path, directory: null, text: "" }))];
  for (let at = 0; at < work.length; at += BATCH) {
    const batch = work.slice(at, at + BATCH).map((one) => ({ ...one, pieces: piecesOf(one.text, documentKind(one.path) ?? "text") }));
    const event: JournalEvent = {
      kind: "knowledge.added",
      how: "add",
      scope,
      agent,
      labels: [...labels].sort(),
      documents: batch.map(({ path, text, pieces }) => ({ path, digest: digestOf(text), chunks: pieces.length })),
      by,
    };
    const from = await append(editor, event);
    for (const [i, { path, directory, text, pieces }] of batch.entries()) {
      const items = pieces.map(
        (piece): KnowledgeItem => ({
          id: idFrom(sha256, "document", scope, agent ?? "", path, [...labels].sort().join(" "), String(verified), piece.title, piece.text),
          body: { kind: "chunk", document: path, ...piece },
          scope,
          agent,
          directory,
          confidence: 1,
          source: "document",
          labels: [...labels].sort(),
          verified,
          from: { stream: KNOWLEDGE, seq: from },
          created: editor.now(),
          validFrom: null,
          validTo: null,
        }),
      );
      const { added, kept, gone: less } = store.replace({ ...key(path), digest: digestOf(text) }, items, editor.now());
      total.added += added;
      total.kept += kept;
      total.gone += less;
      told(at + i + 1);
    }
  }
  return total;
}

/** Vectors for what has none. Null where there is nothing to do. */
export async function embedMissing(
  store: KnowledgeStore,
  embedder: Embedder,
  told: (done: number) => void,
  signal: AbortSignal,
): Promise<number> {
  let done = 0;
  for (;;) {
    const some = store.unembedded(embedder.model, EMBED_BATCH);
    if (some.length === 0) return done;
    const vectors = await embedder.embed(
      some.map(({ body }) => textOf(body).slice(0, LONGEST_EMBEDDED)),
      signal,
    );
    const why = store.embed(new Map(some.map(({ id }, i) => [id, vectors[i] ?? new Float32Array()])), embedder.model);
    if (why !== null) throw new FaultError({ kind: "usage", detail: why, hint: "`orgate knowledge embed --again` makes all of them anew" });
    done += some.length;
    told(done);
  }
}
const EMBED_BATCH = 96;

export type Imported = Readonly<{ stored: number; known: number; forgotten: number }>;

/** Checked whole before anything is stored. What somebody else wrote is `untrusted`, and nobody here stands for it, unless whoever imports it says so. */
export async function importItems(
  editor: Editor,
  file: Readonly<{ name: string; text: string }>,
  trusted: boolean,
  told: (done: number) => void = () => {},
): Promise<Imported> {
  const lines = file.text.split("\n").filter((line) => line.trim() !== "");
  const items = lines.map((line, i): StoredItem => {
    const read = readLine(line);
    if (read.kind === "wrong")
      throw new FaultError({
        kind: "file-bad",
        file: file.name,
        line: i + 1,
        column: null,
        detail: read.detail,
        hint: "it has to be what `orgate knowledge export` wrote",
      });
    return trusted ? read.item : { ...read.item, verified: false, labels: [...new Set([...read.item.labels, UNTRUSTED])].sort() };
  });
  const scopes = [...new Set(items.map(({ scope }) => scope))];
  let by: Principal | null = null;
  for (const scope of scopes) by = await permitted(editor, scope, "add to what is known");
  if (by === null) return { stored: 0, known: 0, forgotten: 0 };
  await append(editor, {
    kind: "knowledge.added",
    how: "import",
    scope: null,
    agent: null,
    labels: trusted ? [] : [UNTRUSTED],
    documents: [{ path: file.name, digest: sha256(file.text), chunks: items.length }],
    by,
  });
  const store = editor.place.knowledgeStore();
  const total = { stored: 0, known: 0, forgotten: 0 };
  for (const [i, item] of items.entries()) {
    total[store.restore(item)] += 1;
    told(i + 1);
  }
  return total;
}
const UNTRUSTED = "untrusted" as Label;

export type Forgetting = Readonly<{ ids: readonly KnowledgeId[]; reason: string; erase: boolean }>;
export type ForgottenHere = Readonly<{ gone: number; clean: boolean; sessions: readonly Affected[] }>;

/** Throws `usage` where an id was never there. */
export async function forgetItems(editor: Editor, { ids: named, reason, erase }: Forgetting): Promise<ForgottenHere> {
  const store = editor.place.knowledgeStore();
  const { ids, sessions } = erase ? await reachOf(editor.place.store.journal, store, named) : { ids: named, sessions: [] };
  const found = ids.map((id) => ({ id, item: store.get(id) }));
  const there = found.flatMap(({ item }) => (item === null ? [] : [item]));
  const missing = found.find(({ id, item }) => item === null && !(erase && store.isForgotten(id)));
  if (missing !== undefined)
    throw new FaultError({ kind: "usage", detail: `nothing is known as \`${missing.id}\``, hint: "`orgate knowledge search` tells ids" });
  let by: Principal | null = null;
  for (const scope of new Set<Scope>(there.length === 0 ? ["project"] : there.map((one) => one.scope)))
    by = await permitted(editor, scope, "have something forgotten");
  if (by === null) return { gone: 0, clean: true, sessions: [] };
  for (let at = 0; at < found.length; at += TOMBSTONES)
    await append(editor, {
      kind: "knowledge.forgotten",
      items: found.slice(at, at + TOMBSTONES).map(({ id, item }) => ({ id, kind: item?.body.kind ?? "fact" })),
      erased: erase,
      by,
      reason: reason.toWellFormed(),
    });
  const { gone, clean } = store.forget(ids);
  let isClean = clean;
  for (const { session, first, last } of sessions) {
    const erased = await eraseEntries(editor.place, { session, first, last, by, reason: `forgotten: ${reason}`.toWellFormed() });
    isClean &&= erased.truncated;
  }
  return { gone, clean: isClean, sessions };
}
const TOMBSTONES = 500;
// ── what the journal has of it ──

/** A session that holds what was said, and which of its entries. */
export type Affected = Readonly<{
  session: SessionId;
  first: Seq;
  last: Seq;
  why: "it came from here" | "it was recalled here" | "it works for, or goes on from, one of them";
}>;

/** What goes with it: whatever is erased takes along what was stored from there, and that what it was recalled in. */
export type Reach = Readonly<{ ids: readonly KnowledgeId[]; sessions: readonly Affected[] }>;

/** N72 what a session that had read it has stored may say it again, and its place in the journal is gone: it goes too. */
export async function reachOf(
  journal: Pick<Journal, "sessions" | "read">,
  store: Pick<KnowledgeStore, "get" | "list">,
  named: readonly KnowledgeId[],
): Promise<Reach> {
  for (let ids = named; ; ) {
    const items = ids.flatMap((id) => store.get(id) ?? []);
    const sessions = await affectedBy(journal, ids, items);
    const first = new Map<string, Seq>(sessions.map((one) => [one.session, one.first]));
    const seen = new Set(ids);
    const more = [...everyItem(store)].filter(
      ({ id, from }) => from !== null && !seen.has(id) && from.seq >= (first.get(from.stream) ?? Infinity),
    );
    if (more.length === 0) return { ids, sessions };
    ids = [...ids, ...more.map(({ id }) => id)];
  }
}

function* everyItem(store: Pick<KnowledgeStore, "list">): Generator<StoredItem> {
  for (let after: KnowledgeId | null = null; ; ) {
    const page: readonly StoredItem[] = store.list({ after, most: 1_000 });
    yield* page;
    after = page.at(-1)?.id ?? null;
    if (page.length < 1_000) return;
  }
}

/**
 * The session it came from, whole: what was said before it was stored has it too. Those that recalled it, from there on: whatever came after may repeat it.
 * And their relatives: delegates and whom they work for, forks.
 */
export async function affectedBy(
  journal: Pick<Journal, "sessions" | "read">,
  ids: readonly KnowledgeId[],
  items: readonly StoredItem[],
): Promise<readonly Affected[]> {
  const origins = new Set(items.flatMap(({ from }) => (from === null ? [] : [from.stream as string])));
  const first = new Map<SessionId, Seq>();
  const all: { summary: SessionSummary; forkedFrom: SessionId | null }[] = [];
  for await (const summary of everySession(journal)) {
    let forkedFrom: SessionId | null = null;
    for await (const { seq: at, event } of readable(journal, summary)) {
      if (event.kind === "session.forked") forkedFrom = event.from;
      if (!first.has(summary.session) && mentions(event, ids)) first.set(summary.session, items.length === 0 ? seq(1) : at);
    }
    all.push({ summary, forkedFrom });
  }
  const found = new Map<SessionId, Affected>();
  const add = (one: SessionSummary, from: Seq, why: Affected["why"]): void =>
    void found.set(one.session, { session: one.session, first: from, last: one.seq, why });
  for (const { summary } of all) {
    const at = first.get(summary.session);
    if (origins.has(summary.session)) add(summary, seq(1), "it came from here");
    else if (at !== undefined) add(summary, at, "it was recalled here");
  }
  for (let before = -1; before !== found.size; ) {
    before = found.size;
    for (const { summary, forkedFrom } of all) {
      if (found.has(summary.session)) continue;
      const isParent = all.some(({ summary: other }) => other.parent === summary.session && found.has(other.session));
      if (isParent || [summary.parent, forkedFrom].some((one) => one !== null && found.has(one)))
        add(summary, seq(1), "it works for, or goes on from, one of them");
    }
  }
  return [...found.values()];
}

const mentions = (event: JournalEvent, ids: readonly KnowledgeId[]): boolean => {
  const text = canonical(event);
  return ids.some((id) => text.includes(id));
};

async function* everySession(journal: Pick<Journal, "sessions">): AsyncGenerator<SessionSummary> {
  for (let before: SessionSummary | null = null; ; ) {
    const page: readonly SessionSummary[] = await journal.sessions({ state: null, agent: null, before, most: 500 });
    yield* page;
    before = page.at(-1) ?? null;
    if (before === null || page.length < 500) return;
  }
}

/** What was erased before is passed over. */
async function* readable(journal: Pick<Journal, "read">, { session, seq: end }: SessionSummary): AsyncGenerator<Entry> {
  for (let after = seq(0), step = 500; after < end; ) {
    try {
      const page = await journal.read(session, after, step);
      yield* page;
      after = page.at(-1)?.seq ?? end;
      step = 500;
    } catch (error) {
      if (!isFault(error, "entry-erased")) throw error;
      if (step === 1) after = seq(after + 1);
      else step = 1;
    }
  }
}

// ── leave, and the record ──

async function permitted(editor: Editor, scope: Scope, what: string): Promise<Principal> {
  mayAct(editor.gate, editor.person, { kind: "edit-knowledge", scope }, `${what} (${scope})`);
  return known(editor, what);
}

async function append({ place: { store }, now }: Editor, event: JournalEvent): Promise<Seq> {
  const { journal } = store;
  let after = seq(0);
  for (let tries = 1; ; tries += 1) {
    for (let page = await journal.read(KNOWLEDGE, after, 1_000); page.length > 0; page = await journal.read(KNOWLEDGE, after, 1_000))
      after = page.at(-1)?.seq ?? after;
    try {
      await journal.append({ stream: KNOWLEDGE, after, hold: null, events: [{ at: now(), event }], consumes: [], unlessHalted: [] });
      return seq(after + 1);
    } catch (error) {
      if (!isFault(error, "append-conflict") || tries === 100) throw error; // somebody else edits it too
    }
  }
}
