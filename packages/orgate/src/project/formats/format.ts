/**
 * Agent formats: each way to write agents in files is one value of `AgentFormat`, and loading a project treats all of them alike.
 * A format reads its files, names the tools that its agents use, and may add policies, labels, schedules and webhooks of its own.
 */

import type { Agent, FaultError, Tool } from "@orgate/core";
import type { CompiledPolicy, ScheduleDeclaration, SymbiFile, SymbiProblem, WebhookDeclaration } from "@orgate/symbi";
import type { Config } from "../../config/config.ts";
import type { FileCache } from "../../files/file-cache.ts";
import type { TextPosition } from "../../files/toml-text.ts";
import type { PriceList } from "../../models/agent-prices.ts";
import type { SymbiOrigin } from "../symbi/symbi-origin.ts";

export type AgentFormat = Readonly<{
  /** Shown by `orgate agents list`. */
  name: string;
  /** True for the paths and globs of `agents` in orgate.toml that this format reads. */
  matches(path: string): boolean;
  /** Reads all files that `patterns` name. Problems go to `context`; a format goes on after a problem as far as it can. */
  load(patterns: readonly string[], context: FormatContext): Promise<FormatFiles>;
}>;

export type FormatFiles = Readonly<{ agents: readonly FormatAgent[]; sources: readonly AgentSource[] }>;

/** An agent as its file has it, before skills, MCP servers and prices of the project are added. */
export type FormatAgent = Readonly<{
  agent: Agent;
  /** Absolute path. */
  file: string;
  /** Tools that the agent names and whose manifest is wrong: the agent is not run without them, other agents are. */
  unfit: readonly (BrokenTool & Readonly<{ tool: string }>)[];
  /** Position of the agent in its file. */
  at?: TextPosition;
  /** Position of a setting, or of one name in it, for problems that only the whole project shows. */
  locate?(setting: string, name?: string): TextPosition;
  /** Adds policies and labels of the agent's own file, once the agent has all its tools. */
  finish?(agent: Agent): Promise<Pick<ProjectAgent, "agent" | "symbi">>;
}>;

/** A file of agents, with schedules and webhooks that it declares beside them. */
export type AgentSource = Readonly<{
  path: string;
  schedules: readonly ScheduleDeclaration[];
  webhooks: readonly WebhookDeclaration[];
  symbi?: SymbiFile;
}>;

export type ProjectAgent = Readonly<{
  agent: Agent;
  file: string;
  /** Name of the format. */
  format: string;
  locate?: FormatAgent["locate"];
  /** Of an agent in a `.symbi` file. */
  symbi?: Readonly<{ origin: SymbiOrigin; policies: readonly CompiledPolicy[] }>;
}>;

/** A manifest that cannot be used. */
export type BrokenTool = Readonly<{ file: string; line: number; column: number; detail: string; hint: string }>;

/** Tools that agents can name. */
export type NamedTools = Readonly<{
  box: ReadonlyMap<string, Readonly<{ tool: Tool }>>;
  broken: ReadonlyMap<string, BrokenTool>;
  prices: PriceList;
  /** The box lacks the tools of a module that could not be loaded: which ones is unknown. */
  isIncomplete: boolean;
}>;

/** The parts of a project whose absence makes further checks unreliable. */
export type UnreadPart = "agents" | "tools";

/** The services of the loader to a format. */
export type FormatContext = Readonly<{
  config: Config;
  cache: FileCache;
  /** Loads tool modules at the first call: projects whose agents name no tool load none. */
  tools(): Promise<NamedTools>;
  /** True where problems are collected; otherwise the first one is thrown. */
  isCollecting: boolean;
  report(fault: FaultError, lost?: UnreadPart): void;
  /** Reports all problems of one file. */
  refuse(path: string, problems: readonly [SymbiProblem, ...SymbiProblem[]], cause?: unknown): void;
  /** Adds remarks that do not stop a run. */
  collect(problems: readonly SymbiProblem[]): void;
  markUnread(what: UnreadPart): void;
}>;
