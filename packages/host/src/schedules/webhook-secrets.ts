/**
 * What signs deliveries, by the name of the webhook: looked up when the server starts, and anew when the project's secrets have changed.
 * Z34 a secret that is set anew counts from the next delivery on, and the old one no more, without a restart; while there is none, nothing counts.
 */
import { type SecretStore, secretStore } from "../compose.ts";
import { type Env, secretsFrom } from "../secrets.ts";
import { bad, type Webhook } from "./declaring.ts";

/** Undefined: nothing that it signs counts. */
export type HookSecrets = Readonly<{ get(webhook: string): string | undefined | Promise<string | undefined> }>;
type Hooks = readonly Pick<Webhook, "name" | "secret" | "from">[];
/** Opening the store is dear: what does not open is tried again, and not by each delivery. */
const AGAIN_MS = 5_000;

/** Throws where one is not there: before anything is opened. */
export async function hookSecrets(
  hooks: Hooks,
  store: SecretStore,
  env: Env,
  failed: (error: unknown) => void = () => {},
  now: () => number = () => performance.now(),
): Promise<HookSecrets> {
  let stamp = store.stamp();
  let values: ReadonlyMap<string, string> = await found(hooks, store, env);
  let reading: Promise<void> | null = null;
  let againAt: number | null = null;

  async function read(): Promise<void> {
    const seen = store.stamp(); // before it is read: what comes meanwhile is another change
    try {
      values = await found(hooks, store, env);
      againAt = null;
    } catch (error) {
      values = await found(
        hooks.filter(({ secret }) => secret.kind === "env"),
        store,
        env,
      ); // those do not change
      againAt = now() + AGAIN_MS;
      failed(error);
    }
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

async function found(hooks: Hooks, store: SecretStore, env: Env): Promise<ReadonlyMap<string, string>> {
  const secrets = secretsFrom(store, env, null); // opened once, however many there are
  const values = new Map<string, string>();
  for (const { name, secret, from } of hooks) {
    const value = secret.kind === "env" ? (env[secret.name] ?? "") : ((await secrets.take([secret.name])).get(secret.name) ?? "");
    if (value === "") throw bad({ from, what: `webhooks.${name}` }, `there is no secret \`${secret.name}\``, `set $${secret.name}`);
    values.set(name, value);
  }
  return values;
}

export const hookSecretsIn = (directory: string, hooks: Hooks, env: Env, failed: (error: unknown) => void): Promise<HookSecrets> =>
  hookSecrets(hooks, secretStore(directory), env, failed);
