/**
 * The tools of a project: what there is, what the model is shown, what would be run, and one call by hand.
 * Rule: T-26.
 */
import { existsSync, mkdirSync, realpathSync, writeFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import type { Principal, RunResult } from "@orgate/core";
import {
  type Agent,
  FaultError,
  type Journal,
  type Json,
  type JsonObject,
  type Outcome,
  type SessionId,
  seq,
  type Tool,
} from "@orgate/core";
import type { Head } from "@orgate/core/journal";
import type { Screen } from "@orgate/shell/terminal";
import { type Cell, count, EXIT, type Given, type RunCommand, table, visible } from "@orgate/shell/terminal";
import type { Contract } from "@orgate/toolclad";
import { type ManifestFile, readManifest } from "@orgate/toolclad";
import { operatorModel } from "../../../models/operator-model.ts";
import type { BrokenTool } from "../../../project/formats/format.ts";
import { loadProject } from "../../../project/load.ts";
import { diskManifests } from "../../../project/manifest-source.ts";
import { loadManifests, problemFault } from "../../../project/project-manifests.ts";
import { findMissingNeeds } from "../../../project/tool-needs.ts";
import { starterManifest } from "../../../starter/starters.ts";
import { notePrograms } from "../project/programs-note.ts";
import { certifyIfNeeded, findCaller, loadCommandProject, openGivenProject } from "../project/project.ts";
import { driven, printResult, withRuntime } from "../sessions/run.ts";

type Listed = Readonly<{
  name: string;
  from: string;
  risk: string;
  effects: readonly string[];
  sandbox: string | null;
  agents: readonly string[];
  problem: string | null;
}>;

const listedTool = (tool: Tool, from: string, agents: readonly Agent[]): Listed => ({
  name: tool.name,
  from,
  risk: tool.riskTier,
  effects: tool.effects,
  sandbox: tool.sandbox,
  agents: agents.filter((agent) => agent.tools.some((t) => t.name === tool.name)).map((agent) => agent.name),
  problem: null,
});

const brokenTool = (name: string, { file, line, column, detail }: BrokenTool, root: string, agents: readonly Agent[]): Listed => ({
  name,
  from: relative(root, file),
  risk: "",
  effects: [],
  sandbox: null,
  agents: agents.filter((agent) => agent.tools.some((t) => t.name === name)).map((agent) => agent.name),
  problem: `${relative(root, file)}:${line}:${column} ${detail}`,
});

export const listTools: RunCommand = async (given, screen) => {
  const config = openGivenProject(given);
  const { agents: loaded, tools: written, broken } = await loadProject(config, { env: given.env });
  const agents = loaded.map(({ agent }) => agent);
  const rest = agents
    .flatMap((agent) => agent.tools)
    .filter((tool, i, all) => !written.has(tool.name) && !broken.has(tool.name) && all.findIndex((t) => t.name === tool.name) === i);
  const rows = [
    ...[...broken].map(([name, problem]) => brokenTool(name, problem, config.root, agents)),
    ...[...written.values()].map(({ tool, file }) => listedTool(tool, relative(config.root, file), agents)),
    ...rest.map((tool) => listedTool(tool, tool.server === null ? "code" : `mcp:${tool.server}`, agents)),
  ].sort((a, b) => (a.name < b.name ? -1 : 1));
  if (given.json) screen.line(JSON.stringify(rows));
  else if (rows.length === 0) screen.line("this project has no tool: `orgate tools init NAME` writes a manifest to begin with");
  else {
    const cells = rows.map((r): readonly Cell[] => [
      r.name,
      r.risk,
      r.effects.join(", "),
      r.sandbox ?? "",
      r.problem === null ? r.from : { text: `cannot be used: ${visible(r.problem)}`, tone: "bad" },
      r.agents.join(", ") || { text: "no agent", tone: "dim" },
    ]);
    for (const line of table(["tool", "risk", "effects", "sandbox", "from", "used by"], cells, screen.paint)) screen.line(line);
    if (rows.some(({ sandbox }) => sandbox !== null)) await notePrograms(screen);
  }
  return EXIT.success;
};

/** One manifest of the project, by the name of its tool. */
function manifestNamed(given: Given, name: string): ManifestFile {
  const { tools, broken, problems } = loadManifests(openGivenProject(given), given.env, null);
  const found = tools.get(name);
  if (found !== undefined) return found.manifest;
  const wrong = broken.get(name);
  if (wrong !== undefined) throw problemFault(wrong, problems.length - 1);
  const names = [...tools.keys()];
  throw new FaultError({
    kind: "usage",
    detail: `no manifest describes a tool \`${name}\`: this command knows tools of manifests (tools/*.clad.toml), none that code or an MCP server defines`,
    hint:
      names.length > 0
        ? `there are: ${names.sort().join(", ")}`
        : problems.length > 0
          ? "none can be used: `orgate tools validate` tells why"
          : "there is none in tools/*.clad.toml",
  });
}

export const showTool: RunCommand = async (given, screen) => {
  const { contract, shown } = manifestNamed(given, given.args[0] ?? "");
  const { tool, args, backend, secrets, output } = contract.manifest;
  const about = {
    name: tool.name,
    version: tool.version,
    description: tool.description,
    from: shown,
    runs: runsOf(contract),
    riskTier: tool.risk_tier,
    humanApproval: tool.human_approval,
    effects: contract.effects,
    repeat: tool.orgate.repeat,
    sandbox: backend.kind === "command" || backend.kind === "executor" ? tool.orgate.sandbox : null,
    timeoutSeconds: tool.timeout_seconds,
    touches: contract.resourceTypes,
    secrets,
    output: output.format,
    args: [...args.values()].map((arg) => ({
      name: arg.name,
      type: arg.type,
      required: arg.def.required,
      default: arg.fallback,
      scoped: arg.isScoped,
      target: contract.targets.includes(arg.name),
      description: arg.def.description,
    })),
  };
  if (given.json) {
    screen.line(JSON.stringify(about));
    return EXIT.success;
  }
  screen.line(`${screen.paint("strong", tool.name)} ${tool.version} ${screen.paint("dim", shown)}`);
  screen.line(visible(tool.description));
  const { args: listed, name: _, version: __, description: ___, from: ____, ...rest } = about;
  for (const [label, value] of Object.entries(rest))
    screen.line(
      `${screen.paint("dim", label.padEnd(16))}${visible(Array.isArray(value) ? value.join(", ") || "none" : String(value ?? "none"))}`,
    );
  if (listed.length > 0) {
    const cells = listed.map((a): readonly Cell[] => [
      a.name,
      a.type,
      a.required ? "required" : a.default === null ? "" : `default ${a.default}`,
      a.scoped ? "in scope" : "",
      visible(a.description),
    ]);
    for (const line of table(["argument", "type", "", "", ""], cells, screen.paint)) screen.line(line);
  }
  return EXIT.success;
};

function runsOf({ manifest: { backend } }: Contract): string {
  switch (backend.kind) {
    case "command":
      return backend.command.items
        .map(({ pieces }) =>
          pieces.map((p) => (p.kind === "text" ? p.text : p.kind === "value" ? `{${p.name}}` : `{_secret:${p.name}}`)).join(""),
        )
        .join(" ");
    case "executor":
      return backend.file;
    case "http":
      return `${backend.http.method} ${backend.http.url.map((p) => (p.kind === "text" ? p.text : `{${p.name}}`)).join("")}`;
    case "mcp":
      return `${backend.tool} of the MCP server ${backend.server}`;
  }
}

export const schema: RunCommand = async (given, screen) => {
  const { contract } = manifestNamed(given, given.args[0] ?? "");
  const { name, description } = contract.manifest.tool;
  screen.line(JSON.stringify({ name, description, inputSchema: contract.inputSchema }, null, given.json ? 0 : 2));
  return EXIT.success;
};

export const validateTools: RunCommand = async (given, screen) => {
  const [file] = given.args;
  const config = openGivenProject(given);
  const all = loadManifests(config, given.env, null);
  const one = file === undefined ? null : oneFile(resolve(given.cwd, file), all.read.types);
  const problems = (one ?? all).problems.map(({ tool: _, ...problem }) => problem);
  const read = one?.manifests ?? [...all.tools.values()].map(({ manifest }) => manifest);
  const missing = findMissingNeeds(read, all.context, { root: config.root, env: given.env }).map(({ tool: _, ...problem }) => problem);
  if (given.json) screen.line(JSON.stringify({ manifests: read.length, problems, missing }));
  else {
    for (const { file: at, line, column, detail, hint } of [...problems, ...missing]) {
      screen.line(`${visible(at)}:${line}:${column} ${screen.paint("bad", visible(detail))}`);
      screen.line(`  ${screen.paint("dim", visible(hint))}`);
    }
    const lacking = missing.length === 0 ? "" : `, ${missing.length} of them not on this machine`;
    screen.line(`${count(read.length, "manifest")} valid${lacking}, ${count(problems.length, "problem")}`);
  }
  return problems.length + missing.length === 0 ? EXIT.success : EXIT.failure;
};

function oneFile(file: string, types: Parameters<typeof readManifest>[1]) {
  if (!existsSync(file))
    throw new FaultError({ kind: "usage", detail: `there is no file ${file}`, hint: "name a manifest, or none for all of the project's" });
  const { contract, text, problems } = readManifest(file, types, diskManifests);
  return { problems, manifests: contract === null ? [] : [{ file, shown: file, text, contract }] };
}

export const test: RunCommand = async (given, screen) => {
  const { contract } = manifestNamed(given, given.args[0] ?? "");
  const { world, env } = loadManifests(openGivenProject(given), {}, null).context;
  const checked = contract.check(argsOf(given, contract), world);
  if (checked.kind === "invalid")
    throw new FaultError({
      kind: "usage",
      detail: `the arguments do not fit: ${checked.issues.join("; ")}`,
      hint: "`orgate tools schema` shows what it takes",
    });
  const built = contract.invoke(checked.args, world, {
    secret: (name) => `{_secret:${name}}`,
    ambient: (name) => `{${name}}`,
    env,
    scanId: "{_scan_id}",
  });
  if (built.kind === "refused") throw new FaultError({ kind: "usage", detail: `it would not be run: ${built.reason}`, hint: built.hint });
  const { invocation } = built;
  if (given.json) screen.line(JSON.stringify({ args: checked.args, resource: contract.resource(checked.args), invocation }));
  else if (invocation.kind === "process") screen.line(JSON.stringify(invocation.argv));
  else screen.line(JSON.stringify(invocation, null, 2));
  return EXIT.success;
};

/** `--args` as JSON, and over it each `--arg name=value`, as its type has it. */
function argsOf(given: Given, { manifest: { args } }: Contract): JsonObject {
  const usage = (detail: string, hint: string): FaultError => new FaultError({ kind: "usage", detail, hint });
  const whole = jsonObject(given.text("args") ?? "{}");
  if (whole === null) throw usage("--args is no JSON object", `write --args '{"name": "value"}'`);
  const named = given.texts("arg").map((text): [string, Json] => {
    const at = text.indexOf("=");
    if (at <= 0) throw usage(`\`${text}\` is no argument`, "write --arg name=value");
    const [name, value] = [text.slice(0, at), text.slice(at + 1)];
    const type = args.get(name)?.type;
    if ((type === "integer" || type === "port") && /^-?\d+$/.test(value)) return [name, Number(value)];
    return [name, type === "boolean" && (value === "true" || value === "false") ? value === "true" : value];
  });
  return { ...whole, ...Object.fromEntries(named) };
}

function jsonObject(text: string): JsonObject | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as JsonObject) : null;
  } catch {
    return null;
  }
}

