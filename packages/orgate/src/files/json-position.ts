/** Where things stand in a text that is known to be JSON: a parser tells no places, and people need them. */

const SPACE = /\s*/y;
const PLAIN = /[^,\]}\s]*/y;
const STRING = /"(?:[^"\\]|\\.)*"/y;

/** Where the value at `path` begins, in a text that is known to be JSON; as deep as the path leads. */
export function findJsonPosition(text: string, path: readonly PropertyKey[]): number {
  let at = skip(SPACE, text, 0);
  for (const step of path) {
    const inner = member(text, at, step);
    if (inner === null) return at;
    at = inner;
  }
  return at;
}

function member(text: string, start: number, step: PropertyKey): number | null {
  const isList = text[start] === "[";
  if (!isList && text[start] !== "{") return null;
  let at = skip(SPACE, text, start + 1);
  for (let i = 0; text[at] !== "]" && text[at] !== "}"; i += 1) {
    let name: PropertyKey = i;
    if (!isList) {
      const end = skip(STRING, text, at);
      name = String(JSON.parse(text.slice(at, end)));
      at = skip(SPACE, text, skip(SPACE, text, end) + 1);
    }
    if (name === step) return at;
    at = skip(SPACE, text, valueEnd(text, at));
    if (text[at] === ",") at = skip(SPACE, text, at + 1);
  }
  return null;
}

function valueEnd(text: string, start: number): number {
  let depth = 0;
  let at = start;
  do {
    const c = text[at];
    if (c === '"') at = skip(STRING, text, at);
    else if (c === "{" || c === "[") [depth, at] = [depth + 1, at + 1];
    else if (c === "}" || c === "]") [depth, at] = [depth - 1, at + 1];
    else if (c === "," || c === ":") at += 1;
    else at = skip(PLAIN, text, at);
    if (depth > 0) at = skip(SPACE, text, at);
  } while (depth > 0);
  return at;
}

function skip(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : at;
}
