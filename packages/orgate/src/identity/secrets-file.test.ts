import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, expect, test } from "vitest";
import { openSecrets, passphraseFor } from "./secrets.ts";
import { secretStore } from "./secrets-file.ts";

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});
function folder(): string {
  const made = mkdtempSync(join(tmpdir(), "orgate-secrets-"));
  folders.push(made);
  return made;
}

const PASS = "correct horse battery";

test("T-22 what was saved opens with its passphrase, and with no other; the file tells neither names nor values", async () => {
  const directory = folder();
  const store = secretStore(directory);
  expect([store.isThere(), (await store.open(PASS)).size]).toEqual([false, 0]);
  await store.change(PASS, () => new Map([["api.token", "canary-1"]]));
  expect([...(await store.open(PASS))]).toEqual([["api.token", "canary-1"]]);
  await expect(store.open("another passphrase")).rejects.toMatchObject({
    fault: { kind: "file-bad", detail: expect.stringContaining("does not open") },
  });
  const text = readFileSync(store.file, "utf8");
  expect(text).not.toMatch(/canary|api\.token|correct/);
  expect(JSON.parse(text)).toMatchObject({ kdf: { name: "scrypt", n: 131_072, r: 8 } }); // 128 MiB for each guess
  expect(statSync(store.file).mode & 0o777).toBe(0o600);
});

test("T-22 what was changed in it, or made weaker, does not open", async () => {
  const store = secretStore(folder());
  await store.change(PASS, () => new Map([["a", "canary"]]));
  const whole = JSON.parse(readFileSync(store.file, "utf8")) as {
    kdf: { n: number; salt: string };
    box: string;
    tag: string;
    nonce: string;
  };
  const flipped = (text: string) => `${text[0] === "A" ? "B" : "A"}${text.slice(1)}`;
  const changes = [
    { ...whole, box: flipped(whole.box) },
    { ...whole, tag: flipped(whole.tag) },
    { ...whole, nonce: flipped(whole.nonce) },
    { ...whole, kdf: { ...whole.kdf, salt: flipped(whole.kdf.salt) } },
    { ...whole, kdf: { ...whole.kdf, n: 2 ** 15 } },
    { ...whole, kdf: { ...whole.kdf, n: 2 } },
    { ...whole, kdf: { ...whole.kdf, n: 2 ** 30 } },
    { ...whole, extra: 1 },
    "not even JSON",
  ];
  for (const change of changes) {
    writeFileSync(store.file, typeof change === "string" ? change : JSON.stringify(change));
    await expect(store.open(PASS)).rejects.toMatchObject({ fault: { kind: "file-bad" } });
  }
});

test("T-22 the passphrase is a variable, a key file of one's own, or asked of a person; a short one is refused", async () => {
  const file = join(folder(), "key");
  writeFileSync(file, `${PASS}\n`, { mode: 0o600 });
  const ask = async () => "from a person";
  expect(await passphraseFor({ ORGATE_SECRETS_PASSPHRASE: PASS, ORGATE_SECRETS_KEY_FILE: "nowhere" }, ask, "?")).toBe(PASS);
  expect(await passphraseFor({ ORGATE_SECRETS_KEY_FILE: file }, ask, "?")).toBe(PASS);
  expect(await passphraseFor({}, ask, "?")).toBe("from a person");
  await expect(passphraseFor({}, null, "?")).rejects.toMatchObject({ fault: { kind: "usage" } });
  await expect(passphraseFor({ ORGATE_SECRETS_PASSPHRASE: "short" }, ask, "?")).rejects.toMatchObject({ fault: { kind: "usage" } });
  writeFileSync(file, PASS, { mode: 0o644 });
  const open = join(folder(), "open");
  writeFileSync(open, PASS, { mode: 0o644 });
  await expect(passphraseFor({ ORGATE_SECRETS_KEY_FILE: open }, ask, "?")).rejects.toMatchObject({
    fault: { detail: "others may read it" },
  });
});

test("T-22 the environment comes first, and without need of the store nobody is asked", async () => {
  const store = secretStore(folder());
  await store.change(
    PASS,
    () =>
      new Map([
        ["a", "stored-a"],
        ["b", "stored-b"],
      ]),
  );
  let asked = 0;
  const secrets = openSecrets(store, { ORGATE_SECRET_A: "from-env" }, async () => {
    asked += 1;
    return PASS;
  });
  expect([...(await secrets.take(["a"]))]).toEqual([["a", "from-env"]]);
  expect(asked).toBe(0);
  expect([...(await secrets.take(["a", "b"]))]).toEqual([
    ["a", "from-env"],
    ["b", "stored-b"],
  ]);
  await secrets.take(["b"]);
  expect(asked).toBe(1);
  await expect(secrets.take(["c"])).rejects.toMatchObject({
    fault: { detail: "there is no secret `c`", hint: expect.stringContaining("ORGATE_SECRET_C") },
  });
});

test("T-22 two who change it at once lose nothing, and a draft that a kill left behind is in nobody's way", async () => {
  const directory = folder();
  const change = (name: string) => secretStore(directory).change(PASS, (secrets) => new Map([...secrets, [name, "canary"]]));
  writeFileSync(join(directory, "secrets.json.draft"), "half a fi");
  const script = `
    const { secretStore } = await import(${JSON.stringify(new URL("./secrets-file.ts", import.meta.url).href)});
    const [, directory, name] = process.argv;
    await secretStore(directory).change(${JSON.stringify(PASS)}, (secrets) => new Map([...secrets, [name, "canary"]]));`;
  const elsewhere = (name: string) => promisify(execFile)(process.execPath, ["--input-type=module", "-e", script, directory, name]);
  await change("a");
  await Promise.all(["b", "c", "d"].map(elsewhere));
  expect([...(await secretStore(directory).open(PASS)).keys()]).toEqual(["a", "b", "c", "d"]);
});
