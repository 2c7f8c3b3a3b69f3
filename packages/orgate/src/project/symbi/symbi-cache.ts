/**
 * Cache of `.symbi` files: the file as it was read, and its rules as Cedar (decision 0051). Both are made from text, tools and groups alone,
 * which are its key; a file with problems is never cached, so it is read, and refused, every time.
 *
 * R-9 an agent's file that has not changed, with tools, groups and code that have not changed, is neither read nor compiled again by the commands that run agents; it
 *     is the same agent, with the same policies and the same digest. `agents validate`, `agents explain`, `agents diff` and `policy check` read everything.
 */

import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { isDeepStrictEqual } from "node:util";
import type { Compiled, SymbiFile } from "@orgate/symbi";
import type { Config } from "../../config/config.ts";
import { type FileCache, NO_FILE_CACHE, openFileCache } from "../../files/file-cache.ts";
import { codeFiles, codeFolder } from "../../node/code-files.ts";
import { sha256 } from "../../node/crypto.ts";
import type { Env } from "../../node/env.ts";
import { version } from "../../node/version.ts";
import { orgateHome } from "../../store/keyring.ts";
import type { SeenTool, SymbiInputs } from "./symbi-inputs.ts";
import type { SymbiOrigin } from "./symbi-origin.ts";

export type CompiledRules = Extract<Compiled, { kind: "compiled" }>;

export type SymbiCache = Readonly<{
  read(text: string, file: string): SymbiFile | null;
  keepRead(text: string, symbi: SymbiFile): void;
  compiled(origin: SymbiOrigin, seen: SymbiInputs): CompiledRules | null;
  keepCompiled(origin: SymbiOrigin, seen: SymbiInputs, made: CompiledRules): void;
}>;

/** Whose files have a say in what is made. */
const ROOMS = ["vocab", "agents", "gate"];
const HERE = fileURLToPath(new URL(".", import.meta.url));

/** The person's cache for this project. */
export const openProjectCache = (config: Pick<Config, "root">, env: Env): FileCache =>
  openFileCache({
    home: orgateHome(env),
    root: config.root,
    stamp: [version(), process.version, codeFiles(ROOMS, [codeFolder("@orgate/symbi"), HERE, join(HERE, "../../chunks")])].join("\n"),
    hash: sha256,
  });

export function openSymbiCache(remembered: FileCache = NO_FILE_CACHE): SymbiCache {
  const digests = new WeakMap<SeenTool, string>();
  const digestOf = (tool: SeenTool): string => {
    const known = digests.get(tool) ?? sha256(JSON.stringify(tool));
    digests.set(tool, known);
    return known;
  };
  const readKey = (text: string, file: string) => sha256(JSON.stringify(["read", file, text]));
  const compiledKey = ({ source: { symbi }, draft }: SymbiOrigin, { tools, ...rest }: SymbiInputs) =>
    sha256(JSON.stringify(["compiled", symbi.file, symbi.text, draft.name, tools.map(digestOf), rest]));
  return {
    read: (text, file) => parseCached(remembered.find(readKey(text, file)), parseSymbiFile),
    keepRead: (text, symbi) => kept(readKey(text, symbi.file), symbi, toSymbiJson(symbi), parseSymbiFile),
    compiled: (origin, seen) => parseCached(remembered.find(compiledKey(origin, seen)), parseCompiled),
    keepCompiled: (origin, seen, made) => kept(compiledKey(origin, seen), made, JSON.stringify(made), parseCompiled),
  };

  /** Only what comes back as it was. */
  function kept<T>(digest: string, value: T, json: string, from: (json: string) => T): void {
    if (isDeepStrictEqual(from(json), value)) remembered.keep(digest, json);
  }
}

const parseCached = <T>(json: string | null, from: (json: string) => T): T | null => (json === null ? null : from(json));

// the sum of the file was right, and it lies where nobody else can write: these are our own words
const parseCompiled = (json: string): CompiledRules => JSON.parse(json) as CompiledRules;

const toSymbiJson = ({ agents, ...rest }: SymbiFile): string =>
  JSON.stringify({ ...rest, agents: agents.map(({ places, ...draft }) => ({ ...draft, places: [...places] })) });

function parseSymbiFile(json: string): SymbiFile {
  const symbi = JSON.parse(json) as SymbiFile;
  return { ...symbi, agents: symbi.agents.map((draft) => ({ ...draft, places: new Map(draft.places) })) };
}
