import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { McpServer } from "@modelcontextprotocol/server";
import type { JsonObject } from "@orgate/core";
import { httpGuard } from "@orgate/toolclad/http-guard";
import { afterEach, describe, expect, test } from "vitest";
import * as z from "zod";
import { sha256 } from "../node/crypto.ts";
import { parseServer } from "./config.ts";
import { type Modern, type ModernOptions, modernServer } from "./fixtures/mcp-modern.ts";
import { webServer } from "./fixtures/mcp-web.ts";
import { mirroredArguments, mirrorHeaders } from "./headers.ts";
import { mcpHub } from "./hub.ts";
import { signInAt } from "./library.ts";
import { mcpLink } from "./link.ts";

const closing: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});
const NEVER = new AbortController().signal;
const marked = (header: unknown, more: JsonObject = { type: "string" }): JsonObject => ({ ...more, "x-mcp-header": header as string });
const taking = (properties: JsonObject, more: JsonObject = {}): JsonObject => ({ type: "object", properties, ...more });

describe("marks", () => {
  test("T-38 marks are found at arguments of any depth, and nowhere else", () => {
    const schema = taking({
      region: marked("Region"),
      at: taking({ zone: marked("Zone", { type: "integer" }) }),
      default: { type: "string" },
    });
    expect(mirroredArguments(schema)).toEqual([
      { path: ["region"], header: "Region" },
      { path: ["at", "zone"], header: "Zone" },
    ]);
    // what only looks like a mark: an argument of that name, a value that is given
    expect(mirroredArguments(taking({ "x-mcp-header": { type: "string" }, a: { default: { "x-mcp-header": "A" } } }))).toEqual([]);
  });

  test.each<[string, JsonObject, string]>([
    ["an empty name", taking({ a: marked("") }), "no name of a header"],
    ["a name that is no text", taking({ a: marked(5) }), "no name of a header"],
    ["a blank in a name", taking({ a: marked("My Region") }), "no name of a header"],
    ["a line break in a name", taking({ a: marked("A\r\nB") }), "no name of a header"],
    ["a number", taking({ a: marked("A", { type: "number" }) }), "something else"],
    ["an object", taking({ a: marked("A", { type: "object" }) }), "something else"],
    ["two types", taking({ a: marked("A", { type: ["string", "null"] }) }), "something else"],
    ["no type", taking({ a: marked("A", {}) }), "something else"],
    ["two arguments in one header", taking({ a: marked("Region"), b: marked("region") }), "at two arguments"],
    ["items of a list", taking({ a: { type: "array", items: marked("A") } }), "where no argument"],
    ["an alternative", taking({ a: { anyOf: [marked("A"), { type: "null" }] } }), "where no argument"],
    ["a definition", taking({ a: { $ref: "#/$defs/a" } }, { $defs: { a: marked("A") } }), "where no argument"],
    ["further arguments", taking({}, { additionalProperties: marked("A") }), "where no argument"],
    ["arguments by a pattern", taking({}, { patternProperties: { "^x": marked("A") } }), "where no argument"],
    ["the arguments as a whole", marked("A", { type: "object" }), "where no argument"],
  ])("T-38 %s: the tool is refused with the reason", (_, schema, reason) => {
    expect(mirroredArguments(schema)).toContain(reason);
  });

  test("T-38 a value is plain where a header can hold it, and encoded where not", () => {
    const sent = (value: unknown): string | undefined => mirrorHeaders([{ path: ["a"], header: "A" }], { a: value })["Mcp-Param-A"];
    const base64 = (text: string): string => `=?base64?${Buffer.from(text).toString("base64")}?=`;
    expect([sent("us west 1"), sent(42), sent(false), sent("a\tb")]).toEqual(["us west 1", "42", "false", "a\tb"]);
    for (const text of ["", " a", "a ", "\ta", "a\r\nX-Evil: 1", "世界", base64("a")]) expect(sent(text)).toBe(base64(text));
    expect([sent(null), sent(undefined), sent({}), sent([1])]).toEqual([undefined, undefined, undefined, undefined]);
    expect(mirrorHeaders([{ path: ["constructor", "name"], header: "A" }], {})).toEqual({});
  });
});

async function modern(options: ModernOptions): Promise<Modern> {
  const made = await modernServer(options);
  closing.push(made.close);
  return made;
}
/** With everything that it offers accepted. */
async function hubAt(url: string) {
  const home = mkdtempSync(join(tmpdir(), "orgate-mcp-headers-"));
  closing.push(() => rmSync(home, { recursive: true, force: true }));
  const found = parseServer({ name: "web", entry: { url } }, "user", sha256);
  if (found.kind === "unusable") throw new Error(found.detail);
  const { server } = found;
  const settings = { version: "0", root: home, home, reach: httpGuard() };
  const link = mcpLink({ server, accepted: null, env: {}, settings, hash: sha256 });
  closing.push(link.close);
  const open = async () => {
    const hub = mcpHub({ servers: [{ server, accepted: await link.catalogue(NEVER) }], env: {}, settings, hash: sha256 });
    closing.push(hub.close);
    const asked: string[] = [];
    const call = (tool: string, args: JsonObject) => {
      const at = hub.link("web");
      if (at === null) throw new Error("no link");
      const options = { signal: NEVER, onProgress: () => {}, onAsked: (method: string) => void asked.push(method) };
      return at.call({ tool, args, timeMs: 20_000, outputBytes: 10_000 }, options);
    };
    return { hub, call, asked };
  };
  return { server, home, link, open };
}
const said = (text: string) => ({ content: [{ type: "text" as const, text }] });

