// A provider's address and key from the command line: what fails under one setting, and what the person is told to do about it.
import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { chatWire } from "../../models/fixtures/openai-chat-wire.ts";
import { listen, provider } from "../../models/fixtures/server.ts";
import { COMMANDS } from "../commands.ts";
import { type Desk, makeDesk } from "./fixtures/desk.ts";

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});
/** Where nobody listens any more. */
async function nobody(): Promise<string> {
  const { url, close } = await listen(() => {});
  await close();
  return url;
}
const KEY = "canary-0123456789";
const AGENT =
  'name = "vllm"\ninstructions = "Be brief."\nmodel = "openai-compatible/m"\nretry = { times = 0 }\nbreaker = { failures = 1, openMs = 3600000 }\n';
function newDesk(): Desk {
  const desk = makeDesk();
  closing.push(desk.remove);
  desk.write("agents/vllm.toml", AGENT);
  return desk;
}
const OK = { parts: [{ say: "ok" }], finish: "stop", usage: { input: 20, cached: 0, output: 9, reasoning: 0 } } as const;
async function server(answers: number): Promise<string> {
  const local = await provider(
    chatWire({ path: "/v1/chat/completions", keyed: false, thinks: "reasoning_content" }),
    Array.from({ length: answers }, () => OK),
  );
  closing.push(local.close);
  return `${local.url}/v1`;
}
const PATIENCE = { timeout: 60_000 };