export const initTool: RunCommand = async (given, screen) => {
  const [name = ""] = given.args;
  if (!/^[A-Za-z0-9_-]{1,64}$/.test(name))
    throw new FaultError({ kind: "usage", detail: `\`${name}\` is no name of a tool`, hint: "use 1 to 64 of A-Z, a-z, 0-9, _ and -" });
  const kind = given.text("kind");
  const config = openGivenProject(given);
  const file = join(config.root, "tools", `${name}.clad.toml`);
  if (existsSync(file))
    throw new FaultError({ kind: "usage", detail: `${file} is there already`, hint: "choose another name, or edit it" });
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, starterManifest(name, kind === "http" || kind === "mcp" ? kind : "command"), { flag: "wx" });
  const isRead = loadManifests(config, given.env, null).read.manifests.some((one) => one.file === realpathSync(file));
  if (given.json) screen.line(JSON.stringify({ file, isRead }));
  else {
    screen.line(`wrote ${file}`);
    if (!isRead) screen.line(`${screen.paint("bad", "it is not read yet:")} add "tools/*.clad.toml" to \`tools\` in orgate.toml`);
    screen.line(
      `${screen.paint("dim", "next:")} edit it, then \`orgate tools validate\` and \`orgate tools test ${name} --arg text=hello\``,
    );
  }
  return EXIT.success;
};

