/** A tool as the loop knows it. `agents/define-tool.ts` makes one from what a user writes. */

import type { CallKey, Digest, Epoch, Label, SessionId } from "./ids.ts";
import type { RecordRule } from "./rules/records.ts";
import type { BreakerSettings, ChooseRecovery, RecoveryPlan } from "./rules/recovery.ts";
import type { Repeat } from "./rules/repeat.ts";
import type { Json, JsonObject } from "./text/canonical.ts";
import type { PathStep } from "./text/json-path.ts";

/**
 * `unsandboxed`: a program that runs without a sandbox. It needs a second leave, of its own (T-29).
 * `govern`: it changes what decides or what is run (agents, policies, tools); no leave to write is leave for that.
 */
export type Effect = "read" | "write" | "execute" | "network" | "spend" | "unsandboxed" | "govern";
/** Q-10 It changes what decides or what is run: each time is a person's own yes, and no grant covers it, whatever the policy says. */
export const isGoverning = (tool: Readonly<{ effects: readonly Effect[] }> | null): boolean => tool?.effects.includes("govern") ?? false;
/** How much harm it can do, by its own definition; what does not say is taken to be `high`. */
export type RiskTier = "low" | "medium" | "high";

/** The thing that a call touches: policies decide about it. */
export type Resource = Readonly<{ type: string; id: string }>;

/** Context of a tool's call. `key` and `epoch` are its fencing token towards systems that understand one. */
export type ToolContext = Readonly<{
  session: SessionId;
  key: CallKey;
  epoch: Epoch;
  /** 1 at the first start; higher when a `read` or `idempotent` call runs again. */
  start: number;
  signal: AbortSignal;
  /** Reports the call's cost so far, in cents; counts up to the tool's `maxCents`. A call that never reports is charged all of that. */
  spent(cents: number): void;
  /** Journalled as a `note` (at most 16 KiB) with the call's id: progress, partial output. */
  note(name: string, value: Json): void;
  /** Records proof of this execution beside its outcome: the invocation as built, its exit status, an edit's before and after. Journalled with the outcome; at most 64 KiB in all. */
  evidence(proof: JsonObject): void;
  /** Asks the policies about a possible call of this tool or another of the agent's, as of now. It can only narrow what a call shows: it permits nothing. */
  wouldPermit: WouldPermit;
}>;

/** `unsaid`: no policy speaks for it and none against it, or the agent has no such tool. What would need a person, or be changed first, is `no`. */
export type WouldPermit = (tool: string, args: JsonObject) => "yes" | "no" | "unsaid";

/** `refused`: not now, whatever the arguments: what the tool stands for is no longer what was accepted. */
export type CheckedArgs = Readonly<
  { kind: "valid"; args: JsonObject } | { kind: "invalid"; issues: readonly string[] } | { kind: "refused"; reason: string }
>;

/** A `reconcile` tool's answer to "what happened to the call with this key?". */
export type Reconciled =
  | { readonly kind: "happened"; readonly output: Json }
  | { readonly kind: "did-not-happen" }
  | { readonly kind: "cannot-tell"; readonly detail: string };

export type ToolSpec = Readonly<{ name: string; description: string; inputSchema: JsonObject }>;

/** An argument that says on what or towards whom a call acts: facts about it are there for policies. */
export type Target = Readonly<{
  kind: TargetKind;
  /** The trusted sets of the project in which a value may be known. */
  known: readonly string[];
  /** The kind of thing it stands for: other tools tell its name, and make records of it. Null: nobody does. */
  of: string | null;
  /** Where the values lie in an argument. Absent: the argument of this name. */
  path?: readonly PathStep[];
  /** For a number: the target whose totals are counted apart. */
  per?: string;
}>;
/** Key under which values are counted together over all tools: ids of one kind of thing, recipients, accounts. */
export const targetCounterKind = ({ kind, of }: Pick<Target, "kind" | "of">): string => (of === null ? kind : `${kind}/${of}`);
/** A `text` (a title, a street, a password) and a `number` are values: nothing is aimed at by them, and policies ask whether the user said them. */
export const TARGET_KINDS = ["recipient", "host", "path", "account", "id", "text", "number"] as const;
export type TargetKind = (typeof TARGET_KINDS)[number];
/** Values that say what is done, not on whom. */
export const isPlainKind = (kind: TargetKind): kind is "text" | "number" => kind === "text" || kind === "number";

/** When a call is done, the values of this argument join a trusted set. */
export type LearnRule = Readonly<{ set: string; from: string }>;
/** Names of things, read from a tool's own output. */
export type NameRule = Readonly<{ of: string; from(output: Json): readonly NamedThing[] }>;
export type NamedThing = Readonly<{ id: string; name: string }>;

