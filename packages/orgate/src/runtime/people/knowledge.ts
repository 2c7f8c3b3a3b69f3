/**
 * Operations of people on the knowledge store: add documents and exports, forget items. Everything is decided as `edit-knowledge` on the
 * scope, by a certified person, and journalled before the store is touched (rule 2).
 * N-14 a file that has not changed is not read in again; one that is gone from a folder that is read in again is superseded.
 * N-13 a tombstone is in the journal before anything is gone; with `erase` the journal's own copies go too, and the person is told first which
 *     sessions can no longer resume.
 */
import {
  type Embedder,
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
  toCanonicalJson,
} from "@orgate/core";
import { deriveKnowledgeId, documentKind, itemText, LONGEST_EMBEDDED, readLine, splitDocument } from "@orgate/core/knowledge";
import { sha256 } from "../../node/crypto.ts";
import { appendAtEnd } from "../../store/stream-end.ts";
import type { OpenProjectStore } from "../ports/project-store.ts";
import { type Acting, assertMayAct, certifyActor } from "./approvals.ts";
import { eraseEntries } from "./erase.ts";
import { type AffectedSession, erasureReason, findForgetReach } from "./forget-reach.ts";

export type KnowledgeEditor = Omit<Acting, "place"> & Readonly<{ place: OpenProjectStore; now: () => Millis }>;

/** Whose it is to be, and what it carries. */
export type KnowledgePlacement = Readonly<{ scope: Scope; agent: string | null; labels: readonly Label[]; verified: boolean }>;
/** `path` from the project's folder on; `directory` is the folder it is about, null for what lies elsewhere. */
export type DocumentText = Readonly<{ path: string; directory: string | null; text: string }>;
export type AddedDocuments = Readonly<{ documents: number; unchanged: number; added: number; kept: number; gone: number }>;

const BATCH = 50;

/** `gone`: documents that were there and are not any more. `told` after each of them. */
export async function addDocuments(
  editor: KnowledgeEditor,
  placing: KnowledgePlacement,
  { documents, gone = [] }: Readonly<{ documents: readonly DocumentText[]; gone?: readonly string[] }>,
  told: (done: number) => void = () => {},
): Promise<AddedDocuments> {
  const store = editor.place.knowledgeStore();
  const { scope, agent, labels, verified } = placing;
  const by = await permitted(editor, scope, "add to what is known");
  const key = (path: string) => ({ path, scope, agent });
  const digestOf = (text: string) => sha256(toCanonicalJson({ text, labels: [...labels].sort(), verified }));
  const isSame = async ({ path, text }: DocumentText): Promise<boolean> =>
    (await store.documents(path)).some((one) => one.scope === scope && one.agent === agent && one.digest === digestOf(text));
  const changed: DocumentText[] = [];
  for (const one of documents) if (!(await isSame(one))) changed.push(one);
  const total = { documents: changed.length, unchanged: documents.length - changed.length, added: 0, kept: 0, gone: 0 };
  const work = [...changed, ...gone.map((path): DocumentText => ({ path, directory: null, text: "" }))];
  for (let at = 0; at < work.length; at += BATCH) {
    const batch = work.slice(at, at + BATCH).map((one) => ({ ...one, pieces: splitDocument(one.text, documentKind(one.path) ?? "text") }));
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
          id: deriveKnowledgeId(
            sha256,
            "document",
            scope,
            agent ?? "",
            path,
            [...labels].sort().join(" "),
            String(verified),
            piece.title,
            piece.text,
          ),
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
      const { added, kept, gone: less } = await store.replace({ ...key(path), digest: digestOf(text) }, items, editor.now());
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
    const some = await store.unembedded(embedder.model, EMBED_BATCH);
    if (some.length === 0) return done;
    const vectors = await embedder.embed(
      some.map(({ body }) => itemText(body).slice(0, LONGEST_EMBEDDED)),
      signal,
    );
    const why = await store.embed(new Map(some.map(({ id }, i) => [id, vectors[i] ?? new Float32Array()])), embedder.model);
    if (why !== null)
      throw new FaultError({ kind: "usage", detail: why, hint: "`orgate knowledge embed --again` makes all of them again" });
    done += some.length;
    told(done);
  }
}
const EMBED_BATCH = 96;

export type ImportedItems = Readonly<{ stored: number; known: number; forgotten: number }>;

