/** The schema of the database, brought up to date: forward only, one transaction each, under a lock, safe twice and by many processes at once. */
import { FORMAT } from "@orgate/core/journal";
import { FaultError } from "@orgate/core/vocab";
import { MOVED, WAS_MOVED } from "../../sqlite/schema.ts";
import { asUnwritable } from "../faults.ts";
import type { Link, RunStatement } from "../link.ts";
import { REQUESTS_TABLE } from "../requests.ts";
import { CLAIMS } from "./claims.ts";
import { FUNCTIONS } from "./functions.ts";
import { IDENTITY_TABLE } from "./identity.ts";
import { KNOWLEDGE_TABLES } from "./knowledge.ts";
import { TABLES } from "./tables.ts";

/** How many appends a process has committed, as it tells when it renews its lease: with its commits, how well they are grouped. */
const APPENDS_OF_WRITERS = "ALTER TABLE writers ADD COLUMN appends bigint NOT NULL DEFAULT 0";

/** What a process is, for whoever looks at a cluster. Each writes its own when it starts: one that is older than this has neither. */
const KINDS_OF_WRITERS = "ALTER TABLE writers ADD COLUMN version text NOT NULL DEFAULT '', ADD COLUMN role text NOT NULL DEFAULT ''";

/**
 * How a process does, as it tells when it renews its lease. How far behind it is (`lag`) is counted here, where the whole journal is known. What a name told under an
 * earlier incarnation is of another process: one of an older version tells nothing and leaves it there.
 */
const FIGURES_OF_WRITERS = `ALTER TABLE writers ADD COLUMN told jsonb;
CREATE FUNCTION renew_lease(me text, mine bigint, wrote bigint, ends_others boolean, tells jsonb) RETURNS json LANGUAGE plpgsql AS $f$
DECLARE answer json := renew_lease(me, mine, wrote, ends_others);
BEGIN
  IF answer->>'kind' = 'renewed' THEN
    UPDATE writers SET told = tells || jsonb_build_object('incarnation', mine,
      'lag', greatest(0, coalesce((SELECT id + count - 1 FROM appends ORDER BY id DESC LIMIT 1), 0) - (tells->>'seen')::bigint)) WHERE writer = me AND incarnation = mine;
  END IF;
  RETURN answer;
END $f$`;

/** In order; a published one never changes. */
export const ALL_MIGRATIONS: readonly string[] = [
  `${TABLES}\n${FUNCTIONS}`,
  REQUESTS_TABLE,
  KNOWLEDGE_TABLES,
  APPENDS_OF_WRITERS,
  IDENTITY_TABLE,
  CLAIMS,
  KINDS_OF_WRITERS,
  FIGURES_OF_WRITERS,
];

const MIGRATION_MS = 3_600_000;

/** Creates what is missing; `isMoving`: also where a move has closed the journal, and closed if it is new. Rejects with `journal-unreadable` where a newer version, or somebody else, has made this schema. */
export async function migrate(link: Link, migrations: readonly string[] = ALL_MIGRATIONS, isMoving = false): Promise<void> {
  if ((await versionOf((sql, values) => link.read(sql, values), link, { isMoving, known: migrations.length })) === migrations.length)
    return;
  try {
    await link.transact(
      "BEGIN",
      async (run) => {
        for (const limit of ["statement_timeout", "lock_timeout"]) await run(`SET LOCAL ${limit} = 0`); // rows are brought up to date, too, however many, and others wait for it
        await run("SELECT pg_advisory_xact_lock(2025, hashtext($1))", [link.schema]);
        await run(`SET LOCAL lock_timeout = ${link.lockTimeoutMs}`); // whoever waits for a table makes all others wait
        const there = await run("SELECT 1 FROM pg_namespace WHERE nspname = $1", [link.schema]);
        if (there.length === 0) await run(`CREATE SCHEMA "${link.schema}"`); // IF NOT EXISTS asks for the right to create, also where it is not used
        await run(`SET LOCAL search_path TO "${link.schema}", pg_temp`);
        const version = await versionOf(run, link, { isMoving, known: migrations.length });
        if (version === 0) await run("CREATE TABLE format (version int NOT NULL, migrations int NOT NULL)");
        for (const sql of migrations.slice(version)) await run(sql);
        if (version === 0) await run("INSERT INTO format VALUES ($1, $2)", [isMoving ? MOVED : FORMAT, migrations.length]);
        else await run("UPDATE format SET migrations = $1", [migrations.length]);
        await run(pinSearchPath(link.schema));
      },
      MIGRATION_MS,
    );
  } catch (error) {
    throw asUnwritable(error, link.place);
  }
}

/** Functions find their own tables, whatever the settings of who calls them. */
const pinSearchPath = (schema: string): string => `DO $$ DECLARE f record; BEGIN
  FOR f IN SELECT p.oid::regprocedure AS name FROM pg_proc AS p JOIN pg_namespace AS n ON n.oid = p.pronamespace WHERE n.nspname = '${schema}' LOOP
    EXECUTE format('ALTER FUNCTION %s SET search_path = "${schema}", pg_temp', f.name);
  END LOOP; END $$`;

type Knowing = Readonly<{ isMoving: boolean; known: number }>;

async function versionOf(run: RunStatement, { schema, place }: Link, { isMoving, known }: Knowing): Promise<number> {
  const tables = await run<{ name: string }>("SELECT table_name AS name FROM information_schema.tables WHERE table_schema = $1", [schema]);
  if (tables.length === 0) return 0;
  const bad = (detail: string): FaultError => new FaultError({ kind: "journal-unreadable", file: `${place}, schema ${schema}`, detail });
  if (!tables.some(({ name }) => name === "format")) throw bad("there are tables in it, but no journal");
  const [row] = await run<{ version: number; migrations: number }>(`SELECT version, migrations FROM "${schema}".format`);
  if (row?.version === MOVED && !isMoving) throw bad(WAS_MOVED);
  if (row?.version !== FORMAT && row?.version !== MOVED)
    throw bad(`its format is ${row?.version ?? "not given"}, and this version reads format ${FORMAT} only`);
  if (row.migrations > known)
    throw bad(`a newer version of Orgate has made it (${row.migrations}; this one knows ${known}): use that version`);
  return row.migrations;
}
