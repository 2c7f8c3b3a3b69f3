/** The journal's files removed under a process that is at work: what it does after that, and what the next process finds. */
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, renameSync, rmSync, unlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { callKey, type SessionId, seq } from "@orgate/core";
import { afterEach, expect, test } from "vitest";
import { openReadStore } from "../store/journal.ts";

const folders: string[] = [];
function folder(): string {
  const made = mkdtempSync(join(tmpdir(), "orgate-replaced-"));
  folders.push(made);
  return made;
}
afterEach(() => {
  for (const made of folders.splice(0)) rmSync(made, { recursive: true, force: true });
});

/** A process of its own that runs one call after the other, each of which writes down that it happened. */
async function working(
  directory: string,
): Promise<Readonly<{ effects(): readonly string[]; until(many: number): Promise<void>; ended: Promise<string> }>> {
  const script = join(import.meta.dirname, "fixtures", "effects-run.ts");
  const child = spawn(process.execPath, [script, directory, "200"], { stdio: ["ignore", "pipe", "pipe"] });
  let said = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (bytes) => (said += String(bytes)));
  const ended = new Promise<string>((resolve) => child.once("close", () => resolve(said)));
  const file = join(directory, "effects.txt");
  const effects = (): readonly string[] => (existsSync(file) ? readFileSync(file, "utf8").split("\n").filter(Boolean) : []);
  const until = async (many: number): Promise<void> => {
    while (effects().length < many && child.exitCode === null) await sleep(5);
  };
  return { effects, until, ended };
}

test.each([
  ["unlinked WAL", (db: string) => unlinkSync(`${db}-wal`)],
  ["unlinked database", (db: string) => unlinkSync(db)],
  ["renamed database", (db: string) => renameSync(db, `${db}.away`)],
])("J-3 %s: at most the effect that was on its way happens, it stops and says why in one line", async (name, deed) => {
  const directory = folder();
  const at = await working(directory);
  await at.until(5);
  const before = at.effects().length;
  deed(join(directory, "journal.db"));
  const said = await at.ended;
  expect(said.trim()).toMatch(/^journal-replaced: `[^\n]*journal\.db(-wal)?` was removed while this process used it[^\n]*$/);
  const after = at.effects();
  expect(after.length).toBeLessThan(200);
  expect(after.length - before).toBeLessThanOrEqual(2); // between the count and the deed, and between a commit's check and its effect
  if (name !== "unlinked WAL") return;
  const again = await working(directory); // whoever comes next finds what was done, and does none of it again
  await again.ended;
  expect(new Set(at.effects()).size).toBe(at.effects().length);
  const found = openReadStore({ directory });
  const [session] = await found.journal.sessions({ state: null, agent: null, before: null, most: 1 });
  const entries = await found.journal.read(session?.session ?? ("s_none00000" as SessionId), seq(0), 100_000);
  await found.close();
  const started = new Set(
    entries.flatMap(({ stream, event: e }) =>
      e.kind === "act.started" ? [callKey(stream as SessionId, e.call, e.edition) as string] : [],
    ),
  );
  expect(at.effects().filter((key) => !started.has(key))).toEqual([]); // no effect without its entry
});
