/** `@orgate/core` runs a governed loop where there is no Node: bundled for a browser, in a context that has web globals and nothing else. */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { createContext, Script } from "node:vm";
import { rolldown } from "rolldown";
import { expect, test } from "vitest";

/** Of the web alone: no `process`, no `Buffer`, no `require`, no `setImmediate`. */
const WEB = {
  AbortController,
  AbortSignal,
  Event,
  EventTarget,
  TextDecoder,
  TextEncoder,
  URL,
  URLSearchParams,
  clearTimeout,
  console,
  crypto,
  performance,
  queueMicrotask,
  setTimeout,
  structuredClone,
};

async function bundle(): Promise<Readonly<{ code: string; imports: readonly string[] }>> {
  const build = await rolldown({
    input: join(import.meta.dirname, "fixtures/browser-loop.ts"),
    platform: "browser",
    logLevel: "silent", // an import that a browser does not have is found below
  });
  const { output } = await build.generate({ format: "iife", name: "browserLoop" });
  await build.close();
  const [chunk] = output;
  return { code: chunk.code, imports: chunk.imports };
}

test("a governed turn under Cedar policies runs to the end of its calls, with web globals alone", { timeout: 120_000 }, async () => {
  const { code, imports } = await bundle();
  expect(imports).toEqual([]);
  expect(code).not.toMatch(/\brequire\s*\(|["'`]node:/);

  const web = join(dirname(createRequire(import.meta.url).resolve("@cedar-policy/cedar-wasm/nodejs")), "../web");
  const context = createContext({ ...WEB, wasm: readFileSync(join(web, "cedar_wasm_bg.wasm")) });
  const unknown = ["process", "Buffer", "require", "module", "setImmediate", "global"];
  expect(new Script(`[${unknown.map((name) => `typeof ${name}`).join()}].join()`).runInContext(context)).toBe(
    unknown.map(() => "undefined").join(),
  );
  new Script(code).runInContext(context);
  const result: unknown = await new Script("browserLoop.payTwice(new Uint8Array(wasm))").runInContext(context);
  expect(JSON.parse(JSON.stringify(result))).toEqual({
    ending: "completed",
    output: "done",
    paid: [5],
    verdicts: ["allow", "deny"],
    entries: expect.any(Number),
  });
});
