/**
 * The tools of the shell's agent: ordinary tools, decided like everybody's. What they save is what decides and what is run, so that saving is an effect of its own (`govern`),
 * asks a person, and is the shell's alone.
 *
 * S-11 `save_artifact` asks with the difference and what it newly permits beside the question, and is done for nobody who may not edit policies; not for another agent
 *      that has the shell work for it, nor in a session of another surface: what decides there is not `policies/shell/`.
 * S-8 what decides is what the project's own settings name, too: agents and tools in other folders are neither edited nor written by a command.
 * Rules: S-13, S-21.
 */
import { join } from "node:path";
import {
  type CheckedArgs,
  defineMiddleware,
  defineTool,
  type Json,
  type JsonObject,
  type Middleware,
  type Principal,
  type SessionId,
  type Tool,
} from "@orgate/core";
import { hostRunning } from "@orgate/toolclad/running";
import * as z from "zod";
import type { Config } from "../../config/config.ts";
import type { CoordinatorTools } from "../../coordinator/tools.ts";
import { projectFiles } from "../../files/project-files.ts";
import { pathGuard } from "../../guard/path-guard.ts";
import { PROTECTED } from "../../guard/protected-paths.ts";
import type { Env } from "../../node/env.ts";
import { chooseFormats } from "../../project/formats/formats.ts";
import { openInputs, throwProblem } from "../../project/formats/inputs.ts";
import { loadTools } from "../../project/formats/load-tools.ts";
import { manifestFormat } from "../../project/project-manifests.ts";
import { orgateHome } from "../../store/keyring.ts";
import { fileTools } from "../../tools/file-tools.ts";
import { type ArtifactKind, MAX_ARTIFACT, SHELL } from "../artifact.ts";
import { artifactFiles, artifactSurface, previewSave, problemLines, saveArtifact } from "./save-artifact.ts";

export type ShellTools = Readonly<{
  /** For agents to name. */
  tools: readonly Tool[];
  /** Given to the shell's agent where commands were let be; null where not. */
  command: Tool | null;
  middleware: Middleware;
}>;

const MOST_FAILED = 2;
const path = z
  .string()
  .min(1)
  .max(300)
  .describe("Where it lies, or would lie: agents/NAME.symbi, policies/NAME.cedar, tools/NAME.clad.toml");
const content = z.string().min(1).max(MAX_ARTIFACT).describe("The whole file");

export function shellTools(config: Config, env: Env, desk: SpeaksFor & Pick<CoordinatorTools, "tools">): ShellTools {
  const tries = triesOf();
  return {
    tools: [
      ...(["dsl", "cedar", "toolclad"] as const).map((kind) => validator(kind, config, env, tries)),
      saver(config, env, desk),
      reader(config),
      lister(config, env, desk),
      ...fileTools({ root: config.root, also: [config.journal.directory], search: "search" }).filter(({ name }) => name !== "write_file"),
    ],
    command: config.allowShell === true ? command(config, env) : null,
    middleware: authoring(config, env, tries),
  };
}

// ── validation ──

const ABOUT: Readonly<Record<ArtifactKind, string>> = {
  dsl: "Checks an agent's file (.symbi) as the project would read it: its language, its tools, its rules, and the project's constraints. Writes nothing.",
  cedar:
    "Checks a file of Cedar policies, or its decision table (.cases.json), with all the others against the tools that there are, and the project's constraints. Writes nothing.",
  toolclad: "Checks a tool's manifest (.clad.toml) as the project would read it, and the project's constraints. Writes nothing.",
};

const validator = (kind: ArtifactKind, config: Config, env: Env, tries: Tries): Tool =>
  defineTool({
    name: `validate_${kind}`,
    description: ABOUT[kind],
    input: z.strictObject({ path, content }),
    repeat: "read",
    effects: ["read"],
    riskTier: "low",
    labels: [],
    resource: ({ path: id }) => ({ type: "Artifact", id }),
    resourceTypes: ["Artifact"],
    async run(artifact, { session }) {
      const { tryArtifact } = await import("../try-artifact.ts"); // where something is authored, and not before
      const tried = await tryArtifact(config, artifact, env, kind);
      if (tried.kind === "fit") return [`valid: ${artifact.path}`, problemLines(tried.warnings)].filter((line) => line !== "").join("\n");
      const failed = tries.failed(session, artifact.path);
      const next =
        failed >= MOST_FAILED ? "stop: show the artifact with these problems, and ask how to go on" : "mend it and validate it once more";
      return `not valid: ${artifact.path}\n${problemLines(tried.problems)}\n${next}`;
    },
  });