describe("a server of the newest revision", () => {
  const register = (server: McpServer): void => {
    const inputSchema = z.object({ region: z.string().meta({ "x-mcp-header": "Region" }), note: z.string().optional() });
    server.registerTool("place", { description: "places", inputSchema }, ({ region }) => said(`placed in ${region}`));
    const bad = z.object({ score: z.number().meta({ "x-mcp-header": "Score" }) });
    server.registerTool("score", { description: "scores", inputSchema: bad }, () => said("scored"));
  };

  test("T-38 it is sent the arguments that it marks as headers, as it checks itself, and no others", async () => {
    const { url, called } = await modern({ register });
    const { call } = await (await hubAt(url)).open();
    expect(await call("place", { region: "Zürich ", note: "secret" })).toMatchObject({
      kind: "answered",
      output: "placed in Zürich ",
      isError: false,
    });
    expect(called).toHaveLength(1);
    expect(Object.entries(called[0] ?? {}).filter(([name]) => name.startsWith("mcp-param-"))).toEqual([
      ["mcp-param-region", `=?base64?${Buffer.from("Zürich ").toString("base64")}?=`],
    ]);
  });

  test("T-38 a tool with a bad mark is named with the reason and never called, by whatever way; the others are", async () => {
    const { url, called } = await modern({ register });
    const { hub, call } = await (await hubAt(url)).open();
    expect(hub.toolsOf("web")?.tools.map((tool) => tool.name)).toEqual(["web__add", "web__place"]);
    expect(hub.toolsOf("web")?.refused).toEqual([
      { tool: "score", name: "web__score", reason: expect.stringContaining("`x-mcp-header` of `score`") },
    ]);
    expect(await call("score", { score: 1 })).toMatchObject({
      kind: "refused",
      reason: expect.stringContaining("cannot be called over HTTP"),
    });
    expect(called).toEqual([]);
  });

  test("T-37 one signs in at a server that speaks nothing else", async () => {
    const { url, heard } = await modern({ token: "canary-token-2" });
    const { server, home, link, open } = await hubAt(url);
    await expect(link.catalogue(NEVER)).rejects.toThrow("sign in");
    const follow = async (to: URL): Promise<URLSearchParams> => {
      const { headers } = await fetch(to, { redirect: "manual" });
      return new URL(headers.get("location") ?? "").searchParams;
    };
    await signInAt(server, {}, { home, redirectUrl: "http://127.0.0.1:3000/callback", authorize: follow });
    const { call } = await open();
    expect(await call("add", { a: 2, b: 3 })).toMatchObject({ kind: "answered", output: "5" });
    expect(heard.filter((line) => line.endsWith(" initialize"))).toEqual([]);
  });
});

/** One that asks although nobody said that they answer: a server of the official package does not. */
async function rude(onCall: (params: JsonObject) => JsonObject): Promise<string> {
  const results: Readonly<Record<string, (params: JsonObject) => JsonObject>> = {
    "server/discover": () => ({
      supportedVersions: ["2026-07-28"],
      capabilities: { tools: {} },
      serverInfo: { name: "rude", version: "1" },
    }),
    "tools/list": () => ({ tools: [{ name: "ask", description: "asks", inputSchema: { type: "object" } }] }),
    "tools/call": onCall,
  };
  const { url, close } = await webServer({
    async serve(_, response, body) {
      const { id, method, params } = JSON.parse(body) as { id: number; method: string; params: JsonObject };
      const result = { resultType: "complete", ttlMs: 0, cacheScope: "private", ...results[method]?.(params) };
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ jsonrpc: "2.0", id, result }));
    },
  });
  closing.push(close);
  return url;
}
const asks = (method: string, more: JsonObject = {}): JsonObject => ({
  resultType: "input_required",
  inputRequests: { sure: { method, params: ELICIT } },
  ...more,
});
const ELICIT = { message: "Sure?", requestedSchema: { type: "object", properties: {} } };

describe("a server that asks in the middle of a call", () => {
  test("T-35 is declined and noted, with its state unchanged, and the call ends as the server says", async () => {
    const sent: JsonObject[] = [];
    const url = await rude((params) => {
      sent.push(params);
      if (sent.length === 1) return asks("elicitation/create", { requestState: "state-1" });
      return sent.length === 2 ? asks("elicitation/create") : said(`it went on: ${JSON.stringify(params["inputResponses"])}`);
    });
    const { call, asked } = await (await hubAt(url)).open();
    expect(await call("ask", {})).toMatchObject({ kind: "answered", output: 'it went on: {"sure":{"action":"decline"}}', isError: false });
    expect(asked).toEqual(["elicitation/create", "elicitation/create"]);
    expect(sent.map((params) => [params["requestState"], params["inputResponses"] === undefined])).toEqual([
      [undefined, true],
      ["state-1", false],
      [undefined, false],
    ]);
  });

  test("T-35 for a model's words gets none: the call failed, and is not unknown", async () => {
    const { call, asked } = await (await hubAt(await rude(() => asks("sampling/createMessage")))).open();
    expect(await call("ask", {})).toMatchObject({ kind: "answered", isError: true, output: expect.stringContaining("lets no server ask") });
    expect(asked).toEqual(["sampling/createMessage"]);
  });

  test("T-35 only for time gets it, and one that never ends is given up", async () => {
    let rounds = 0;
    const patient = await rude(() => (++rounds === 1 ? { resultType: "input_required", requestState: "busy" } : said("done")));
    expect(await (await (await hubAt(patient)).open()).call("ask", {})).toMatchObject({ kind: "answered", output: "done" });
    const nagging = await rude(() => asks("elicitation/create"));
    expect(await (await (await hubAt(nagging)).open()).call("ask", {})).toMatchObject({
      kind: "stopped",
      detail: expect.stringContaining("10 rounds"),
    });
  });
});
