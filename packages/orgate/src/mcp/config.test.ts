import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Json, JsonObject } from "@orgate/core";
import { afterAll, expect, test } from "vitest";
import { sha256 } from "../node/crypto.ts";
import { listVariables, mcpServers, parseServer, resolveLaunch } from "./config.ts";

const folder = mkdtempSync(join(tmpdir(), "orgate-mcp-config-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const read = (entry: Json, name = "s") => parseServer({ name, entry }, "user", sha256);
const used = (entry: JsonObject) => {
  const found = read(entry);
  if (found.kind === "unusable") throw new Error(found.detail);
  return found.server;
};

test("T-35 entries of other hosts are read as they are: stdio, http, and settings that mean nothing here are named", () => {
  expect(read({ command: "npx", args: ["-y", "x"], env: { A: "1" }, type: "stdio", autoApprove: ["all"] })).toMatchObject({
    kind: "usable",
    ignored: ["autoApprove"],
    server: { transport: { kind: "stdio", command: "npx", args: ["-y", "x"], env: { A: "1" }, cwd: null }, roots: false },
  });
  for (const type of ["http", "streamable-http", "streamableHttp"])
    expect(read({ type, url: "https://example.test/mcp", headers: { A: "b" } })).toMatchObject({
      server: { transport: { kind: "http", url: "https://example.test/mcp", headers: { A: "b" } } },
    });
  expect(
    used({ command: "x", orgate: { tools: { look: { repeat: "read", effects: ["read"], resource: { type: "File", arg: "path" } } } } })
      .tools,
  ).toEqual({
    look: { repeat: "read", effects: ["read"], resource: { type: "File", arg: "path" } },
  });
});

test("T-35 an entry that cannot be used says why", () => {
  const wrong: readonly (readonly [Json, string])[] = [
    ["x", "no object"],
    [{}, "neither `command` nor `url`"],
    [{ command: "x", url: "https://a.test" }, "both `command` and `url`"],
    [{ command: "" }, "`command`"],
    [{ command: "x", args: "y" }, "`args`"],
    [{ command: "x", env: { A: 1 } }, "`env.A`"],
    [{ command: "x", type: "http" }, "`type` is http"],
    [{ url: "https://a.test", type: "sse" }, "given up"],
    [{ url: "ftp://a.test" }, "http or https"],
    [{ url: "https://ann:pw@a.test" }, "name or password"],
    [{ url: "http://a.test/mcp" }, "plain http to another machine"],
    [{ command: "x", disabled: true }, "disabled"],
    [{ command: "x", orgate: { tool: {} } }, "there is no setting `orgate.tool`"],
    [{ command: "x", orgate: { tools: { a: { repeat: "reconcile" } } } }, "`orgate.tools.a.repeat`"],
    [{ command: "x", orgate: { tools: { a: { effect: [] } } } }, "there is no setting `orgate.tools.a.effect`"],
  ];
  for (const [entry, detail] of wrong)
    expect([entry, read(entry)]).toEqual([entry, expect.objectContaining({ kind: "unusable", detail: expect.stringContaining(detail) })]);
  for (const name of ["", "a__b", "-a", "a_", "a b", "x".repeat(32), "ä"])
    expect(read({ command: "x" }, name)).toMatchObject({ kind: "unusable" });
  expect(read({ url: "http://10.0.0.1/mcp", orgate: { insecure: true } })).toMatchObject({ kind: "usable" });
  expect(read({ url: "http://127.0.0.1:1/mcp" })).toMatchObject({ kind: "usable" });
});

test("T-35 a project does not take a name of the person's own; a file that cannot be read is named, and the other is used", () => {
  const [root, home] = [join(folder, "p"), join(folder, "h")];
  for (const at of [root, home]) mkdirSync(at);
  const place = { root, home };
  expect(mcpServers(place, sha256)).toEqual({ servers: [], bad: [] });
  writeFileSync(join(home, "mcp.json"), JSON.stringify({ mcpServers: { files: { command: "mine" } } }));
  writeFileSync(join(root, ".mcp.json"), JSON.stringify({ mcpServers: { files: { command: "theirs" }, other: { command: "x" } } }));
  expect(mcpServers(place, sha256).servers.map(({ name, origin, kind }) => [name, origin, kind])).toEqual([
    ["files", "user", "usable"],
    ["files", "project", "unusable"],
    ["other", "project", "usable"],
  ]);
  writeFileSync(join(root, ".mcp.json"), '{"mcpServers":');
  expect(mcpServers(place, sha256)).toMatchObject({
    servers: [{ name: "files" }],
    bad: [{ file: ".mcp.json", detail: expect.stringContaining("not JSON") }],
  });
});

test("T-36 variables come from the environment when the server is started; those without a value and a default stop it", () => {
  const server = used({ command: "${BIN:-node}", args: ["${A}", "$B", "${C:-}"], env: { K: "${A}-${HOME}" }, cwd: "${HOME}" });
  expect(listVariables(server.transport)).toEqual(["BIN", "A", "C", "HOME"]);
  const launch = resolveLaunch(server, { A: "secret-value", HOME: "/srv/ann" });
  expect(launch).toMatchObject({
    transport: { command: "node", args: ["secret-value", "$B", ""], env: { K: "secret-value-/srv/ann" }, cwd: "/srv/ann" },
  });
  if (typeof launch === "string") throw new Error(launch);
  expect(launch.hide("a secret-value in /srv/ann")).toBe("a [A] in /srv/ann");
  expect(resolveLaunch(server, { HOME: "/srv/ann" })).toBe("`A` is not set in the environment");
});

test("T-36 headers, keys written into an entry and the parts of a bearer are hidden too", () => {
  const http = resolveLaunch(used({ url: "https://a.test/${PART}", headers: { Authorization: "Bearer abcdef123" } }), { PART: "p" });
  if (typeof http === "string") throw new Error(http);
  expect(http.hide("sent Bearer abcdef123, or abcdef123")).toBe("sent [Authorization], or [Authorization]");
  const stdio = resolveLaunch(used({ command: "x", env: { API_KEY: "sk-verysecret", MODE: "production" } }), {});
  if (typeof stdio === "string") throw new Error(stdio);
  expect(stdio.hide("sk-verysecret in production")).toBe("[API_KEY] in production");
  expect(resolveLaunch(used({ url: "${URL}" }), { URL: "file:///etc/passwd" })).toContain("http or https");
  const plain = { URL: "http://far.test/mcp" };
  expect(resolveLaunch(used({ url: "${URL}" }), plain)).toContain("plain http to another machine");
  expect(resolveLaunch(used({ url: "${URL}", orgate: { insecure: true } }), plain)).toMatchObject({ transport: { url: plain.URL } });
});
