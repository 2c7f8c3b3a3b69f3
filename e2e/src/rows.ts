/** The journal's rows as they lie in the file, read without any code of the runtime: what is durable, whatever a process believes. */
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";

/** `position`: where it stands in the journal as a whole. `append`: the id of the row that holds it. */
export type RawEntry = Readonly<{ position: number; append: number; stream: string; seq: number; kind: string; payload: string }>;

/** The lines of an append's body: `<kind> <at> <payloadHash> <salt> <payload>`. The kind is without the version that is stored with it. */
export const readLines = (body: string): readonly Pick<RawEntry, "kind" | "payload">[] =>
  body
    .split("\n")
    .slice(0, -1)
    .map((line) => {
      const [stored = "", , , , ...payload] = line.split(" ");
      return { kind: stored.split("@")[0] ?? "", payload: payload.length === 0 ? "null" : payload.join(" ") }; // null once erased
    });

/** In the order in which they became durable; of one stream, or of all. The database is closed again: an open connection would spare the next process the recovery of the WAL. */
export function readRows(directory: string, stream: string | null = null): readonly RawEntry[] {
  const db = new DatabaseSync(join(directory, "journal.db"), { readOnly: true, timeout: 30_000 });
  try {
    const rows = db
      .prepare(
        "SELECT a.id, s.stream, a.first, a.body FROM appends AS a JOIN streams AS s ON s.no = a.stream WHERE ? IS NULL OR s.stream = ? ORDER BY a.id",
      )
      .all(stream, stream);
    return rows.flatMap((row) =>
      readLines(String(row.body)).map((line, i) => ({
        ...{ position: Number(row.id) + i, append: Number(row.id), stream: String(row.stream), seq: Number(row.first) + i },
        ...line,
      })),
    );
  } finally {
    db.close();
  }
}
