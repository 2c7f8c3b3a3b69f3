import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { LEAST_COST, secretStore } from "../identity/secrets-file.ts";
import { openHookSecrets } from "./webhook-secrets.ts";

const folder = mkdtempSync(join(tmpdir(), "orgate-hooks-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const PASSPHRASE = "a long passphrase";
const hooks = [
  { name: "in", secrets: [{ kind: "secret", name: "hook" } as const], from: "orgate.toml" },
  { name: "env", secrets: [{ kind: "env", name: "HOOK" } as const], from: "orgate.toml" },
];

test("Z-12 a secret that is set anew counts from the next delivery on, the old one no more; none, or one that does not open, refuses", async () => {
  const store = secretStore(folder, LEAST_COST);
  const set = (value: string | null, passphrase = PASSPHRASE) =>
    store.change(passphrase, () => new Map(value === null ? [["else", "x"]] : [["hook", value]]));
  const env = { ORGATE_SECRETS_PASSPHRASE: PASSPHRASE, HOOK: "from the environment" };
  const errors: unknown[] = [];
  let now = 0;
  await expect(openHookSecrets(hooks, store, env)).rejects.toThrow("there is no secret `hook`");
  await set("first");
  const secrets = await openHookSecrets(hooks, store, env, { failed: (error) => void errors.push(error), now: () => now });
  const both = async () => [await secrets.get("in"), await secrets.get("env")];
  expect(await both()).toEqual([["first"], ["from the environment"]]);
  await set("second");
  expect(await Promise.all([secrets.get("in"), secrets.get("in")])).toEqual([["second"], ["second"]]);
  await set(null);
  expect([await both(), errors.length]).toEqual([[undefined, ["from the environment"]], 1]);
  await secrets.get("in");
  expect(errors.length).toBe(1); // not by each delivery
  now += 5_000;
  await secrets.get("in");
  expect(errors.length).toBe(2);
  await set("third");
  expect(await secrets.get("in")).toEqual(["third"]);
  rmSync(store.file);
  expect(await both()).toEqual([undefined, ["from the environment"]]);
});

test("Z-12 a webhook's secrets count together, also while one is gone; what signs for two webhooks signs for neither", async () => {
  const store = secretStore(join(folder, "two"), LEAST_COST);
  const set = (values: Readonly<Record<string, string>>) => store.change(PASSPHRASE, () => new Map(Object.entries(values)));
  const env = { ORGATE_SECRETS_PASSPHRASE: PASSPHRASE };
  const named = (name: string, ...secrets: string[]) => ({
    name,
    secrets: secrets.map((secret) => ({ kind: "secret", name: secret }) as const),
    from: "orgate.toml",
  });
  const two = [named("in", "new", "old"), named("out", "out")];
  const errors: string[] = [];
  await set({ new: "n", old: "o" });
  await expect(openHookSecrets(two, store, env)).rejects.toThrow("`webhooks.out`: there is no secret `out`");
  await set({ new: "n", old: "x", out: "x" });
  await expect(openHookSecrets(two, store, env)).rejects.toThrow("`webhooks.in`: it has the secret of webhook `out` under another name");
  await set({ new: "n", old: "o", out: "x" });
  const secrets = await openHookSecrets(two, store, env, { failed: (error) => void errors.push(String(error)) });
  const both = async () => [await secrets.get("in"), await secrets.get("out")];
  expect(await both()).toEqual([["n", "o"], ["x"]]);
  await set({ new: "n", out: "x" });
  expect([await both(), errors.length]).toEqual([[["n"], ["x"]], 1]);
  await set({ new: "n", old: "x", out: "x" });
  expect([await both(), errors.length]).toEqual([[["n"], undefined], 2]);
});