export type Tool = ToolSpec &
  Readonly<{
    repeat: Repeat;
    effects: readonly Effect[];
    /** Labels of its output; `untrusted` unless its definition says otherwise. */
    labels: readonly Label[];
    /** Of its definition, where it has one. */
    version: string | null;
    riskTier: RiskTier;
    /** A person is asked before each call, whatever the policies permit. */
    humanApproval: boolean;
    /** The sandbox of the programs that it runs; null: it starts none that the runtime knows of. */
    sandbox: "process" | "none" | null;
    /** When every call of a reply says so, the turn completes without another model call. */
    endsTurn: boolean;
    /** Null: the agent's limit. */
    timeoutMs: number | null;
    /** The most one call may cost, reserved before it starts; 0: it costs nothing. */
    maxCents: number;
    /** The types of what it touches, for policies to be checked against; empty when its definition does not say. */
    resourceTypes: readonly string[];
    /** Further inputs of its calls, where the runtime makes a tool for one agent: the texts of its skills. Null for all others. */
    basis: JsonObject | null;
    /** Recovery after a failure; null: the agent's, and without one the error goes to the model. */
    recover: RecoveryPlan | ChooseRecovery | null;
    /** When it is left alone after it kept failing; null: as the agent says. */
    breaker: BreakerSettings | null;
    /** The MCP server it comes from, whose breaker its calls share; null for all others. */
    server: string | null;
    /** By argument; for values inside an argument by its path as a name (`toTargetName`). */
    targets: Readonly<Record<string, Target>>;
    /** Arguments whose text leaves the system: a message, a post. What links and addresses stand in it is there for policies. */
    outgoing: readonly string[];
    learns: readonly LearnRule[];
    names: NameRule | null;
    /** What its output says about things; nothing of an output that is labelled `untrusted` becomes a record. */
    records: readonly RecordRule[];
    /** `keep`: markup is what its output is about (a source file), so that hidden markup is not taken out of it; invisible characters always are. */
    markup: "clean" | "keep";
    /** It changes a file, and its evidence shows what was there and what is: surfaces show a diff. */
    edits: boolean;
    /** What its output looks like, as a JSON Schema, for people who declare what stands in it; null where it cannot say. Nothing is decided by it. */
    describeOutput?: () => JsonObject | null;
    check(args: Json): CheckedArgs;
    resource(args: JsonObject): Resource;
    run(args: JsonObject, context: ToolContext): Promise<Json>;
    /** There for `reconcile` tools, null for all others. */
    reconcile: ((args: JsonObject, context: ToolContext) => Promise<Reconciled>) | null;
  }>;

/** Everything about a tool that an approval, a policy or a resumed session may depend on. Code is not part of it. */
export function toolFacts(tool: Tool): JsonObject {
  const { name, description, inputSchema, repeat, effects, labels, endsTurn, timeoutMs, resourceTypes, maxCents, basis } = tool;
  const costs: JsonObject = maxCents === 0 ? {} : { maxCents };
  const facts = {
    name,
    description,
    inputSchema,
    repeat,
    effects,
    labels,
    endsTurn,
    timeoutMs,
    resourceTypes,
    ...costs,
    ...careOf(tool),
    ...aimsOf(tool),
  };
  return basis === null ? facts : { ...facts, basis };
}

/** Only what is said: a tool that says nothing of it has the digest it had. */
function aimsOf({ targets, outgoing, learns, names, records, markup, edits }: Tool): JsonObject {
  return {
    ...(Object.keys(targets).length === 0 ? {} : { targets }),
    ...(outgoing.length === 0 ? {} : { outgoing }),
    ...(learns.length === 0 ? {} : { learns }),
    ...(names === null ? {} : { names: names.of }),
    ...(records.length === 0 ? {} : { records }),
    ...(markup === "clean" ? {} : { markup }),
    ...(edits ? { edits } : {}),
  };
}

/** Fields of a tool without targets. */
export const NO_TARGETS: Pick<Tool, "targets" | "outgoing" | "learns" | "names" | "records" | "markup" | "edits"> = Object.freeze({
  targets: {},
  outgoing: [],
  learns: [],
  names: null,
  records: [],
  markup: "clean",
  edits: false,
});

/** The strictest settings are left out of the digest's input. */
const careOf = ({ version, riskTier, humanApproval, sandbox }: Tool): JsonObject => ({
  ...(version === null ? {} : { version }),
  ...(riskTier === "high" ? {} : { riskTier }),
  ...(humanApproval ? { humanApproval } : {}),
  ...(sandbox === null ? {} : { sandbox }),
});

/** The tools port. Fixed for a turn; what is not in it does not exist. */
export type Tools = Readonly<{
  digest: Digest;
  offered: readonly ToolSpec[];
  find(name: string): Tool | null;
}>;
