/**
 * Policy files as text: where each policy stands, what its annotations say. The engine parses; this only finds the pieces and their places.
 */
import { type ApprovalTerms, type Ask, durationWords, type Edit, type PolicyId, policyId, suggestNearest } from "../../vocab/index.ts";
import { readGrant } from "../approvals.ts";

export type PolicyPiece = Readonly<{ text: string /** Of its first character in the file. */; offset: number }>;

/** One piece per policy. A policy ends at a `;` that stands in no string and no comment; what is left at the end is a piece too. */
export function splitPolicies(text: string): readonly PolicyPiece[] {
  const found: PolicyPiece[] = [];
  let start = 0;
  for (let i = 0; i < text.length; i += 1) {
    if (text.startsWith("//", i)) i = lineEnd(text, i);
    else if (text[i] === '"') i = stringEnd(text, i);
    else if (text[i] === ";") {
      found.push({ text: text.slice(start, i + 1), offset: start });
      start = i + 1;
    }
  }
  const rest = { text: text.slice(start), offset: start };
  return [...found, ...(isBlank(rest.text) ? [] : [rest])].map(withoutLead);
}

/** Without the comments and blanks before it, so that its place is where it begins. */
function withoutLead({ text, offset }: PolicyPiece): PolicyPiece {
  const lead = /^(?:\s|\/\/[^\n\r]*(?:[\n\r]|$))*/.exec(text)?.[0].length ?? 0;
  return { text: text.slice(lead), offset: offset + lead };
}

const isBlank = (text: string): boolean => /^(?:\s|\/\/[^\n\r]*(?:[\n\r]|$))*$/.test(text);

/** As the engine ends a comment: a lone carriage return ends it too, and what follows is a policy. */
function lineEnd(text: string, from: number): number {
  const end = text.slice(from).search(/[\n\r]/);
  return end === -1 ? text.length : from + end;
}

function stringEnd(text: string, from: number): number {
  for (let i = from + 1; i < text.length; i += 1) {
    if (text[i] === "\\") i += 1;
    else if (text[i] === '"') return i;
  }
  return text.length;
}

/** The engine counts bytes, people count characters. */
export function toPlace(text: string, character: number): { readonly line: number; readonly column: number } {
  const before = text.slice(0, character);
  return { line: before.split("\n").length, column: character - before.lastIndexOf("\n") };
}

export function toCharacterOffset(text: string, byte: number): number {
  let [at, bytes] = [0, 0];
  for (const character of text) {
    if (bytes >= byte) return at;
    at += character.length;
    bytes += byteLength(character);
  }
  return text.length;
}

export function utf8Length(text: string): number {
  let bytes = 0;
  for (const character of text) bytes += byteLength(character);
  return bytes;
}

function byteLength(character: string): number {
  const code = character.codePointAt(0) ?? 0;
  return code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
}

/** Conditions that a deciding permit adds: ask, defer, edits, grants. */
export type Duties = Readonly<{
  ask: Ask | null;
  defer: Readonly<{ policy: PolicyId; ms: number }> | null;
  edits: readonly Edit[];
  /** For people and the model, when it decides. */
  reason: string | null;
}>;

export type ReadDuties = Readonly<{ kind: "duties"; duties: Duties } | { kind: "wrong"; annotation: string; detail: string; hint: string }>;

const KNOWN = ["id", "reason", "ask", "approvers", "quorum", "expires", "grant", "grantSurvives", "redact", "defer", "onExpiry"];
const OF_PERMITS = ["ask", "approvers", "quorum", "expires", "grant", "grantSurvives", "redact", "defer", "onExpiry"];
const OF_ASKS = ["approvers", "quorum", "expires", "grant", "grantSurvives", "onExpiry"];
const LABEL = /^[a-z][a-z0-9_:.-]{0,63}$/;

/** Ids stand in reasons, journals and terminals. */
const ID = /^[\p{L}\p{N}][\p{L}\p{N}._:/-]{0,99}$/u;
const printable = (text: string): string => text.replace(/\p{C}/gu, "?").slice(0, 100);

/** Where an annotation stands: before the policy's head, outside of what other annotations say. */
export function findAnnotation(text: string, name: string): number {
  for (let i = 0; i < text.length; i += 1) {
    if (text.startsWith("//", i)) i = lineEnd(text, i);
    else if (text[i] === '"') i = stringEnd(text, i);
    else if (text[i] === "@" && /^@\s*([A-Za-z_][A-Za-z0-9_]*)/.exec(text.slice(i, i + 200))?.[1] === name) return i;
  }
  return 0;
}

/** Where the nth test for these attributes stands (`has a.b`); the policy itself where it is not found. */
export function findHasTest(text: string, attrs: readonly string[], nth: number): number {
  let left = nth;
  for (const at of codeAt(text)) {
    const [, quoted, plain] = HAS.exec(text.slice(at, at + 1_000)) ?? [];
    const named = quoted === undefined ? plain?.split(".").map((part) => part.trim()) : [unquoted(quoted)];
    if (named === undefined || /[\w.@]/.test(text.charAt(at - 1)) || named.join("\n") !== attrs.join("\n")) continue;
    if (left === 0) return at;
    left -= 1;
  }
  return 0;
}
const HAS = /^has\b\s*(?:"((?:[^"\\]|\\.)*)"|([A-Za-z_]\w*(?:\s*\.\s*[A-Za-z_]\w*)*))/;

/** Where an attribute of this name is first read; the policy itself where it is not found. */
export function findRead(text: string, attr: string): number {
  for (const at of codeAt(text)) {
    const [, plain, quoted] = /^(?:\.\s*([A-Za-z_]\w*)|\[\s*"((?:[^"\\]|\\.)*)"\s*\])/.exec(text.slice(at, at + 1_000)) ?? [];
    if (plain === attr || (quoted !== undefined && unquoted(quoted) === attr)) return at;
  }
  return 0;
}

