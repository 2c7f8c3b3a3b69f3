import { describe, expect, test } from "vitest";
import { argv, built, contract, issues, WORLD } from "./fixtures/manifests.ts";
import { decodeCustomTypes, decodeManifest } from "./manifest.ts";

const command = { template: "echo {x}" };
const args = { x: { type: "string", required: true } };

/** Every setting of the format at once, of its three backends. */
const WHOLE = {
  tool: {
    name: "nmap_scan",
    version: "1.2.3",
    binary: "nmap",
    description: "Looks for open ports.",
    mode: "oneshot",
    timeout_seconds: 600,
    risk_tier: "medium",
    human_approval: true,
    cedar: { resource: "PenTest::ScanTarget", action: "execute_tool" },
    evidence: { output_dir: "{evidence_dir}/{scan_id}-nmap", capture: true, hash: "sha256" },
  },
  args: {
    target: { position: 1, required: true, type: "scope_target", description: "whom to scan" },
    kind: { position: 2, type: "enum", allowed: ["a", "b"], default: "a", feeds_decision: true },
    rate: { type: "integer", min: 1, max: 9, clamp: true, default: 4, sanitize: ["injection"] },
    name: { type: "string", pattern: "^[a-z]+$" },
    page: { type: "url", schemes: ["https"], scope_check: true, block_internal: true },
  },
  output: { format: "json", parser: "builtin:json", envelope: true, schema: { type: "object", properties: { hosts: { type: "array" } } } },
};

