/**
 * Moves a project's journal, and what lies beside it, between its files and PostgreSQL. The copy is compared row by row, then read back and verified as an auditor would, seal by seal,
 * against the head of where it came from; the old place is closed after that, and settings are switched last.
 * A move that was interrupted at any point goes on with the same command.
 * J-37 a project's journal is in one place at a time: nobody can write in the other.
 */
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { FORMAT, headText, parseHead } from "@orgate/core/journal";
import { problemName, verify } from "@orgate/core/proof";
import { FaultError, writerId } from "@orgate/core/vocab";
import { openReadStore } from "../../journal.ts";
import { dropWriterKeys } from "../../keyring.ts";
import { PROOF_PORTS } from "../../open-read-only.ts";
import { isSlotHeld } from "../../process-lock.ts";
import { type DatabasePaths, databasePaths, openDatabase } from "../../sqlite/schema.ts";
import type { StoreOpening } from "../../store.ts";
import { type DatabaseOptions, type Link, openLink } from "../link.ts";
import { migrate } from "../schema/migrations.ts";
import {
  assertFree,
  type Beside,
  closeHeld,
  copyHeld,
  copyToDraft,
  flush,
  type Held,
  holdFiles,
  letGo,
  openFilesAgain,
  placeFiles,
} from "./beside.ts";
import { asMover, closeFile, closeSchema, inUse, isFileClosed, openFileAgain, openSchema, refuseOthers } from "./closing.ts";
import { compareWithFile, copyFromFile } from "./from-file.ts";
import { REQUESTS_BESIDE } from "./requests.ts";
import { copyToFile } from "./snapshot.ts";

export type Move = Readonly<{
  database: DatabaseOptions;
  opening: Pick<StoreOpening, "directory" | "trust" | "blobKey">;
  /** The project's root public key: the copy is verified with it. */
  root: string;
  /** What a room nearer to the surface keeps beside the journal. */
  beside: readonly Beside[];
  /** Called once, when the copy is verified and the old place is closed: processes that start from now on use the new one. */
  switchSettings(): void;
  /** Hears of each step before it is begun. */
  progress(doing: string): void;
}>;
/** `beside`: how many of each; `left`: what was not copied, and why. */
export type Moved = Verified & Readonly<{ beside: Readonly<Record<string, number>>; left: readonly string[] }>;
type Verified = Readonly<{ entries: number; seals: number; head: string }>;
/** How far a journal goes: the newest seal of every writer, and the last append, which may not be sealed yet. Equal in two places: the same journal. */
type Reach = Readonly<{ head: string; last: string; first: string }>;

export async function moveToPostgres(move: Move): Promise<Moved> {
  const { database, opening, progress } = move;
  const places = databasePaths(opening.directory);
  assertNobodyWrites(places);
  const link = await openLink(database);
  const db = closingOnError(link, () => openDatabase(places, { create: false, synchronous: "full", maxPages: null, isMoving: true }));
  try {
    progress("looking at the database");
    await migrate(link, undefined, true);
    const isThere = await isInSchema(link, reachOfFile(db));
    if (!isThere) openFilesAgain(places.directory, besideOf(move)); // interrupted before the schema was opened
    if (!isThere && isFileClosed(db)) openFileAgain(db);
    const copied = isThere
      ? { verified: await verifyCopy(link, move, reachOfFile(db).head), left: [] }
      : await copyAndClose(move, { link, db, places });
    const moved = await toMoved(move, link, copied);
    progress("opening the schema");
    await openSchema(link);
    progress("changing orgate.toml");
    move.switchSettings();
    return moved;
  } finally {
    db.close();
    await link.close();
  }
}

const besideOf = ({ beside }: Move): readonly Beside[] => [REQUESTS_BESIDE, ...beside];

type Copied = Readonly<{ verified: Verified; left: readonly string[] }>;

async function toMoved(move: Move, link: Link, { verified, left }: Copied): Promise<Moved> {
  const counts: Record<string, number> = {};
  for (const { name, count } of besideOf(move)) counts[name] = await count(link);
  return { ...verified, beside: counts, left };
}

type Copying = Readonly<{ link: Link; db: DatabaseSync; places: DatabasePaths }>;

