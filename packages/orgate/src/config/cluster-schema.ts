/** `[cluster]` of `orgate.toml`: the database that many processes on many machines share. */
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { errorMessage, FaultError, lazily } from "@orgate/core/vocab";
import * as z from "zod";
import { type RestateConfig, restateSchema, toRestateConfig } from "./restate-schema.ts";

/** An address, or where it is found when the database is opened. */
export type AddressSource = Readonly<{ kind: "text"; text: string } | { kind: "env"; name: string } | { kind: "file"; file: string }>;

export type ClusterConfig = Readonly<{
  database: AddressSource;
  /** A direct address for LISTEN, where `database` leads to a pooler; null: `database`. */
  listen: AddressSource | null;
  /** Of this project in the database: a project has one of its own. */
  schema: string;
  /** How long a process that is not heard of keeps its sessions. */
  leaseMs: number;
  /** Connections of one process. */
  poolSize: number;
  statementMs: number;
  lockMs: number;
  /** The Restate server that asks workers to drive; null: they look for themselves. */
  restate: RestateConfig | null;
}>;

const ADDRESS = 'must be "postgres://user@host:port/name" without a password, { env = "VARIABLE" } or { file = "PATH" }';

/** The message stands at each form too: a union reports the complaint of the one form whose shape fits. */
const address = lazily(() =>
  z.union(
    [
      z.string().refine(isBareAddress, ADDRESS),
      z.strictObject({ env: z.string().regex(/^[A-Za-z_][A-Za-z0-9_]{0,99}$/, ADDRESS) }),
      z.strictObject({ file: z.string().min(1, ADDRESS) }),
    ],
    ADDRESS,
  ),
);

/** Also in seconds: a lease is a time that people choose. */
const seconds = lazily(() => z.number().positive().max(3_600));

export const clusterSchema = lazily(() =>
  z
    .strictObject({
      database: address(),
      listen: address().optional(),
      schema: z
        .string()
        .regex(/^[a-z][a-z0-9_]{0,49}$/, "must be at most 50 of a-z, 0-9 and _, a letter first")
        .default("orgate"),
      lease_seconds: seconds().min(1, "must be at least 1").default(10),
      pool: z.int().min(1).max(1_000).default(4),
      statement_seconds: seconds().default(30),
      lock_seconds: seconds().default(10),
      restate: restateSchema(),
    })
    .optional(),
);

export function toClusterConfig(written: z.infer<ReturnType<typeof clusterSchema>>, root: string): ClusterConfig | null {
  if (written === undefined) return null;
  return Object.freeze({
    database: toSource(written.database, root),
    listen: written.listen === undefined ? null : toSource(written.listen, root),
    schema: written.schema,
    leaseMs: written.lease_seconds * 1_000,
    poolSize: written.pool,
    statementMs: written.statement_seconds * 1_000,
    lockMs: written.lock_seconds * 1_000,
    restate: toRestateConfig(written.restate),
  });
}

/** A file may be named from the project's folder. */
const toSource = (written: z.infer<ReturnType<typeof address>>, root: string): AddressSource =>
  typeof written === "string"
    ? { kind: "text", text: written }
    : "env" in written
      ? { kind: "env", name: written.env }
      : { kind: "file", file: resolve(root, written.file) };

/** Settings are read by agents, shown and copied: a password does not belong there. */
export function isBareAddress(text: string): boolean {
  const url = URL.canParse(text) ? new URL(text) : null;
  return (url?.protocol === "postgres:" || url?.protocol === "postgresql:") && url.password === "" && !url.searchParams.has("password");
}

/** Reads the address itself. Throws a `usage` fault where it is not there. */
export function readAddress(source: AddressSource, env: Readonly<Record<string, string | undefined>> = process.env): string {
  if (source.kind === "text") return source.text;
  const found = source.kind === "env" ? env[source.name] : readFile(source.file);
  if (found !== undefined && found.trim() !== "") return found.trim();
  const where = source.kind === "env" ? `$${source.name}` : `\`${source.file}\``;
  throw new FaultError({
    kind: "usage",
    detail: `the address of the database is to come from ${where}, and there is nothing in it`,
    hint: `put postgres://user:password@host:port/name into ${where}; [cluster] in orgate.toml names it`,
  });
}

function readFile(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    const detail = `the address of the database cannot be read from \`${file}\`: ${errorMessage(error)}`;
    throw new FaultError(
      { kind: "usage", detail, hint: "check the path, its owner and its mode; [cluster] in orgate.toml names it" },
      error,
    );
  }
}

/** An address as people may see it. */
export const describeSource = (source: AddressSource): string =>
  source.kind === "text" ? source.text : source.kind === "env" ? `the address in $${source.name}` : `the address in ${source.file}`;
