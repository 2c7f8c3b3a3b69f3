/** The surroundings of a rule: its file and agent, the agent's tools, and where problems go. */
import type { UserGroups } from "@orgate/core/vocab";
import type { AgentDraft, SymbiFile } from "../declare.ts";
import type { Report } from "../values.ts";
import type { ScopeWorld } from "./scope.ts";

/** `tools`: all that the agent has, of skills and servers too. */
export type CompileWorld = Readonly<{
  /** Who is in which; null: nobody knows. */
  userGroups: UserGroups | null;
  /** Unknown parts of the tools, where the agent could not be read whole: no problem that rests on them is reported. */
  unknown?: UnknownTools;
}> &
  ScopeWorld;
/** `more`: it may have others. `named`: those of its tools of which only the name is known. */
export type UnknownTools = Readonly<{ more: boolean; named: readonly string[] }>;

/** A policy before it has a name and a line. */
export type PolicyDraft = Readonly<{
  at: number;
  block: string | null;
  rule: string;
  tag: string | null;
  annotations: readonly string[];
  body: string;
  shadow: boolean;
  why: string | null;
}>;
export type RuleWorld = Readonly<{ symbi: SymbiFile; draft: AgentDraft; world: CompileWorld; report: Report }>;

/** The parts that all policies of one rule share. */
export type RuleBase = Readonly<{ at: number; block: string | null; rule: string }>;
