import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { type Entry, type JournalEvent, type JsonObject, tableGate } from "@orgate/core";
import { reply, scriptedModel } from "@orgate/core/testing";
import { afterEach, describe, expect, test } from "vitest";
import { secretStore } from "../identity/secrets-file.ts";
import { defineAgent, sha256 } from "../index.ts";
import { projectManifests } from "../project/project-manifests.ts";
import { createRuntime } from "../runtime/runtime.ts";

const closing: (() => void)[] = [];
afterEach(() => {
  for (const close of closing.splice(0)) close();
});

/** A project of these files, by path. */
function project(files: Readonly<Record<string, string>>): string {
  const root = mkdtempSync(join(tmpdir(), "orgate-manifests-"));
  closing.push(() => rmSync(root, { recursive: true, force: true }));
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  return root;
}

type Env = Readonly<Record<string, string>>;
const opened = (root: string, env: Env = {}) =>
  projectManifests({ root, tools: ["tools/*.clad.toml"], directory: join(root, ".orgate"), env, ask: null });

/** One call of one tool through the whole runtime; everything permitted. What was journalled, and what the model was shown. */
async function called(root: string, tool: string, args: JsonObject, env: Env = {}) {
  const { tools } = opened(root, env);
  const found = tools.get(tool)?.tool;
  if (found === undefined) throw new Error(`no tool ${tool}`);
  const model = scriptedModel([reply.calls([{ tool, args, id: "c1" }]), reply.text("done")]);
  const agent = defineAgent({ name: "ops", instructions: "Do it.", tools: [found] });
  const rows = [`tool:${tool}`, "model", "respond"].map((action) => ({ id: action, action, verdict: "allow" as const }));
  const runtime = await createRuntime({
    directory: join(root, ".orgate"),
    agents: [agent],
    gate: tableGate(rows, sha256),
    principal: { kind: "user", id: "ann" },
    powerCut: "lose-last-moments",
    model: () => model,
  });
  try {
    const { events } = await runtime.complete("ops", "go");
    const shown = JSON.stringify(model.asked.map((r) => r.messages));
    return { events, shown, ended: endedIn(events), journal: JSON.stringify(events) };
  } finally {
    await runtime.close();
  }
}

type Ended = Extract<JournalEvent, { kind: "act.ended" }>;
const endedIn = (events: readonly Entry[]): Ended | null =>
  events.map((e) => e.event).find((e): e is Ended => e.kind === "act.ended") ?? null;

const head = (name: string, binary = ""): string =>
  `[tool]\nname = "${name}"\nversion = "1.0.0"\nbinary = "${binary}"\ndescription = "${name}"\n`;

