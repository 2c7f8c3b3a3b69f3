/**
 * Whether a value stands in a text as a whole: exact, by tokens. Nothing is interpreted, so nothing can be talked into it.
 * Rule: G-27.
 */
import type { Target } from "../../vocab/index.ts";
import type { ExactNumber } from "./amounts.ts";
import { findNumbers, numberKey } from "./said-numbers.ts";
import { isCaseSensitive, plainText, plainValue } from "./targets.ts";

/** Text that a person wrote, ready to be searched. */
export type MatchRequest = Readonly<{ cased: string; folded: string; hosts: ReadonlySet<string>; numbers(): ReadonlySet<string> }>;

export function toMatchRequest(words: readonly string[]): MatchRequest {
  const cased = words.map(plainText).join("\n\n");
  const folded = cased.toLowerCase();
  let numbers: ReadonlySet<string> | null = null;
  return {
    cased,
    folded,
    hosts: new Set(findLinks(folded).flatMap((link) => toHostName(link) ?? [])),
    numbers: () => {
      numbers ??= new Set(words.flatMap((text) => [...findNumbers(text)]));
      return numbers;
    },
  };
}

/** A number that stands for itself, whatever it is a number of. */
export const isNumberInRequest = (request: MatchRequest, number: ExactNumber): boolean => request.numbers().has(numberKey(number));

export function isInRequest(request: MatchRequest, kind: Target["kind"], value: string): boolean {
  const plain = plainValue(value);
  if (plain === null || kind === "id" || (isBare(plain) && !(kind === "text" && DATE.test(plain)))) return false;
  if (isCaseSensitive({ kind })) return containsWhole(request.cased, plain);
  const folded = plain.toLowerCase();
  if (kind !== "host") return containsWhole(request.folded, folded);
  const host = toHostName(folded) ?? folded;
  return request.hosts.has(host) || containsWhole(request.folded, host);
}

/** The name of a thing. One letter, or a number, is too little to recognise it by. */
export const isNameInRequest = (request: MatchRequest, name: string): boolean => {
  const plain = plainValue(name);
  return plain !== null && plain.length > 2 && !isBare(plain) && containsWhole(request.folded, plain.toLowerCase());
};

/** A day that is written out says which one it is, without a letter in it. */
const DATE = /^\d{4}-\d{2}-\d{2}$/;

/** No letter in it: it may stand anywhere, for anything. */
const isBare = (value: string): boolean => !/\p{L}/u.test(value);

const WORD = /[\p{L}\p{N}\p{M}_\ud800-\udfff]/u;
/** Between or beside letters these make a longer token of them. */
const GLUE = /[-.@/\\:+#%=&~*$^|]/;

export function containsWhole(text: string, value: string): boolean {
  for (let at = text.indexOf(value); at !== -1; at = text.indexOf(value, at + 1))
    if (beginsAt(text, at) && endsAt(text, at + value.length)) return true;
  return false;
}

function beginsAt(text: string, at: number): boolean {
  const before = text.charAt(at - 1);
  return at === 0 || !(WORD.test(before) || GLUE.test(before));
}

/** A stop or a colon that ends a sentence is not part of what stands before it. */
function endsAt(text: string, end: number): boolean {
  const after = text.charAt(end);
  if (after === "" || !(WORD.test(after) || GLUE.test(after))) return true;
  return (after === "." || after === ":") && /^(?:$|[\s)\]}>"'”’»,;!?])/.test(text.slice(end + 1, end + 2));
}

// ── what leads elsewhere ──