async function copyAndClose(move: Move, { link, db, places }: Copying): Promise<Copied> {
  const { progress } = move;
  let held: readonly Held[] = [];
  db.exec("BEGIN IMMEDIATE"); // nobody writes until it is closed
  try {
    held = holdFiles(places.directory, besideOf(move));
    await asMover(link, (run) => refuseOthers(run, link.schema));
    await copyFromFile(link, { db, places }, progress);
    await compareWithFile(link, { db, places }, progress);
    const left = await copyHeld(link, held, progress);
    const verified = await verifyCopy(link, move, reachOfFile(db).head);
    closeFile(db);
    progress("closing the file");
    db.exec("COMMIT");
    assertNobodyWritesAfterAll(places, db);
    closeHeld(held, progress);
    return { verified, left };
  } finally {
    letGo(held);
    if (db.isTransaction) db.exec("ROLLBACK");
  }
}

/** A process may have begun right before the file was closed: it goes on, and the move does not. */
function assertNobodyWritesAfterAll(places: DatabasePaths, db: DatabaseSync): void {
  try {
    assertNobodyWrites(places);
  } catch (error) {
    openFileAgain(db);
    throw error;
  }
}

export async function moveToFiles(move: Move): Promise<Moved> {
  const { database, opening, progress } = move;
  const places = databasePaths(opening.directory);
  const link = await openLink(database);
  try {
    progress("closing the schema");
    await migrate(link, undefined, true);
    const isOpen = await isSchemaOpen(link);
    const reach = await reachOfSchema(link);
    const isThere = !isOpen && isSame(readFile(places), reach); // interrupted right before the settings were switched
    if (!isThere && readFile(places) !== null)
      throw usage(`there is a journal in \`${places.database}\` already`, "move it away: a project has one journal");
    if (!isThere) assertFree(places.directory, besideOf(move));
    if (isOpen) await closeSchema(link);
    const left = isThere ? [] : await arrive(move, link, places);
    const moved = await toMoved(move, link, { verified: await verifyFile(places.directory, move, reach.head), left });
    progress("opening what lies beside the file");
    openFilesAgain(places.directory, besideOf(move));
    dropWriterKeys(join(places.directory, "keys"));
    progress("changing orgate.toml");
    move.switchSettings();
    return moved;
  } finally {
    await link.close();
  }
}

/** Until the file is in its place work goes on in PostgreSQL, if anything is wrong. */
async function arrive(move: Move, link: Link, places: DatabasePaths): Promise<readonly string[]> {
  const { opening, progress } = move;
  const draft = join(places.directory, "journal-arriving");
  const besides = { all: besideOf(move), progress };
  try {
    return await inDraft(draft, async () => {
      progress("copying");
      await copyToFile(link, draft, opening.blobKey);
      await withFile(databasePaths(draft), (db) => compareWithFile(link, { db, places: databasePaths(draft) }, progress));
      const left = await copyToDraft(link, draft, besides);
      progress("verifying");
      await verifyFile(draft, move, (await reachOfSchema(link)).head);
      placeFiles(draft, places.directory, besides);
      progress("putting the file in its place");
      mkdirSync(places.writers, { recursive: true });
      for (const end of ["", "-wal", "-shm"]) rmSync(`${places.database}${end}`, { force: true }); // one that was closed: its log must not be read into this one
      const arrived = join(draft, "journal.db");
      flush(arrived);
      progress("renaming the file");
      renameSync(arrived, places.database);
      flush(places.directory);
      return left;
    });
  } catch (error) {
    await openSchema(link);
    throw error;
  }
}

