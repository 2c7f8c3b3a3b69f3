/** The reply of the offline model where no rule fits: calls the tool that the request names, reports results, or introduces itself. */
import type { Json, JsonObject, ModelRequest, ToolSpec } from "@orgate/core";
import { answerFromSources } from "./answer.ts";
import { isList } from "./template.ts";
import { type OfflineResult, type OfflineTurn, parseResult } from "./turn-so-far.ts";

/** A reply before it is sent. */
export type OfflineDraft = Readonly<{ think: string | null; say: string | null; calls: readonly Readonly<{ tool: string; args: Json }>[] }>;

const SHOWN = 600;

export function draftDefaultReply(id: string, turn: OfflineTurn, { tools, answer }: ModelRequest): OfflineDraft {
  const schema = answer?.kind === "text" ? answer.schema : null;
  if (turn.latest.length > 0) return sayOnly(schema === null ? turn.latest.map(resultText).join("\n") : structured(schema, turn));
  const best = bestTool(turn.input, tools);
  if (schema !== null && (best === null || argumentsFrom(turn.input, best).missing.length > 0)) return sayOnly(structured(schema, turn));
  if (best === null) return sayOnly(introduction(id, turn, tools));
  const { args, missing } = argumentsFrom(turn.input, best);
  if (missing.length === 0) return { think: null, say: `I will call ${best.name}.`, calls: [{ tool: best.name, args }] };
  return sayOnly(
    `I would call ${best.name}, but your request does not say ${missing.join(", ")}. Put each text in quotes, in that order, and ask again.`,
  );
}

const structured = (schema: JsonObject, { input, results }: OfflineTurn): string =>
  JSON.stringify(
    answerFromSources(schema, {
      ...saidIn(input),
      results: results.filter(({ isError }) => !isError).map(({ text }) => parseResult(text)),
    }),
  );

const sayOnly = (say: string): OfflineDraft => ({ think: null, say, calls: [] });
const resultText = ({ tool, text, isError }: OfflineResult): string =>
  `${tool} ${isError ? "did not work" : "answered"}: ${truncated(text)}`;
const truncated = (text: string): string =>
  text.length <= SHOWN ? text : `${text.slice(0, SHOWN).toWellFormed()} … (${text.length} characters)`;

function introduction(id: string, { input, files }: OfflineTurn, tools: readonly ToolSpec[]): string {
  const able =
    tools.length === 0
      ? "I have no tools here."
      : `I can call ${tools.map(({ name }) => name).join(", ")}: name one, with its texts in quotes.`;
  const echo = input.trim() === "" ? "" : ` You said: ${truncated(input.trim())}`;
  const shown = files === "" ? "" : ` You showed me: ${files}`;
  return `I am ${id}, a model of fixed rules that runs offline and understands no language. ${able}${echo}${shown}`;
}

/** A word of its name scores three, a word of its description one; below three no tool is meant. The first of equals wins. */
function bestTool(input: string, tools: readonly ToolSpec[]): ToolSpec | null {
  const said = new Set(words(withoutQuotes(input)));
  const score = ({ name, description }: ToolSpec): number =>
    3 * words(name).filter((word) => said.has(word)).length + new Set(words(description).filter((word) => said.has(word))).size;
  let best: ToolSpec | null = null;
  let most = 2;
  for (const tool of tools) {
    const scored = score(tool);
    if (scored > most) [best, most] = [tool, scored];
  }
  return best;
}

const STOP = new Set(
  "a an and are as at be by can do for from has have i in is it me my of on one or please that the this to up was what with you your".split(
    " ",
  ),
);

const words = (text: string): readonly string[] =>
  text
    .replace(/(\p{Ll})(\p{Lu})/gu, "$1 $2")
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== "" && !STOP.has(word));

const QUOTED = /"([^"]*)"|`([^`]*)`|“([^”]*)”|(?<![\p{L}\p{N}])'([^']*)'(?![\p{L}\p{N}])/gu;
const withoutQuotes = (text: string): string => text.replace(QUOTED, " ");

/** Required arguments only, each from the request: texts from quotes, numbers from numbers, fixed values where they are named. */
function argumentsFrom(input: string, tool: ToolSpec): { readonly args: JsonObject; readonly missing: readonly string[] } {
  const { texts, numbers, said } = saidIn(input);
  const properties = fieldOf(tool.inputSchema, "properties");
  const args: Record<string, Json> = {};
  const missing: string[] = [];
  for (const name of namesIn(tool.inputSchema.required)) {
    const schema = fieldOf(properties, name);
    const values = schema.enum;
    const value =
      values !== undefined && isList(values)
        ? values.find((one) => said.has(String(one)))
        : schema.type === "string"
          ? texts.shift()
          : schema.type === "number"
            ? numbers.shift()
            : schema.type === "integer"
              ? take(numbers, Number.isSafeInteger)
              : undefined;
    if (value === undefined) missing.push(name);
    else args[name] = value;
  }
  return { args, missing };
}

function saidIn(input: string): Readonly<{ texts: string[]; numbers: number[]; said: ReadonlySet<string> }> {
  const texts = [...input.matchAll(QUOTED)].map((found) => found[1] ?? found[2] ?? found[3] ?? found[4] ?? "");
  const numbers = (withoutQuotes(input).match(/(?<![\p{L}\p{N}.])-?\d+(\.\d+)?(?![\p{L}\p{N}])/gu) ?? []).map(Number);
  return { texts, numbers, said: new Set([...words(withoutQuotes(input)), ...texts]) };
}

function take(numbers: number[], fits: (n: number) => boolean): number | undefined {
  const found = numbers.findIndex(fits);
  return found < 0 ? undefined : numbers.splice(found, 1)[0];
}

function fieldOf(object: JsonObject, name: string): JsonObject {
  const value: Json | undefined = Object.hasOwn(object, name) ? object[name] : undefined;
  return typeof value === "object" && value !== null && !isList(value) ? value : {};
}

const namesIn = (value: Json | undefined): readonly string[] =>
  value !== undefined && isList(value) ? value.filter((one): one is string => typeof one === "string") : [];
