/**
 * M-9 Keys are never in an error, a log or the journal: what a server or a library says is cleansed of every key that is known, in the forms
 *     it is likely to be echoed in, and of what looks like one.
 */
import type { Json } from "@orgate/core";

const SHORTEST = 6;
const GONE = "[key]";

/** Texts that look like a key: the providers' own prefixes, and the value of a header that carries one. */
const LIKELY: readonly RegExp[] = [
  /\b(?:sk|rk|pk|xai|gsk|hf|or)[-_][A-Za-z0-9_-]{12,}/g,
  /\bAIza[A-Za-z0-9_-]{16,}/g,
  /\bBearer\s+[A-Za-z0-9._~+/=-]{8,}/gi,
  /\b(?:x-api-key|x-goog-api-key|api[-_ ]?key|authorization)["']?\s*[:=]\s*["']?[A-Za-z0-9._~+/=-]{8,}/gi,
  /([?&](?:key|api_key|apikey|token|access_token)=)[^&\s"']+/gi,
  /(\/\/)[^/\s:@]+:[^/\s@]+@/g,
];

/** Placeholders that people write for servers which want some key: common words, and no secrets. */
const PLACEHOLDERS: ReadonlySet<string> = new Set(
  "ollama lm-studio lmstudio llama.cpp llamacpp vllm local none empty dummy fake token secret key api-key apikey placeholder not-needed no-key-required sk-no-key-required".split(
    " ",
  ),
);
const isSecret = (key: string): boolean => key.length >= SHORTEST && !PLACEHOLDERS.has(key.toLowerCase());

/** Of the keys themselves, and of nothing that only looks like one: for what has to stay as it came, such as signatures. */
export function exactRedactor(keys: readonly string[]): (text: string) => string {
  const forms = [...new Set(keys.filter(isSecret).flatMap(formsOf))].sort((a, b) => b.length - a.length);
  return (text) => forms.reduce((clean, form) => clean.replaceAll(form, GONE), text);
}

export function redactor(keys: readonly string[]): (text: string) => string {
  const exact = exactRedactor(keys);
  return (text) => {
    let clean = exact(text);
    for (const likely of LIKELY)
      clean = clean.replace(likely, (_, before: unknown) => (typeof before === "string" ? `${before}${GONE}` : GONE));
    return clean;
  };
}

/** The same for every text in a value. Looked through as one text first: there is hardly ever anything to find. */
export function redactSecrets(value: Json, redact: (text: string) => string): Json {
  if (value === null) return null;
  const text = JSON.stringify(value);
  return redact(text) === text ? value : everyText(value, redact);
}

function everyText(value: Json, redact: (text: string) => string): Json {
  if (typeof value === "string") return redact(value);
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((one: Json) => everyText(one, redact));
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [redact(key), everyText(one, redact)]));
}

/** As it stands, as it is in an address, in JSON, and in base64 (whichever byte it begins at). */
function formsOf(key: string): readonly string[] {
  const encoded = Buffer.from(key).toString("base64");
  const within = [1, 2].map((before) =>
    Buffer.from(`${" ".repeat(before)}${key}`)
      .toString("base64")
      .slice(4, -4),
  );
  return [key, encodeURIComponent(key), JSON.stringify(key).slice(1, -1), encoded.replace(/=+$/, ""), ...within].filter(
    (form) => form.length >= SHORTEST,
  );
}
