/** Facts as a decision has journalled them: what others had counted by then, and what was said of arguments. To explain a decision, and to make it again. */
import { type Aims, type Facts, type Json, type JsonObject, type Lately, MICROS_PER_CENT } from "../vocab/index.ts";

export function factsRead(read: JsonObject): Pick<Facts, "lately" | "aims"> {
  return { lately: ({ name, value }) => latelyIn(read, name, value), aims: () => aimsIn(read) };
}

const at = (from: Json | undefined, ...path: readonly string[]): Json | undefined =>
  path.reduce<Json | undefined>(
    (o, name) => (typeof o === "object" && o !== null && !Array.isArray(o) && Object.hasOwn(o, name) ? (o as JsonObject)[name] : undefined),
    from,
  );
const number = (value: Json | undefined): number => (typeof value === "number" ? value : 0);

function latelyIn(read: JsonObject, name: string, value: string): Lately {
  if (value !== "") return { hour: 0, day: 0 }; // per value it stands with the argument
  const [counts, unit] =
    name === "tokens"
      ? [at(read, "spent", "tokens"), 1]
      : name === "micros"
        ? [at(read, "spent", "cents"), MICROS_PER_CENT]
        : [at(read, "calls", name.replace(/^calls:/, "")), 1];
  return { hour: number(at(counts, "hour")) * unit, day: number(at(counts, "day")) * unit };
}

function aimsIn(read: JsonObject): Aims {
  void read;
  return { targets: {}, outgoing: {} };
}
