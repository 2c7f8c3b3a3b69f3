/** Real MCP servers from npm, through everything that a tool of theirs goes through. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { isEdit, type Json, type JsonObject } from "@orgate/core";
import { httpGuard } from "@orgate/toolclad/http-guard";
import { afterAll, expect, test } from "vitest";
import { sha256 } from "../node/crypto.ts";
import { readCatalogue } from "./catalogue.ts";
import { parseServer } from "./config.ts";
import { modernServer } from "./fixtures/mcp-modern.ts";
import { type McpHub, mcpHub } from "./hub.ts";
import { mcpLink } from "./link.ts";

const INSTALLED = join(import.meta.dirname, "../../../../node_modules/@modelcontextprotocol");
const folder = realpathSync(mkdtempSync(join(tmpdir(), "orgate-mcp-real-")));
const closing: (() => Promise<void> | void)[] = [() => rmSync(folder, { recursive: true, force: true })];
afterAll(async () => {
  for (const close of closing.reverse()) await close();
});

const NEVER = new AbortController().signal;
const settings = { version: "0", root: folder, home: folder, reach: httpGuard() };

/** Accepts what it offers, as `orgate mcp trust` would. */
async function accepted(name: string, entry: JsonObject): Promise<McpHub> {
  const found = parseServer({ name, entry }, "user", sha256);
  if (found.kind === "unusable") throw new Error(found.detail);
  const { server } = found;
  const link = mcpLink({ server, accepted: null, env: {}, settings, hash: sha256 });
  const catalogue = await link.catalogue(NEVER);
  await link.close();
  const hub = mcpHub({ servers: [{ server, accepted: catalogue }], env: {}, settings, hash: sha256 });
  closing.push(() => hub.close());
  expect(readCatalogue(catalogue, sha256).filter((r) => r.kind === "refused")).toEqual([]);
  expect(hub.toolsOf(name)?.refused).toEqual([]);
  return hub;
}
const notes: (readonly [string, Json])[] = [];
const call = (hub: McpHub, server: string, tool: string, args: JsonObject) =>
  hub.run(
    { kind: "mcp", server, tool, args, timeMs: 30_000, outputBytes: 100_000 },
    { signal: NEVER, onOutput: (piece) => void notes.push(["output", piece]) },
  );

test("T-32 the files server: every tool is usable, reads and writes, and says no in its own words", async () => {
  writeFileSync(join(folder, "a.txt"), "hello");
  const hub = await accepted("files", { command: process.execPath, args: [join(INSTALLED, "server-filesystem/dist/index.js"), folder] });
  expect(hub.toolsOf("files")?.tools.length).toBeGreaterThan(10);
  expect(await call(hub, "files", "read_text_file", { path: join(folder, "a.txt") })).toMatchObject({
    kind: "answered",
    output: { content: "hello" },
  });
  expect(await call(hub, "files", "write_file", { path: join(folder, "b.txt"), content: "b" })).toMatchObject({
    kind: "answered",
    isError: false,
  });
  expect(await call(hub, "files", "read_text_file", { path: "/etc/passwd" })).toMatchObject({
    isError: true,
    output: expect.stringContaining("Access denied"),
  });
  const named = (name: string) => hub.toolsOf("files")?.tools.find((tool) => tool.name === name);
  const edits = ["files__write_file", "files__edit_file", "files__read_text_file"].map((name) => {
    const tool = named(name);
    return tool !== undefined && isEdit(tool, {});
  });
  expect(edits).toEqual([true, true, false]);
  expect(await call(hub, "files", "rm_rf", {})).toMatchObject({
    kind: "refused",
    reason: expect.stringContaining("not in the accepted catalogue"),
  });
  expect(await call(hub, "nobody", "x", {})).toMatchObject({ kind: "refused", reason: expect.stringContaining("no MCP server `nobody`") });
});

