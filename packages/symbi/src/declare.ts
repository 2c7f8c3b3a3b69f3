/**
 * Reads the declarations of a file from its tree: agents, policies about them, schedules, webhooks.
 *
 * Y-3 everything has an effect or is refused, with its place: what is not supported yet says so. Y-8 `capabilities` select tools, skills, servers and delegates; they are the only way to any.
 * Y-8 a policy of a file is about the agents of that file.
 */
import type { AgentDefinition } from "@orgate/core";
import {
  isName,
  type JsonObject,
  NAME_RULE,
  type ScheduleDeclaration,
  type SourcePlace,
  type WebhookDeclaration,
} from "@orgate/core/vocab";
import { KNOWLEDGE, type Memory, placeSettings, readKnowledge, readLimits, readSettings, renameKeys } from "./agent-settings.ts";
import { readSchedule, readWebhook } from "./blocks.ts";
import type { NamedFunction } from "./bodies.ts";
import { BLOCK_KEYS } from "./keys.ts";
import { countAgentHeads, parseSymbi } from "./parse.ts";
import { type SymbiProblem, symbiProblemAt, UNCLOSED } from "./problems.ts";
import { type Bodies, type Procedure, readBodies } from "./procedure.ts";
import type { AgentBlock, File, MemoryBlock, Metadata, Name, PolicyBlock, TypeDeclaration, WithBlock } from "./tree.ts";
import { isTextType, readTypes, type Types, typeText } from "./types.ts";
import { limitReports, listEntries, listSections, type Report, readEntries, reportUnknownKey, type Values } from "./values.ts";

export type SymbiFile = Readonly<{
  file: string;
  text: string;
  tree: File;
  agents: readonly AgentDraft[];
  schedules: readonly ScheduleDeclaration[];
  webhooks: readonly WebhookDeclaration[];
}>;
export type ReadSymbi = Readonly<
  | { kind: "file"; symbi: SymbiFile }
  /** `part`: what the file declares as far as it can be read, so that the rest of it is checked in the same run; null: nothing. `isWhole`: no block of it is missing there. */
  | { kind: "problems"; problems: readonly [SymbiProblem, ...SymbiProblem[]]; part: SymbiFile | null; isWhole: boolean }
>;

/** An agent without its tools, which the project has. */
export type AgentDraft = Readonly<{
  name: string;
  /** Of its name. */
  at: number;
  definition: Omit<AgentDefinition, "tools" | "middleware">;
  tools: readonly NamedFunction[];
  delegates: readonly NamedFunction[];
  /** Schema of a turn's input; null: any text. */
  input: JsonObject | null;
  /** `at` of the setting that demands a sandbox; null: none does. */
  sandbox: number | null;
  isPrivate: boolean;
  policies: readonly PolicyBlock[];
  params: readonly string[];
  description: string | null;
  version: string | null;
  author: string | null;
  license: string | null;
  tags: readonly string[];
  /** The text of its bodies, which stands in its instructions; null: they are empty, or name its task. */
  procedure: Procedure | null;
  /** Where a setting stands, under the names of `AgentDefinition` and of its limits. */
  places: ReadonlyMap<string, number>;
}>;

export function readSymbi(text: string, file: string): ReadSymbi {
  const parsed = parseSymbi(text, file);
  if (parsed.kind === "tree") return readTree(parsed, file, []);
  return parsed.part === null ? { ...parsed, part: null, isWhole: false } : readTree(parsed.part, file, parsed.problems);
}

