/**
 * Bodies of an agent as a part of its instructions. Nothing in a body runs: the model carries it out, and each call in it is the model's proposal and the gate's decision.
 *
 * Y-7 a body that does nothing but return one call names the agent's task. Y-7 any other body is the agent's written procedure: laid out in one way, without
 * comments, with the functions and types that it uses, and delimited from the rest of the instructions.
 */
import { type CheckedBody, checkBodies, type Doubt, type NamedFunction } from "./bodies.ts";
import { layOutTokens } from "./format.ts";
import { assignRoles, type Roles } from "./roles.ts";
import { symbiTokens, type Token } from "./tokens.ts";
import type { AgentBlock, Block, File, FunctionBlock, WithBlock } from "./tree.ts";
import type { Types } from "./types.ts";
import type { Report } from "./values.ts";

export type Procedure = Readonly<{
  /** Of its first body. */
  at: number;
  text: string;
  /** Calls of what the file does not have: tools of the agent, or work that the model does by itself. */
  calls: readonly NamedFunction[];
  doubts: readonly Doubt[];
}>;

export type Bodies = Readonly<{
  of(block: AgentBlock, tools: readonly NamedFunction[]): Readonly<{ task: string | null; procedure: Procedure | null }>;
  /** Functions outside of agents that no body calls. */
  tellUncalled(): void;
}>;

/** Of one file; `text` is what was parsed. */
export function readBodies(tree: File, text: string, types: Types, report: Report): Bodies {
  const shared = tree.items.filter((item): item is FunctionBlock => item.kind === "function");
  const called = new Set<FunctionBlock>();
  const written = writerOf(tree, text);
  return {
    of(block, tools) {
      const withs = block.members.filter((member): member is WithBlock => member.kind === "with" && member.body.statements.length > 0);
      const own = block.members.filter((member): member is FunctionBlock => member.kind === "function");
      for (const { body } of withs.slice(1)) report(body.at, "this agent has a body already", "put both into one");
      for (const { name, body } of [...own, ...shared])
        if (body.statements.length === 0) report(name.at, `function \`${name.text}\` does nothing`, "take it out", "on absence");
      for (const { name } of [...own, ...shared])
        if (tools.some((tool) => tool.name === name.text))
          report(name.at, `function \`${name.text}\` is named like a tool of agent \`${block.name.text}\``, "give it another name");
      const task = readTask({ block, withs, own, shared, report });
      if (task !== null) return { task, procedure: null };
      const [first] = [...own, ...withs];
      if (first === undefined) return { task: null, procedure: null };
      const checked = checkBodies({ agent: block, body: withs[0]?.body ?? null, own, shared, types, report });
      for (const one of checked.functions) called.add(one);
      return { task: null, procedure: writeProcedure({ at: first.at, body: withs[0]?.body ?? null, own, checked }, written) };
    },
    tellUncalled() {
      for (const one of shared)
        if (!called.has(one) && one.body.statements.length > 0)
          report(
            one.name.at,
            `no body of this file calls function \`${one.name.text}\``,
            "take it out, or call it in an agent's body",
            "on absence",
          );
    },
  };
}

type TaskParts = Readonly<{
  block: AgentBlock;
  withs: readonly WithBlock[];
  own: readonly FunctionBlock[];
  shared: readonly FunctionBlock[];
  report: Report;
}>;

/** Y-7 a body that only returns one call names the agent's task; null for any other body. */
function readTask({ block, withs, own, shared, report }: TaskParts): string | null {
  const [only, second] = [...withs, ...own];
  if (only === undefined || second !== undefined) return null;
  if (only.kind === "function" && (only.params.length > 0 || only.returns !== null)) return null;
  const [statement, more] = only.body.statements;
  if (statement?.kind !== "return" || more !== undefined) return null;
  const { value } = statement;
  if (value?.kind !== "call" || value.of.kind !== "ident") return null;
  const name = value.of.name;
  if (shared.some((one) => one.name.text === name)) return null;
  const args = value.args.flatMap((arg) => (arg.kind === "ident" ? [arg] : []));
  if (args.length !== value.args.length) return null;
  for (const arg of args)
    if (!block.params.some((p) => p.name.text === arg.name))
      report(arg.at, `\`${arg.name}\` is no parameter of this agent`, `declare it: agent ${block.name.text}(${arg.name}: String)`);
  const given = args.map((arg) => `\`${arg.name}\``).join(", ");
  return `Your task: ${name.replaceAll("_", " ")}${given === "" ? "" : ` ${given}`}.`;
}

const INTRODUCTION =
  "Your procedure stands below, in the language of agent files. Carry it out step by step. No program runs it: where it calls one of your tools, call that tool; " +
  "whatever else it calls you do yourself, as its name says. What it returns is your answer.";

type ProcedureParts = Readonly<{ at: number; body: Block | null; own: readonly FunctionBlock[]; checked: CheckedBody }>;

function writeProcedure({ at, body, own, checked }: ProcedureParts, written: Writer): Procedure {
  const pieces = [
    ...checked.types.map((one) => written.item(one.at)),
    ...[...checked.functions, ...own].map((one) => written.upTo(one.at, one.body.open)),
    ...(body === null ? [] : [written.upTo(body.open, body.open)]),
  ];
  const text = pieces.join("\n\n");
  // no text within ends it before its end
  const fence = "`".repeat(Math.max(3, ...[...text.matchAll(/`+/g)].map(([run]) => run.length + 1)));
  return { at, text: `${INTRODUCTION}\n\n${fence}symbi\n${text}\n${fence}`, calls: checked.calls, doubts: checked.doubts };
}

/** Pieces of a file in one layout, however the file is laid out, and without its comments: the model's text does not depend on either. */
type Writer = Readonly<{
  /** From a place up to the end of the block whose brace is `open`. */
  upTo(at: number, open: number): string;
  /** A whole item of the file. */
  item(at: number): string;
}>;

function writerOf(tree: File, text: string): Writer {
  let made: Readonly<{ tokens: readonly Token[]; places: ReadonlyMap<number, number>; roles: Roles }> | null = null;
  const plain = () => {
    if (made !== null) return made;
    const all = symbiTokens(text);
    const tokens = all.flatMap((t) => (t.kind === "comment" ? [] : [{ ...t, breaks: 0 }]));
    made = { tokens, places: new Map(tokens.map(({ at }, i) => [at, i])), roles: assignRoles(tree, all) };
    return made;
  };
  const between = (from: number, to: number): string => {
    const { tokens, roles } = plain();
    return layOutTokens(tokens.slice(from, to), roles);
  };
  const indexAt = (at: number): number => plain().places.get(at) ?? 0;
  return {
    upTo: (at, open) => between(indexAt(at), closing(plain().tokens, indexAt(open)) + 1),
    item: (at) => {
      const next = tree.items.find((item) => item.at > at);
      return between(indexAt(at), next === undefined ? plain().tokens.length : indexAt(next.at));
    },
  };
}

function closing(tokens: readonly Token[], open: number): number {
  let depth = 0;
  for (let i = open; i < tokens.length; i += 1) {
    const { kind, text = "" } = tokens[i] ?? {};
    if (kind === "sign" && "{[(".includes(text)) depth += 1;
    if (kind === "sign" && "}])".includes(text)) depth -= 1;
    if (depth === 0) return i;
  }
  return tokens.length - 1;
}
