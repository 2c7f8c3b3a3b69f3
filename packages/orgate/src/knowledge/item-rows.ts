/** An item as the columns of a row, in either database. */
import { type KnowledgeBody, knowledgeId, type Label, millis, type Scope, type StoredItem, seq, streamId } from "@orgate/core/vocab";

export const COLUMNS =
  "i.id, i.body, i.scope, i.agent, i.directory, i.confidence, i.source, i.labels, i.verified, i.stream, i.seq, i.created, i.valid_from, i.valid_to, i.used_at, i.uses, i.superseded_by";

type Row = Readonly<Record<string, unknown>>;
const orNull = <T>(value: unknown, to: (n: number) => T): T | null => (value === null ? null : to(Number(value)));
const text = (value: unknown): string | null => (value === null ? null : String(value));

/** Bodies and labels were checked before they were stored. */
export function toStoredItem(row: Row): StoredItem {
  const stream = text(row["stream"]);
  const by = text(row["superseded_by"]);
  return {
    id: knowledgeId(String(row["id"])),
    body: JSON.parse(String(row["body"])) as KnowledgeBody,
    scope: String(row["scope"]) as Scope,
    agent: text(row["agent"]),
    directory: text(row["directory"]),
    confidence: Number(row["confidence"]),
    source: String(row["source"]) as StoredItem["source"],
    labels: JSON.parse(String(row["labels"])) as Label[],
    verified: Number(row["verified"]) === 1,
    from: stream === null ? null : { stream: streamId(stream), seq: seq(Number(row["seq"])) },
    created: millis(Number(row["created"])),
    validFrom: orNull(row["valid_from"], millis),
    validTo: orNull(row["valid_to"], millis),
    usedAt: orNull(row["used_at"], millis),
    uses: Number(row["uses"]),
    supersededBy: by === null ? null : knowledgeId(by),
  };
}