/** `unread`: problems with the parts of the file that are not in the tree. */
function readTree({ tree, text }: Readonly<{ tree: File; text: string }>, file: string, unread: readonly SymbiProblem[]): ReadSymbi {
  const problems = [...unread];
  const tell = limitReports((at, detail, hint) => problems.push(symbiProblemAt({ file, text }, at, detail, hint)));
  const report: Report = (at, detail, hint, rests) => {
    if (rests === undefined || unread.length === 0) tell(at, detail, hint);
  };
  const placeOf = (at: number): SourcePlace => {
    const { line, column } = symbiProblemAt({ file, text }, at, "", "");
    return { file, line, column };
  };
  const declared = declarationsOf(tree, text, report, placeOf);
  if (problems.length === 0 && declared.agents.length + declared.schedules.length + declared.webhooks.length === 0)
    report(0, "it declares nothing: no agent, no schedule, no webhook", "write one, or remove the file"); // a file that was cut off would be gone unnoticed
  const [first, ...rest] = problems.sort((a, b) => a.line - b.line || a.column - b.column);
  const symbi = { file, text, tree, ...declared };
  if (first === undefined) return { kind: "file", symbi };
  const agents = symbi.agents.flatMap(checkable);
  const isCutOff = unread.some(({ detail }) => detail === UNCLOSED); // nobody knows what followed
  const isWhole =
    (unread.length === 0 || countAgentHeads(text) <= symbi.agents.length) && !isCutOff && agents.length === symbi.agents.length;
  return { kind: "problems", problems: [first, ...rest], part: { ...symbi, agents }, isWhole };
}

/** An agent of a file with problems, without those already reported: the checks that follow report the others. */
function checkable(draft: AgentDraft): readonly AgentDraft[] {
  if (!isName(draft.name)) return [];
  const { instructions, outputRepairs, ...definition } = draft.definition;
  const repairs = definition.output === undefined || outputRepairs === undefined ? {} : { outputRepairs };
  return [{ ...draft, definition: { ...definition, ...repairs, instructions: instructions === "" ? "(none)" : instructions } }];
}

function declarationsOf(
  tree: File,
  text: string,
  report: Report,
  placeOf: (at: number) => SourcePlace,
): Omit<SymbiFile, "file" | "text" | "tree"> {
  const types = readTypes(
    tree.items.filter((item): item is TypeDeclaration => item.kind === "type"),
    report,
  );
  const blocks = tree.items.filter((item): item is AgentBlock => item.kind === "agent");
  const shared = tree.items.filter((item): item is PolicyBlock => item.kind === "policy");
  const metadata = metadataOf(tree, report);
  const memory = memoryOf(tree, report);
  const bodies = readBodies(tree, text, types, report);
  const agents = blocks.map((block) => agentOf(block, { types, metadata, memory, shared, bodies, report }));
  if (memory !== null && agents.length > 0 && agents.every(({ definition }) => definition.knowledge === undefined))
    report(memory.at, "no agent of this file uses this memory", 'take it out, or `memory = "none"`', "on absence");
  const functions = tree.items.flatMap((item) => (item.kind === "function" ? [item.name] : []));
  reportDuplicates(
    blocks.map(({ name }) => name),
    "agent",
    report,
  );
  const owned = blocks.map(({ members }) => members.flatMap((member) => (member.kind === "function" ? [member.name] : [])));
  for (const own of [[], ...owned]) reportDuplicates([...functions, ...own], "function", report);
  bodies.tellUncalled();
  types.tellUnused();
  for (const policy of blocks.length === 0 ? shared : [])
    report(
      policy.at,
      "this policy is about no agent: there is none in this file",
      "put it into the agent's file, or write it in Cedar in policies/",
      "on absence",
    );
  const schedules: ScheduleDeclaration[] = [];
  const webhooks: WebhookDeclaration[] = [];
  for (const item of tree.items) {
    switch (item.kind) {
      case "schedule": {
        const made = readSchedule(item, report, placeOf);
        if (made !== null) schedules.push(made);
        break;
      }
      case "webhook": {
        const made = readWebhook(item, report, placeOf);
        if (made !== null) webhooks.push(made);
        break;
      }
      case "channel":
        report(item.at, "not supported yet: channel", "take it out: it would have no effect");
        break;
      case "function":
      case "metadata":
      case "agent":
      case "policy":
      case "type":
      case "memory":
        break;
    }
  }
  for (const kind of ["schedule", "webhook"] as const)
    reportDuplicates(
      tree.items.flatMap((item) => (item.kind === kind ? [item.name] : [])),
      kind,
      report,
    );
  return { agents, schedules, webhooks };
}

