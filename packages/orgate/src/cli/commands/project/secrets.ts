/** The project's secrets: set, listed by name, removed. No command shows a value. */
import { FaultError } from "@orgate/core";
import type { Screen } from "@orgate/shell/terminal";
import { EXIT, type Given, hiddenPrompt, type RunCommand, table } from "@orgate/shell/terminal";
import { passphraseFor, secretVariable } from "../../../identity/secrets.ts";
import { SECRET_NAME, type SecretStore, type Secrets, secretStore } from "../../../identity/secrets-file.ts";
import { manifestsIn, openGivenProject } from "./project.ts";

const LEAST = 4;
const MOST = 64 * 1024;

export const setSecret: RunCommand = async (given, screen) => {
  const name = nameOf(given);
  const store = storeOf(given);
  const isNew = !store.isThere();
  const ask = screen.askHidden ?? hiddenPrompt();
  const passphrase = await passphraseFor(given.env, ask, isNew ? "a passphrase for the secrets: " : "passphrase of the secrets: ");
  if (isNew && ask !== null && needsAsking(given) && (await ask("the passphrase again: ")) !== passphrase)
    throw new FaultError({ kind: "usage", detail: "the two are not the same", hint: "say it again" });
  await store.open(passphrase); // a wrong one is told before the value is asked for
  const value = await givenValue(given, screen, ask, name);
  let known = false;
  await store.change(passphrase, (secrets) => {
    known = secrets.has(name);
    return new Map([...secrets, [name, value]]);
  });
  if (given.json) screen.line(JSON.stringify({ name, state: known ? "replaced" : "set" }));
  else screen.line(`${name} is ${known ? "replaced" : "set"}: manifests use it as {_secret:${name}}`);
  return EXIT.success;
};

/** Nobody is asked for what a variable or a key file says. */
const needsAsking = ({ env }: Given): boolean => !env["ORGATE_SECRETS_PASSPHRASE"] && !env["ORGATE_SECRETS_KEY_FILE"];

async function givenValue(given: Given, screen: Screen, ask: ReturnType<typeof hiddenPrompt>, name: string): Promise<string> {
  const value = given.args[1] === "-" || ask === null ? (await screen.readInput()).replace(/\r?\n$/, "") : await ask(`value of ${name}: `);
  if (value.length < LEAST)
    throw new FaultError({
      kind: "usage",
      detail: `the value is shorter than ${LEAST} characters`,
      hint: "so short a text cannot be masked without hiding half of what tools say",
    });
  if (value.length > MOST || value.includes("\0"))
    throw new FaultError({ kind: "usage", detail: "the value is no text, or longer than 64 KiB", hint: "a secret is a text" });
  return value;
}

export const listSecrets: RunCommand = async (given, screen) => {
  const store = storeOf(given);
  const stored = store.isThere()
    ? [...(await store.open(await passphraseFor(given.env, screen.askHidden ?? hiddenPrompt(), "passphrase of the secrets: "))).keys()]
    : [];
  const wanted = new Map<string, string[]>();
  for (const { contract } of manifestsIn(openGivenProject(given)).manifests)
    for (const name of contract.manifest.secrets) wanted.set(name, [...(wanted.get(name) ?? []), contract.manifest.tool.name]);
  const inEnvironment = (name: string): boolean =>
    (given.env[secretVariable(name)] ?? "") !== "" || (given.env[secretVariable(name).replace(/^ORGATE/, "TOOLCLAD")] ?? "") !== "";
  const rows = [...new Set([...stored, ...wanted.keys()])].sort().map((name) => ({
    name,
    from: inEnvironment(name) ? "environment" : stored.includes(name) ? "store" : "nowhere",
    tools: wanted.get(name) ?? [],
  }));
  if (given.json) screen.line(JSON.stringify(rows));
  else if (rows.length === 0) screen.line("there is no secret, and no manifest wants one");
  else {
    const cells = rows.map(({ name, from, tools }) => [
      name,
      { text: from, tone: from === "nowhere" ? ("bad" as const) : ("good" as const) },
      tools.join(", "),
    ]);
    for (const line of table(["secret", "from", "used by"], cells, screen.paint)) screen.line(line);
  }
  return EXIT.success;
};

export const removeSecret: RunCommand = async (given, screen) => {
  const name = nameOf(given);
  const store = storeOf(given);
  const passphrase = store.isThere()
    ? await passphraseFor(given.env, screen.askHidden ?? hiddenPrompt(), "passphrase of the secrets: ")
    : "";
  const without = (secrets: Secrets): Secrets => {
    if (secrets.has(name)) return new Map([...secrets].filter(([other]) => other !== name));
    throw new FaultError({
      kind: "usage",
      detail: `there is no secret \`${name}\` in the store`,
      hint: `there are: ${[...secrets.keys()].join(", ") || "none"}`,
    });
  };
  if (store.isThere()) await store.change(passphrase, without);
  else without(new Map());
  if (given.json) screen.line(JSON.stringify({ name, state: "removed" }));
  else screen.line(`${name} is removed`);
  return EXIT.success;
};

const storeOf = (given: Given): SecretStore => secretStore(openGivenProject(given).journal.directory);

function nameOf({ args: [name = ""] }: Given): string {
  if (SECRET_NAME.test(name)) return name;
  throw new FaultError({ kind: "usage", detail: `\`${name}\` is no name of a secret`, hint: "use 1 to 64 of A-Z, a-z, 0-9, _, . and -" });
}