describe("the format", () => {
  test("T-15 every setting of a one-shot, an HTTP and an MCP manifest is understood", () => {
    const shell = {
      ...WHOLE,
      command: {
        template: "nmap {_kind_flags} {_more} {target}",
        defaults: { speed: 3 },
        mappings: { kind: { a: "-a", b: "" } },
        conditionals: { more: { when: "name != ''", template: "-n {name}" } },
      },
    };
    const http = {
      ...WHOLE,
      http: {
        method: "POST",
        url: "https://example.com/{name}",
        headers: { Authorization: "Bearer {_secret:token}" },
        body_template: '{"n": "{name}"}',
        success_status: [200],
        error_status: [429],
      },
    };
    const mcp = { ...WHOLE, mcp: { server: "github", tool: "create_issue", field_map: { name: "title" } } };
    for (const whole of [shell, http, mcp]) expect(issues(whole)).toEqual([]);
    const c = contract(shell);
    expect(c).toMatchObject({ effects: ["execute", "network"], resourceTypes: ["PenTest::ScanTarget"], targets: ["target", "page"] });
    expect(c.resource({ target: "10.0.0.2" })).toEqual({ type: "PenTest::ScanTarget", id: "10.0.0.2" });
    expect(argv(c, { target: "10.0.0.2", kind: "b", name: "ann" })).toEqual(["nmap", "-n", "ann", "10.0.0.2"]);
    expect(contract(http).manifest.secrets).toEqual(["token"]);
    expect(built(contract(mcp), { target: "10.0.0.2", name: "ann" })).toMatchObject({
      invocation: { kind: "mcp", server: "github", tool: "create_issue", args: { target: "10.0.0.2", kind: "a", rate: 4, title: "ann" } },
    });
  });

  test("T-15 what is left out is the strictest it could mean", () => {
    const { manifest, effects } = contract({ args, command });
    expect(manifest.tool).toMatchObject({ timeout_seconds: 30, risk_tier: "low", human_approval: false, mode: "oneshot" });
    expect(manifest.tool.orgate).toMatchObject({ repeat: "once", sandbox: "process", hosts: [], reads: [], writes: [] });
    expect([effects, manifest.output.format]).toEqual([["execute"], "text"]);
  });

  test("T-15 sessions and browsers parse whole and are refused with the reason", () => {
    const session = {
      startup_command: "psql",
      ready_pattern: "> $",
      startup_timeout_seconds: 5,
      idle_timeout_seconds: 5,
      session_timeout_seconds: 5,
      max_interactions: 5,
      interaction: { input_sanitize: ["injection"], output_max_bytes: 5, output_wait_ms: 5 },
      commands: {
        run: {
          pattern: "^run$",
          description: "r",
          risk_tier: "high",
          human_approval: true,
          extract_target: true,
          args: { a: { type: "string" } },
        },
      },
    };
    const browser = {
      engine: "cdp",
      headless: true,
      connect: "launch",
      extract_mode: "html",
      startup_timeout_seconds: 5,
      session_timeout_seconds: 5,
      idle_timeout_seconds: 5,
      max_interactions: 5,
      scope: { allowed_domains: ["*.example.com"], blocked_domains: [], allow_external: false },
      commands: { click: { description: "c", risk_tier: "low", human_approval: false, args: { s: { type: "string" } } } },
      state: { fields: ["url"] },
    };
    expect(issues({ tool: { mode: "session" }, session }).join()).toMatch(/^tool.mode: interactive sessions are not run/);
    expect(issues({ tool: { mode: "browser" }, browser }).join()).toMatch(/^tool.mode: browsers are not run/);
    expect(issues({ args, command, session }).join()).toMatch(/^session: interactive sessions/);
    expect(issues({ tool: { mode: "session" }, session: { ...session, speed: 1 } })).toEqual([
      "session.speed: there is no setting `session.speed`",
    ]);
    expect(issues({ tool: { mode: "browser" }, browser: { ...browser, scope: { allow: [] } } })).toEqual([
      "browser.scope.allow: there is no setting `browser.scope.allow`",
    ]);
  });

  test("T-15 settings that nobody knows, or of the wrong kind, are all told, each with its place", () => {
    const read = decodeManifest(
      {
        tool: { name: "a b", version: 1, description: "x", timeout: 3, orgate: { network: true } },
        args: { x: { type: "string", requird: true } },
        comand: {},
        output: { format: "yaml" },
      },
      {},
    );
    const places = read.kind === "refused" ? read.issues.map(({ path }) => path.join(".")).sort() : [];
    expect(places).toEqual([
      "args.x.requird",
      "comand",
      "output.format",
      "tool.name",
      "tool.orgate.network",
      "tool.timeout",
      "tool.version",
    ]);
  });

  test.each([
    [{ args }, "nothing says what it runs"],
    [{ args, command, mcp: { server: "a", tool: "b" } }, "more than one thing says what it runs"],
    [{ args, command: {} }, "command: nothing says what it runs"],
    [{ args, command: { template: "echo", executor: "x.sh" } }, "command: more than one thing"],
    [{ args, mcp: { server: "a", tool: "b", field_map: { y: "z" } } }, "mcp.field_map.y"],
    [{ args, command, output: { format: "json", parser: "builtin:xml" } }, "output.parser"],
    [{ args, command, tool: { evidence: { output_dir: "/etc/cron.d" } } }, "tool.evidence.output_dir"],
    [{ args, command, tool: { evidence: { output_dir: "{evidence_dir}/../x" } } }, "tool.evidence.output_dir"],
    [{ args, command, tool: { evidence: { hash: "md5" } } }, "tool.evidence.hash"],
    [{ args, command, tool: { orgate: { hosts: ["10.0.0.1/8"] } } }, "tool.orgate.hosts.0"],
    [{ args, command, tool: { orgate: { env: { LD_PRELOAD: "{x}" } } } }, "tool.orgate.env.LD_PRELOAD"],
    [{ args, command, tool: { orgate: { env: { GIT_SSH_COMMAND: "{x}" } } } }, "tool.orgate.env.GIT_SSH_COMMAND"],
    [{ args, command, tool: { orgate: { env: { PERL5OPT: "{x}" } } } }, "tool.orgate.env.PERL5OPT"],
    [{ args, command, tool: { orgate: { env: { PAGER: "{x}" } } } }, "tool.orgate.env.PAGER"],
    [{ args, command, tool: { orgate: { env: { A: "{y}" } } } }, "tool.orgate.env.A"],
    [{ args, command, tool: { orgate: { labels: ["No Label"] } } }, "tool.orgate.labels.0"],
    [{ args, command, tool: { orgate: { repeat: "reconcile" } } }, "tool.orgate.repeat"],
  ])("T-15 %j is refused", (more, why) => expect(issues(more).join()).toContain(why));
});

