/** From a model's reply to proposals. Never guesses: what is not JSON is journalled as not JSON, and refused by its contract later. */
import { type CallId, callId, type ParsedArgs, type Part, type ReplyPart, readJson } from "../vocab/index.ts";

/** `iteration` counts model replies over the whole session, so an id is never used twice in it. `used` are the wire ids seen before. */
export function parseReply(parts: readonly ReplyPart[], iteration: number, used: ReadonlySet<string>): readonly Part[] {
  let position = 0;
  const taken = new Set<string>();
  return parts.map((part) => {
    if (part.kind !== "call") return part;
    const id: CallId = callId(`${iteration}.${position}`);
    position += 1;
    const wireId = part.id === "" || used.has(part.id) || taken.has(part.id) ? `orgate_${id.replace(".", "_")}` : part.id;
    taken.add(wireId);
    return { kind: "call", id, wireId, tool: part.tool, text: part.text, args: parseArgs(part.text), meta: part.meta };
  });
}

/** Some providers send nothing at all for a call without arguments. */
function parseArgs(text: string): ParsedArgs {
  const read = readJson(text.trim() === "" ? "{}" : text);
  return read.kind === "json" ? read : { kind: "not-json", detail: `${read.detail} (line ${read.line}, column ${read.column})` };
}

export const textOf = (parts: readonly Part[]): string => parts.flatMap((p) => (p.kind === "text" ? [p.text] : [])).join("");
