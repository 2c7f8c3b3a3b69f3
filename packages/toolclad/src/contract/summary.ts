/** Text that one agent writes for another to read: what cannot be seen is taken out, and what reads like an order to a model is refused. */

const HIDDEN = /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Default_Ignorable_Code_Point}]/gu;
const MARKUP = /<!--[\s\S]*?(?:-->|$)|<(?:script|style|template|iframe|object)\b[\s\S]*?(?:<\/\s*\w+\s*>|$)|```[\s\S]*?(?:```|$)/giu;

/** Our own list of what such orders look like, over text in its plainest form. A sieve, not a wall: a reader that decides by such text is lost anyway. */
const ORDERS: readonly RegExp[] = [
  /\b(?:ignore|disregard|forget|override|bypass|skip)\b.{0,40}\b(?:previous|prior|earlier|above|all|any|these|those|system|safety)\b.{0,40}\b(?:instructions?|prompts?|rules?|guidelines?|polic(?:y|ies)|directions?|constraints?)\b/,
  /\b(?:new|updated|real|actual|true) (?:instructions?|system prompt|directives?)\s*:/,
  /\b(?:reveal|print|repeat|show|output|leak)\b.{0,30}\b(?:system prompt|hidden prompt|initial instructions?|your instructions?)\b/,
  /\byou (?:are|must) now\b.{0,40}\b(?:act|assistant|dan|developer|jailbroken|unrestricted|admin|root)\b/,
  /\b(?:act|behave|respond|pretend) as (?:if|though) you (?:have|had|are|were)\b.{0,30}\b(?:no|without|free of)\b/,
  /\b(?:developer|debug|god|admin|sudo|jailbreak|dan) mode\b/,
  /<\|?\s*(?:im_start|im_end|system|assistant|user|endoftext|begin_of_text|start_header_id)\b/,
  /\[\/?\s*(?:inst|system|assistant)\s*\]|<<\/?sys>>/,
  /^\s*(?:system|assistant|developer)\s*:/m,
  /#{2,}\s*(?:system|instruction|new task)\b/,
  /\b(?:begin|end) (?:system|hidden|secret) (?:prompt|message|instructions?)\b/,
  /\bdo not (?:tell|inform|alert|notify|mention)\b.{0,30}\b(?:user|human|operator|anyone)\b/,
  /\bwithout (?:asking|telling|informing)\b.{0,20}\b(?:user|human|operator|approval|permission)\b/,
  /\b(?:call|invoke|run|execute|use) the\b.{0,30}\btool\b.{0,30}\b(?:now|immediately|instead|with)\b/,
  /\b(?:send|forward|post|upload|exfiltrate)\b.{0,40}\b(?:credentials?|passwords?|secrets?|api keys?|tokens?|private keys?)\b/,
];

export type ReadSummary = Readonly<{ kind: "text"; text: string }> | Readonly<{ kind: "bad"; why: string }>;

export function readSummary(given: string): ReadSummary {
  const text = given
    .replace(MARKUP, " ")
    .replace(/\r\n?/g, "\n")
    .replace(HIDDEN, (c) => (c === "\n" || c === "\t" ? c : ""))
    .trim();
  const plain = text
    .normalize("NFKC")
    .toLowerCase()
    .replace(/[ \t]+/g, " ");
  if (ORDERS.some((order) => order.test(plain) || order.test(plain.replace(/\n+/g, " "))))
    return { kind: "bad", why: "reads like an order to a model" };
  return text === "" ? { kind: "bad", why: "is empty once what is hidden is taken out" } : { kind: "text", text };
}
