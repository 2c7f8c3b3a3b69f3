import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { JsonObject } from "@orgate/core";
import { afterEach, expect, test } from "vitest";
import { signInAt } from "../mcp.ts";
import { sha256 } from "./crypto-node.ts";
import { type Web, type WebOptions, webServer } from "./fixtures/mcp-web.ts";
import { catalogueOf } from "./mcp-catalogue.ts";
import { type McpServer, serverOf } from "./mcp-config.ts";
import { mcpLink } from "./mcp-link.ts";

const closing: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});
const web = async (options?: WebOptions): Promise<Web> => {
  const made = await webServer(options);
  closing.push(made.close);
  return made;
};
function home(): string {
  const folder = mkdtempSync(join(tmpdir(), "orgate-mcp-home-"));
  closing.push(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
function serverAt(url: string, more: JsonObject = {}): McpServer {
  const found = serverOf({ name: "web", entry: { url, ...more } }, "user", sha256);
  if (found.kind === "unusable") throw new Error(found.detail);
  return found.server;
}
const LISTED = catalogueOf("web", [{ name: "look", description: "looks", inputSchema: { type: "object" } }]);
const NEVER = new AbortController().signal;
async function look(server: McpServer, at = home(), env: Readonly<Record<string, string>> = {}) {
  const link = mcpLink({
    server,
    accepted: typeof LISTED === "string" ? null : LISTED,
    env,
    settings: { version: "0", root: at, home: at },
    hash: sha256,
  });
  closing.push(link.close);
  return link.call(
    { tool: "look", args: {}, timeMs: 20_000, outputBytes: 1_000 },
    { signal: NEVER, onProgress: () => {}, onAsked: () => {} },
  );
}

test("T131 what a server answers over HTTP: refused is refused, broken is unknown", async () => {
  const status = (code: number) => ({ onCall: (response: ServerResponse) => void response.writeHead(code).end("no") });
  expect(await look(serverAt((await web()).url))).toMatchObject({ kind: "answered", output: "seen" });
  for (const code of [400, 404, 429])
    expect([code, await look(serverAt((await web(status(code))).url))]).toMatchObject([code, { kind: "refused" }]);
  for (const code of [500, 502, 503])
    expect([code, await look(serverAt((await web(status(code))).url))]).toMatchObject([code, { kind: "stopped", by: "connection" }]);
  const torn = await web({
    onCall: (response) =>
      void response.writeHead(200, { "content-type": "application/json" }).write('{"jsonrpc"', () => response.destroy()),
  });
  expect(await look(serverAt(torn.url))).toMatchObject({ kind: "stopped", by: "connection" });
  const cut = await web({ onCall: (response) => void response.destroy() });
  expect(await look(serverAt(cut.url))).toMatchObject({ kind: "stopped", by: "connection" });
  expect(cut.heard.filter((line) => line.endsWith("tools/call"))).toHaveLength(1); // and never sent twice
}, 30_000);

test("T141 a server that does not answer what it does not know is asked in the earlier way", async () => {
  const mute = await web({ mute: true });
  expect(await look(serverAt(mute.url))).toMatchObject({ kind: "answered", output: "seen" });
  expect(mute.heard[0]).toBe("POST - server/discover");
}, 30_000);

test("T139 an answer over HTTP that does not end is cut off", async () => {
  const flood = await web({
    onCall: (response) => {
      response.writeHead(200, { "content-type": "application/json" }).write('{"jsonrpc":"2.0","x":"');
      for (let i = 0; i < 40; i += 1) response.write("x".repeat(1024 * 1024));
    },
  });
  expect(await look(serverAt(flood.url))).toMatchObject({ kind: "stopped", by: "connection" });
}, 30_000);

test("T134 a key in a header goes to its own address only, and is in no error", async () => {
  const other = await web();
  const leading = await web({ onCall: (response) => void response.writeHead(307, { location: other.url }).end() });
  const ran = await look(serverAt(leading.url, { headers: { Authorization: "Bearer ${WEB_KEY}" } }), home(), {
    WEB_KEY: "canary-1234-canary",
  });
  expect(ran.kind).not.toBe("answered");
  expect(other.heard).toEqual([]);
  expect(leading.heard).toContain("POST Bearer canary-1234-canary initialize");
  const own: (string | undefined)[] = [];
  const catching = createServer((request, response) => {
    own.push(String(request.headers["x-api-key"]));
    response.end();
  });
  await new Promise<void>((done) => catching.listen(0, "127.0.0.1", done));
  const { port } = catching.address() as AddressInfo;
  const away = await web({ onCall: (response) => void response.writeHead(307, { location: `http://127.0.0.1:${port}/mcp` }).end() });
  await look(serverAt(away.url, { headers: { "X-Api-Key": "${WEB_KEY}" } }), home(), { WEB_KEY: "canary-1234-canary" });
  catching.close();
  expect(own).toEqual([]);
  const echoing = await web({ onCall: (response) => void response.writeHead(500).end("your key is canary-1234-canary") });
  const echoed = await look(serverAt(echoing.url, { headers: { Authorization: "Bearer ${WEB_KEY}" } }), home(), {
    WEB_KEY: "canary-1234-canary",
  });
  expect(JSON.stringify(echoed)).not.toContain("canary-1234");
});

const follow = async (to: URL): Promise<URLSearchParams> =>
  new URL((await fetch(to, { redirect: "manual" })).headers.get("location") ?? "").searchParams;
const BACK = "http://127.0.0.1:9/callback";

test("T146 a run sends nobody to a sign-in; after one it is let in, and its tokens are the person's alone", async () => {
  const guarded = await web({ token: "canary-token-1" });
  const [server, at] = [serverAt(guarded.url), home()];
  expect(await look(server, at)).toMatchObject({ kind: "refused", hint: expect.stringContaining("orgate mcp login") });
  await signInAt(server, {}, at, BACK, follow);
  expect(await look(server, at)).toMatchObject({ kind: "answered", output: "seen" });
  const folder = join(at, "mcp-sign-ins");
  const [file = ""] = readdirSync(folder);
  expect([statSync(folder).mode & 0o777, statSync(join(folder, file)).mode & 0o777]).toEqual([0o700, 0o600]);

  const evil = await web({ token: "x" });
  expect(await look(serverAt(evil.url), at)).toMatchObject({ kind: "refused" }); // the same name, another address
  expect(evil.heard.join("\n")).not.toContain("canary-token-1");

  await expect(signInAt(server, {}, at, BACK, () => Promise.reject(new Error("closed the page")))).rejects.toThrow("closed the page");
  expect(await look(server, at)).toMatchObject({ kind: "answered" }); // what it was good for it is still good for
});

test("T146 a sign-in that comes back with another state is none; nobody signs in where there is nothing to sign in to", async () => {
  const forged = await web({ token: "t", state: "forged" });
  const at = home();
  await expect(signInAt(serverAt(forged.url), {}, at, BACK, follow)).rejects.toThrow("another `state`");
  expect(
    readdirSync(join(at, "mcp-sign-ins"))
      .map((file) => readFileSync(join(at, "mcp-sign-ins", file), "utf8"))
      .join(""),
  ).not.toContain("access_token");
  await expect(signInAt(serverAt((await web()).url), {}, at, BACK, follow)).rejects.toThrow("wants nobody to sign in");
});