/** How often what was validated was not fit, in the turn in progress of each session. Lost with the process: then there are two more. */
function triesOf() {
  const turns = new Map<SessionId, { turn: number; failed: Map<string, number> }>();
  return {
    /** Says whether there is a next try. */
    begin(session: SessionId, turn: number, at: string): boolean {
      const known = turns.get(session);
      if (known?.turn !== turn) turns.set(session, { turn, failed: new Map() });
      if (turns.size > 1_000) turns.delete(turns.keys().next().value ?? session);
      return (turns.get(session)?.failed.get(at) ?? 0) < MOST_FAILED;
    },
    failed(session: SessionId, at: string): number {
      const { failed } = turns.get(session) ?? { failed: new Map<string, number>() };
      failed.set(at, (failed.get(at) ?? 0) + 1);
      return failed.get(at) ?? 1;
    },
  };
}
type Tries = ReturnType<typeof triesOf>;

/** Runs before the gate: limits attempts, and adds to a save what it would change. */
const authoring = (config: Config, env: Env, tries: Tries): Middleware =>
  defineMiddleware({
    name: "authoring",
    async beforeTool({ tool, args }, { session, turn }) {
      const given = textsIn(args);
      if (given === null || !/^(?:validate_(?:dsl|cedar|toolclad)|save_artifact)$/.test(tool)) return undefined;
      if (!tries.begin(session, turn, given.path))
        return {
          kind: "block",
          reason: `\`${given.path}\` was not valid ${MOST_FAILED} times in this turn: show it with its problems, and ask the person how to go on`,
        };
      if (tool !== "save_artifact") return undefined;
      const looked = await previewSave(config, env, artifactFiles(config), given);
      if (looked.kind === "fit") return { kind: "arguments", args: { ...given, ...looked.shown } };
      tries.failed(session, given.path);
      return { kind: "block", reason: `nothing was written, it is not valid: ${problemLines(looked.problems)}` };
    },
  });

function textsIn(args: Json): Readonly<{ path: string; content: string }> | null {
  const { path: at, content: text } = typeof args === "object" && args !== null && !Array.isArray(args) ? (args as JsonObject) : {};
  return typeof at === "string" && typeof text === "string" ? { path: at, content: text } : null;
}

// ── saving ──

type Spoken = Awaited<ReturnType<CoordinatorTools["speaking"]>>;
/** The part of the coordinator's tools that a save needs. */
type SpeaksFor = Readonly<{
  speaking(
    session: SessionId,
  ): Promise<
    Pick<Spoken, "agent" | "surface"> &
      Readonly<{ voices: Pick<Spoken["voices"], "refuses"> & Readonly<{ speaker: Readonly<{ principal: Principal }> }> }>
  >;
}>;

function saver(config: Config, env: Env, desk: SpeaksFor): Tool {
  const shelf = artifactFiles(config);
  const tool = defineTool({
    name: "save_artifact",
    description:
      "Saves an agent's file, a policy file or a manifest of the project. It is validated once more, and a person is shown what it changes and asked.",
    input: z.strictObject({
      path,
      content,
      before: z.string().max(MAX_ARTIFACT).optional().describe("Set by the shell: what lies there now"),
      newly: z.array(z.string()).optional().describe("Set by the shell: what would be decided otherwise"),
      people: z.boolean().optional().describe("Set by the shell: whether it changes what people may do"),
      used: z.boolean().optional().describe("Set by the shell: whether a tool that agents have becomes another"),
    }),
    repeat: "idempotent",
    effects: ["govern"],
    riskTier: "high",
    labels: [],
    edits: true,
    resource: ({ path: id }) => ({ type: "Artifact", id }),
    resourceTypes: ["Artifact"],
    async run({ path: at, content: text, before, newly, people = true, used = true }, { session, evidence }) {
      const { act } = await import("../../operations/access.ts");
      const { agent, surface, voices } = await desk.speaking(session);
      if (agent !== SHELL) throw new Error("only the shell's own agent saves artifacts");
      if (surface !== "shell")
        throw new Error("artifacts are saved in a conversation with the shell itself: policies/shell/ decides there");
      const why = voices.refuses(act("edit-policy", "policies", { id: artifactSurface(at) }));
      if (why !== null) throw new Error(`\`${voices.speaker.principal.id}\` may not change what decides: ${why}`);
      if (newly === undefined) throw new Error("nobody was shown what it changes: propose it again");
      const { edit, tried } = await saveArtifact(
        config,
        env,
        { path: at, content: text },
        { ...(before === undefined ? {} : { before }), newly, people, used },
      );
      evidence({ edit });
      return { saved: at, kind: tried.artifact, agents: tried.agents, next: nextFor(at, tried.agents) };
    },
  });
  return Object.freeze({
    ...tool,
    check(args: Json): CheckedArgs {
      const checked = tool.check(args);
      if (checked.kind !== "valid") return checked;
      const why = shelf.whyNot(String(checked.args["path"]));
      return why === null ? checked : { kind: "invalid", issues: [why] };
    },
  });
}

/** The command to run next. */
function nextFor(at: string, agents: readonly string[]): string {
  const [first] = agents;
  if (first !== undefined) return `/spawn ${first}`;
  return at.startsWith("policies/")
    ? "orgate policy check"
    : `name \`${at.replace(/^.*\/|\.clad\.toml$/g, "")}\` in an agent's capabilities: /spawn "an agent that …"`;
}