describe("custom types", () => {
  const types = (value: unknown) => {
    const read = decodeCustomTypes(value);
    if (read.kind === "refused") throw new Error(JSON.stringify(read.issues));
    return read.types;
  };

  test("T-18 a custom type is its base with its own settings, over which the argument's come", () => {
    const own = types({
      types: { severity: { base: "enum", allowed: ["low", "high"] }, rate: { base: "integer", min: 1, max: 10, clamp: true } },
    });
    const c = contract(
      { args: { s: { type: "severity", required: true }, r: { type: "rate", max: 5 } }, command: { template: "t {s} {r}" } },
      own,
    );
    expect(argv(c, { s: "low", r: 99 })).toEqual(["t", "low", "5"]);
    expect(argv(c, { s: "none" })).toBe("s: must be one of low, high");
    expect(c.inputSchema["properties"]).toMatchObject({ s: { type: "string", enum: ["low", "high"] } });
  });

  test("T-18 a wrong custom type is refused with its place", () => {
    const places = (value: unknown) => {
      const read = decodeCustomTypes(value);
      return read.kind === "refused" ? read.issues.map(({ path }) => path.join(".")) : [];
    };
    expect(places({ types: { a: { base: "nothing" } } })).toEqual(["types.a.base"]);
    expect(places({ types: { string: { base: "integer" } } })).toEqual(["types.string"]);
    expect(places({ types: { a: { base: "enum" } } })).toEqual(["types.a.allowed"]);
    expect(places({ types: { a: { base: "string", patern: "x" } } })).toEqual(["types.a.patern"]);
  });
});