/** T-26 the person proposes it in the agent's place; everything after that is as ever. */
export const runTool: RunCommand = async (given, screen) => {
  const [name = ""] = given.args;
  const desk = await loadCommandProject(openGivenProject(given), given.env);
  const agent = agentFor(desk.agents, name, given.text("agent"));
  const { contract } = manifestNamed(given, name);
  const args = argsOf(given, contract);
  const person = findCaller(given, screen);
  const by: Principal = { kind: "user", id: person.name };
  return withRuntime(given, screen, { project: desk, by, model: () => operatorModel(name, args) }, async (runtime) => {
    await certifyIfNeeded(given, screen, runtime.place, person);
    const result = await driven(given, screen, (options) =>
      runtime.run(agent.name, `orgate tools run ${name} ${JSON.stringify(args)}`, options),
    );
    const end = await callEnd(runtime.place.store.journal, result.session);
    return printCall(given, screen, await runtime.inspect.head(), { ...result, call: end });
  });
};

type CallEnd = Readonly<{ outcome: "done" | "failed" | "unknown" | "denied" | "not made"; detail: string | null }>;

/** T-26 the turn that carries the call completes whatever becomes of it: what the command answers for is the call. */
async function callEnd(journal: Pick<Journal, "read">, session: SessionId): Promise<CallEnd> {
  let end: CallEnd = { outcome: "not made", detail: null };
  for (const { event: e } of await journal.read(session, seq(0), 1_000)) {
    if (e.kind === "gate.decided" && e.action.kind === "call" && e.verdict.kind === "deny")
      end = { outcome: "denied", detail: e.verdict.reason };
    else if (e.kind === "act.ended") end = { outcome: isUnrun(e.outcome) ? "not made" : e.outcome.kind, detail: detailOf(e.outcome) };
  }
  return end;
}