async function everything(hub: McpHub): Promise<void> {
  expect(await call(hub, "every", "echo", { message: "hi" })).toMatchObject({ kind: "answered", output: "Echo: hi" });
  expect(await call(hub, "every", "get-structured-content", { location: "Chicago" })).toMatchObject({
    kind: "answered",
    output: { humidity: expect.any(Number) },
  });
  expect(await call(hub, "every", "get-tiny-image", {})).toMatchObject({ output: expect.stringContaining("[image, image/png, ") });
  expect(await call(hub, "every", "get-resource-links", { count: 2 })).toMatchObject({ output: expect.stringContaining("[link to ") });
  expect(await call(hub, "every", "trigger-long-running-operation", { duration: 1, steps: 2 })).toMatchObject({ kind: "answered" });
}

test("T-32 the server of everything, over stdio: text, structure, pictures, links, progress", async () => {
  const hub = await accepted("every", { command: process.execPath, args: [join(INSTALLED, "server-everything/dist/index.js"), "stdio"] });
  await everything(hub);
}, 30_000);

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => server.on("listening", resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return typeof address === "object" && address !== null ? address.port : 0;
}

test("T-32 the server of everything, over streamable HTTP; killed and started again, it is found again", async () => {
  const port = await freePort();
  const start = async (): Promise<() => Promise<void>> => {
    const child = spawn(process.execPath, [join(INSTALLED, "server-everything/dist/index.js"), "streamableHttp"], {
      env: { PATH: process.env["PATH"], PORT: String(port) },
      stdio: "ignore",
    });
    for (let tries = 0; tries < 200; tries += 1) {
      const up = await fetch(`http://127.0.0.1:${port}/mcp`).then(
        () => true,
        () => false,
      );
      if (up) break;
      await pause(50);
    }
    const gone = once(child, "exit").then(() => {});
    return () => {
      child.kill("SIGKILL");
      return gone;
    };
  };
  let stop = await start();
  closing.push(() => stop());
  const hub = await accepted("every", { url: `http://127.0.0.1:${port}/mcp` });
  await everything(hub);
  await stop();
  stop = await start();
  expect(await call(hub, "every", "echo", { message: "again" })).toMatchObject({ kind: "answered", output: "Echo: again" });
  await stop();
  // its socket may not have heard yet: then it was sent, and nobody can tell
  expect(await call(hub, "every", "echo", { message: "nobody" })).toMatchObject({ kind: expect.stringMatching(/^(stopped|refused)$/) });
  expect(await call(hub, "every", "echo", { message: "nobody" })).toMatchObject({
    kind: "refused",
    reason: expect.stringContaining("cannot be reached"),
  });
}, 60_000);

test("T-32 the memory server: nested records are checked before anything is sent", async () => {
  const hub = await accepted("memory", {
    command: process.execPath,
    args: [join(INSTALLED, "server-memory/dist/index.js")],
    env: { MEMORY_FILE_PATH: join(folder, "memory.jsonl") },
  });
  const create = hub.toolsOf("memory")?.tools.find((tool) => tool.name === "memory__create_entities");
  expect(create?.check({ entities: [{ name: 1 }] })).toMatchObject({ kind: "invalid" });
  const entities = [{ name: "ann", entityType: "person", observations: ["likes tea"] }];
  expect(create?.check({ entities })).toMatchObject({ kind: "valid" });
  expect(await call(hub, "memory", "create_entities", { entities })).toMatchObject({ kind: "answered", isError: false });
});

test("T-32 T-33 a server of the newest revision that speaks no other: called, and its changes are heard", async () => {
  const modern = await modernServer();
  closing.push(modern.close);
  const hub = await accepted("modern", { url: modern.url });
  expect(await call(hub, "modern", "add", { a: 2, b: 3 })).toMatchObject({ kind: "answered", output: "5" });
  modern.change("adds, and tells me");
  const [add] = hub.toolsOf("modern")?.tools ?? [];
  await expect.poll(() => add?.check({ a: 1, b: 1 }).kind, { timeout: 10_000 }).toBe("refused");
  expect(await call(hub, "modern", "add", { a: 2, b: 3 })).toMatchObject({
    kind: "refused",
    reason: expect.stringContaining("no longer what was accepted"),
  });
  modern.change("adds");
  await expect.poll(() => add?.check({ a: 1, b: 1 }).kind, { timeout: 10_000 }).toBe("valid");
}, 30_000);