async function inDraft<T>(draft: string, work: () => Promise<T>): Promise<T> {
  rmSync(draft, { recursive: true, force: true });
  mkdirSync(draft, { recursive: true, mode: 0o700 });
  try {
    return await work();
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}

async function withFile<T>(places: DatabasePaths, work: (db: DatabaseSync) => Promise<T> | T): Promise<T> {
  const db = openDatabase(places, { create: false, synchronous: "full", maxPages: null });
  try {
    return await work(db);
  } finally {
    db.close();
  }
}

/** Null where no journal is: no file, an empty one, or one that has moved away. */
function readFile(places: DatabasePaths): Reach | null {
  if (!existsSync(places.database) || statSync(places.database).size === 0) return null;
  const db = openDatabase(places, { create: false, synchronous: "full", maxPages: null, isMoving: true });
  try {
    return isFileClosed(db) ? null : reachOfFile(db);
  } finally {
    db.close();
  }
}

function assertNobodyWrites({ writers }: DatabasePaths): void {
  const names = existsSync(writers) ? readdirSync(writers).filter((name) => name.endsWith(".lock")) : [];
  const held = names.map((name) => name.slice(0, -".lock".length)).find((name) => isSlotHeld(writers, writerId(name)));
  if (held !== undefined) throw inUse(`writer \`${held}\``);
}

/** True when the whole journal is there already and open: only the settings are missing. The schema is closed otherwise, and belongs to this journal. */
async function isInSchema(link: Link, reach: Reach): Promise<boolean> {
  const there = await reachOfSchema(link);
  if (there.first !== "" && there.first !== reach.first) throw another(link, "has the journal of another project");
  if (!(await isSchemaOpen(link))) return false;
  if (there.first === "") {
    await closeSchema(link);
    return false;
  }
  if (!isSame(there, reach)) throw another(link, "has a journal that is in use");
  return true;
}
const another = ({ schema, place }: Link, what: string): FaultError =>
  usage(
    `schema \`${schema}\` of ${place} ${what}`,
    "name another schema with --schema; a journal that is in use there needs no move, but [cluster] in orgate.toml",
  );
const usage = (detail: string, hint: string): FaultError => new FaultError({ kind: "usage", detail, hint });

async function isSchemaOpen(link: Link): Promise<boolean> {
  const [row] = await link.read<{ version: number }>(`SELECT version FROM "${link.schema}".format`);
  return row?.version === FORMAT;
}

const isSame = (a: Reach | null, b: Reach): boolean => a !== null && a.head === b.head && a.last === b.last && a.first === b.first;

type SealRow = Readonly<{ writer: unknown; number: unknown; hash: unknown }>;
type AppendRow = Readonly<{ id: unknown; hash: unknown }>;
const seals = (schema: string): string =>
  `SELECT writer, number, hash FROM ${schema}seals AS s WHERE number = (SELECT max(number) FROM ${schema}seals WHERE writer = s.writer) ORDER BY writer`;
const append = (table: string, order: "ASC" | "DESC"): string => `SELECT id, hash FROM ${table} ORDER BY id ${order} LIMIT 1`;
const toReach = (newest: readonly SealRow[], first: AppendRow | undefined, last: AppendRow | undefined): Reach => ({
  head: newest
    .map(({ writer, number, hash }) => `${String(writer)}@${String(number)}:${String(hash)}`)
    .sort()
    .join(","),
  first: String(first?.hash ?? ""),
  last: last === undefined ? "" : `${String(last.id)}:${String(last.hash)}`,
});

function reachOfFile(db: DatabaseSync): Reach {
  const table = isFileClosed(db) ? "appends_moved" : "appends";
  const one = (order: "ASC" | "DESC"): AppendRow | undefined => db.prepare(append(table, order)).get() as AppendRow | undefined;
  return toReach(db.prepare(seals("")).all() as unknown as readonly SealRow[], one("ASC"), one("DESC"));
}

async function reachOfSchema(link: Link): Promise<Reach> {
  const schema = `"${link.schema}".`;
  const one = async (order: "ASC" | "DESC"): Promise<AppendRow | undefined> =>
    (await link.read<AppendRow>(append(`${schema}appends`, order)))[0];
  return toReach(await link.read<SealRow>(seals(schema)), await one("ASC"), await one("DESC"));
}

/** Reads everything back from the database, into a file of its own. */
async function verifyCopy(link: Link, move: Move, head: string): Promise<Verified> {
  move.progress("verifying");
  const draft = join(move.opening.directory, "journal-verifying");
  return inDraft(draft, async () => {
    await copyToFile(link, draft, move.opening.blobKey);
    return verifyFile(draft, move, head);
  });
}

async function verifyFile(directory: string, { opening, root }: Move, head: string): Promise<Verified> {
  const store = openReadStore({ ...opening, directory });
  try {
    const found = verify({ records: store.records, root, ports: PROOF_PORTS, head: parseHead(head), progress: () => {}, torn: null });
    const bad = found.firstBad === null ? store.wrongRows(Date.now())[0] : `${problemName(found.firstBad)}: ${found.firstBad.reason}`;
    if (bad !== undefined)
      throw new FaultError({
        kind: "journal-unreadable",
        file: directory,
        detail: `the copy does not verify, and nothing was switched: ${bad}`,
      });
    return { entries: found.counts.entries, seals: found.counts.seals, head: headText(found.head) };
  } finally {
    await store.close();
  }
}

function closingOnError<T>(link: Link, open: () => T): T {
  try {
    return open();
  } catch (error) {
    void link.close();
    throw error;
  }
}
