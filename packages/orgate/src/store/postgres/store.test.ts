// @module-tag postgres
import { inboxContract, journalContract, type MakeStore } from "@orgate/core/testing";
import { expect, test } from "vitest";
import { storeContract } from "../fixtures/store-contract.ts";
import { createSchema, testUrl } from "./fixtures/schemas.ts";

/** `url` leads through PgBouncer in transaction mode; there LISTEN needs a direct address. */
const pooler = process.env.ORGATE_TEST_PGBOUNCER;
const ways = [
  { name: "postgres", way: {} },
  ...(pooler === undefined ? [] : [{ name: "postgres behind PgBouncer", way: { url: pooler, listenUrl: testUrl() } }]),
];

const makeOn =
  (way: (typeof ways)[number]["way"]): MakeStore =>
  async () => {
    const place = await createSchema(way);
    const edit = (sql: string, ...values: readonly unknown[]): Promise<unknown> =>
      place.link.query(sql.replaceAll("$$.", `"${place.schema}".`), values);
    return {
      async open() {
        const store = await place.open();
        return { journal: store.journal, inbox: store.inbox, records: place.records, catchUp: store.catchUp, die: () => place.kill(store) };
      },
      async fill() {
        await edit(
          "CREATE FUNCTION $$.fail() RETURNS trigger LANGUAGE plpgsql AS $f$ BEGIN RAISE EXCEPTION 'no space left on device' USING ERRCODE = '53100'; END $f$",
        );
        await edit("CREATE TRIGGER full_disk BEFORE INSERT ON $$.appends FOR EACH ROW EXECUTE FUNCTION $$.fail()");
      },
      async spoil(stream, at) {
        const [row] = (await edit(
          `SELECT a.id, a.first, a.body FROM $$.appends AS a JOIN $$.streams AS s ON s.no = a.stream
        WHERE s.stream = $1 AND a.first <= $2 AND a.first + a.count > $2`,
          stream,
          at,
        )) as { id: string; first: string; body: string }[];
        if (row === undefined) throw new Error(`there is no entry ${at} of ${stream}`);
        const lines = row.body.split("\n");
        lines[at - Number(row.first)] += " ";
        await edit("UPDATE $$.appends SET body = $1 WHERE id = $2", lines.join("\n"), row.id);
      },
      async remove(stream, at) {
        const where = "s.no = a.stream AND s.stream = $1 AND a.first <= $2 AND a.first + a.count > $2";
        await edit(`DELETE FROM $$.appends AS a USING $$.streams AS s WHERE ${where}`, stream, at);
      },
      spoilBlobs: async () => void (await edit("UPDATE $$.blobs SET text = '!' || substr(text, 2)")),
      dispose: place.drop,
    };
  };

for (const { name, way } of ways) {
  journalContract(name, makeOn(way), { test, expect });
  inboxContract(name, makeOn(way), { test, expect });
  storeContract(name, async () => {
    const place = await createSchema(way);
    const opened: Awaited<ReturnType<typeof place.open>>[] = [];
    return {
      async open() {
        const store = await place.open();
        opened.push(store);
        return store;
      },
      catchUp: async () => void (await Promise.all(opened.map((store) => store.catchUp()))),
      dispose: place.drop,
    };
  });
}
