import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { brotliCompressSync, gzipSync } from "node:zlib";
import { afterEach, expect, test } from "vitest";
import { raw, type Serving, serving } from "../fixtures/serving.ts";
import { consolePage } from "./console-page.ts";

const PAGE = "<!doctype html><title>the console</title>";
const SCRIPT = "export const one = 1;".repeat(100);
const ASKS = { accept: "text/html,application/xhtml+xml" };

const away: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const leave of away.splice(0)) await leave();
});

async function served(): Promise<Readonly<{ at: Serving; folder: string }>> {
  const folder = mkdtempSync(join(tmpdir(), "orgate-console-page-"));
  const at = await serving({ serve: { pages: [consolePage(folder)] } });
  away.push(async () => {
    await at.stop();
    rmSync(folder, { recursive: true });
  });
  return { at, folder };
}

function build(folder: string, page = PAGE): void {
  mkdirSync(join(folder, "assets"), { recursive: true });
  mkdirSync(join(folder, ".vite"), { recursive: true });
  writeFileSync(join(folder, "index.html"), page);
  writeFileSync(join(folder, ".vite", "manifest.json"), "{}");
  writeFileSync(join(folder, "assets", "index-BNCsIpbU.js"), SCRIPT);
  writeFileSync(join(folder, "assets", "index-BNCsIpbU.js.br"), brotliCompressSync(SCRIPT));
  writeFileSync(join(folder, "assets", "index-BNCsIpbU.js.gz"), gzipSync(SCRIPT));
}

test("O-2 a file of the build has its type, comes compressed to whoever takes it so, and is kept for good; the page is asked for again", async () => {
  const { at, folder } = await served();
  build(folder);
  const script = "/assets/index-BNCsIpbU.js";
  for (const [taken, given] of [
    ["gzip, deflate, br", "br"],
    ["gzip", "gzip"],
    ["br;q=0, gzip", "gzip"],
    ["identity", null],
  ] as const) {
    const came = await at.get(script, null, { "accept-encoding": taken });
    expect([came.status, came.headers.get("content-encoding")]).toEqual([200, given]);
    expect(came.headers.get("content-type")).toBe("text/javascript; charset=utf-8");
    expect(came.headers.get("cache-control")).toBe("public, max-age=31536000, immutable");
    expect(await came.text()).toBe(SCRIPT);
  }
  const page = await at.get("/", null, ASKS);
  expect([await page.text(), page.headers.get("cache-control")]).toEqual([PAGE, "no-cache"]);
});

test("O-2 the page may load from this server alone, with no inline script or style, and nobody may frame it", async () => {
  const { at, folder } = await served();
  build(folder);
  const { headers } = await at.get("/approvals", null, ASKS);
  const policy = headers.get("content-security-policy") ?? "";
  expect(policy).toContain("default-src 'none'; script-src 'self'; style-src 'self'");
  expect(policy).toContain("frame-ancestors 'none'");
  expect(policy).not.toMatch(/unsafe|https?:|\*|data:/);
  expect(headers.get("x-content-type-options")).toBe("nosniff");
});

test("O-2 nothing but files of the build is given: no way leads above it, and what begins with a dot is not there", async () => {
  const { at, folder } = await served();
  build(folder);
  for (const path of ["/../package.json", "/assets/../../secret", "/.vite/manifest.json", "/assets/%2e%2e/index.html", "/assets/none.js"]) {
    const told = await raw(at.at.port, [`GET ${path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n`]);
    expect(told).toMatch(/^HTTP\/1\.1 (?:400|401|404) /);
  }
});

test("every address of the console is its page to a browser; the API, probes and programs are told what they were told before", async () => {
  const { at, folder } = await served();
  build(folder);
  for (const path of ["/", "/chat/s_1", "/sign-in", "/approvals/a%2f1"]) expect(await (await at.get(path, null, ASKS)).text()).toBe(PAGE);
  expect((await at.get("/api/v1/nothing", "full", ASKS)).status).toBe(404);
  expect((await at.get("/livez", null, ASKS)).headers.get("content-type")).toBe("application/json");
  expect((await at.get("/chat", "full", { accept: "*/*" })).status).toBe(404);
});

test("without a build the page says what to run, and a build that comes or is replaced is given at once", async () => {
  const { at, folder } = await served();
  const none = await at.get("/", null, ASKS);
  expect([none.status, await none.text()]).toEqual([200, expect.stringContaining("npm run build -w @orgate/console")]);
  build(folder);
  expect(await (await at.get("/", null, ASKS)).text()).toBe(PAGE);
  build(folder, "another");
  utimesSync(join(folder, "index.html"), 1, 1);
  expect(await (await at.get("/", null, ASKS)).text()).toBe("another");
});