export function reportDuplicates(names: readonly Name[], what: string, report: Report): void {
  const seen = new Set<string>();
  for (const { text, at } of names) {
    if (seen.has(text)) report(at, `there are two of ${what} \`${text}\` in this file`, "rename one of them");
    seen.add(text);
  }
}

function metadataOf(tree: File, report: Report): Values {
  const [first, ...others] = tree.items.filter((item): item is Metadata => item.kind === "metadata");
  for (const other of others) report(other.at, "there is a second metadata block", "put both into one");
  if (first === undefined) return new Map();
  if (!tree.items.some((item) => item.kind === "agent"))
    report(first.at, "this metadata is about no agent: there is none in this file", "take it out", "on absence");
  for (const { key } of listSections(first.entries)) report(key.at, `there is no \`${key.text}\` block in metadata`, "write `key = value`");
  return readEntries(listEntries(first.entries), BLOCK_KEYS.metadata, "metadata", report);
}

/** Memory settings for all agents of the file. */
function memoryOf(tree: File, report: Report): Memory | null {
  const [first, ...others] = tree.items.filter((item): item is MemoryBlock => item.kind === "memory");
  for (const other of others) report(other.at, "there is a second memory block", "a file has one, for all of its agents");
  if (first === undefined) return null;
  if (!isName(first.name.text)) report(first.name.at, `\`${first.name.text}\` is no name for a memory`, `a name is ${NAME_RULE}`);
  if (!tree.items.some((item) => item.kind === "agent"))
    report(first.at, "this memory is of no agent: there is none in this file", "take it out", "on absence");
  for (const { key } of listSections(first.entries)) reportUnknownKey(key, BLOCK_KEYS.memory, "memory", report);
  return { at: first.at, settings: renameKeys(readEntries(listEntries(first.entries), BLOCK_KEYS.memory, "memory", report), KNOWLEDGE) };
}

type Around = Readonly<{
  types: Types;
  metadata: Values;
  memory: Memory | null;
  shared: readonly PolicyBlock[];
  bodies: Bodies;
  report: Report;
}>;

function agentOf(block: AgentBlock, { types, metadata, memory, shared, bodies, report }: Around): AgentDraft {
  const { name } = block;
  if (!isName(name.text)) report(name.at, `\`${name.text}\` is no name for an agent`, `a name is ${NAME_RULE}`);
  const withs = block.members.filter((member): member is WithBlock => member.kind === "with");
  const values = readEntries(
    withs.flatMap((one) => one.settings),
    BLOCK_KEYS.with,
    "with",
    report,
  );
  const chosen = capabilitiesOf(block, report);
  const output = block.returns === null ? null : types.schemaOf(block.returns);
  const { task, procedure } = bodies.of(block, chosen.tools);
  const text = (key: string, of: Values = values): string | null => {
    const value = of.get(key)?.value;
    return typeof value === "string" ? value : null;
  };
  const instructions = [text("description", metadata), text("instructions"), task, procedure?.text ?? null, givenText(block)].filter(
    (one) => one !== null,
  );
  if (text("description", metadata) === null && text("instructions") === null && task === null && procedure === null)
    report(
      name.at,
      `nothing says what agent \`${name.text}\` is for`,
      'give it `with instructions = "…" { }`, a description in metadata, or a task: `with { return summarise(text); }`',
      "on absence",
    );
  const { sandbox, isPrivate } = careOf(values, report);
  return {
    name: name.text,
    at: name.at,
    definition: {
      name: name.text,
      instructions: instructions.join("\n\n"),
      ...readSettings(values),
      ...readKnowledge(values, memory),
      limits: readLimits(values),
      ...(output === null || isTextType(output) ? {} : { output }),
      skills: chosen.skills,
      mcp: chosen.servers,
      delegates: chosen.delegates.map((one) => one.name),
    },
    tools: chosen.tools,
    delegates: chosen.delegates,
    input: inputOf(block, types),
    sandbox,
    isPrivate,
    policies: [...block.members.filter((member): member is PolicyBlock => member.kind === "policy"), ...shared],
    params: block.params.map((p) => p.name.text),
    description: text("description", metadata),
    version: text("version", metadata),
    author: text("author", metadata),
    license: text("license", metadata),
    tags: tagsOf(metadata),
    procedure,
    places: placeSettings(block, values),
  };
}

