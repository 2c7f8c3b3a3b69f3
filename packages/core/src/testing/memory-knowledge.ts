/** A store of knowledge in memory: small, exact, and slow with many items. What it does is what every store does. */
import { findSupersession, holdsAt, itemText, maySupersede, toSlot } from "../knowledge/item.ts";
import type { Search } from "../knowledge/port.ts";
import { CANDIDATES, rankCandidates } from "../knowledge/rank.ts";
import type { DocumentKey, KnownDocument, LocalKnowledgeStore, Vector } from "../knowledge/store.ts";
import { splitWords, stem } from "../knowledge/words.ts";
import { type KnowledgeId, type KnowledgeItem, type StoredItem, scopesWithin } from "../vocab/index.ts";

export function memoryKnowledge(): LocalKnowledgeStore {
  const items = new Map<KnowledgeId, StoredItem>();
  const forgotten = new Set<KnowledgeId>();
  const documents = new Map<string, KnownDocument>();
  const vectors = new Map<KnowledgeId, Float32Array>();
  let model: string | null = null;
  const keyOf = ({ path, scope, agent }: DocumentKey): string => JSON.stringify([path, scope, agent]);
  const current = (): readonly StoredItem[] => [...items.values()].filter((one) => one.supersededBy === null);
  const fresh = (item: KnowledgeItem): StoredItem => ({ ...item, usedAt: null, uses: 0, supersededBy: null });
  const change = (id: KnowledgeId, to: Partial<StoredItem>): void => {
    const was = items.get(id);
    if (was !== undefined) items.set(id, { ...was, ...to });
  };

  function put(item: KnowledgeItem): ReturnType<LocalKnowledgeStore["put"]> {
    if (forgotten.has(item.id)) return { kind: "forgotten" };
    if (items.has(item.id)) return { kind: "known" };
    const slot = toSlot(item);
    const before = slot === null ? [] : current().filter((one) => toSlot(one) === slot);
    if (item.body.kind === "working") {
      if (before.some((one) => one.created > item.created)) return { kind: "stale" };
      for (const { id } of before) drop(id);
      items.set(item.id, fresh(item));
      return { kind: "stored", superseded: before[0]?.id ?? null };
    }
    const old = before.filter((one) => maySupersede(item, one));
    for (const { id } of old) change(id, { supersededBy: item.id });
    items.set(item.id, fresh(item));
    return { kind: "stored", superseded: old[0]?.id ?? null };
  }

  function drop(id: KnowledgeId): boolean {
    vectors.delete(id);
    return items.delete(id);
  }

  const isVisible = ({ agent, scope, directory, now }: Search, one: StoredItem): boolean =>
    scopesWithin(scope).includes(one.scope) &&
    (one.scope !== "agent" || one.agent === agent) &&
    holdsAt(one, now) &&
    (directory === null ||
      one.directory === directory.path ||
      (directory.how === "below" && one.directory !== null && (directory.path === "" || one.directory.startsWith(`${directory.path}/`))));

  function search(given: Search, vector: Vector | null): ReturnType<LocalKnowledgeStore["search"]> {
    const seen = current().filter((one) => isVisible(given, one));
    const stems = given.terms.map(stem);
    const matched = seen
      .map((item) => {
        const words = new Set([...splitWords(itemText(item.body))].map(stem));
        return { item, n: stems.filter((one) => words.has(one)).length };
      })
      .filter(({ n }) => n > 0)
      .sort((a, b) => b.n - a.n);
    const trouble = vector === null || model === null || vector.model === model ? null : `vectors are of ${model}, not of ${vector.model}`;
    const near =
      vector === null || vector.model !== model
        ? []
        : seen.flatMap((item) => {
            const values = vectors.get(item.id);
            return values === undefined || values.length !== vector.values.length ? [] : [{ item, cosine: cosine(values, vector.values) }];
          });
    const lexical = matched.slice(0, CANDIDATES).map(({ item }) => item);
    return { hits: rankCandidates({ lexical, nearest: near.sort((a, b) => b.cosine - a.cosine).slice(0, CANDIDATES) }, given), trouble };
  }

  return {
    reach: "local",
    search,
    put,
    used(ids, at) {
      for (const id of ids) change(id, { uses: (items.get(id)?.uses ?? 0) + 1, usedAt: at });
    },
    get: (id) => items.get(id) ?? null,
    list: ({ after, most }) =>
      [...items.values()]
        .sort((a, b) => (a.id < b.id ? -1 : 1))
        .filter((one) => after === null || one.id > after)
        .slice(0, most),
    restore(item) {
      if (forgotten.has(item.id)) return "forgotten";
      if (items.has(item.id)) return "known";
      const slot = item.supersededBy === null ? toSlot(item) : null;
      const there = slot === null ? [] : current().filter((one) => toSlot(one) === slot);
      const isWorking = item.body.kind === "working";
      const { by, supersedes } = findSupersession(item, there);
      if (isWorking && by !== null) return "known";
      for (const id of supersedes)
        if (isWorking) drop(id);
        else change(id, { supersededBy: item.id });
      items.set(item.id, { ...item, supersededBy: item.supersededBy ?? by });
      return "stored";
    },
    documents: (path) => [...documents.values()].filter((one) => path === undefined || one.path === path),
    replace(document, pieces, _at) {
      const wanted = pieces.filter(({ id }) => !forgotten.has(id));
      const ids = new Set(wanted.map(({ id }) => id));
      const before = piecesOf(document);
      const gone = before.filter((id) => !ids.has(id) && items.get(id)?.supersededBy === null);
      for (const id of gone) change(id, { supersededBy: wanted[0]?.id ?? id });
      const kept = wanted.filter(({ id }) => items.get(id)?.supersededBy === null).length;
      for (const item of wanted) if (items.get(item.id)?.supersededBy !== null) items.set(item.id, fresh(item));
      documents.set(keyOf(document), { ...document, chunks: ids.size });
      return { added: ids.size - kept, kept, gone: gone.length };
    },
    piecesOf,
    forget(ids) {
      for (const id of ids) forgotten.add(id);
      const gone = ids.filter(drop).length;
      for (const [key, document] of documents) if (piecesOf(document).length === 0) documents.delete(key);
      return { gone, clean: true };
    },
    isForgotten: (id) => forgotten.has(id),
    unembedded: (of, most) =>
      model !== null && model !== of
        ? []
        : current()
            .filter(({ id }) => !vectors.has(id))
            .slice(0, most),
    embed(given, of) {
      const lengths = new Set([...vectors.values(), ...given.values()].map((one) => one.length));
      if (model !== null && model !== of) return `vectors are of ${model}, not of ${of}`;
      if (lengths.size > 1) return `vectors of ${[...lengths].join(" and ")} dimensions do not go together`;
      model = of;
      for (const [id, values] of given) if (items.has(id)) vectors.set(id, values);
      return null;
    },
    dropVectors() {
      vectors.clear();
      model = null;
    },
    stats: () => ({
      items: current().length,
      superseded: items.size - current().length,
      forgotten: forgotten.size,
      documents: documents.size,
      kinds: tally(current().map(({ body }) => body.kind)),
      scopes: tally(current().map(({ scope }) => scope)),
      vectors: model === null ? null : { model, dimension: [...vectors.values()][0]?.length ?? 0, count: vectors.size },
      bytes: 0,
    }),
    close() {},
  };

  function piecesOf({ path, scope, agent }: DocumentKey): readonly KnowledgeId[] {
    return [...items.values()]
      .filter((one) => one.body.kind === "chunk" && one.body.document === path && one.scope === scope && one.agent === agent)
      .map(({ id }) => id);
  }
}

export function cosine(a: Float32Array, b: Float32Array): number {
  let [dot, aa, bb] = [0, 0, 0];
  for (let i = 0; i < a.length; i += 1) {
    const [x, y] = [a[i] ?? 0, b[i] ?? 0];
    dot += x * y;
    aa += x * x;
    bb += y * y;
  }
  return aa === 0 || bb === 0 ? 0 : dot / Math.sqrt(aa * bb);
}

function tally<K extends string>(names: readonly K[]): Partial<Record<K, number>> {
  const counts: Partial<Record<K, number>> = {};
  for (const name of names) counts[name] = (counts[name] ?? 0) + 1;
  return counts;
}
