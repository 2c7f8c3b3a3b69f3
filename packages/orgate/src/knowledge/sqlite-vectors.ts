/**
 * Vectors in the extension sqlite-vec, which is loaded when the first vector is needed. N-3 one model and one length: a vector of another is reported,
 * and the search goes by words alone. Each realm is a partition of its own.
 */

import type { DatabaseSync } from "node:sqlite";
import type { Vector } from "@orgate/core/knowledge";
import { errorMessage } from "@orgate/core/vocab";
import { getLoadablePath } from "sqlite-vec";

export type Near = Readonly<{ rows: readonly Readonly<{ n: number; cosine: number }>[]; trouble: string | null }>;
export type Embedding = Readonly<{ model: string; dimension: number }>;

export type Vectors = Readonly<{
  about(): Embedding | null;
  nearest(vector: Vector, realms: readonly number[], most: number): Near;
  /** Inside a transaction. Null, or why not. */
  put(rows: readonly Readonly<{ n: number; realm: number; values: Float32Array }>[], model: string): string | null;
  remove(n: number): void;
  drop(): void;
  count(): number;
  /** Of the rows after that one: some, by number; a vector that points nowhere is zero. Or why they cannot be read. */
  list(after: number, most: number): readonly Readonly<{ n: number; realm: number; values: Float32Array }>[] | string;
}>;

const MOST_DIMENSIONS = 8_192;

export function openVectors(db: DatabaseSync): Vectors {
  const load = extensionLoader(db);
  function about(): Embedding | null {
    const row = db.prepare("SELECT model, dimension FROM embedding").get();
    return row === undefined ? null : { model: String(row.model), dimension: Number(row.dimension) };
  }
  function begin(model: string, dimension: number): void {
    db.exec(`CREATE VIRTUAL TABLE item_vectors USING vec0(realm INTEGER PARTITION KEY, embedding float[${dimension}])`);
    db.prepare("INSERT INTO embedding VALUES (?, ?)").run(model, dimension);
  }

  return {
    about,
    nearest({ model, values }, realms, most) {
      const known = about();
      if (known === null) return { rows: [], trouble: null }; // nothing has a vector yet
      if (known.model !== model) return { rows: [], trouble: `by words alone: vectors are of ${known.model}, not of ${model}` };
      if (known.dimension !== values.length)
        return { rows: [], trouble: `by words alone: vectors have ${known.dimension} dimensions, not ${values.length}` };
      const why = load();
      if (why !== null) return { rows: [], trouble: `by words alone: ${why}` };
      const find = db.prepare("SELECT rowid, distance FROM item_vectors WHERE embedding MATCH ? AND k = ? AND realm = ?");
      const towards = unit(values);
      const rows = towards === null ? [] : realms.flatMap((realm) => find.all(bytes(towards), most, realm));
      const near = rows.map((row) => ({ n: Number(row.rowid), cosine: 1 - Number(row.distance) ** 2 / 2 }));
      return {
        rows: near
          .filter(({ cosine }) => Number.isFinite(cosine))
          .sort((a, b) => b.cosine - a.cosine || a.n - b.n)
          .slice(0, most),
        trouble: null,
      };
    },
    put(rows, model) {
      const lengths = new Set(rows.map(({ values }) => values.length));
      const [dimension = 0] = lengths;
      if (rows.length === 0) return null;
      const known = about();
      if (known !== null && known.model !== model) return `vectors are of ${known.model}, not of ${model}`;
      if (known !== null) lengths.add(known.dimension);
      if (lengths.size > 1) return `vectors of ${[...lengths].join(" and ")} dimensions do not go together`;
      if (dimension < 1 || dimension > MOST_DIMENSIONS) return `vectors of ${dimension} dimensions cannot be kept`;
      const why = load();
      if (why !== null) return why;
      if (known === null) begin(model, dimension);
      const drop = db.prepare("DELETE FROM item_vectors WHERE rowid = ?");
      const add = db.prepare("INSERT INTO item_vectors (rowid, realm, embedding) VALUES (?, ?, ?)");
      const mark = db.prepare("INSERT OR IGNORE INTO embedded VALUES (?)");
      for (const { n, realm, values } of rows) {
        const towards = unit(values);
        drop.run(BigInt(n));
        if (towards !== null) add.run(BigInt(n), BigInt(realm), bytes(towards));
        mark.run(n);
      }
      return null;
    },
    remove(n) {
      if (db.prepare("DELETE FROM embedded WHERE n = ?").run(n).changes === 0) return;
      const why = load();
      if (why !== null) throw new Error(why);
      const dimension = about()?.dimension ?? 0;
      // what was there is overwritten before its place is given back
      db.prepare("UPDATE item_vectors SET embedding = ? WHERE rowid = ?").run(bytes(new Float32Array(dimension)), BigInt(n));
      db.prepare("DELETE FROM item_vectors WHERE rowid = ?").run(BigInt(n));
    },
    drop() {
      if (about() === null) return;
      const why = load();
      if (why !== null) throw new Error(why);
      db.exec("DROP TABLE item_vectors; DELETE FROM embedding; DELETE FROM embedded");
    },
    count: () => Number(db.prepare("SELECT count(*) AS n FROM embedded").get()?.n ?? 0),
    list(after, most) {
      const known = about();
      const why = known === null ? null : load();
      return known === null ? [] : (why ?? listVectors(db, known.dimension, { after, most }));
    },
  };
}

function listVectors(db: DatabaseSync, dimension: number, { after, most }: Readonly<{ after: number; most: number }>) {
  const rows = db.prepare("SELECT e.n, i.realm FROM embedded e JOIN items i ON i.n = e.n WHERE e.n > ? ORDER BY e.n LIMIT ?");
  const find = db.prepare("SELECT embedding FROM item_vectors WHERE rowid = ?");
  return rows.all(after, most).map(({ n, realm }) => {
    const found = find.get(BigInt(Number(n)))?.embedding;
    const values = found instanceof Uint8Array ? new Float32Array(new Uint8Array(found).buffer) : new Float32Array(dimension);
    return { n: Number(n), realm: Number(realm), values };
  });
}

/** Loads the extension at the first call. Null if it can be used, otherwise the reason why not. */
function extensionLoader(db: DatabaseSync): () => string | null {
  let ready: "no" | "yes" | Readonly<{ why: string }> = "no";
  return () => {
    if (ready === "no") {
      try {
        db.loadExtension(getLoadablePath());
        ready = "yes";
      } catch (error) {
        ready = { why: `sqlite-vec cannot be loaded here: ${errorMessage(error)}` };
      }
    }
    return ready === "yes" ? null : ready.why;
  };
}

/** Of length one, so that the plain distance, which the extension computes fastest, tells the cosine. Null: it points nowhere. */
function unit(values: Float32Array): Float32Array | null {
  const length = Math.hypot(...values);
  return length > 0 && Number.isFinite(length) ? values.map((x) => x / length) : null;
}
const bytes = (values: Float32Array): Uint8Array => new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