describe("real tools", () => {
  test("T-24 git, in the sandbox: output, evidence, exit status", { tags: ["sandbox", "git"] }, async () => {
    const root = project({
      "tools/git.clad.toml": `${head("git_log", "git")}timeout_seconds = 20\nrisk_tier = "low"\n[tool.orgate]\nreads = ["."]\nrepeat = "read"\neffects = ["read"]\n
[args.count]\ntype = "integer"\nmin = 1\nmax = 5\ndefault = 1\n[args.word]\ntype = "string"\nsanitize = ["text"]\n[command]
template = "git -c safe.directory=* log --max-count={count} --format=%s"\n[command.conditionals]\nsearch = { when = "word != ''", template = "--grep={word}" }\n`,
      "note.txt": "hello",
    });
    const git = await import("node:child_process");
    const run = (...args: string[]) =>
      git.execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@example.com", ...args], { cwd: root });
    run("init", "-q");
    run("add", "note.txt");
    run("commit", "-q", "-m", "first; $(touch pwned)");
    const { ended, shown } = await called(root, "git_log", { word: "first; $(touch pwned)" });
    expect(ended?.outcome).toMatchObject({
      kind: "done",
      output: { status: "success", tool: "git_log", results: { raw_output: "first; $(touch pwned)\n" } },
    });
    expect(ended?.evidence.proof).toMatchObject({
      tool: "git_log",
      version: "1.0.0",
      parameters: { count: 1, word: "first; $(touch pwned)" },
      invocation: {
        kind: "process",
        tier: "process",
        argv: ["git", "-c", "safe.directory=*", "log", "--max-count=1", "--format=%s", "--grep=first; $(touch pwned)"],
      },
      exitStatus: 0,
      outputSha256: sha256("first; $(touch pwned)\n"),
    });
    expect(shown).not.toContain("safe.directory"); // T-25: the invocation is nobody's but the journal's
    expect(readdirSync(root)).not.toContain("pwned");
  });

  test("T-24 sqlite3 reads a database of the project, and a wrong statement is a failure with what it said", {
    tags: ["sandbox", "sqlite3"],
  }, async () => {
    const root = project({
      "tools/q.clad.toml": `${head("query", "sqlite3")}[args.db]\ntype = "path"\nrequired = true\n[args.sql]\ntype = "string"\nsanitize = ["text"]\nrequired = true
[command]\nexec = ["sqlite3", "-readonly", "-json", "{db}", "{sql}"]\n[output]\nformat = "json"\nenvelope = false\n[output.schema]\ntype = "array"\n[output.schema.items.properties.n]\ntype = "integer"\n`,
    });
    const db = new DatabaseSync(join(root, "a.db"));
    db.exec("create table t (n integer, s text); insert into t values (1, 'x'), (2, 'y; drop table t')");
    db.close();
    expect((await called(root, "query", { db: "a.db", sql: "select n, s from t order by n" })).ended?.outcome).toEqual({
      kind: "done",
      output: [
        { n: 1, s: "x" },
        { n: 2, s: "y; drop table t" },
      ],
    });
    const wrong = await called(root, "query", { db: "a.db", sql: "select n from nowhere" });
    expect(wrong.ended).toMatchObject({
      outcome: { kind: "failed", error: expect.stringContaining("no such table") },
      evidence: { proof: { exitStatus: 1 } },
    });
    const odd = await called(root, "query", { db: "a.db", sql: "select s as n from t limit 1" });
    expect(odd.ended?.outcome).toMatchObject({
      kind: "done",
      output: { done: true, output: expect.stringContaining("withheld: it does not fit `output.schema`") },
    });
  });

  test("T-18 a path never leads out of the project, nor to its keys", { tags: ["sandbox"] }, async () => {
    const root = project({
      "tools/cat.clad.toml": `${head("show", "cat")}[args.file]\ntype = "path"\nrequired = true\n[command]\ntemplate = "cat {file}"\n`,
      "a.txt": "inside",
      ".env": "KEY=1",
    });
    symlinkSync("/etc/passwd", join(root, "out"));
    symlinkSync(join(root, "nowhere"), join(root, "dangling"));
    const { tool } = opened(root).tools.get("show") ?? {};
    const said = (file: string) => {
      const checked = tool?.check({ file });
      return checked?.kind === "valid" ? checked.args["file"] : "refused";
    };
    expect(["a.txt", "./x/../a.txt", `${root}/a.txt`, "later/new.txt"].map(said)).toEqual(["a.txt", "a.txt", "a.txt", "later/new.txt"]);
    const outside = [
      "out",
      "../x",
      "/etc/passwd",
      "dangling",
      ".orgate",
      ".orgate/keys/root.key",
      ".env",
      ".ENV",
      "a.txt/../.env",
      "x/../../y",
      "later/../../y",
    ];
    expect(outside.filter((file) => said(file) !== "refused")).toEqual([]);
    expect((await called(root, "show", { file: "a.txt" })).ended?.outcome).toMatchObject({
      kind: "done",
      output: { results: { raw_output: "inside" } },
    });
  });

  test("T-15 a python script as the project's own program, a file it writes as its output, a parser of the project's own", {
    tags: ["sandbox", "python"],
  }, async () => {
    const root = project({
      "tools/count.clad.toml": `${head("count", "python3")}[tool.evidence]\noutput_dir = "{evidence_dir}/{scan_id}"\n[tool.orgate]\nreads = ["."]\n[args.n]\ntype = "integer"\nmin = -9\nrequired = true
[command]\ntemplate = "python3 scripts/count.py {n} {_output_file}"\n[output]\nformat = "json"\n`,
      "tools/odd.clad.toml": `${head("odd", "echo")}[args.x]\ntype = "string"\nrequired = true\n[command]\ntemplate = "echo {x}"\n[output]\nparser = "scripts/parse.py"\n`,
      "scripts/count.py": "import sys, json\nopen(sys.argv[2], 'w').write(json.dumps({'double': 2 * int(sys.argv[1])}))\nprint('noise')\n",
      "scripts/parse.py": "#!/usr/bin/python3\nimport sys, json\nprint(json.dumps({'words': open(sys.argv[1]).read().split()}))\n",
    });
    chmodSync(join(root, "scripts/parse.py"), 0o755);
    const count = await called(root, "count", { n: -3 });
    expect(count.ended?.outcome).toMatchObject({ kind: "done", output: { results: { double: -6 } } });
    const kept = String(count.ended?.evidence.proof?.["output"]);
    expect(readFileSync(join(root, ".orgate", kept), "utf8")).toBe('{"double": -6}');
    expect((await called(root, "odd", { x: "a b" })).ended?.outcome).toMatchObject({
      kind: "done",
      output: { results: { words: ["a", "b"] } },
    });
  });

  test("T-24 what is stopped for its time is unknown, and nothing of it lives on", { tags: ["sandbox"] }, async () => {
    const root = project({
      "tools/slow.clad.toml": `${head("slow", "sleep")}timeout_seconds = 1\n[args.s]\ntype = "duration"\nrequired = true\n[command]\ntemplate = "sleep {s}"\n`,
    });
    const { ended } = await called(root, "slow", { s: "1h" });
    expect(ended).toMatchObject({
      outcome: { kind: "unknown", cause: "timed-out" },
      evidence: { proof: { invocation: { argv: ["sleep", "3600"] } } },
    });
  });
});

