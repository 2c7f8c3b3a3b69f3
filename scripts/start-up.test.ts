import { dirname, join, posix } from "node:path";
import { expect, test } from "vitest";
import { importsOf } from "./scan.ts";
import { readText } from "./tree.ts";

const ROOT = join(import.meta.dirname, "..");
const HOST = "packages/orgate/src";

/** Every file and package that is loaded before the first line of this one runs: types and `import()` aside, nothing that it names can be left out. */
function loadedBy(...entries: readonly string[]): ReadonlySet<string> {
  const seen = new Set<string>();
  const left = [...entries];
  for (let file = left.pop(); file !== undefined; file = left.pop()) {
    if (seen.has(file)) continue;
    seen.add(file);
    if (!file.endsWith(".ts")) continue;
    const source = readText(ROOT, file);
    for (const { specifier, types, start } of importsOf(source)) {
      if (types || specifier === null || /\bimport\s*\($/.test(source.slice(0, start - 1))) continue;
      left.push(specifier.startsWith(".") ? posix.join(dirname(file), specifier) : published(specifier));
    }
  }
  return seen;
}

/** Ours is followed, others' are named. */
function published(specifier: string): string {
  const [, folder = "", door = ""] = /^(?:(orgate|@orgate\/[\w-]+)(?:\/(.+))?)$/.exec(specifier) ?? [];
  if (folder === "") return specifier;
  const home = `packages/${folder.replace("@orgate/", "")}`;
  const manifest: { readonly exports: Readonly<Record<string, string>> } = JSON.parse(readText(ROOT, `${home}/package.json`));
  const target = manifest.exports[door === "" ? "." : `./${door}`];
  if (target === undefined) throw new Error(`${specifier} is not published`);
  return posix.join(home, target);
}

const within = (files: ReadonlySet<string>, ...places: readonly string[]): readonly string[] =>
  [...files].filter((file) => places.some((place) => file.startsWith(place))).sort();

test("R-8 help, completion and the table of commands load words alone", () => {
  const files = loadedBy(`${HOST}/main.ts`, `${HOST}/cli/completion.ts`);
  expect(
    [...files].filter(
      (file) =>
        !/^(?:node:|packages\/core\/src\/vocab|packages\/protocol\/src\/(?:view|wire\/words)|packages\/shell\/src\/terminal|packages\/orgate\/src\/(?:cli\/|main|node\/(?:version|error-message)))/.test(
          file,
        ),
    ),
  ).toEqual([]);
});

test("R-8 a command that only looks loads neither the loop, nor the gate, nor the server, nor what runs tools", () => {
  const files = loadedBy(`${HOST}/cli/commands/sessions/sessions-list.ts`);
  expect(within(files, "packages/core/src/loop/", "packages/core/src/gate/", "packages/core/src/agents/", `${HOST}/server/`)).toEqual([]);
  expect(within(files, `${HOST}/runtime/compose.ts`, `${HOST}/models/`, "packages/toolclad/src/running/", `${HOST}/mcp/`)).toEqual([]);
});

test("R-8 definitions load neither the driver, nor a runtime, nor the views of sessions", () => {
  const core = loadedBy("packages/core/src/index.ts");
  expect(within(core, "packages/core/src/loop/drive.ts", "packages/core/src/loop/perform.ts", "packages/core/src/permit/")).toEqual([]);
  const files = loadedBy(`${HOST}/index.ts`);
  expect(within(files, `${HOST}/runtime/runtime.ts`, `${HOST}/runtime/session-runner.ts`, `${HOST}/project/symbi/`)).toEqual([]);
  expect(within(loadedBy(`${HOST}/index.ts`, `${HOST}/runtime/runtime.ts`), "packages/protocol/src/view/")).toEqual([]);
});

test("R-8 a run loads nothing of the server, nor of what its tools may never start", () => {
  const files = loadedBy(`${HOST}/cli/commands/sessions/run.ts`, `${HOST}/index.ts`, `${HOST}/runtime/runtime.ts`);
  const ofServer = within(files, "packages/protocol/src/wire/", `${HOST}/local-server/`, `${HOST}/server/`, `${HOST}/coordinator/`);
  expect(ofServer.filter((file) => !file.startsWith("packages/protocol/src/wire/words/"))).toEqual([
    `${HOST}/coordinator/agent.ts`, // what the coordinator's file is held to, and its tools by name
    `${HOST}/coordinator/tools.ts`,
  ]);
  expect(within(files, "packages/shell/").filter((file) => !file.startsWith("packages/shell/src/terminal/"))).toEqual([]);
  expect(within(files, "packages/toolclad/src/running/http-guard", "packages/toolclad/src/running/sandbox.ts", "packages/symbi/")).toEqual(
    [],
  );
  // its import makes all of `fetch`, 40 ms of every start
  expect(within(files, "node:http", "ws", "@modelcontextprotocol/", "@ai-sdk/openai", "@ai-sdk/anthropic", "@ai-sdk/google")).toEqual([]);
});

test("R-8 a run of the library loads neither what asks a provider or an MCP server, nor what operators do, nor what auditors read", () => {
  const files = loadedBy(`${HOST}/index.ts`, `${HOST}/runtime/runtime.ts`);
  expect(within(files, "@ai-sdk/", `${HOST}/models/ask-`, `${HOST}/models/wire.ts`, `${HOST}/models/offline/reply.ts`)).toEqual([]);
  expect(within(files, `${HOST}/mcp/client.ts`, `${HOST}/mcp/auth.ts`, "packages/toolclad/src/tool/manifest-run.ts")).toEqual([]);
  expect(within(files, `${HOST}/runtime/people/send-intent.ts`, `${HOST}/runtime/people/dead-letters.ts`)).toEqual([]);
  expect(within(files, "packages/core/src/journal/proof/verify.ts", "packages/core/src/journal/proof/read-export.ts")).toEqual([]);
});

test("a runtime has loaded what halts work before anybody asks for it: a halt must work when files were replaced or none can be opened", () => {
  const files = loadedBy(`${HOST}/runtime/runtime.ts`);
  const halting = [`${HOST}/runtime/people/approvals.ts`, `${HOST}/runtime/people/halt-scope.ts`];
  expect(within(files, ...halting)).toEqual(halting);
});

test("before its prompt the shell loads what draws and reads keys: no server, no loop, no decoder, no policy", () => {
  const files = loadedBy(`${HOST}/local-server/shell-command.ts`);
  expect(
    within(
      files,
      "packages/core/src/loop/",
      "packages/core/src/gate/",
      "packages/protocol/src/wire/",
      `${HOST}/server/`,
      `${HOST}/store/`,
      `${HOST}/models/`,
      `${HOST}/mcp/`,
      "packages/toolclad/",
    ),
  ).toEqual([]);
  expect(within(files, `${HOST}/runtime/`, `${HOST}/local-server/local-`, "packages/shell/src/commands/", "zod", "ws")).toEqual([]);
});
