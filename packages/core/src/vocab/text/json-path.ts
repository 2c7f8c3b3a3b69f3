/** Paths into JSON, as tools declare them: `id`, `customer.name`, `orders[].id`; a leading `$.` and `[*]` for `[]` are taken too. */
import type { Json, JsonObject } from "./canonical.ts";

/** One step: into a field, or to every item of a list. */
export type PathStep = Readonly<{ kind: "field"; name: string } | { kind: "each" }>;

const STEP = /^([^.[\]$*\s]+)?((?:\[\*?\])*)$/;
const MAX_STEPS = 12;

/** Null when it is no path. `$`, or nothing at all, is the value itself. */
export function parseJsonPath(text: string): readonly PathStep[] | null {
  const bare = text.replace(/^\$\.?/, "");
  if (bare === "") return [];
  const steps: PathStep[] = [];
  for (const [i, part] of bare.split(".").entries()) {
    const [, name, lists = ""] = STEP.exec(part) ?? [];
    if (name === undefined && (i > 0 || lists === "")) return null; // only a list as a whole begins without a name
    if (name !== undefined) steps.push({ kind: "field", name });
    for (const _ of lists.matchAll(/\[/g)) steps.push({ kind: "each" });
  }
  return steps.length > MAX_STEPS ? null : steps;
}

/** Everything that the path leads to, in order; undefined stands for a place where it breaks off. */
export function followJsonPath(value: Json, steps: readonly PathStep[]): readonly (Json | undefined)[] {
  return steps.reduce<readonly (Json | undefined)[]>(
    (at, step) =>
      step.kind === "each"
        ? at.flatMap((one) => (Array.isArray(one) ? (one as Json[]) : [undefined]))
        : at.map((one) => fieldOf(one, step.name)),
    [value],
  );
}

const fieldOf = (value: Json | undefined, name: string): Json | undefined =>
  typeof value === "object" && value !== null && !Array.isArray(value) && Object.hasOwn(value, name)
    ? (value as JsonObject)[name]
    : undefined;