async function serving(answer: (request: IncomingMessage, body: string) => { status: number; body: string }) {
  const seen: { url: string; headers: IncomingMessage["headers"]; body: string }[] = [];
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (piece) => {
      body += String(piece);
    });
    request.on("end", () => {
      seen.push({ url: request.url ?? "", headers: request.headers, body });
      const { status, body: text } = answer(request, body);
      response.writeHead(status).end(text);
    });
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  closing.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return { port: (server.address() as AddressInfo).port, seen };
}

const SCOPE = { "scope/scope.toml": '[scope]\ntargets = ["127.0.0.1"]\n' };
const CANARY = 'canary-7Qx/é"1';

describe("requests and secrets", () => {
  const http = (
    port: number,
  ): string => `${head("post")}[args.text]\ntype = "string"\nsanitize = ["text"]\nrequired = true\n[http]\nmethod = "POST"
url = "http://127.0.0.1:${port}/say/{text}"\nheaders = { "X-Key" = "k {_secret:plain}" }\nbody_template = '{"text": "{text}", "token": "{_secret:odd}"}'\n[output]\nformat = "json"\n`;
  const env = { ORGATE_SECRET_PLAIN: "canary-header-5521", TOOLCLAD_SECRET_ODD: CANARY };

  test("T-21 a secret reaches the server and nobody else: not the model, journal, evidence or errors, though the server echoes it", async () => {
    const { port, seen } = await serving((_, body) => ({
      status: 200,
      body: JSON.stringify({ echo: body, again: JSON.parse(body) as unknown }),
    }));
    const root = project({ ...SCOPE, "tools/p.clad.toml": http(port) });
    const { ended, journal, shown } = await called(root, "post", { text: 'a/b" c' }, env);
    expect(seen).toMatchObject([{ url: "/say/a%2Fb%22%20c", headers: { "x-key": "k canary-header-5521" } }]);
    expect(JSON.parse(seen[0]?.body ?? "")).toEqual({ text: 'a/b" c', token: CANARY });
    expect(ended?.outcome).toMatchObject({ kind: "done", output: { results: { again: { token: "[secret:odd]" } } } });
    expect(ended?.evidence.proof).toMatchObject({
      invocation: { kind: "http", headers: { "X-Key": "k {_secret:plain}" } },
      exitStatus: 200,
    });
    for (const text of [journal, shown]) expect(leaks(text)).toEqual([]);
  });

  test("T-21 nor in the error of a failure", async () => {
    const { port } = await serving((request) => ({ status: 401, body: `bad key ${request.headers["x-key"]} ${CANARY}` }));
    const root = project({ ...SCOPE, "tools/p.clad.toml": http(port) });
    const { ended, journal, shown } = await called(root, "post", { text: "x" }, env);
    expect(ended?.outcome).toMatchObject({ kind: "failed", error: "status 401: bad key k [secret:plain] [secret:odd]" });
    for (const text of [journal, shown]) expect(leaks(text)).toEqual([]);
  });

  test("T-19 a server that the scope does not name is not reached", async () => {
    const { port, seen } = await serving(() => ({ status: 200, body: "{}" }));
    const root = project({ "tools/p.clad.toml": http(port) });
    const { ended } = await called(root, "post", { text: "x" }, env);
    expect(ended?.outcome).toMatchObject({ kind: "failed", error: expect.stringContaining("is out of scope") });
    expect(seen).toEqual([]);
  });

  test("T-21 a secret of a program is a variable of its own: not in its argv, nor in what is kept", { tags: ["sandbox"] }, async () => {
    const root = project({
      "tools/e.clad.toml": `${head("env", "sh")}[tool.orgate]\nenv = { TOKEN = "{_secret:odd}" }\n[command]\ntemplate = "sh -c 'tr \\"\\\\\\\\0\\" \\" \\" < /proc/self/cmdline; printf %s \\"$TOKEN\\" | wc -c; printf \\"<%s>\\" \\"$TOKEN\\"; env'"\n`,
    });
    const { ended, journal, shown } = await called(root, "env", {}, env);
    const output = JSON.stringify(ended?.outcome);
    expect(output).toContain(String(Buffer.byteLength(CANARY)));
    expect(output).toContain("<[secret:odd]>");
    expect(output).not.toContain("canary-header"); // nothing of the runtime's own environment
    for (const text of [journal, shown]) expect(leaks(text)).toEqual([]);
  });

  test("T-21 a secret that is not there stops the call before it begins, and says what to do", async () => {
    const root = project({ ...SCOPE, "tools/p.clad.toml": http(1) });
    const { ended } = await called(root, "post", { text: "x" });
    expect(ended?.outcome).toMatchObject({ kind: "failed", error: expect.stringContaining("there is no secret") });
  });

  test("T-22 what the environment does not say comes from the store", async () => {
    const { port, seen } = await serving(() => ({ status: 200, body: "{}" }));
    const root = project({ ...SCOPE, "tools/p.clad.toml": http(port) });
    const passphrase = "correct horse";
    await secretStore(join(root, ".orgate")).change(
      passphrase,
      () =>
        new Map([
          ["odd", CANARY],
          ["plain", "from-the-store"],
        ]),
    );
    const { journal } = await called(root, "post", { text: "x" }, { ORGATE_SECRETS_PASSPHRASE: passphrase });
    expect(seen[0]?.headers["x-key"]).toBe("k from-the-store");
    for (const word of ["from-the-store", passphrase, ...leaks(journal)]) expect(journal).not.toContain(word);
  });

  test("T-19 curl, in the sandbox, reaches what the scope names and nothing else", { tags: ["sandbox", "curl"] }, async () => {
    const { port, seen } = await serving(() => ({ status: 200, body: "hello" }));
    const root = project({
      ...SCOPE,
      "tools/c.clad.toml": `${head("fetch", "curl")}[args.url]\ntype = "url"\nscope_check = true\nrequired = true\n[args.header]\ntype = "string"\n[command]\ntemplate = "curl -sS --max-time 10 {_with} {url}"\n[command.conditionals]\nwith = { when = "header != ''", template = "-H '{header}'" }\n`,
    });
    const good = await called(root, "fetch", { url: `http://127.0.0.1:${port}/x`, header: "X-A: b -o /tmp/pwned" });
    expect(good.ended?.outcome).toMatchObject({ kind: "done", output: { results: { raw_output: "hello" } } });
    expect(seen).toMatchObject([{ url: "/x", headers: { "x-a": "b -o /tmp/pwned" } }]);
    const { tool } = opened(root).tools.get("fetch") ?? {};
    expect(tool?.check({ url: "http://127.0.0.2/" })).toMatchObject({ kind: "invalid", issues: [expect.stringContaining("out of scope")] });
  });
});

