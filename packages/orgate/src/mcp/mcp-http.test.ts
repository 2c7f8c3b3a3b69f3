import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { JsonObject } from "@orgate/core";
import { httpGuard } from "@orgate/toolclad/http-guard";
import { afterEach, expect, test } from "vitest";
import { sha256 } from "../node/crypto.ts";
import { parseCatalogue } from "./catalogue.ts";
import { type McpServer, parseServer } from "./config.ts";
import { serverFetch } from "./fetch.ts";
import { type Web, type WebOptions, webServer } from "./fixtures/mcp-web.ts";
import { signInAt } from "./library.ts";
import { mcpLink } from "./link.ts";

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
  const found = parseServer({ name: "web", entry: { url, ...more } }, "user", sha256);
  if (found.kind === "unusable") throw new Error(found.detail);
  return found.server;
}
const LISTED = parseCatalogue("web", [{ name: "look", description: "looks", inputSchema: { type: "object" } }]);
const NEVER = new AbortController().signal;
async function look(server: McpServer, at = home(), env: Readonly<Record<string, string>> = {}) {
  const link = mcpLink({
    server,
    accepted: typeof LISTED === "string" ? null : LISTED,
    env,
    settings: { version: "0", root: at, home: at, reach: httpGuard() },
    hash: sha256,
  });
  closing.push(link.close);
  return link.call(
    { tool: "look", args: {}, timeMs: 20_000, outputBytes: 1_000 },
    { signal: NEVER, onProgress: () => {}, onAsked: () => {} },
  );
}