/** Its contract refused to build what would run: a tool that was not run has not failed. */
const isUnrun = (outcome: Outcome): boolean => outcome.kind === "failed" && outcome.error.startsWith("not run: ");

function detailOf(outcome: Outcome): string | null {
  if (outcome.kind === "done") return null;
  return outcome.kind === "failed" ? outcome.error : outcome.detail;
}

const SENTENCES = {
  done: "The tool was run.",
  failed: "The tool failed.",
  unknown: "Nobody knows whether the tool took effect.",
  denied: "The call was denied: nothing was run.",
  "not made": "The call was not made.",
} as const;

function printCall(given: Given, screen: Screen, head: Head, result: RunResult & Readonly<{ call: CallEnd }>): number {
  if (result.ending !== "completed") return printResult(given, screen, { head, result }); // it waits, or the turn says itself what went wrong
  const { outcome, detail } = result.call;
  const next =
    outcome === "denied" ? `orgate policy explain --session ${result.session} --call 1.0` : `orgate journal evidence ${result.session}/1.0`;
  const told: RunResult = { ...result, sentence: SENTENCES[outcome], detail, next: `\`${next}\`` };
  printResult(given, screen, { head, result: told, isDone: outcome === "done" });
  return outcome === "done" ? EXIT.success : EXIT.failure;
}

function agentFor(agents: readonly Agent[], tool: string, wanted: string | null): Agent {
  const able = agents.filter((agent) => agent.tools.some((t) => t.name === tool));
  const [one, ...others] = wanted === null ? able : able.filter((agent) => agent.name === wanted);
  const names = able.map((agent) => agent.name).join(", ");
  if (one === undefined)
    throw new FaultError({
      kind: "usage",
      detail: wanted === null ? `no agent has the tool \`${tool}\`` : `agent \`${wanted}\` does not have the tool \`${tool}\``,
      hint: names === "" ? `name it in an agent's \`tools\`: policies decide about agents` : `these do: ${names}`,
    });
  if (others.length > 0)
    throw new FaultError({
      kind: "usage",
      detail: `several agents have the tool \`${tool}\``,
      hint: `say as which with --agent: ${names}`,
    });
  return one;
}