describe("what is built", () => {
  test("T-25 the model is shown typed parameters, and nothing of what is run", () => {
    const { inputSchema } = contract({
      args: {
        host: { type: "scope_target", required: true, position: 2, description: "whom" },
        n: { type: "integer", min: 1, max: 5, position: 1 },
        on: { type: "boolean" },
        kind: { type: "enum", allowed: ["a", "b"], default: "a" },
      },
      command: { template: "secret-program --hidden-flag {n} {on} {kind} {host}" },
    });
    expect(inputSchema).toEqual({
      type: "object",
      properties: {
        n: { type: "integer", minimum: 1, maximum: 5 },
        host: { type: "string", maxLength: 32_768, description: "whom; a host name, an address or a range such as 10.0.0.0/8, in scope" },
        on: { type: "boolean" },
        kind: { type: "string", enum: ["a", "b"], default: "a" },
      },
      required: ["host"],
      additionalProperties: false,
    });
    expect(JSON.stringify(inputSchema)).not.toMatch(/secret-program|hidden-flag/);
  });

  test("T-15 limits, folders, hosts and variables of a process are those of the manifest", () => {
    const c = contract({
      tool: {
        timeout_seconds: 5,
        orgate: {
          reads: ["."],
          writes: ["out", "{file}"],
          hosts: ["10.0.0.9"],
          env: { TOKEN: "{_secret:k}", KIND: "x-{x}" },
          stdin: "in {x}",
          memory_mb: 2,
          processes: 3,
          file_mb: 4,
          open_files: 5,
          output_bytes: 6,
        },
      },
      args: { ...args, file: { type: "path" } },
      command: { template: "tool {x} {file}" },
    });
    expect(built(c, { x: "a", file: "f.txt" })).toEqual({
      kind: "invocation",
      invocation: {
        kind: "process",
        argv: ["tool", "a", "/project/f.txt"],
        cwd: "/project",
        env: { PATH: "/usr/bin:/bin", TOKEN: "<k>", KIND: "x-a" },
        stdin: "in a",
        network: ["10.0.0.9", "10.0.0.0/8", "127.0.0.1", "!10.0.0.1"],
        paths: [
          { path: "/project/f.txt", access: "write" },
          { path: "/project", access: "read" },
          { path: "/project/out", access: "write" },
        ],
        tier: "process",
        limits: { memoryBytes: 2 * 1024 ** 2, processes: 3, fileBytes: 4 * 1024 ** 2, openFiles: 5, timeMs: 5000, outputBytes: 6 },
      },
    });
    expect(built(contract({ args, command }), { x: "a" })).toMatchObject({
      invocation: { cwd: null, network: null, paths: [], stdin: null },
    });
  });

  test("T-15 a program of the project's own is seen by its sandbox without being granted", () => {
    const one = built(contract({ args: { x: { type: "string" } }, command: { executor: "tools/run.sh" } }), { x: "a" });
    expect(one).toMatchObject({
      invocation: {
        argv: ["/project/tools/run.sh"],
        env: { TOOLCLAD_ARG_X: "a" },
        paths: [{ path: "/project/tools/run.sh", access: "read" }],
      },
    });
  });

  test("T-25 what reaches a host is `network`, whatever the manifest claims", () => {
    const claims = { tool: { orgate: { effects: ["read"] } } };
    expect(contract({ ...claims, http: { method: "GET", url: "https://example.com/" } }).effects).toEqual(["read", "network"]);
    const args = { x: { type: "scope_target" } };
    expect(contract({ ...claims, args, command: { template: "whois {x}" } }).effects).toEqual(["read", "network"]);
    expect(contract({ ...claims, command: { template: "date" } }).effects).toEqual(["read"]);
  });

  test("T-19 a host that the manifest itself names must be in scope", () => {
    const c = contract({ tool: { orgate: { hosts: ["evil.org"] } }, args, command });
    expect(built(c, { x: "a" })).toMatchObject({ kind: "refused", reason: "`evil.org` is out of scope (scope/scope.toml)" });
  });

  test("T-15 an executor is a program of the project that gets its arguments as variables", () => {
    const c = contract({ args, command: { executor: "scripts/wrap.sh" } });
    expect(built(c, { x: "a b" })).toMatchObject({
      invocation: { argv: ["/project/scripts/wrap.sh"], env: { TOOLCLAD_ARG_X: "a b", TOOLCLAD_SCAN_ID: "scan-1" } },
    });
    expect(built(contract({ args, command: { executor: "/bin/sh" } }), { x: "a" })).toMatchObject({ kind: "refused" });
  });

  test("T-18 what an argument leads to is looked at again before it runs", () => {
    const c = contract({ args: { f: { type: "path", required: true } }, command: { template: "cat {f}" } });
    const moved = { ...WORLD, places: { resolve: () => ({ kind: "place", real: "other", absolute: "/project/other" }) as const } };
    const around = { secret: () => "", ambient: () => "", env: {}, scanId: "s" };
    expect(c.invoke({ f: "docs/a" }, moved, around)).toMatchObject({ kind: "refused", reason: "an argument means something else by now" });
    expect(c.invoke({ f: "../x" }, WORLD, around)).toMatchObject({ kind: "refused" });
  });

  test("T-25 what a call touches is the host or file it names, else the tool", () => {
    const of = (more: object, given: Record<string, string>) => contract({ command: { template: "t" }, ...more }).resource(given);
    expect(of({ args: { u: { type: "url", scope_check: true } } }, { u: "https://example.com/x" })).toEqual({
      type: "Host",
      id: "example.com",
    });
    expect(of({ args: { f: { type: "path" } } }, { f: "a/b" })).toEqual({ type: "File", id: "a/b" });
    expect(of({ args: { f: { type: "path" } } }, {})).toEqual({ type: "Tool", id: "t" });
    expect(of({ args }, { x: "y" })).toEqual({ type: "Tool", id: "t" });
    const fixed = contract({ args: { f: { type: "path" } }, http: { method: "GET", url: "https://API.example.com/v1/{f}" } });
    expect([fixed.resource({ f: "a" }), fixed.resourceTypes]).toEqual([{ type: "Host", id: "api.example.com" }, ["Host"]]);
  });
});
