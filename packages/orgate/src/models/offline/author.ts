/**
 * The offline author: a model of fixed rules for the shell's agent, so that something can be authored without a key and a network. It knows a handful of sentences, looks up which
 * tools there are, writes the least that was asked for, and says that it understands no language. What it proposes is validated, decided and asked about like any model's.
 *
 * S-21 the same request in the same project gets the same files; a tool is taken because the request has the words of its name, never invented.
 * S-21 what it is asked in another way it answers with what it can do, and saves nothing.
 * S-21 a question shows what it would write, and saves nothing.
 */
import type { Json } from "@orgate/core";
import { isList } from "./template.ts";

/** The artifact of a request so far. */
export type AuthorTurn = Readonly<{
  input: string;
  results: readonly Readonly<{ tool: string; text: string; isError: boolean }>[];
}>;
export type AuthorDraft = Readonly<{ think: null; say: string | null; calls: readonly Readonly<{ tool: string; args: Json }>[] }>;
type ToolFacts = Readonly<{ name: string; description: string; effects: readonly string[] }>;
type Written = Readonly<{ path: string; content: string; note: string }>;

const REQUEST =
  /^\s*(?:please |can you |could you )*(?:author|make|write|build|create|add)(?: me)?(?: an?| the| another)? (?<what>agent|policy|tool|behaviou?r)\b[\s:,-]*(?<rest>[\s\S]*)$/i;
/** "How would you write an agent that …?": the same words, asked about and not asked for. */
const QUESTION =
  /^\s*(?:how (?:would|could|should|can|do) (?:you|i|we|one)|what would(?: you)?|show(?: me)?(?: how (?:to|you would))?|sketch)\s+(?:(?:author|make|write|build|create|add)\s+)?(?:me\s+)?/i;
const VALIDATE = { agent: "validate_dsl", behavior: "validate_dsl", policy: "validate_cedar", tool: "validate_toolclad" } as const;
type What = keyof typeof VALIDATE;

const KNOWS = `I am the offline author: fixed rules, no language. I can write
- author an agent NAME that reads notes [and asks before it saves notes] [but may not send mail]
- author a policy: AGENT may [not] use TOOL, or: ask before AGENT uses TOOL
- author a tool NAME that runs \`echo {text}\`
- author a behavior NAME(text) that sums up a text
and show it first, saving nothing: how would you write an agent NAME that reads notes?
For anything else name a model in agents/shell.symbi.`;

export function writeAgentDraft(turn: AuthorTurn): AuthorDraft {
  const isQuestion = QUESTION.test(turn.input);
  const input = isQuestion ? turn.input.replace(QUESTION, "write ").replace(/[\s?]+$/, "") : turn.input;
  const { what: said = "", rest = "" } = REQUEST.exec(input)?.groups ?? {};
  if (said === "") return say(KNOWS);
  const what: What = /^behav/i.test(said) ? "behavior" : (said.toLowerCase() as What);
  const listed = turn.results.find(({ tool }) => tool === "list_tools");
  if (listed === undefined) return call("I look up which tools there are.", "list_tools", {});
  const tools = toolsIn(listed.text);
  const last = turn.results.at(-1);
  const failed = turn.results.filter(({ tool, text }) => tool === VALIDATE[what] && text.startsWith("not valid"));
  const written = write(
    what,
    rest.trim(),
    tools,
    failed.map(({ text }) => text),
  );
  if ("lacks" in written) return say(`${written.lacks}\n\n${KNOWS}`);
  const { path, content, note } = written;
  const isValid = last?.tool === VALIDATE[what] && last.text.startsWith("valid");
  if (last?.tool === "save_artifact") return say(saved(last, path));
  if (last?.isError === true && last.tool === VALIDATE[what]) return say(unsaved(written, last.text));
  if (isValid && isQuestion) return say(shown(written));
  if (isValid) return call(`It is valid. ${note}`, "save_artifact", { path, content });
  if (failed.length >= 2) return say(unsaved(written, last?.text ?? ""));
  return call(failed.length === 0 ? `I write ${path}.` : "It is not valid: I mend it.", VALIDATE[what], { path, content });
}

const say = (text: string): AuthorDraft => ({ think: null, say: text, calls: [] });
const call = (text: string, tool: string, args: Json): AuthorDraft => ({ think: null, say: text, calls: [{ tool, args }] });

const unsaved = ({ path, content }: Written, problems: string): string =>
  `I could not make ${path} valid, and saved nothing. This is it:\n\n${content}\n\nwhat is wrong:\n${problems}\n\nHow shall I go on? Say it in other words, or edit the file yourself.`;

const shown = ({ path, content, note }: Written): string =>
  `I would write ${path}, and have saved nothing:\n\n\`\`\`\n${content}\`\`\`\n\nIt is valid. ${note} Ask me to write it, in the same words, and I save it if you say so.`;

function saved({ text, isError }: AuthorTurn["results"][number], path: string): string {
  if (isError) return `Nothing was saved: ${text}`;
  const { saved: at = path, next = "" } = readObject(text);
  return `Saved ${String(at)}. Next: ${String(next)}`;
}