// ── looking ──

function reader(config: Config): Tool {
  const guard = pathGuard({
    root: config.root,
    also: [config.journal.directory],
    places: PROTECTED.filter((one) => !/^(?:agents|policies|tools)$/.test(one)),
  });
  const files = projectFiles({ root: config.root, reading: guard, writing: guard });
  const tool = defineTool({
    name: "read_artifact",
    description: "Reads a file of agents/, policies/ or tools/: what is there before it is changed.",
    input: z.strictObject({ path }),
    repeat: "read",
    effects: ["read"],
    riskTier: "low",
    markup: "keep",
    resource: ({ path: id }) => ({ type: "Artifact", id }),
    resourceTypes: ["Artifact"],
    run: ({ path: at }) => {
      const { bytes, size } = files.read(at, MAX_ARTIFACT);
      if (size > bytes.length) throw new Error(`\`${at}\` has more than ${MAX_ARTIFACT} bytes`);
      return { path: at, text: new TextDecoder("utf-8", { fatal: true }).decode(bytes) };
    },
  });
  return Object.freeze({
    ...tool,
    check(args: Json): CheckedArgs {
      const checked = tool.check(args);
      if (checked.kind !== "valid") return checked;
      const at = files.locate(String(checked.args["path"]), "read");
      if (at.kind === "refused") return { kind: "invalid", issues: [at.why] };
      return /^(?:agents|policies|tools)\//.test(at.path)
        ? { kind: "valid", args: Object.freeze({ ...checked.args, path: at.path }) }
        : { kind: "invalid", issues: [`\`${at.path}\` is no artifact: \`read_file\` reads the other files`] };
    },
  });
}

const lister = (config: Config, env: Env, desk: Pick<CoordinatorTools, "tools">): Tool =>
  defineTool({
    name: "list_tools",
    description: "The tools that an agent's capabilities may name: what each is for, its effects, its arguments.",
    input: z.strictObject({}),
    repeat: "read",
    effects: ["read"],
    riskTier: "low",
    labels: [],
    async run() {
      const formats = await chooseFormats(config, manifestFormat(config, env, null));
      const all = await loadTools(formats.tools, openInputs(config, "tools", throwProblem), desk.tools);
      const tools = [...(await all.box())].map(([name, { tool }]) => ({
        name,
        description: tool.description,
        effects: tool.effects,
        riskTier: tool.riskTier,
        arguments: tool.inputSchema,
      }));
      const broken = [...all.broken].map(([name, { detail }]) => ({ name, problem: detail }));
      return { count: tools.length, tools, ...(broken.length === 0 ? {} : { broken }) };
    },
  });

// ── commands ──

const COMMAND_MS = 120_000;

/** In the project's folder, without a network. */
function command(config: Config, env: Env): Tool {
  const { root, journal } = config;
  const guard = pathGuard({ root, also: [journal.directory] });
  const hidden = [journal.directory, join(root, ".orgate"), join(root, ".env"), orgateHome(env)];
  const programs = hostRunning({ protection: { judge: guard.judge, places: guard.places, alias: guard.alias, hidden } });
  const tool = defineTool({
    name: "shell",
    description: "Runs a command with `sh -c` in the project's folder, in a sandbox: no network, and nothing that decides can be written.",
    input: z.strictObject({ command: z.string().min(1).max(10_000) }),
    repeat: "once",
    effects: ["execute", "write"],
    riskTier: "high",
    timeoutMs: COMMAND_MS + 5_000,
    resource: () => ({ type: "Tool", id: "shell" }),
    resourceTypes: ["Tool"],
    async run({ command: line }, { signal, note, evidence }) {
      const argv = ["/bin/sh", "-c", line];
      evidence({ argv });
      const ran = await programs.run(
        {
          kind: "process",
          argv,
          cwd: root,
          env: { PATH: "/usr/local/bin:/usr/bin:/bin", LANG: "C.UTF-8", HOME: "/tmp" },
          stdin: null,
          network: null,
          paths: [{ path: root, access: "write" }],
          tier: "process",
          limits: {
            memoryBytes: 1024 * 1_048_576,
            processes: 128,
            fileBytes: 256 * 1_048_576,
            openFiles: 512,
            timeMs: COMMAND_MS,
            outputBytes: 65_536,
          },
        },
        { signal, onOutput: (piece) => note("output", piece) },
      );
      if (ran.kind === "refused") throw new Error(`it was not run: ${ran.reason} (${ran.hint})`);
      if (ran.kind === "stopped") throw new Error(`it was stopped (${ran.by}): ${ran.detail}\n${ran.stdout}${ran.stderr}`);
      if (ran.kind !== "exited") throw new Error("it was not run");
      return { exit: ran.code, signal: ran.signal, stdout: ran.stdout, stderr: ran.stderr, truncated: ran.truncated };
    },
  });
  return Object.freeze({ ...tool, sandbox: "process" as const });
}