describe("a breaker of a model", () => {
  const at = (desk: Desk, base: string, ...args: readonly string[]) =>
    desk.within({ OPENAI_COMPATIBLE_BASE_URL: base, OPENAI_COMPATIBLE_API_KEY: KEY }, args);
  const run = async (desk: Desk, base: string) => JSON.parse((await at(desk, base, "run", "vllm", "--input", "hi", "--json")).stdout);

  test("F-9 an address that failed leaves a corrected one alone, and so does a key", PATIENCE, async () => {
    const [desk, gone] = [newDesk(), await nobody()];
    expect(await run(desk, gone)).toMatchObject({ ending: "failed" });
    expect((await run(desk, gone)).detail).toContain("model:openai-compatible/m failed once");
    expect(await run(desk, await server(1))).toMatchObject({ ending: "completed", output: "ok" });
    const [one] = (await desk.json("breakers", "list")) as { breaker: string }[];
    expect(one).toMatchObject({ breaker: expect.stringMatching(/^model:openai-compatible\/m#[0-9a-f]{8}$/), state: "open" });
    expect(JSON.stringify(one)).not.toContain(KEY);
    const other = await desk.within({ OPENAI_COMPATIBLE_BASE_URL: gone, OPENAI_COMPATIBLE_API_KEY: "another" }, [
      "run",
      "vllm",
      "--input",
      "hi",
      "--json",
    ]);
    expect(JSON.parse(other.stdout).detail).toContain("refused"); // another key is tried as well
  });

  test(
    "F-9 the command that is advised runs as it stands, and closes the breakers of every address and key of that model",
    PATIENCE,
    async () => {
      const [desk, gone] = [newDesk(), await nobody()];
      await run(desk, gone);
      const { detail } = await run(desk, gone);
      const [, advised = ""] = /`orgate ([^`]+)`/.exec(detail) ?? [];
      const words = spawnSync("sh", ["-c", `printf '%s\\n' ${advised}`], { encoding: "utf8" })
        .stdout.trimEnd()
        .split("\n");
      expect(await desk.orgate(...words)).toMatchObject({ code: 0, stderr: "" });
      expect((await run(desk, gone)).detail).toContain("refused"); // tried again, at once
      await desk.json("breakers", "set", "model:openai-compatible/m", "open", "--reason", "too slow");
      expect((await run(desk, await server(1))).detail).toContain("was set aside by an operator"); // whatever its address
    },
  );
});

/** Commands that messages in the sources tell people to type: `orgate …` in backticks. */
function advisedCommands(): readonly Readonly<{ file: string; whole: string; advised: string }>[] {
  const packages = join(import.meta.dirname, "../../../..");
  return ["core/src", "orgate/src", "console/src"].flatMap((room) =>
    readdirSync(join(packages, room), { recursive: true, encoding: "utf8" })
      .filter((file) => /\.tsx?$/.test(file) && !/test\.tsx?$|fixtures|cli\/commands/.test(file))
      .flatMap((file) =>
        readFileSync(join(packages, room, file), "utf8")
          .split("\n")
          .filter((line) => !/^\s*(\*|\/\*|\/\/)/.test(line))
          .flatMap((line) => [...line.matchAll(/(?<!\bAs \\?)`orgate ((?:[^`\\]|\\[^`])+)\\?`(?! is refused)/g)])
          .map(([whole, advised = ""]) => ({ file, whole, advised })),
      ),
  );
}

test("A-15 a command that is advised exists", () => {
  const names = COMMANDS.map(({ name }) => name);
  const isThere = (advised: string): boolean =>
    /^(?:help|COMMAND|"|\$\{)/.test(advised) ||
    names.some((name) => name.split(" ").every((word, i) => fits(word, advised.split(/[ \\]/)[i] ?? "")));
  /** A placeholder fits any word; `a|b` fits either. */
  const fits = (word: string, said: string): boolean => said.startsWith("$") || said.split("|").includes(word);
  expect(advisedCommands().length).toBeGreaterThan(100);
  expect(advisedCommands().flatMap(({ file, whole, advised }) => (isThere(advised) ? [] : [`${file}: ${whole}`]))).toEqual([]);
});

test("A-15 a command that is advised has the options without which it is refused", () => {
  const demanding = COMMANDS.flatMap(({ name, options }) =>
    Object.entries(options).flatMap(([option, spec]) => (spec.type === "string" && spec.required ? [{ name, option }] : [])),
  );
  expect(demanding).toContainEqual({ name: "breakers reset", option: "reason" });
  const wrong = advisedCommands().flatMap(({ file, whole, advised }) =>
    demanding.flatMap(({ name, option }) =>
      ((advised === name && option !== "input") || advised.startsWith(`${name} `)) && // `orgate run` alone is the command's name, and no advice
      !advised.includes(`--${option}`) &&
      !advised.endsWith("--help")
        ? [`${file}: ${whole}`]
        : [],
    ),
  );
  expect(wrong).toEqual([]);
});

describe("M-6 a model call that failed says which model and host, what to check and which variable says so", () => {
  const env = (base: string) => ({ OPENAI_COMPATIBLE_BASE_URL: base, OPENAI_COMPATIBLE_API_KEY: KEY });
  const failed = async (base: string): Promise<string> => {
    const { stdout, stderr } = await newDesk().within(env(base), ["run", "vllm", "--input", "hi"]);
    expect(`${stdout}${stderr}`).not.toMatch(/canary|hidden/); // neither the key nor the address's path
    return stdout;
  };
  test("M-6 nobody listens there", PATIENCE, async () => {
    const at = await nobody();
    expect(await failed(`${at}/hidden/v1`)).toContain(
      `openai-compatible/m at ${at.slice("http://".length)}: the connection was refused (ECONNREFUSED); check $OPENAI_COMPATIBLE_BASE_URL, and that a server answers there`,
    );
  });
  test.each([
    [401, "check $OPENAI_COMPATIBLE_API_KEY"],
    [404, "check the model's name and $OPENAI_COMPATIBLE_BASE_URL"],
    [503, "try again later"],
    [402, "check the account of $OPENAI_COMPATIBLE_API_KEY"],
  ])("M-6 it answers %i", PATIENCE, async (status, next) => {
    const local = await listen(
      (response) => void response.writeHead(status, { "content-type": "application/json" }).end('{"error":{"message":"no"}}'),
    );
    closing.push(local.close);
    const host = local.url.slice("http://".length);
    const said = await failed(`${local.url}/hidden/v1`);
    expect(said).toContain(`openai-compatible/m at ${host}: the provider answered ${status}`);
    expect(said).toContain(next);
  });
});