/** Where this word is first written out as a text of the policy's conditions; the policy itself where it is not found. */
export function findWord(text: string, word: string): number {
  for (let i = 0; i < text.length; i += 1) {
    if (text.startsWith("//", i)) i = lineEnd(text, i);
    else if (text[i] === '"') {
      const end = stringEnd(text, i);
      if (unquoted(text.slice(i + 1, end)) === word && !/@\s*\w+\s*\(\s*$/.test(text.slice(0, i))) return i;
      i = end;
    }
  }
  return 0;
}

/** Every place that stands in no string and no comment. */
function* codeAt(text: string): Iterable<number> {
  for (let i = 0; i < text.length; i += 1) {
    if (text.startsWith("//", i)) i = lineEnd(text, i);
    else if (text[i] === '"') i = stringEnd(text, i);
    else yield i;
  }
}

function unquoted(text: string): string {
  try {
    return String(JSON.parse(`"${text}"`));
  } catch {
    return text; // an escape that only Cedar knows
  }
}

export function readDuties(id: string, effect: "permit" | "forbid", given: Readonly<Record<string, string | null>>): ReadDuties {
  const wrong = (annotation: string, detail: string, hint: string): ReadDuties => ({ kind: "wrong", annotation, detail, hint });
  for (const name of Object.keys(given)) {
    if (!KNOWN.includes(name)) return wrong(name, `there is no annotation @${name}`, suggestNearest(name, KNOWN));
    if (effect === "forbid" && OF_PERMITS.includes(name))
      return wrong(name, `@${name} stands on a forbid, which cannot be answered`, "put it on the permit that it is to bind");
    if (OF_ASKS.includes(name) && given["ask"] === undefined)
      return wrong(name, `@${name} says how an approval request is answered, but there is no @ask`, 'add @ask("…")');
  }
  for (const name of OF_ASKS)
    if (given[name] !== undefined && list(given[name]).length === 0)
      return wrong(name, `@${name} is empty`, `write @${name}("…"), or leave it out`);
  const own = given["id"];
  if (own !== undefined && !ID.test(own ?? ""))
    return wrong("id", `@id("${printable(own ?? "")}") is no name`, "letters, digits and . _ - : / without blanks, at most 100");
  const quorum = given["quorum"] ?? "1";
  if (!/^[1-9]\d?$/.test(quorum)) return wrong("quorum", `@quorum("${quorum}") is no number of people`, 'write @quorum("2")');
  const onExpiry = given["onExpiry"] ?? "deny";
  if (onExpiry !== "deny" && onExpiry !== "halt" && onExpiry !== "wait")
    return wrong("onExpiry", `@onExpiry("${onExpiry}")`, "one of deny, halt, wait");
  const grant = given["grant"] ?? null;
  if (readGrant(grant) === undefined)
    return wrong(
      "grant",
      `@grant("${printable(grant ?? "")}")`,
      "write once, turn, session or a time such as 8h; before it digest, resource or tool",
    );
  const survives = list(given["grantSurvives"]);
  if (survives.length > 0 && readGrant(grant) === null)
    return wrong("grantSurvives", "@grantSurvives stands beside no @grant that could be given", 'add @grant("session"), or leave it out');
  const odd = survives.find((name) => !LABEL.test(name));
  if (odd !== undefined) return wrong("grantSurvives", `\`${printable(odd)}\` is no label`, 'write @grantSurvives("untrusted")');
  const times = { expires: given["expires"], defer: given["defer"] };
  for (const [name, text] of Object.entries(times))
    if (text !== undefined && durationWords(text ?? "") === null)
      return wrong(name, `@${name}("${text}") is no time`, "write 30s, 15m, 8h or 60d");
  const paths = (given["redact"] ?? "")
    .split(",")
    .map((p) => p.trim())
    .filter((p) => p !== "");
  if (given["redact"] !== undefined && (paths.length === 0 || paths.some((p) => !/^args(\.[A-Za-z0-9_-]+)+$/.test(p))))
    return wrong("redact", `@redact("${given["redact"]}")`, 'write @redact("args.token")');
  const policy = policyId(id);
  const terms: ApprovalTerms = {
    approvers: list(given["approvers"]),
    quorum: Number(quorum),
    expiresMs: durationWords(given["expires"] ?? ""),
    grant,
    onExpiry,
    ...(survives.length === 0 ? {} : { grantSurvives: survives }),
  };
  return {
    kind: "duties",
    duties: {
      ask: given["ask"] === undefined ? null : { policy, question: given["ask"] || "allow this?", terms },
      defer: given["defer"] === undefined ? null : { policy, ms: durationWords(given["defer"] ?? "") ?? 0 },
      edits: paths.map((p) => ({ path: p.split(".").slice(1), value: "[redacted]" })),
      reason: given["reason"] ?? null,
    },
  };
}

const list = (text: string | null | undefined): readonly string[] =>
  (text ?? "")
    .split(",")
    .map((t) => t.trim())
    .filter((t) => t !== "");

/** One policy of a file as it is written there, by the last part of its id: its `@id`, or the line it begins in. Null when there is none. */
export function readRule(text: string, name: string): Readonly<{ text: string; line: number }> | null {
  for (const { text: rule, offset } of splitPolicies(text)) {
    const { line } = toPlace(text, offset);
    const own = /@id\("([^"]*)"\)/.exec(rule)?.[1];
    if ((own ?? String(line)) === name) return { text: rule, line };
  }
  return null;
}