function write(what: What, rest: string, tools: readonly ToolFacts[], problems: readonly string[]): Written | Readonly<{ lacks: string }> {
  switch (what) {
    case "agent":
      return agentOf(rest, tools, problems);
    case "behavior":
      return behaviorOf(rest);
    case "policy":
      return policyOf(rest, tools);
    case "tool":
      return toolOf(rest);
  }
}

// ── agents ──

/** Tools by the words of their names, in three parts of the request: what it may, what asks first, what it may not. */
function agentOf(rest: string, tools: readonly ToolFacts[], problems: readonly string[]): Written | Readonly<{ lacks: string }> {
  const { name: given, about } = namedIn(rest);
  if (about === "") return { lacks: "What should the agent do?" };
  const [may = "", ...never] = about.split(/\b(?:and |but )?(?:it )?(?:may|must|should|can) ?not\b|\b(?:and |but )?never\b|\bwithout\b/i);
  const [free = "", ...asking] = may.split(/\b(?:and |but )?(?:it )?asks? (?:me |somebody |a person )?before (?:it )?/i);
  const bad = problems.join("\n");
  const isUsable = ({ name }: ToolFacts): boolean => !bad.includes(`\`${name}\``);
  const meant = (text: string): readonly ToolFacts[] => tools.filter((tool) => isUsable(tool) && isMeant(tool, text));
  const forbidden = new Set(never.flatMap(meant).map(({ name }) => name));
  const asked = asking.flatMap(meant).filter(({ name }) => !forbidden.has(name));
  const free1 = meant(free).filter(({ name }) => !forbidden.has(name) && !asked.some((one) => one.name === name));
  const name = given ?? slug(free.replace(/^\s*(?:that|which|who|to)\s+/i, ""));
  const lines = [
    ...(free1.length === 0 ? [] : [`    allow: [${free1.map((one) => one.name).join(", ")}]`]),
    ...asked.map((one) => `    require: approval(${one.name}, { question: "May it ${one.name.replaceAll("_", " ")}?" })`),
  ];
  const all = [...free1, ...asked].map((one) => one.name);
  const quoted = /-/.test(name) ? `"${name}"` : name;
  const content = `metadata {
  description = ${text(`You are an agent that ${sentence(about)}`)}
}

agent ${quoted} {
${all.length === 0 ? "" : `  capabilities = [${all.join(", ")}]\n\n`}  policy rules {
    allow: [model, respond]
${lines.join("\n")}${lines.length === 0 ? "" : "\n"}  }

  // Offline until you name a model: with model = "anthropic/claude-sonnet-5".
  with model = "offline/${name}", iterations = 10 {}
}
`;
  const left = [...forbidden].sort();
  const unknown = [...asking, ...never].filter((part) => meant(part).length === 0).map(trimmed);
  const note = [
    all.length === 0 ? "It has no tools." : `It has ${all.join(", ")}.`,
    ...(left.length === 0 ? [] : [`It is given no way to ${left.join(", ")}.`]),
    ...(unknown.length === 0 ? [] : [`No tool here has the name of: ${unknown.join(", ")}.`]),
  ].join(" ");
  return { path: `agents/${name}.symbi`, content, note };
}

const trimmed = (part: string): string => part.trim().replace(/(?:[\s.,;]|\b(?:and|but|or))+$/i, "");

/** Every word of its name, one by one, give or take an ending: `read_note` is in `reads my notes`. */
function isMeant({ name }: ToolFacts, text: string): boolean {
  const said = stems(text);
  const words = stems(name.replaceAll(/[_-]/g, " "));
  return words.length > 0 && words.every((word) => said.includes(word));
}
const stems = (text: string): readonly string[] =>
  text
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== "")
    .map((word) => word.replace(/(?:ings?|es|s|ed)$/, "").replace(/e$/, ""));

function namedIn(rest: string): Readonly<{ name: string | null; about: string }> {
  const plain = rest
    .replace(/^["“]|["”]$/g, "")
    .replace(/^(?:an?|the) agent\b/i, "")
    .trim();
  const [, called, after] =
    /^(?:(?:called|named) )?`?([a-z][a-z0-9_-]{1,40})`?(?:,? (?:that|which|who|to)\b|:)\s*([\s\S]*)$/i.exec(plain) ?? [];
  if (called !== undefined && !/^(?:that|which|who|to|an?|the)$/i.test(called))
    return { name: called.toLowerCase(), about: (after ?? "").trim() };
  return { name: null, about: plain.replace(/^(?:that|which|who|to)\s+/i, "") };
}

const slug = (words: string): string =>
  words
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter((word) => word !== "" && !/^(?:a|an|and|the|my|our|of|it|that|which|to|for|from|in|on)$/.test(word))
    .slice(0, 3)
    .join("-")
    .replace(/^[^a-z]+/, "")
    .slice(0, 40) || "helper";

const sentence = (about: string): string => about.replaceAll(/\s+/g, " ").replace(/[.!\s]*$/, ".");
const text = (value: string): string => JSON.stringify(value.replaceAll(/[^\P{C}]/gu, " "));

