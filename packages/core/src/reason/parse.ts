/** From a model's reply to proposals. Never guesses: what is not JSON is journalled as not JSON, and refused by its contract later. */
import { type CallId, callId, copyFrozen, type Finish, type Part, type ReplyPart, type Usage } from "../vocab/index.ts";
import type { Counted, ModelReply } from "./port.ts";

/** `iteration` counts model replies over the whole session, so an id is never used twice in it. `used` are the wire ids seen before. */
export function parseReply(parts: readonly ReplyPart[], iteration: number, used: ReadonlySet<string>): readonly Part[] {
  let position = 0;
  const taken = new Set<string>();
  return parts.map((part) => {
    if (part.kind !== "call") return part;
    const id: CallId = callId(`${iteration}.${position}`);
    position += 1;
    const isUsed = (one: string): boolean => one === "" || used.has(one) || taken.has(one);
    const own = `orgate_${id.replace(".", "_")}`;
    let wireId = isUsed(part.id) ? own : part.id;
    for (let again = 2; isUsed(wireId); again += 1) wireId = `${own}_${again}`; // of a history that has such ids of its own
    taken.add(wireId);
    const { meta, text, tool } = part;
    return { id, kind: "call", meta, text, tool, wireId }; // in canonical order: it is hashed and written as it stands
  });
}

export const joinTextParts = (parts: readonly Part[]): string => parts.flatMap((p) => (p.kind === "text" ? [p.text] : [])).join("");

/** Untrusted: an adapter's reply becomes a `Reply` here or nowhere; a copy, well-formed, that nobody else holds. Otherwise the reason for the refusal. */
export function checkReply(
  given: unknown,
): { readonly kind: "reply"; readonly reply: ModelReply } | { readonly kind: "no-reply"; readonly detail: string } {
  const no = (detail: string) => ({ kind: "no-reply", detail }) as const;
  if (typeof given !== "object" || given === null) return no("it is no object");
  const { parts, finish, usage, model, meta, misread = null } = given as Partial<ModelReply>;
  if (!Array.isArray(parts) || !parts.every(isPart)) return no("its parts are not text, thinking or calls");
  if (!FINISHES.includes(finish as Finish)) return no(`it finished \`${String(finish)}\``);
  if (typeof usage !== "object" || usage === null || !Object.values({ ...wholeUsage(usage), write: usage.cacheWrite ?? 0 }).every(isCount))
    return no("its usage is no number of tokens");
  if (typeof model !== "string") return no("it does not name its model");
  if (misread !== null && typeof misread !== "string") return no("what it misread is no text");
  try {
    return {
      kind: "reply",
      reply: {
        parts: copyFrozen(parts),
        finish: finish as Finish,
        usage: { ...wholeUsage(usage), ...(usage.cacheWrite === undefined ? {} : { cacheWrite: usage.cacheWrite }) },
        model,
        meta: copyFrozen(meta ?? null),
        ...(misread === null ? {} : { misread: misread.toWellFormed() }),
      },
    };
  } catch (error) {
    return no(error instanceof Error ? error.message : "it is not JSON");
  }
}

/** A part is no more than the whole, whatever was said of it. */
export const wholeUsage = ({ input, output, cached = 0, reasoning = 0 }: Counted): Usage => ({
  input,
  output,
  cached: Math.min(cached, input),
  reasoning: Math.min(reasoning, output),
});

const FINISHES: readonly Finish[] = ["stop", "calls", "length", "refused", "filtered", "other"];
const isCount = (n: unknown): n is number => Number.isSafeInteger(n) && (n as number) >= 0;
function isPart(given: unknown): boolean {
  const part = given as Partial<Record<string, unknown>> | null;
  if (typeof part !== "object" || part === null || typeof part["text"] !== "string") return false;
  if (part["kind"] === "text" || part["kind"] === "thinking") return true;
  return part["kind"] === "call" && typeof part["id"] === "string" && typeof part["tool"] === "string";
}