/** In every form that it is usually written in. */
function leaks(text: string): readonly string[] {
  const forms = [
    CANARY,
    JSON.stringify(CANARY).slice(1, -1),
    encodeURIComponent(CANARY),
    Buffer.from(CANARY).toString("base64"),
    "canary-header-5521",
  ];
  return [...forms, ...forms.map((form) => JSON.stringify(form).slice(1, -1))].filter((form) => text.includes(form));
}

test("T-4 a manifest says of which kind a target is, and by which target a number is added up", () => {
  const args = [
    '[args.to]\ntype = "string"\nrequired = true\nposition = 1\ndescription = "whom"\ntarget = "account"',
    '[args.amount]\ntype = "number"\nrequired = true\nposition = 2\ndescription = "how much"\ntarget = "number"\ntarget_per = "to"',
    '[args.note]\ntype = "string"\nposition = 3\ndescription = "what for"\ntarget = "text"',
  ];
  const head = '[tool]\nname = "pay"\nversion = "1"\nbinary = "echo"\ndescription = "Pays."\ntimeout_seconds = 10\nrisk_tier = "low"';
  const text = [head, ...args, '[command]\ntemplate = "echo {to} {amount}"', '[output]\nformat = "text"', ""].join("\n\n");
  const made = (of: string) => opened(project({ "tools/pay.clad.toml": of })).tools.get("pay")?.tool;
  expect(made(text)?.targets).toMatchObject({
    to: { kind: "account", known: ["payees"] },
    amount: { kind: "number", per: "to" },
    note: { kind: "text" },
  });
  expect(made(text)?.resource({ to: "DE01", amount: 1 })).toEqual({ type: "Tool", id: "DE01" });
});

