/**
 * Knowledge in PostgreSQL, in the schema of the journal: full text by GIN over words that carry their realm, vectors where `pgvector` is installed.
 * Writers wait for each other under one advisory lock, as those of a file do. N-12 a forgotten item is gone from the tables, and a vacuum follows; what
 * PostgreSQL keeps elsewhere, its log of changes and its backups, goes with those (docs/guide/knowledge.md).
 */
import type { DocumentKey, KnowledgeStore, KnownDocument, Replaced } from "@orgate/core/knowledge";
import { digest, type KnowledgeId, type Scope } from "@orgate/core/vocab";
import { asUnreadable, asUnwritable } from "../../store/postgres/faults.ts";
import { type DatabaseOptions, type Link, openLink, type RunStatement } from "../../store/postgres/link.ts";
import { migrate } from "../../store/postgres/schema/migrations.ts";
import { fromStoredText, toStoredText } from "../../store/postgres/text.ts";
import { openItems, type PostgresItems } from "./items.ts";
import { searchItems } from "./search.ts";
import { tablesOf } from "./tables.ts";
import { openPostgresVectors } from "./vectors.ts";

export async function openPostgresKnowledge(options: DatabaseOptions): Promise<KnowledgeStore> {
  const link = await openLink(options);
  try {
    await migrate(link);
    return toKnowledgeStore(link);
  } catch (error) {
    await link.close();
    throw error;
  }
}

function toKnowledgeStore(link: Link): KnowledgeStore {
  const tables = tablesOf(link.schema);
  const vectors = openPostgresVectors(tables);
  const items = openItems(tables, vectors);
  const read: RunStatement = (sql, values) => link.read(sql, values);
  /** One writer at a time. Statements see what was committed before the lock was taken: each takes its own snapshot. */
  const write = async <T>(work: (run: RunStatement) => Promise<T>): Promise<T> => {
    try {
      return await link.transact("BEGIN", async (run) => {
        await run("SELECT pg_advisory_xact_lock(2027, $1::regclass::oid::int)", [tables.items]);
        return work(run);
      });
    } catch (error) {
      throw asUnwritable(error, link.place);
    }
  };
  return {
    reach: "remote",
    search: (search, vector) => searchItems({ run: read, tables, vectors }, search, vector),
    put: (item) => write((run) => items.put(run, item)),
    /** A hint: no process waits for it. */
    async used(ids, at) {
      await items.markUsed(link.query, ids, at).catch(() => {});
    },
    get: (id) => items.get(read, id),
    list: ({ after, most }) => items.list(read, after ?? "", most),
    restore: (item) => write((run) => items.restore(run, item)),
    documents: (path) => listDocuments(read, tables.documents, path),
    replace: (document, pieces) => write((run) => replaceDocument(run, { items, table: tables.documents }, document, pieces)),
    piecesOf: async (document) => (await items.listPieces(read, document)).map(({ id }) => id),
    async forget(ids) {
      const gone = await write((run) => forgetItems(run, { items, table: tables.documents }, ids));
      return { gone, clean: await link.vacuum(tables.items, tables.words, tables.documents) };
    },
    isForgotten: (id) => items.isForgotten(read, id),
    async unembedded(model, most) {
      const about = await vectors.about(read);
      return about !== null && about.model !== model ? [] : items.listUnembedded(read, most);
    },
    embed: (given, model) => write(async (run) => vectors.put(run, await items.locate(run, given), model)),
    async dropVectors() {
      await write((run) => vectors.drop(run));
    },
    async stats() {
      try {
        const [about, counted] = [await vectors.about(read), await items.count(read)];
        const { embedded, ...numbers } = counted;
        return { ...numbers, vectors: about === null ? null : { ...about, count: embedded } };
      } catch (error) {
        throw asUnreadable(error, link.place);
      }
    },
    close: () => link.close(),
  };
}

// ── documents ──

type DocumentRow = Readonly<{ path: string; scope: Scope; agent: string; digest: string; chunks: string }>;
type Documents = Readonly<{ items: PostgresItems; table: string }>;

async function listDocuments(run: RunStatement, table: string, path?: string): Promise<readonly KnownDocument[]> {
  const [where, values] = path === undefined ? ["", []] : ["WHERE path = $1", [toStoredText(path)]];
  const rows = await run<DocumentRow>(`SELECT * FROM ${table} ${where} ORDER BY path, scope, agent`, values);
  return rows.map(({ path: at, scope, agent, digest: of, chunks }) => ({
    path: fromStoredText(at),
    scope,
    agent: agent === "" ? null : fromStoredText(agent),
    digest: digest(of),
    chunks: Number(chunks),
  }));
}

async function replaceDocument(
  run: RunStatement,
  { items, table }: Documents,
  { path, scope, agent, digest: of }: Parameters<KnowledgeStore["replace"]>[0],
  pieces: Parameters<KnowledgeStore["replace"]>[1],
): Promise<Replaced> {
  const { chunks, ...replaced } = await items.replacePieces(run, { path, scope, agent }, pieces);
  const key = [toStoredText(path), scope, toStoredText(agent ?? "")];
  await run(`DELETE FROM ${table} WHERE path = $1 AND scope = $2 AND agent = $3`, key);
  await run(`INSERT INTO ${table} VALUES ($1, $2, $3, $4, $5)`, [...key, of, chunks]);
  return replaced;
}

/** A document goes with the last of its pieces. */
async function forgetItems(run: RunStatement, { items, table }: Documents, ids: readonly KnowledgeId[]): Promise<number> {
  const gone = await items.forget(run, ids);
  for (const document of await listDocuments(run, table)) {
    const key: DocumentKey = document;
    if ((await items.listPieces(run, key)).length > 0) continue;
    await run(`DELETE FROM ${table} WHERE path = $1 AND scope = $2 AND agent = $3`, [
      toStoredText(key.path),
      key.scope,
      toStoredText(key.agent ?? ""),
    ]);
  }
  return gone;
}
