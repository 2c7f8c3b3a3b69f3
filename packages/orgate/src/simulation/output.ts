/** Outputs of simulated tools: data of the world, chosen by the arguments. */
import type { Json, JsonObject } from "@orgate/core/vocab";
import type { Domain, SimulatedOutput } from "./domain.ts";

export function cannedOutput(output: SimulatedOutput, args: JsonObject, world: Domain["world"]): Json {
  if ("value" in output) return filled(output.value, args);
  const found = (world[output.select] ?? []).filter((thing) => fits(thing, output, args)).map((thing) => partOf(thing, output.fields));
  if (output.one === true) return found[0] ?? { error: "not found" };
  return output.as === undefined ? found : { [output.as]: found };
}

type Select = Extract<SimulatedOutput, { select: string }>;

function fits(thing: JsonObject, { where = {}, search }: Select, args: JsonObject): boolean {
  const isEqual = Object.entries(where).every(([field, arg]) => args[arg] === undefined || plain(thing[field]) === plain(args[arg]));
  const word = search === undefined ? undefined : args[search.arg];
  return (
    isEqual && (search === undefined || word === undefined || search.fields.some((field) => plain(thing[field]).includes(plain(word))))
  );
}
const plain = (value: Json | undefined): string => (value === undefined ? "" : String(value).toLowerCase());

const partOf = (thing: JsonObject, fields: readonly string[] | undefined): JsonObject =>
  fields === undefined ? thing : Object.fromEntries(Object.entries(thing).filter(([field]) => fields.includes(field)));

/** A text that is one placeholder becomes the argument itself; others get its text. */
function filled(value: Json, args: JsonObject): Json {
  if (typeof value === "string") {
    const whole = /^\{(\w+)\}$/.exec(value)?.[1];
    return whole === undefined ? fillText(value, args) : (args[whole] ?? null);
  }
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((one: Json) => filled(one, args));
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, filled(inner, args)]));
}

export const fillText = (text: string, args: JsonObject): string => text.replace(/\{(\w+)\}/g, (_, arg: string) => String(args[arg] ?? ""));

/** The output with a text of somebody else added at a place (`mails[0].snippet`), or null where the output has no such place. */
export function withTextAt(output: Json, path: string, text: string): Json | null {
  const steps = path.split(/[.[\]]+/).filter((step) => step !== "");
  return steps.length === 0 ? null : added(output, steps, text);
}

function added(value: Json | undefined, [step, ...rest]: readonly string[], text: string): Json | null {
  if (step === undefined) return typeof value === "string" ? `${value}\n\n${text}` : null;
  if (typeof value !== "object" || value === null) return null;
  if (Array.isArray(value)) {
    const inner = added(value[Number(step)], rest, text);
    return inner === null ? null : value.map((one: Json, i) => (i === Number(step) ? inner : one));
  }
  const inner = added((value as JsonObject)[step], rest, text);
  return inner === null ? null : { ...(value as JsonObject), [step]: inner };
}
