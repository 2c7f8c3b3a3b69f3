/** J-37 moves the project's journal between SQLite and PostgreSQL; orgate.toml changes last. */
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { FaultError } from "@orgate/core";
import { createTrust } from "@orgate/core/journal";
import { count, EXIT, type Given, type RunCommand } from "@orgate/shell/terminal";
import { type AddressSource, describeSource, isBareAddress, readAddress } from "../../../config/cluster-schema.ts";
import { addCluster, removeCluster } from "../../../config/cluster-text.ts";
import { type Config, toConfig } from "../../../config/config.ts";
import { readToml } from "../../../files/toml-text.ts";
import { KNOWLEDGE_BESIDE } from "../../../knowledge/postgres/moving.ts";
import { ed25519 } from "../../../node/crypto.ts";
import { openProjectKeys } from "../../../store/keyring.ts";
import { toDatabase } from "../../../store/open-cluster.ts";
import { PROOF_PORTS } from "../../../store/open-read-only.ts";
import { type Move, moveToFiles, moveToPostgres } from "../../../store/postgres/moving/move.ts";
import { hasRun, openGivenProject, permittedPerson } from "./project.ts";

const schemaOf = (given: Given): string => given.text("schema") ?? "orgate";

export const migrateJournal: RunCommand = async (given, screen) => {
  const config = openGivenProject(given);
  const to = targetOf(given);
  const { directory, cluster } = config.journal;
  if (to === null && cluster === null)
    throw usage("the journal is in files already", "`--to postgres://user@host:port/name` moves it to PostgreSQL");
  if (to !== null && cluster !== null)
    throw usage(
      `the journal is in PostgreSQL already: ${describeSource(cluster.database)}, schema ${cluster.schema}`,
      "move it back first: `--to files`",
    );
  if (!hasRun(config.journal)) throw usage("there is no journal yet", "set [cluster] in orgate.toml: the first run makes one there");
  await permittedPerson(given, screen, config, { act: { kind: "manage-keys" }, what: "move the journal" });
  const schema = schemaOf(given);
  const next = to === null ? removeCluster(readFileSync(config.file, "utf8")) : addCluster(readFileSync(config.file, "utf8"), to, schema);
  assertReads(config, next, to);
  const keys = openProjectKeys(join(directory, "keys"), ed25519);
  const root = keys.root().publicKey;
  const move: Move = {
    database: databaseOf(given, config, to),
    opening: { directory, blobKey: keys.blobKey, trust: createTrust(root, PROOF_PORTS) },
    root,
    beside: [KNOWLEDGE_BESIDE],
    switchSettings: () => replaceFile(config.file, next),
    progress: (doing) => screen.progress(doing),
  };
  const { entries, seals, head, beside, left } = await (to === null ? moveToFiles(move) : moveToPostgres(move));
  screen.progress("");
  if (given.json)
    screen.line(
      JSON.stringify({ to: to === null ? "files" : "postgres", schema: to === null ? null : schema, entries, seals, head, beside, left }),
    );
  else {
    screen.line(`${count(entries, "entry", "entries")} and ${count(seals, "seal")} copied, compared and verified`);
    screen.line(
      `beside it: ${Object.entries(beside)
        .map(([name, n]) => `${n} ${name}`)
        .join(", ")}`,
    );
    for (const one of left) screen.line(one);
    screen.line(`head ${head}`);
    screen.line(`orgate.toml names the new place: ${to === null ? directory : `${describeSource(to)}, schema ${schema}`}`);
  }
  return EXIT.success;
};

/** The one that it moves to or from. */
function databaseOf(given: Given, { root, journal: { cluster } }: Config, to: AddressSource | null): Move["database"] {
  if (cluster !== null) return toDatabase(cluster, given.env);
  if (to === null) throw new Error("one of both places is a database");
  return { url: readAddress(to.kind === "file" ? { ...to, file: resolve(root, to.file) } : to, given.env), schema: schemaOf(given) };
}

/** Null: files of the project. */
function targetOf(given: Given): AddressSource | null {
  const text = given.text("to") ?? "";
  if (text === "files") return null;
  const [, kind, rest] = /^(env|file):(.+)$/.exec(text) ?? [];
  if (kind === "env" && rest !== undefined) return { kind, name: rest };
  if (kind === "file" && rest !== undefined) return { kind, file: rest };
  if (isBareAddress(text)) return { kind: "text", text };
  throw usage(
    "--to is no address that may stand in orgate.toml",
    "use `postgres://user@host:port/name` without a password, `env:VARIABLE`, `file:PATH` (with the whole address in it) or `files`",
  );
}

/** Before anything is copied: a file that could not be switched at the end is refused now. */
function assertReads(config: Config, next: string | null, to: AddressSource | null): asserts next is string {
  const toml = next === null ? null : readToml(next);
  const read = toml?.kind === "toml" ? toConfig(toml.value, config.root, config.file) : null;
  if (read?.kind === "config" && (read.config.journal.cluster !== null) === (to !== null)) return;
  throw usage(
    "[cluster] of orgate.toml is not written as a table of its own",
    "write it as `[cluster]` with one setting a line, and try again",
  );
}

function replaceFile(file: string, text: string): void {
  const draft = `${file}.part`;
  writeFileSync(draft, text, { flush: true });
  renameSync(draft, file);
}

const usage = (detail: string, hint: string): FaultError => new FaultError({ kind: "usage", detail, hint });