test("T-5 what a server answers over HTTP: refused is refused, broken is unknown", async () => {
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

test("T-35 a server that does not answer what it does not know is asked in the earlier way", async () => {
  const mute = await web({ mute: true });
  expect(await look(serverAt(mute.url))).toMatchObject({ kind: "answered", output: "seen" });
  expect(mute.heard[0]).toBe("POST - server/discover");
}, 30_000);

test("T-34 an answer over HTTP that does not end is cut off", async () => {
  const flood = await web({
    onCall: (response) => {
      response.writeHead(200, { "content-type": "application/json" }).write('{"jsonrpc":"2.0","x":"');
      for (let i = 0; i < 40; i += 1) response.write("x".repeat(1024 * 1024));
    },
  });
  expect(await look(serverAt(flood.url))).toMatchObject({ kind: "stopped", by: "connection" });
}, 30_000);

test("T-36 a key in a header goes to its own address only, and is in no error", async () => {
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

test("T-37 a run sends nobody to a sign-in; after one it is let in, and its tokens are the person's alone", async () => {
  const guarded = await web({ token: "canary-token-1" });
  const [server, at] = [serverAt(guarded.url), home()];
  expect(await look(server, at)).toMatchObject({ kind: "refused", hint: expect.stringContaining("orgate mcp login") });
  await signInAt(server, {}, { home: at, redirectUrl: BACK, authorize: follow });
  expect(await look(server, at)).toMatchObject({ kind: "answered", output: "seen" });
  const folder = join(at, "mcp-sign-ins");
  const [file = ""] = readdirSync(folder);
  expect([statSync(folder).mode & 0o777, statSync(join(folder, file)).mode & 0o777]).toEqual([0o700, 0o600]);

  const evil = await web({ token: "x" });
  expect(await look(serverAt(evil.url), at)).toMatchObject({ kind: "refused" }); // the same name, another address
  expect(evil.heard.join("\n")).not.toContain("canary-token-1");

  await expect(
    signInAt(server, {}, { home: at, redirectUrl: BACK, authorize: () => Promise.reject(new Error("closed the page")) }),
  ).rejects.toThrow("closed the page");
  expect(await look(server, at)).toMatchObject({ kind: "answered" }); // what it was good for it is still good for
});

test("T-37 a sign-in that comes back with another state is none; nobody signs in where there is nothing to sign in to", async () => {
  const forged = await web({ token: "t", state: "forged" });
  const at = home();
  await expect(signInAt(serverAt(forged.url), {}, { home: at, redirectUrl: BACK, authorize: follow })).rejects.toThrow("another `state`");
  expect(
    readdirSync(join(at, "mcp-sign-ins"))
      .map((file) => readFileSync(join(at, "mcp-sign-ins", file), "utf8"))
      .join(""),
  ).not.toContain("access_token");
  await expect(signInAt(serverAt((await web()).url), {}, { home: at, redirectUrl: BACK, authorize: follow })).rejects.toThrow(
    "wants nobody to sign in",
  );
});

const NAMES: Readonly<Record<string, string>> = {
  "sign-in.example": "10.1.2.3",
  "meta.example": "169.254.169.254",
  "inside.example": "127.0.0.1",
};
const inside = httpGuard({ resolve: async (host) => [{ address: NAMES[host] ?? "203.0.113.1", family: 4 }] });
const fetching = (url: string, auth: JsonObject = {}) => {
  const { transport } = serverAt(url, { orgate: { auth: { grant: "person", ...auth } } });
  if (transport.kind !== "http") throw new Error("not over HTTP");
  return serverFetch(transport, inside);
};

test("T-37 what a server names is reached as a tool would: no inner address by whatever name, no plain http, no redirect inwards", async () => {
  const there = fetching("https://mcp.example/mcp");
  for (const [address, why] of [
    ["https://sign-in.example/token", "10.1.2.3"],
    ["https://meta.example/latest", "169.254.169.254"],
    ["https://inside.example/token", "127.0.0.1"],
    ["https://127.0.0.1/token", "127.0.0.1"],
    ["https://[::ffff:10.0.0.1]/token", "is not public"],
    ["http://public.example/token", "plain http"],
    ["file:///etc/passwd", "plain http"],
  ] as const)
    await expect(there(address)).rejects.toThrow(why);
  const leading = createServer((_, response) => void response.writeHead(302, { location: "http://169.254.169.254/latest" }).end());
  await new Promise<void>((done) => leading.listen(0, "127.0.0.1", done));
  closing.push(() => void leading.close());
  const { port } = leading.address() as AddressInfo;
  const here = fetching("http://127.0.0.1:1/mcp"); // a server of this machine names another of this machine
  await expect(here(`http://127.0.0.1:${port}/x`)).rejects.toThrow("169.254.169.254");
  const own = fetching(`http://127.0.0.1:${port}/mcp`);
  await expect(own(`http://127.0.0.1:${port}/mcp`)).rejects.toThrow("sends us on");
});

test("T-37 where the entry names a host inside, it is reached", async () => {
  const guarded = await web({ token: "t" });
  const { port } = new URL(guarded.url);
  const named = fetching("https://mcp.example/mcp", { hosts: ["127.0.0.1"] });
  const answer = await named(`http://127.0.0.1:${port}/token`, { method: "POST", body: new URLSearchParams({ grant_type: "x" }) });
  expect(await answer.json()).toMatchObject({ token_type: "Bearer" });
});

test("T-36 credentials of an entry go to the issuer that it names, and to nobody whom the server names instead", async () => {
  const withoutIssuer = (auth: JsonObject) =>
    parseServer({ name: "web", entry: { url: "https://x.example", orgate: { auth } } }, "user", sha256);
  for (const auth of [
    { grant: "client", clientId: "c", clientSecret: "s" },
    { grant: "client", clientId: "c", privateKey: "k" },
    { grant: "person", clientId: "c", clientSecret: "s" },
  ])
    expect(withoutIssuer(auth)).toMatchObject({ kind: "unusable", detail: expect.stringContaining("issuer") });

  const guarded = await web({ token: "canary-token-2" });
  const { origin } = new URL(guarded.url);
  const auth = (issuer: string) => ({ orgate: { auth: { grant: "client", clientId: "c", clientSecret: "canary-secret", issuer } } });
  expect(await look(serverAt(guarded.url, auth(origin)))).toMatchObject({ kind: "answered" });
  expect(guarded.tokens.join()).toContain("canary-secret");
  const evil = await web({ token: "canary-token-3" });
  expect(await look(serverAt(evil.url, auth("https://issuer.example")))).toMatchObject({ kind: "refused" });
  expect(evil.tokens).toEqual([]);
});