function tagsOf(metadata: Values): readonly string[] {
  const said = metadata.get("tags")?.value;
  return Array.isArray(said) ? said.filter((one) => typeof one === "string") : [];
}

type Chosen = Readonly<{
  tools: readonly NamedFunction[];
  skills: readonly string[];
  servers: readonly string[];
  delegates: readonly NamedFunction[];
}>;

/** A bare name is a tool; `skill:`, `mcp:` and `agent:` say what else a name stands for. */
function capabilitiesOf(block: AgentBlock, report: Report): Chosen {
  const [tools, skills, servers, delegates]: [NamedFunction[], string[], string[], NamedFunction[]] = [[], [], [], []];
  const seen = new Set<string>();
  const lists = block.members.filter((member) => member.kind === "capabilities");
  for (const other of lists.slice(1)) report(other.at, "there is a second list of capabilities", "put both into one");
  for (const { value } of lists) {
    if (value.kind !== "array") report(value.at, "`capabilities` is no list", 'list tools by name: ["read_note", "skill:writing"]');
    for (const item of value.kind === "array" ? value.items : []) {
      const name = item.kind === "string" ? item.value : item.kind === "ident" ? item.name : null;
      if (name === null)
        report(item.at, "a capability is the name of a tool", 'write "read_note", "skill:NAME", "mcp:SERVER" or "agent:NAME"');
      else if (seen.has(name)) report(item.at, `\`${name}\` stands twice in capabilities`, "say it once");
      else place(name, item.at);
      seen.add(name ?? "");
    }
  }
  return { tools, skills, servers, delegates };

  function place(name: string, at: number): void {
    const [, kind, rest = ""] = /^(skill|mcp|agent):(.+)$/s.exec(name) ?? [];
    if (kind === "skill") skills.push(rest);
    else if (kind === "mcp") servers.push(rest);
    else if (kind === "agent") delegates.push({ name: rest, at });
    else tools.push({ name, at });
  }
}

const ELSEWHERE: readonly string[] = ["docker", "tier1", "gvisor", "tier2", "firecracker", "tier3", "e2b"];

function careOf(values: Values, report: Report): Pick<AgentDraft, "sandbox" | "isPrivate"> {
  const sandbox = values.get("sandbox");
  const named = typeof sandbox?.value === "string" ? sandbox.value.toLowerCase() : "none";
  if (sandbox !== undefined && ELSEWHERE.includes(named))
    report(sandbox.at, `not supported yet: sandbox \`${named}\``, "`process` is there; nothing falls back to a weaker one by itself");
  else if (sandbox !== undefined && named !== "process" && named !== "none")
    report(sandbox.at, `there is no sandbox \`${named}\``, "one of process, none");
  return { sandbox: named === "process" ? (sandbox?.keyAt ?? null) : null, isPrivate: values.get("privacy")?.value === "high" };
}

// ── what it is given, and what it does with it ──

/** One text is the input itself; anything else comes as a JSON object. */
function inputOf({ params }: AgentBlock, types: Types): JsonObject | null {
  const schema = types.fieldsOf(params);
  const [only, second] = params;
  if (schema === null || only === undefined) return null;
  const own = second === undefined ? types.schemaOf(only.type) : null;
  return own !== null && isTextType(own) ? null : schema;
}

function givenText({ params }: AgentBlock): string | null {
  if (params.length === 0) return null;
  const all = params.map(({ name, type }) => `\`${name.text}\` (${typeText(type)})`).join(", ");
  const plain = params.length === 1 && params[0]?.type.kind === "named-type" && /^string$/i.test(params[0].type.name.text);
  return plain ? `You are given ${all}: what the user says.` : `You are given ${all}, as a JSON object.`;
}