/** Checks the whole file before anything is stored. Items are `untrusted` and unverified unless the importing person says otherwise. */
export async function importItems(
  editor: KnowledgeEditor,
  file: Readonly<{ name: string; text: string }>,
  trusted: boolean,
  told: (done: number) => void = () => {},
): Promise<ImportedItems> {
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
  if (by === null)
    throw new FaultError({
      kind: "file-bad",
      file: file.name,
      line: null,
      column: null,
      detail: "there is no item in it",
      hint: "it has to be what `orgate knowledge export` wrote, of a project that knows something",
    });
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
    total[await store.restore(item)] += 1;
    told(i + 1);
  }
  return total;
}
const UNTRUSTED = "untrusted" as Label;

export type ForgetRequest = Readonly<{ ids: readonly KnowledgeId[]; reason: string; erase: boolean }>;
/** `sessions` were erased; `left` could not be erased yet: asking again erases those too. */
export type ForgetOutcome = Readonly<{
  gone: number;
  clean: boolean;
  sessions: readonly AffectedSession[];
  left: readonly UnerasedSession[];
}>;
export type UnerasedSession = Readonly<{ session: SessionId; why: string }>;

/** Throws `usage` for an id that never existed. N-13 a person without permission is refused before anything is searched. */
export async function forgetItems(editor: KnowledgeEditor, { ids: named, reason, erase }: ForgetRequest): Promise<ForgetOutcome> {
  const store = editor.place.knowledgeStore();
  const find = (ids: readonly KnowledgeId[]) => Promise.all(ids.map(async (id) => ({ id, item: await store.get(id) })));
  const mayForget = async (items: Awaited<ReturnType<typeof find>>): Promise<Principal> => {
    const [first = "project", ...more] = new Set(items.flatMap(({ item }) => item?.scope ?? []));
    const by = await permitted(editor, first, "have something forgotten");
    for (const scope of more) await permitted(editor, scope, "have something forgotten");
    return by;
  };
  const by = await mayForget(await find(named));
  const { ids, sessions } = erase ? await findForgetReach(editor.place.store.journal, store, named) : { ids: named, sessions: [] };
  const found = await find(ids);
  for (const { id, item } of found)
    if (item === null && !(erase && (await store.isForgotten(id))))
      throw new FaultError({ kind: "usage", detail: `nothing is known as \`${id}\``, hint: "`orgate knowledge search` tells ids" });
  await mayForget(found); // what goes with it may be of other scopes
  for (let at = 0; at < found.length; at += TOMBSTONES)
    await append(editor, {
      kind: "knowledge.forgotten",
      items: found.slice(at, at + TOMBSTONES).map(({ id, item }) => ({ id, kind: item?.body.kind ?? "fact" })),
      erased: erase,
      by,
      reason: reason.toWellFormed(),
    });
  const { gone, clean } = await store.forget(ids);
  return { gone, ...(await eraseAll(editor, sessions, { by, reason: erasureReason(reason), clean })) };
}

/** N-13 one that somebody drives, or that another waits for, keeps none of the others. */
async function eraseAll(
  { place }: KnowledgeEditor,
  sessions: readonly AffectedSession[],
  { by, reason, clean }: Readonly<{ by: Principal; reason: string; clean: boolean }>,
): Promise<Omit<ForgetOutcome, "gone">> {
  const left: UnerasedSession[] = [];
  let isClean = clean;
  for (const { session, first, last } of sessions) {
    try {
      const { truncated } = await eraseEntries(place, { session, first, last, by, reason, anyway: true }); // which sessions these are was said before
      isClean &&= truncated;
    } catch (error) {
      if (!(isFault(error, "session-held") || isFault(error, "usage"))) throw error;
      left.push({ session, why: error.message });
    }
  }
  return { clean: isClean, sessions: sessions.filter(({ session }) => !left.some((one) => one.session === session)), left };
}
const TOMBSTONES = 500;

// ── leave, and the record ──

async function permitted(editor: KnowledgeEditor, scope: Scope, what: string): Promise<Principal> {
  assertMayAct(editor.gate, editor.person, { kind: "edit-knowledge", scope }, `${what} (${scope})`);
  return certifyActor(editor, what);
}

const append = ({ place, now }: KnowledgeEditor, event: JournalEvent): Promise<Seq> =>
  appendAtEnd(place.store.journal, KNOWLEDGE, { at: now(), event });