test("T-4 G-39 a manifest says what its output tells about things, and which thing an argument stands for; what is no record is refused with its place", () => {
  const head = (name: string) =>
    `[tool]\nname = "${name}"\nversion = "1"\nbinary = "echo"\ndescription = "Orders."\ntimeout_seconds = 10\nrisk_tier = "low"`;
  const arg = (more: string) => `[args.order]\ntype = "string"\nrequired = true\nposition = 1\ndescription = "which"${more}`;
  const tail = '[command]\ntemplate = "echo {order}"\n\n[output]\nformat = "json"\n';
  const records =
    '[tool.orgate]\nrepeat = "read"\nlabels = []\n\n[[tool.orgate.records]]\ntype = "order"\nkey = { arg = "order" }\nowner = "customer"\nfields = { status = "state", total = { path = "sum", type = "number", optional = true } }';
  const read = [head("get_order"), records, arg(""), tail].join("\n\n");
  const files = (text: string) =>
    opened(project({ "tools/get.clad.toml": text, "tools/cancel.clad.toml": [head("cancel"), arg('\nof = "order"'), tail].join("\n\n") }));
  const { tools } = files(read);
  expect(tools.get("get_order")?.tool.records).toEqual([
    {
      type: "order",
      each: "",
      key: { arg: "order" },
      fields: { status: { path: "state", type: "string", optional: false }, total: { path: "sum", type: "number", optional: true } },
      owner: "customer",
      set: "session",
      maxAgeSeconds: null,
      establishes: null,
    },
  ]);
  expect(tools.get("cancel")?.tool.targets).toMatchObject({ order: { kind: "id", of: "order" } });
  const [wrong] = files(read.replace('type = "number"', 'type = "money"')).problems;
  expect(wrong).toMatchObject({
    line: read.slice(0, read.indexOf("[[tool.orgate.records]]")).split("\n").length,
    detail: expect.stringContaining("`records` of `order`: `fields.total.type` must be one of"),
  });
});