/** More than these are not told one by one, and nobody vouches for all of them. */
export const MAX_LINKS = 200;
/** An IPv6 address as a link writes it; its brackets end nothing. */
const BRACKETS = String.raw`\[[0-9a-f:.%]*:[0-9a-f:.%]*:[0-9a-f:.%]*\]`;
const TAIL = "[^\\s<>\"'`\\])}]";
const USER = "(?:[^\\s@/\\\\<>\"'`()\\[\\]{}]{1,100}@)?";
const SCHEME = new RegExp(String.raw`\b[a-z][a-z0-9+.-]{0,30}:\/\/(?:${USER}${BRACKETS}${TAIL}*|${TAIL}+)`, "g");
const OPAQUE = /\b(?:mailto|tel|sms|data|javascript|file):[^\s<>"'`\])}]+/g;
/** Texts that a browser still takes for an address: without the scheme, with one slash or none, with others than slashes. */
const SLOPPY = new RegExp(
  String.raw`\b(?:https?|wss?|ftps?):[\\/]*(?:${USER}${BRACKETS}${TAIL}*|[^\s\\/<>"'${"`"}\])}]${TAIL}*)` +
    String.raw`|(?<![\\/:])[\\/]{2,}${USER}(?:(?:[\p{L}\p{N}-]+\.)+[\p{L}\p{N}-]+|localhost|${BRACKETS}|0x[0-9a-f]{1,8}|\d{8,10})${TAIL}*`,
  "gu",
);
const BARE =
  /(?<![\p{L}\p{N}@/])(?<![\p{L}\p{N}][._-])(?:[\p{L}\p{N}](?:[\p{L}\p{N}-]{0,61}[\p{L}\p{N}])?\.)+\p{L}[\p{L}\p{N}-]{1,62}(?::\d{1,5})?(?:[/?#][^\s<>"'`\])}]*)?/gu;
/**
 * A host that has no name with a dot in it, and what makes a link of it: numbers however they are written (four, or one, decimal, octal or hexadecimal),
 * IPv6 in brackets, `localhost`, or any word with a port; behind them a path or a port.
 */
const PART = "(?:0x[0-9a-f]{1,8}|\\d{1,10})";
const NAMELESS = new RegExp(
  String.raw`(?<![\p{L}\p{N}_@/\\.:-])${USER}(?:(?:(?:${PART}\.){1,3}${PART}|0x[0-9a-f]{6,8}|\d{8,10}|localhost|${BRACKETS})(?::\d{1,5}(?!\d)(?:[/?#]${TAIL}*)?|[/?#]${TAIL}+)` +
    String.raw`|[a-z][a-z0-9-]{0,62}:\d{2,5}[/?#]${TAIL}*)`,
  "gu",
);
/** Routing marks (`%`, `!`) and a quoted name are part of an address: of `other!name@own.example` the end alone is another one. */
const ADDRESS = /(?:"[^"\n]{1,64}"|[\p{L}\p{N}._%+!-]{1,64})@(?:[\p{L}\p{N}-]{1,63}\.)+\p{L}[\p{L}\p{N}-]{1,62}/gu;
/** Endings of files that are no ending of a host: a name of a file leads nowhere. */
const FILES = /\.(?:pdf|txt|png|jpe?g|gif|svg|csv|json|docx?|xlsx?|pptx?|tsx?|jsx?|html?|xml|ya?ml|toml|log)$/;

const trimmed = (found: string): string => found.replace(/[.,:;!?]+$/, "");

/** Of a text that is plain and in lower case. */
export function findLinks(text: string): readonly string[] {
  const plain = text.replace(DOTS, ".");
  const found = [SCHEME, OPAQUE, SLOPPY, BARE, NAMELESS].flatMap((form) => [...plain.matchAll(form)].map(([link]) => trimmed(link)));
  return [...new Set(found.filter((link) => /[:/\\?#]/.test(link) || !FILES.test(link)))].sort();
}
export const findAddresses = (text: string): readonly string[] =>
  [...new Set([...text.replace(DOTS, ".").matchAll(ADDRESS)].map(([a]) => trimmed(a)))].sort();
/** Full stops of other scripts, which part the labels of a host as well. */
const DOTS = /[\u3002\uff0e\uff61]/g;

/** Of a link, with or without its scheme; null where it leads to no host. What stands before an `@` is nobody's host. */
export function toHostName(link: string): string | null {
  const rest =
    /^(?:(?:[a-z][a-z0-9+.-]*:)?[\\/]{2,}|(?:https?|wss?|ftps?):[\\/]*)(.*)$/s.exec(link)?.[1] ??
    (/^(?:mailto|tel|sms|data|javascript|file):|^[a-z]+:(?!\d|[^/@]*@)/.test(link) ? null : link);
  const authority = rest?.split(/[/?#\\]/)[0] ?? "";
  const host = authority
    .slice(authority.lastIndexOf("@") + 1)
    .replace(/(?<=\]|^[^[]*):\d*$/, "")
    .replace(/\.$/, "");
  return host === "" ? null : host;
}
