/**
 * Secrets that sign deliveries, by webhook: read when the server starts, and again when the project's secrets change.
 * Z-12 A changed secret counts from the next delivery, and the old one no more, without a restart; while there is no secret, no delivery is accepted.
 * Z-12 A secret of two webhooks signs for neither: each would take the other's deliveries.
 * Z-12 A webhook may name several secrets, any of which may sign, while one replaces another.
 */

import { openSecrets, secretVariable } from "../identity/secrets.ts";
import { type SecretStore, secretStore } from "../identity/secrets-file.ts";
import type { Env } from "../node/env.ts";
import { declarationFault, type HookSecret, secretText, type Webhook } from "./declaring.ts";

/** Undefined: no delivery of the webhook counts. */
export type HookSecrets = Readonly<{ get(webhook: string): readonly string[] | undefined | Promise<readonly string[] | undefined> }>;
type Hook = Pick<Webhook, "name" | "secrets" | "from">;
type Values = ReadonlyMap<string, readonly string[]>;
/** Opening the store is slow on purpose: one that does not open is tried again after this time, not by each delivery. */
const AGAIN_MS = 5_000;

type SecretWatch = Readonly<{ failed?(error: unknown): void; now?(): number }>;

/** Throws where a secret is missing, or shared by two webhooks: before anything is opened. */
export async function openHookSecrets(
  hooks: readonly Hook[],
  store: SecretStore,
  env: Env,
  { failed = () => {}, now = () => performance.now() }: SecretWatch = {},
): Promise<HookSecrets> {
  let stamp = store.stamp();
  let values: Values = await found(hooks, store, env, (error) => {
    throw error;
  });
  let reading: Promise<void> | null = null;
  let againAt: number | null = null;

  /** Secrets that are there count; a missing one is reported, and looked for again. */
  async function read(): Promise<void> {
    const seen = store.stamp(); // before it is read: what comes meanwhile is another change
    againAt = null;
    values = await found(hooks, store, env, (error) => {
      if (againAt === null) failed(error);
      againAt = now() + AGAIN_MS;
    });
    stamp = seen;
  }
  return {
    async get(webhook) {
      if (reading === null && (store.stamp() !== stamp || (againAt !== null && now() >= againAt)))
        reading = read().finally(() => {
          reading = null;
        });
      await reading;
      return values.get(webhook);
    },
  };
}

async function found(hooks: readonly Hook[], store: SecretStore, env: Env, trouble: (error: unknown) => void): Promise<Values> {
  const secrets = openSecrets(store, env, null);
  let isShut = false; // opening is slow: a store that does not open is tried once
  const lookUp = async (hook: Hook, secret: HookSecret): Promise<string | undefined> => {
    if (secret.kind === "secret" && isShut) return undefined;
    try {
      const value = (secret.kind === "env" ? env[secret.name] : await secrets.find(secret.name)) ?? "";
      if (value !== "") return value;
    } catch (error) {
      isShut = true;
      trouble(error);
      return undefined;
    }
    trouble(absent(hook, secret));
    return undefined;
  };
  const all: Readonly<{ hook: Hook; value: string }>[] = [];
  for (const hook of hooks)
    for (const secret of hook.secrets) {
      const value = await lookUp(hook, secret);
      if (value !== undefined) all.push({ hook, value });
    }
  const values = new Map<string, string[]>();
  for (const { hook, value } of all) {
    const other = all.find((one) => one.value === value && one.hook.name !== hook.name)?.hook;
    if (other === undefined) values.set(hook.name, [...(values.get(hook.name) ?? []), value]);
    else trouble(shared(hook, other));
  }
  return values;
}

const absent = ({ name, from }: Hook, secret: HookSecret): unknown =>
  declarationFault(
    { from, what: `webhooks.${name}` },
    `there is no secret \`${secretText(secret)}\``,
    secret.kind === "env" ? `set ${secretText(secret)}` : `\`orgate secrets set ${secret.name}\`, or set $${secretVariable(secret.name)}`,
  );
const shared = ({ name, from }: Hook, other: Hook): unknown =>
  declarationFault(
    { from, what: `webhooks.${name}` },
    `it has the secret of webhook \`${other.name}\` under another name: each would take the other's deliveries`,
    "make a new one for each",
  );

export const openProjectHookSecrets = (
  directory: string,
  hooks: readonly Hook[],
  env: Env,
  failed: (error: unknown) => void,
): Promise<HookSecrets> => openHookSecrets(hooks, secretStore(directory), env, { failed });
