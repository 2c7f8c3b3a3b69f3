/**
 * Which project's journal a database holds, so that the keys of another one do no harm: whoever read it with them would find every seal wrong, and raise an
 * alarm that stops all the others.
 */
import { createHmac } from "node:crypto";
import { FaultError } from "@orgate/core/vocab";
import type { Link } from "../link.ts";

export const IDENTITY_TABLE = `CREATE TABLE project (one boolean PRIMARY KEY DEFAULT true CHECK (one), identity text NOT NULL)`;

/** Rejects with `key-bad` where the journal was made with other keys than those of this machine. The first to open an empty database says which. */
export async function checkIdentity(link: Link, directory: string, blobKey: string | Uint8Array): Promise<void> {
  const table = `"${link.schema}".project`;
  const identity = createHmac("sha256", blobKey).update("the project of a journal").digest("hex");
  const read = async (): Promise<string | undefined> =>
    (await link.read<{ identity: string }>(`SELECT identity FROM ${table}`))[0]?.identity;
  let found = await read();
  if (found === undefined) {
    await link.query(`INSERT INTO ${table} (identity) VALUES ($1) ON CONFLICT DO NOTHING`, [identity]);
    found = await read();
  }
  if (found === identity) return;
  throw new FaultError({
    kind: "key-bad",
    key: `${directory}/keys`,
    detail: `the journal in ${link.place}, schema ${link.schema}, was made with other keys`,
    hint: "give this machine the project's keys/root.key and keys/blobs.key (docs/guide/cluster.md); or name another `schema` in [cluster] for a new journal",
  });
}
