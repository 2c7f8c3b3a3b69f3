/**
 * Vectors in the extension `pgvector`. N-3 one model and one length: a vector of another is reported, and the search goes by words alone. Exact search
 * within the realms of the asker; an index that only approximates would filter afterwards.
 * NOT TESTED with the extension: no registry of the laboratory has it. Tested without: it is reported, and words are searched.
 */
import type { Vector } from "@orgate/core/knowledge";
import type { RunStatement } from "../../store/postgres/link.ts";
import type { KnowledgeTables } from "./tables.ts";

type Near = Readonly<{ rows: readonly Readonly<{ n: string; cosine: number }>[]; trouble: string | null }>;
type Embedding = Readonly<{ model: string; dimension: number }>;
export type VectorPlace = Readonly<{ n: string; realm: string; values: Float32Array }>;

const MOST_DIMENSIONS = 16_000;
const ABSENT = "the extension pgvector is not installed in this database: `CREATE EXTENSION vector` installs it";

export type PostgresVectors = ReturnType<typeof openPostgresVectors>;

export function openPostgresVectors({ embedding, vectors, items }: KnowledgeTables) {
  /** The schema of the extension; null where it is not installed. */
  async function findExtension(run: RunStatement): Promise<string | null> {
    const [row] = await run<{ schema: string }>(
      "SELECT quote_ident(n.nspname) AS schema FROM pg_extension AS e JOIN pg_namespace AS n ON n.oid = e.extnamespace WHERE e.extname = 'vector'",
    );
    return row?.schema ?? null;
  }
  const about = async (run: RunStatement): Promise<Embedding | null> => {
    const [row] = await run<{ model: string; dimension: number }>(`SELECT model, dimension FROM ${embedding}`);
    return row ?? null;
  };

  return {
    about,
    async nearest(run: RunStatement, { model, values }: Vector, realms: readonly string[], most: number): Promise<Near> {
      const none = (why: string): Near => ({ rows: [], trouble: `by words alone: ${why}` });
      const extension = await findExtension(run);
      if (extension === null) return none(ABSENT);
      const known = await about(run);
      if (known === null) return { rows: [], trouble: null }; // nothing has a vector yet
      if (known.model !== model) return none(`vectors are of ${known.model}, not of ${model}`);
      if (known.dimension !== values.length) return none(`vectors have ${known.dimension} dimensions, not ${values.length}`);
      if (!pointsSomewhere(values)) return { rows: [], trouble: null };
      const distance = `embedding OPERATOR(${extension}.<=>) $1::${extension}.vector`;
      const rows = await run<{ n: string; cosine: number }>(
        `SELECT n, 1 - (${distance}) AS cosine FROM ${vectors} WHERE realm = ANY($2::bigint[]) ORDER BY ${distance}, n LIMIT $3`,
        [toText(values), realms, most],
      );
      return { rows, trouble: null };
    },
    /** Null, or why not. */
    async put(run: RunStatement, rows: readonly VectorPlace[], model: string): Promise<string | null> {
      if (rows.length === 0) return null;
      const lengths = new Set(rows.map(({ values }) => values.length));
      const [dimension = 0] = lengths;
      const known = await about(run);
      if (known !== null && known.model !== model) return `vectors are of ${known.model}, not of ${model}`;
      if (known !== null) lengths.add(known.dimension);
      if (lengths.size > 1) return `vectors of ${[...lengths].join(" and ")} dimensions do not go together`;
      if (dimension < 1 || dimension > MOST_DIMENSIONS) return `vectors of ${dimension} dimensions cannot be kept`;
      const extension = await findExtension(run);
      if (extension === null) return ABSENT;
      if (known === null) {
        await run(
          `CREATE TABLE ${vectors} (n bigint PRIMARY KEY, realm bigint NOT NULL, embedding ${extension}.vector(${dimension}) NOT NULL)`,
        );
        await run(`CREATE INDEX knowledge_vectors_realm ON ${vectors} (realm)`);
        await run(`INSERT INTO ${embedding} VALUES ($1, $2)`, [model, dimension]);
      }
      for (const { n, realm, values } of rows)
        if (pointsSomewhere(values))
          await run(
            `INSERT INTO ${vectors} VALUES ($1, $2, $3::${extension}.vector) ON CONFLICT (n) DO UPDATE SET embedding = excluded.embedding`,
            [n, realm, toText(values)],
          );
      await run(`UPDATE ${items} SET embedded = true WHERE n = ANY($1::bigint[])`, [rows.map(({ n }) => n)]);
      return null;
    },
    async remove(run: RunStatement, rows: readonly string[]): Promise<void> {
      if (rows.length > 0 && (await about(run)) !== null) await run(`DELETE FROM ${vectors} WHERE n = ANY($1::bigint[])`, [rows]);
    },
    async drop(run: RunStatement): Promise<void> {
      if ((await about(run)) === null) return;
      await run(`DROP TABLE ${vectors}`);
      await run(`DELETE FROM ${embedding}`);
      await run(`UPDATE ${items} SET embedded = false WHERE embedded`);
    },
  };
}

const pointsSomewhere = (values: Float32Array): boolean => {
  const length = Math.hypot(...values);
  return length > 0 && Number.isFinite(length);
};
const toText = (values: Float32Array): string => `[${values.join(",")}]`;
