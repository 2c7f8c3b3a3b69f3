import { createServer, type IncomingMessage, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { createServer as createTcpServer } from "node:net";
import { gzipSync } from "node:zlib";
import { afterEach, expect, test } from "vitest";
import type { HttpInvocation } from "../contract/running.ts";
import { isInner, readScope } from "./addresses.ts";
import { httpGuard } from "./http-guard.ts";
import type { ResolveHost } from "./resolve-host.ts";

const closing: (() => void)[] = [];
afterEach(() => {
  for (const close of closing.splice(0)) close();
});

type Served = Readonly<{ port: number; seen: IncomingMessage[] }>;
async function serve(listener: RequestListener): Promise<Served> {
  const seen: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    seen.push(request);
    listener(request, response);
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  closing.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return { port: (server.address() as AddressInfo).port, seen };
}

const asking = (url: string, more: Partial<HttpInvocation> = {}): HttpInvocation => ({
  kind: "http",
  method: "GET",
  url,
  headers: {},
  body: null,
  allow: ["127.0.0.1", "*"],
  timeMs: 10_000,
  outputBytes: 10_000,
  ...more,
});
const options = (signal = new AbortController().signal) => ({ signal, onOutput: () => {} });
/** Answers once per name in turn, and is strict: more questions than answers fail. */
function answering(...answers: readonly string[]): { resolve: ResolveHost; asked: string[] } {
  const asked: string[] = [];
  const resolve: ResolveHost = async (host) => {
    const address = answers[asked.push(host) - 1];
    if (address === undefined) throw new Error(`\`${host}\` was resolved once more than expected`);
    return [{ address, family: address.includes(":") ? 6 : 4 }];
  };
  return { resolve, asked };
}

test("T-30 a name is resolved once and the checked address is connected to, whatever it leads to a moment later", async () => {
  const { port } = await serve((_, response) => response.end("inside"));
  const dns = answering("127.0.0.1", "10.0.0.1");
  const ran = await httpGuard({ resolve: dns.resolve })(asking(`http://pinned.example:${port}/`), options());
  expect(ran).toMatchObject({ kind: "responded", status: 200, body: "inside" });
  expect(dns.asked).toEqual(["pinned.example"]);
});

test("T-30 a name that first leads outside and then inside is resolved anew for a redirect, and stopped there", async () => {
  const { port, seen } = await serve((_, response) => response.writeHead(302, { location: "/again" }).end());
  const dns = answering("127.0.0.1", "127.0.0.2");
  const ran = await httpGuard({ resolve: dns.resolve })(asking(`http://rebinding.example:${port}/`), options());
  expect(ran).toMatchObject({ kind: "stopped", by: "connection" });
  expect(seen).toHaveLength(1);
});

test("T-30 one inner address among public ones refuses the name", async () => {
  const resolve: ResolveHost = async () => [
    { address: "93.184.216.34", family: 4 },
    { address: "10.1.2.3", family: 4 },
  ];
  const ran = await httpGuard({ resolve })(asking("http://mixed.example/"), options());
  expect(ran).toMatchObject({ kind: "refused", reason: expect.stringContaining("10.1.2.3") });
});

test.each([
  "http://127.0.0.1/",
  "http://2130706433/",
  "http://0x7f.1/",
  "http://0177.0.0.1/",
  "http://127.1/",
  "http://0/",
  "http://0.0.0.0/",
  "http://10.0.0.1/",
  "http://172.31.255.255/",
  "http://192.168.1.1/",
  "http://169.254.169.254/latest/meta-data",
  "http://100.64.0.1/",
  "http://198.18.0.1/",
  "http://224.0.0.1/",
  "http://255.255.255.255/",
  "http://[::1]/",
  "http://[::]/",
  "http://[::ffff:127.0.0.1]/",
  "http://[::ffff:7f00:1]/",
  "http://[::127.0.0.1]/",
  "http://[64:ff9b::7f00:1]/",
  "http://[64:ff9b:1::7f00:1]/",
  "http://[2002:7f00:1::]/",
  "http://[2001:0:7f00:1::]/",
  "http://[fe80::1]/",
  "http://[fc00::1]/",
  "http://[fd12:3456::1]/",
  "http://[ff02::1]/",
  "http://[2001:db8::1]/",
  "http://①②⑦.⓪.⓪.①/",
])("T-30 %s is not public: refused though every host is in scope", async (url) => {
  const { resolve } = answering();
  const ran = await httpGuard({ resolve })(asking(url, { allow: ["*"] }), options());
  expect(ran).toMatchObject({ kind: "refused", reason: expect.stringContaining("not public") });
});

test("T-30 public addresses are public, and nothing that is no address is", () => {
  for (const address of ["1.1.1.1", "93.184.216.34", "2606:4700:4700::1111", "::ffff:1.1.1.1"]) expect(isInner(address)).toBe(false);
  for (const address of ["", "example.com", "1.1.1", "::ffff:10.0.0.1%eth0"]) expect(isInner(address)).toBe(true);
});

test.each([
  ["api.example.com", "api.example.com", 443, true],
  ["api.example.com", "API.example.com.", 443, true],
  ["api.example.com", "evil-api.example.com", 443, false],
  ["api.example.com", "api.example.com.evil.org", 443, false],
  ["*.example.com", "a.b.example.com", 443, true],
  ["*.example.com", "example.com", 443, false],
  ["*.example.com", "notexample.com", 443, false],
  ["bücher.example", "xn--bcher-kva.example", 443, true],
  ["аpple.com", "apple.com", 443, false], // the first letter of the scope is Cyrillic
  ["api.example.com:8443", "api.example.com", 443, false],
  ["api.example.com:8443", "api.example.com", 8443, true],
  ["93.184.216.0/24", "93.184.216.34", 80, true],
  ["93.184.216.0/24", "93.184.217.34", 80, false],
] as const)("T-30 scope %s and %s:%d: %s", async (entry, host, port, inScope) => {
  const read = readScope([entry]);
  if (read.kind !== "scope") throw new Error("not read");
  const url = new URL(`http://${host}:${port}/`);
  expect(read.scope.objection(url.hostname.replace(/\.$/, ""), port) === null).toBe(inScope);
});

test.each(["", "http://x", "a b", "10.0.0.0/33", "*", "a/24", "*.*.example", "host:0", "host:70000", "user@host"])(
  "T-30 a scope of `%s` is read as a scope or refused, never as less",
  (entry) => {
    expect(readScope([entry]).kind).toBe(entry === "*" ? "scope" : "unreadable");
  },
);

test("T-30 an inner address is reached when the scope names the address, and a name in scope does not name it", async () => {
  const { port } = await serve((_, response) => response.end("inside"));
  const { resolve } = answering("127.0.0.1", "127.0.0.1");
  const guard = httpGuard({ resolve });
  expect(await guard(asking(`http://inner.example:${port}/`, { allow: ["inner.example"] }), options())).toMatchObject({ kind: "refused" });
  expect(await guard(asking(`http://inner.example:${port}/`, { allow: ["inner.example", "127.0.0.0/8"] }), options())).toMatchObject({
    body: "inside",
  });
  expect(await guard(asking(`http://127.0.0.1:${port}/`, { allow: ["127.0.0.1"] }), options())).toMatchObject({ body: "inside" });
  expect(await guard(asking(`http://127.0.0.1:${port}/`, { allow: [`127.0.0.1:${port + 1}`] }), options())).toMatchObject({
    kind: "refused",
  });
});

test("T-30 other schemes, credentials in the address and headers of the transport are refused, and nothing is sent", async () => {
  const { port, seen } = await serve((_, response) => response.end());
  const guard = httpGuard();
  const at = `http://127.0.0.1:${port}/`;
  for (const wrong of [
    asking("file:///etc/passwd"),
    asking("ftp://127.0.0.1/"),
    asking(`http://user:word@127.0.0.1:${port}/`),
    asking("not an address"),
    asking(at, { headers: { Host: "other.example" } }),
    asking(at, { headers: { "Transfer-Encoding": "chunked" } }),
    asking(at, { headers: { "X-A": "b\r\nX-C: d" } }),
    asking(at, { headers: { "X A": "b" } }),
    asking(at, { method: "CONNECT" }),
    asking(at, { method: "GET / HTTP/1.1\r\nX: y" }),
  ])
    expect(await guard(wrong, options())).toMatchObject({ kind: "refused" });
  expect(seen).toHaveLength(0);
});

test("T-30 a redirect to what is out of scope is not followed", async () => {
  const inner = await serve((_, response) => response.end("secret"));
  const outer = await serve((_, response) => response.writeHead(302, { location: `http://127.0.0.1:${inner.port}/` }).end());
  const ran = await httpGuard()(asking(`http://127.0.0.1:${outer.port}/`, { allow: [`127.0.0.1:${outer.port}`] }), options());
  expect(ran).toMatchObject({ kind: "stopped", by: "connection", detail: expect.stringContaining("a redirect was not followed") });
  expect(inner.seen).toHaveLength(0);
});

test("T-30 to another origin a redirect takes no header along; to the same origin it does", async () => {
  const inner = await serve((_, response) => response.end("there"));
  const outer = await serve((request, response) =>
    response.writeHead(302, { location: request.url === "/" ? "/second" : `http://127.0.0.1:${inner.port}/` }).end(),
  );
  const headers = { "X-Api-Key": "k", Authorization: "Bearer t", Accept: "text/plain" };
  const ran = await httpGuard()(asking(`http://127.0.0.1:${outer.port}/`, { headers }), options());
  expect(ran).toMatchObject({ kind: "responded", body: "there" });
  expect(outer.seen.map((r) => r.headers["x-api-key"])).toEqual(["k", "k"]);
  expect(inner.seen[0]?.headers).toMatchObject({ accept: "text/plain" });
  expect(inner.seen[0]?.headers).not.toHaveProperty("x-api-key");
  expect(inner.seen[0]?.headers).not.toHaveProperty("authorization");
});

test("T-30 redirects end, a body goes to no other origin, and a POST that is answered elsewhere becomes a GET", async () => {
  const round = await serve((_, response) => response.writeHead(307, { location: "/" }).end());
  expect(await httpGuard()(asking(`http://127.0.0.1:${round.port}/`), options())).toMatchObject({ detail: "more than 5 redirects" });
  expect(round.seen).toHaveLength(6);

  const inner = await serve((_, response) => response.end());
  const to = `http://127.0.0.1:${inner.port}/`;
  const outer = await serve((request, response) => response.writeHead(request.url === "/keep" ? 307 : 303, { location: to }).end());
  const post = { method: "POST", body: "secret" };
  const kept = await httpGuard()(asking(`http://127.0.0.1:${outer.port}/keep`, post), options());
  expect(kept).toMatchObject({ kind: "stopped", detail: expect.stringContaining("body") });
  expect(inner.seen).toHaveLength(0);
  await httpGuard()(asking(`http://127.0.0.1:${outer.port}/see`, post), options());
  expect(inner.seen[0]?.method).toBe("GET");
});

test("T-30 an answer is cut at its limit, also one that unfolds", async () => {
  const { port } = await serve((request, response) => {
    const long = "a".repeat(1_000_000);
    if (request.url === "/packed") response.writeHead(200, { "content-encoding": "gzip" }).end(gzipSync(long));
    else response.end(long);
  });
  for (const path of ["/", "/packed"]) {
    const ran = await httpGuard()(asking(`http://127.0.0.1:${port}${path}`, { outputBytes: 1000 }), options());
    expect(ran).toMatchObject({ kind: "responded", truncated: true, body: "a".repeat(1000) });
  }
  const whole = await httpGuard()(asking(`http://127.0.0.1:${port}/packed`, { outputBytes: 1_000_000 }), options());
  expect(whole).toMatchObject({ truncated: false, body: "a".repeat(1_000_000) });
});

test("T-30 one time-out covers it all: a name, an answer and a body that never come", async () => {
  const never = await httpGuard({ resolve: () => new Promise(() => {}) })(asking("http://slow.example/", { timeMs: 20 }), options());
  expect(never).toMatchObject({ kind: "refused", reason: "no whole answer after 20 ms" });
  const { port } = await serve((request, response) => void (request.url === "/body" ? response.write("half") : null));
  for (const path of ["/", "/body"]) {
    const ran = await httpGuard()(asking(`http://127.0.0.1:${port}${path}`, { timeMs: 100 }), options());
    expect(ran).toMatchObject({ kind: "stopped", by: "time", stdout: path === "/body" ? "half" : "" });
  }
});

test("T-24 nothing listens there: refused, nothing was sent; told to stop in the middle: stopped", async () => {
  const server = createTcpServer();
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const free = (server.address() as AddressInfo).port;
  await new Promise((done) => server.close(done));
  expect(await httpGuard()(asking(`http://127.0.0.1:${free}/`), options())).toMatchObject({ kind: "refused" });

  const stop = new AbortController();
  const { port } = await serve(() => stop.abort());
  expect(await httpGuard()(asking(`http://127.0.0.1:${port}/`), options(stop.signal))).toMatchObject({ kind: "stopped", by: "signal" });
  expect(await httpGuard()(asking(`http://127.0.0.1:${port}/`), options(AbortSignal.abort()))).toMatchObject({ kind: "refused" });
});

test("T-30 what is excluded is not reached, by its own name, by where a name leads, or by a redirect", async () => {
  const { port } = await serve((request, response) =>
    request.url === "/away" ? void response.writeHead(302, { location: `http://127.0.0.2:${port}/` }).end() : void response.end("reached"),
  );
  const resolve = async () => [{ address: "127.0.0.2", family: 4 }];
  const ask = (url: string, allow: readonly string[]) => httpGuard({ resolve })(asking(url, { allow }), options());
  const range = ["127.0.0.0/8", "inner.example", "*.example"];
  expect(await ask(`http://127.0.0.1:${port}/`, [...range, "!127.0.0.2"])).toMatchObject({ body: "reached" });
  for (const [url, not] of [
    [`http://127.0.0.2:${port}/`, "!127.0.0.2"],
    [`http://inner.example:${port}/`, "!127.0.0.2/32"],
    [`http://inner.example:${port}/`, "!inner.example"],
    [`http://a.inner.example:${port}/`, "!*.inner.example"],
  ] as const)
    expect(await ask(url, [...range, not])).toMatchObject({ kind: "refused", reason: expect.stringContaining("excluded from the scope") });
  expect(await ask(`http://127.0.0.1:${port}/away`, [...range, "!127.0.0.2"])).toMatchObject({
    kind: "stopped",
    detail: expect.stringContaining("excluded from the scope"),
  });
});

test("T-30 no proxy of the environment takes part", async () => {
  const proxy = await serve((_, response) => response.end("by proxy"));
  const { port } = await serve((_, response) => response.end("direct"));
  const before = { ...process.env };
  Object.assign(process.env, {
    HTTP_PROXY: `http://127.0.0.1:${proxy.port}`,
    http_proxy: `http://127.0.0.1:${proxy.port}`,
    NODE_USE_ENV_PROXY: "1",
  });
  try {
    expect(await httpGuard()(asking(`http://127.0.0.1:${port}/`), options())).toMatchObject({ body: "direct" });
  } finally {
    process.env = before;
  }
  expect(proxy.seen).toHaveLength(0);
});
