/**
 * Formats: each way to write agents in files is an `AgentFormat`, each way to write tools a `ToolFormat`, and loading a project treats all of them alike.
 * A project adds its own by the module that `[ports]` of `orgate.toml` names.
 */

import type { Agent, FaultError, JsonObject, ScheduleDeclaration, Tool, WebhookDeclaration } from "@orgate/core";
import type { Groups } from "../../config/config.ts";
import type { FileCache } from "../../files/file-cache.ts";
import type { FileProblemAt } from "../../files/file-fault.ts";
import type { TextPosition } from "../../files/toml-text.ts";
import type { McpHub } from "../../mcp/hub.ts";
import type { PriceList } from "../../models/agent-prices.ts";

export type AgentFormat = Readonly<{
  /** Shown by `orgate agents list`. */
  name: string;
  /** True for the paths and globs of `agents` in orgate.toml that this format reads. */
  matches(path: string): boolean;
  /** Reads all files that `patterns` name. Problems go to `context`; a format goes on after a problem as far as it can. */
  load(patterns: readonly string[], context: FormatContext): Promise<FormatFiles>;
}>;

/** `sources`: only of formats whose files declare schedules or webhooks beside their agents. */
export type FormatFiles = Readonly<{ agents: readonly FormatAgent[]; sources?: readonly AgentSource[] }>;

/** An agent as its file has it, before skills, MCP servers and prices of the project are added. */
export type FormatAgent = Readonly<{
  agent: Agent;
  /** Absolute path. */
  file: string;
  /** Tools that the agent names and whose file is wrong: the agent is not run without them, other agents are. */
  unfit?: readonly (BrokenTool & Readonly<{ tool: string }>)[];
  /** True if the format has reported `unfit` itself, where each tool is named. */
  isUnfitReported?: boolean;
  /** Position of the agent in its file. */
  at?: TextPosition;
  /** Description for people. */
  about?: AgentAbout;
  /** Position of a setting, or of one name in it, for problems that only the whole project shows. */
  locate?(setting: string, name?: string): TextPosition;
  /** Adds policies and labels of the agent's own file, once the agent has all its tools. */
  finish?(agent: Agent): Promise<FinishedAgent>;
}>;

/** `rules`: policies of the agent's own file, for `orgate agents explain`. */
export type FinishedAgent = Readonly<{ agent: Agent; rules?: readonly AgentRule[]; warnings?(): readonly ProjectProblem[] }>;

/** A policy that an agent's own file contains. */
export type AgentRule = Readonly<{
  id: string;
  line: number;
  column: number;
  /** Name of the block that contains the rule; null where a setting made it. */
  block: string | null;
  /** The rule as the file has it. */
  rule: string;
  cedar: string;
  /** True: recorded, never enforced. */
  shadow: boolean;
}>;

export type AgentAbout = Readonly<{
  description: string | null;
  version: string | null;
  author: string | null;
  license: string | null;
  tags: readonly string[];
  /** Code of the file that is a part of the instructions, and its line. */
  procedure: Readonly<{ text: string; line: number }> | null;
  /** JSON Schema of the agent's input. */
  input: JsonObject | null;
  labels: readonly string[];
}>;

/** A file of agents, with schedules and webhooks that it declares beside them. */
export type AgentSource = Readonly<{
  path: string;
  schedules: readonly ScheduleDeclaration[];
  webhooks: readonly WebhookDeclaration[];
}>;

/** An agent of a loaded project, with the name of its format. */
export type ProjectAgent = FinishedAgent &
  Pick<FormatAgent, "file" | "locate" | "about" | "isUnfitReported"> &
  Readonly<{ format: string }>;

/** A tool whose file cannot be used. */
export type BrokenTool = Readonly<{ file: string; line: number; column: number; detail: string; hint: string }>;

/** A problem with a file, by its path below the project's folder. */
export type ProjectProblem = Readonly<{ file: string; line: number; column: number; detail: string; hint: string }>;

/** Tools that agents can name. */
export type NamedTools = Readonly<{
  box: ReadonlyMap<string, Readonly<{ tool: Tool }>>;
  broken: ReadonlyMap<string, BrokenTool>;
  prices: PriceList;
  /** The box lacks the tools of a file that could not be loaded: which ones is unknown. */
  isIncomplete: boolean;
}>;

/** The parts of a project whose absence makes further checks unreliable. */
export type UnreadPart = "agents" | "tools";

/** The project's files, as a format reads them: never outside the project, changes that are being tried in place of what is on disk. */
export type FormatInputs = Readonly<{
  /** The project's folder, absolute, links resolved. */
  root: string;
  /** Absolute paths, sorted, each once. */
  listFiles(patterns: readonly string[]): readonly string[];
  /** Throws `file-bad` unless it is a text of at most `maxBytes` (256 kB unless given). */
  readText(file: string, maxBytes?: number): string;
  /** Throws unless problems are collected (`orgate agents validate`). `unread`: the part that is incomplete because of it. */
  report(problem: FileProblemAt | FaultError, unread?: UnreadPart): void;
}>;

/** The services of the loader to an agent format. */
export type FormatContext = FormatInputs &
  Readonly<{
    /** Loads tool modules at the first call: projects whose agents name no tool load none. */
    tools(): Promise<NamedTools>;
    /** Groups of `orgate.toml`. */
    groups: Groups;
    /** Results that can be made again from the digest of everything they were made from. */
    cache: FileCache;
    /** True where problems are collected; otherwise the first one is thrown. */
    isCollecting: boolean;
    /** Reports all problems of one file. */
    refuse(path: string, problems: readonly [ProjectProblem, ...ProjectProblem[]], cause?: unknown): void;
    /** Adds remarks that do not stop a run. */
    collect(problems: readonly ProjectProblem[]): void;
    markUnread(what: UnreadPart): void;
  }>;

export type ToolFormat = Readonly<{
  name: string;
  /** True for the paths and globs of `tools` in orgate.toml that this format reads. */
  matches(path: string): boolean;
  /** True: loaded only when an agent names a tool. For formats whose files are code. */
  isLazy?: boolean;
  load(patterns: readonly string[], context: FormatInputs): Promise<ToolFiles>;
}>;

export type ProjectTool = Readonly<{ tool: Tool /** Absolute path. */; file: string }>;

export type ToolFiles = Readonly<{
  tools: readonly ProjectTool[];
  /** By name: tools whose file is wrong. An agent that names one is not run, the others are. */
  broken?: ReadonlyMap<string, BrokenTool>;
  /** MCP servers that tools call, and the way to them once they are connected. */
  mcp?: Readonly<{ servers: readonly string[]; connect(call: McpHub["run"]): void }>;
}>;