// ── the others ──

/** A behaviour is an agent with parameters that others have as a delegate. */
function behaviorOf(rest: string): Written | Readonly<{ lacks: string }> {
  const [, name, params = "", about = ""] =
    /^`?([a-z][a-z0-9_]{1,40})`?\s*\(([^)]*)\)(?:,? (?:that|which|to))?\s*([\s\S]*)$/i.exec(rest.replace(/^["“]|["”]$/g, "")) ?? [];
  if (name === undefined || about.trim() === "") return { lacks: "What is the behavior called, what is it given, and what does it do?" };
  const given = params
    .split(",")
    .map((one) => one.trim().replace(/[^\w].*$/, ""))
    .filter((one) => /^[A-Za-z_]\w*$/.test(one));
  const content = `metadata {
  description = ${text(`You are a step of other agents' work that ${sentence(about)}`)}
}

// A reusable block: other agents have it as a delegate, with "agent:${name}" among their capabilities.
agent ${name.toLowerCase()}(${given.map((one) => `${one}: String`).join(", ")}) {
  policy rules {
    allow: [model, respond]
  }

  with model = "offline/${name.toLowerCase()}", iterations = 5 {}
}
`;
  return {
    path: `agents/${name.toLowerCase()}.symbi`,
    content,
    note: `Other agents use it with "agent:${name.toLowerCase()}" among their capabilities.`,
  };
}

function policyOf(rest: string, tools: readonly ToolFacts[]): Written | Readonly<{ lacks: string }> {
  const plain = rest.replace(/^["“]|["”]$/g, "");
  const asks = /^(?:that )?ask(?:s)? before `?(?<agent>[\w-]+)`? uses? `?(?<tool>[\w-]+)`?/i.exec(plain)?.groups;
  const says = /^(?:that )?`?(?<agent>[\w-]+)`? (?:may|can|must)(?<not> ?not)? use `?(?<tool>[\w-]+)`?/i.exec(plain)?.groups;
  const { agent, tool, not = "" } = { ...(asks ?? says) };
  if (agent === undefined || tool === undefined) return { lacks: "Which agent may use which tool?" };
  if (!tools.some(({ name }) => name === tool))
    return { lacks: `There is no tool \`${tool}\`; there are: ${tools.map(({ name }) => name).join(", ")}.` };
  const [kind, lead, id] =
    asks !== undefined
      ? ["permit", `@ask("May ${agent} use ${tool}?")\n`, "ask"]
      : not === ""
        ? ["permit", "", "may"]
        : ["forbid", `@reason("${agent} does not use ${tool}")\n`, "may-not"];
  const name = `${agent}-${tool}`
    .toLowerCase()
    .replaceAll(/[^a-z0-9_-]/g, "-")
    .slice(0, 60);
  const content = `@id("${id}")\n${lead}${kind}(principal == Agent::"${agent}", action == Action::"tool:${tool}", resource);\n`;
  return { path: `policies/${name}.cedar`, content, note: "It is about that one agent and that one tool." };
}

function toolOf(rest: string): Written | Readonly<{ lacks: string }> {
  const [, name, command] = /^`?([a-z][a-z0-9_]{1,40})`?,? (?:that|which) runs? `([^`]+)`/i.exec(rest.replace(/^["“]|["”]$/g, "")) ?? [];
  if (name === undefined || command === undefined)
    return { lacks: "What is the tool called, and which command does it run? Put the command in backticks, with {placeholders}." };
  const args = [...new Set([...command.matchAll(/\{([A-Za-z]\w*)\}/g)].map(([, one = ""]) => one))];
  const [binary = ""] = command.split(/\s+/);
  const content = `[tool]
name = "${name.toLowerCase()}"
version = "0.1.0"
binary = "${binary}"
description = ${text(`Runs ${command.replaceAll(/[{}]/g, "")}.`)}
timeout_seconds = 30
risk_tier = "low"
human_approval = false

${args.map((one, i) => `[args.${one}]\nposition = ${i + 1}\nrequired = true\ntype = "string"\ndescription = "${one}"\n`).join("\n")}
[command]
template = ${text(command)}

[output]
format = "text"
`;
  return { path: `tools/${name.toLowerCase()}.clad.toml`, content, note: "It runs in a sandbox, without a network." };
}

// ── what the tools said ──

function toolsIn(told: string): readonly ToolFacts[] {
  const list = readObject(told)["tools"];
  return (list !== undefined && isList(list) ? list : []).flatMap((one) => {
    const { name, description, effects } = objectIn(one);
    return typeof name === "string" && effects !== undefined && isList(effects)
      ? [{ name, description: String(description ?? ""), effects: effects.map(String) }]
      : [];
  });
}
function readObject(told: string): Readonly<Record<string, Json>> {
  try {
    return objectIn(JSON.parse(told) as Json);
  } catch {
    return {};
  }
}
const objectIn = (value: Json): Readonly<Record<string, Json>> =>
  typeof value === "object" && value !== null && !isList(value) ? (value as Readonly<Record<string, Json>>) : {};
