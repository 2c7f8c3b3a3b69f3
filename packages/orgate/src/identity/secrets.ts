/**
 * Where the value of `{_secret:name}` comes from: a variable of the environment, else the project's encrypted store.
 * The store is opened once for a process, and only when a tool needs something of it.
 */

import { statSync } from "node:fs";
import { FaultError } from "@orgate/core";
import { errorMessage } from "@orgate/core/vocab";
import type { AskHidden } from "@orgate/shell/terminal";
import type { SecretsPort } from "@orgate/toolclad";
import { readTextFile } from "../files/text-file.ts";
import type { Env } from "../node/env.ts";
import type { SecretStore, Secrets } from "./secrets-file.ts";

/** Values by name; throws, with a remedy, when one is missing. */
export type { SecretsPort } from "@orgate/toolclad";

export const PASSPHRASE = "ORGATE_SECRETS_PASSPHRASE";
export const KEY_FILE = "ORGATE_SECRETS_KEY_FILE";
const LEAST = 8;

/** Undefined if there is no secret of that name. */
export type SecretsReader = SecretsPort & Readonly<{ find(name: string): Promise<string | undefined> }>;

export function openSecrets(store: SecretStore, env: Env, ask: AskHidden): SecretsReader {
  let opened: Promise<Secrets> | null = null;
  const open = async (): Promise<Secrets> => store.open(await passphraseFor(env, ask, "passphrase of the secrets: "));
  const find = async (name: string): Promise<string | undefined> =>
    fromEnvironment(name, env) ?? (store.isThere() ? await stored(name) : undefined);
  return {
    find,
    async take(names) {
      const found = new Map<string, string>();
      for (const name of names) {
        const value = await find(name);
        if (value === undefined) throw missing(name);
        found.set(name, value);
      }
      return found;
    },
  };

  async function stored(name: string): Promise<string | undefined> {
    opened ??= open();
    try {
      return (await opened).get(name);
    } catch (error) {
      opened = null; // another passphrase may be given the next time
      throw error;
    }
  }
}

const missing = (name: string): FaultError =>
  new FaultError({
    kind: "usage",
    detail: `there is no secret \`${name}\``,
    hint: `\`orgate secrets set ${name}\`, or set $${secretVariable(name)}`,
  });

export const secretVariable = (name: string): string => `ORGATE_SECRET_${name.toUpperCase().replaceAll(/[^A-Z0-9]/g, "_")}`;

/** The format's own name for it counts too. */
function fromEnvironment(name: string, env: Env): string | undefined {
  const own = secretVariable(name);
  return [env[own], env[own.replace(/^ORGATE/, "TOOLCLAD")]].find((value) => value !== undefined && value !== "");
}

/** A variable, a key file, or a person. */
export async function passphraseFor(env: Env, ask: AskHidden, question: string): Promise<string> {
  const given = env[PASSPHRASE] ?? "";
  if (given !== "") return long(given, `$${PASSPHRASE}`);
  const file = env[KEY_FILE] ?? "";
  if (file !== "") return keyIn(file);
  if (ask !== null) return long(await ask(question), "the passphrase");
  throw new FaultError({
    kind: "usage",
    detail: "the secrets need their passphrase",
    hint: `set $${PASSPHRASE}, name a file with $${KEY_FILE}, or run it on a terminal`,
  });
}

function keyIn(file: string): string {
  const bad = (detail: string, hint: string): FaultError =>
    new FaultError({ kind: "file-bad", file, line: null, column: null, detail, hint });
  let text: string;
  try {
    text = readTextFile(file, 64 * 1024).trim();
  } catch (error) {
    throw bad(errorMessage(error), `$${KEY_FILE} names a readable text file`);
  }
  if (process.platform !== "win32" && (statSync(file).mode & 0o077) !== 0) throw bad("others may read it", `chmod 600 ${file}`);
  return long(text, file);
}

function long(text: string, what: string): string {
  if (text.length >= LEAST) return text;
  throw new FaultError({ kind: "usage", detail: `${what} is shorter than ${LEAST} characters`, hint: "use a longer one" });
}
