/** Policy files and what is wrong in them, with its place. */

import type { CedarError } from "./policies/engine.ts";
import type { LoadedPolicy } from "./policies/loaded-policy.ts";
import { type PolicyPiece, toCharacterOffset, toPlace } from "./policies/policy-text.ts";

/** `name` is its path below `policies/`, without the ending: the first part of its policies' ids. */
export type PolicyFile = Readonly<{
  path: string;
  name: string;
  text: string;
  shadow: boolean;
  /** About an agent that is not run here: its policies are part of the set's digest, and decide nothing. */
  idle?: Readonly<{ agent: string; pieces: readonly Readonly<{ id: string; text: string }>[] }>;
}>;

export type PolicyProblem = Readonly<{ file: string; line: number; column: number; detail: string; hint: string }>;

export type Parsed = Readonly<{ file: PolicyFile; piece: PolicyPiece; policy: LoadedPolicy }>;

/** A problem at a character of the policy's own text. */
export const toProblem = (
  { file, piece }: Pick<Parsed, "file" | "piece">,
  offset: number,
  detail: string,
  hint: string,
): PolicyProblem => ({
  file: file.path,
  ...toPlace(file.text, piece.offset + offset),
  detail,
  hint,
});

/** The engine's message without the part that names the policy: the place does that. */
export function problemText(of: Pick<Parsed, "file" | "piece">, error: CedarError): PolicyProblem {
  const detail = error.message
    .replace(/^failed to parse (policies|policy|policy with id `[^`]*`) from string: /, "")
    .replace(/^for policy `[^`]*`, /, "");
  const offset = toCharacterOffset(of.piece.text, error.sourceLocations?.[0]?.start ?? 0);
  return toProblem(of, offset, detail, findForm(detail) ?? error.help ?? "see docs/guide/policies.md");
}

/** The form that loads, and the page that explains it, for the mistakes that nearly everybody makes once. Null for any other. */
function findForm(detail: string): string | null {
  const [, base, attr] = /^unable to guarantee safety of access to optional attribute `(?:(.+)\.)?([^.`]+)` in context/.exec(detail) ?? [];
  if (attr !== undefined) {
    const test = `${["context", ...(base === undefined ? [] : [base])].join(".")} has ${attr}`;
    return `absent or fine is \`if ${test} then … else true\`, given and fine is \`${test} && …\`: docs/guide/policies.md#optional-arguments`;
  }
  const isOfTypes = /unexpected type|not compatible/.test(detail);
  if (isOfTypes && /\{size: Long,/.test(detail))
    return `a list is asked by its parts: any is \`….values.contains("x")\`, all is \`["x"].containsAll(….values)\`, and \`….size\`: docs/guide/facts-and-labels.md#lists`;
  const [, fields] = isOfTypes ? (/\{((?:\w+\??: [\w:<>]+,)+)\}/.exec(detail) ?? []) : [];
  if (fields !== undefined) {
    const names = [...fields.matchAll(/(\w+)\??:/g)].map(([, name]) => `\`.${name}\``);
    return `it is a record: compare one of its fields, ${names.join(", ")}: docs/guide/policies.md#what-a-policy-can-read`;
  }
  if (isOfTypes && /\bSet</.test(detail))
    return `a set is asked with \`.contains("x")\`, or \`["x"].containsAll(…)\`: docs/guide/facts-and-labels.md#lists`;
  if (/\bdecimal\b/.test(detail) && (isOfTypes || /failed to parse as a decimal/.test(detail)))
    return `a JSON number is a decimal, compared as in \`….lessThan(decimal("100.00"))\`; a whole number is compared by \`<\`: docs/guide/policies.md#numbers`;
  if (isOfTypes && /\bBool\b/.test(detail))
    return "a yes or no is a condition by itself: `context.targets.owned`, `!context.targets.owned`: docs/guide/policies.md";
  return findPage(detail);
}

/** Of what is not there: who has it. The engine's own guess compares letters only. */
function findPage(detail: string): string | null {
  const [, root, rest, action] = /^attribute `(\w+)((?:\.[^`]+)?)` in context for Action::"([^"]+)" not found/.exec(detail) ?? [];
  if (root === undefined || action === undefined) return null;
  const page = PAGES[root];
  if (rest === "")
    return page === undefined || action.startsWith("tool:") ? null : `only calls of tools have \`${root}\`: docs/guide/${page}`;
  return root === "lists" ? `no argument of that name is a list: docs/guide/${page}` : null;
}
const PAGES: Readonly<Record<string, string>> = {
  ...{ records: "records.md#read-records", allRecords: "records.md#read-records", lists: "facts-and-labels.md#lists" },
  ...{ facts: "facts-and-labels.md#targets", targets: "facts-and-labels.md#targets", values: "facts-and-labels.md#plain-values" },
  ...{ amount: "facts-and-labels.md#numbers", outgoing: "facts-and-labels.md#text-that-leaves", args: "policies.md#optional-arguments" },
};
