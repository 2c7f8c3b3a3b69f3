/**
 * Templates of offline rules, with placeholders that are filled from the turn. `{{#each PATH}}…{{else}}…{{/each}}` repeats its text for each
 * item of a list, which is `{{item}}` there; for an empty list it prints the text after `else`.
 *
 * M-2 a placeholder is filled from the user's text and from the results of this turn, and from nothing else: a missing value is empty.
 */
import type { Json } from "@orgate/core";

export type TemplateLookup = (key: string) => Json;

const PLACE = /\{\{\s*([^{}]+?)\s*\}\}/g;
const WHOLE = /^\{\{\s*([^{}]+?)\s*\}\}$/;
const EACH = /^#each\s+(\S+)$/;

/** A text that is one place and nothing else becomes the value itself, a number for one; within other words it becomes text. */
export function fillJson(template: Json, look: TemplateLookup): Json {
  if (typeof template === "string") {
    const whole = WHOLE.exec(template)?.[1];
    return whole === undefined ? rendered(partsIn(template), look) : look(whole);
  }
  if (typeof template !== "object" || template === null) return template;
  if (isList(template)) return template.map((one) => fillJson(one, look));
  return Object.fromEntries(Object.entries(template).map(([key, value]) => [key, fillJson(value, look)]));
}

/** The first flaw in a template's placeholders; null if there is none. */
export function findTemplateFlaw(template: string): string | null {
  let depth = 0;
  for (const [, key = ""] of template.matchAll(PLACE)) {
    if (EACH.test(key)) depth += 1;
    else if (key === "/each" || key === "else") {
      if (depth === 0) return `\`{{${key}}}\` stands behind no \`{{#each PATH}}\``;
      if (key === "/each") depth -= 1;
    } else if (/^[#/]/.test(key)) return `\`{{${key}}}\` is no place`;
  }
  return depth === 0 ? null : "a `{{#each PATH}}` has no `{{/each}}`";
}

type Part = Readonly<
  { kind: "text"; text: string } | { kind: "place"; key: string } | { kind: "each"; path: string; each: Part[]; none: Part[] }
>;

function partsIn(template: string): readonly Part[] {
  const top: Part[] = [];
  const open: Readonly<{ into: Part[]; each: Extract<Part, { kind: "each" }> }>[] = [];
  let into = top;
  let from = 0;
  for (const found of template.matchAll(PLACE)) {
    const [all, key = ""] = found;
    if (found.index > from) into.push({ kind: "text", text: template.slice(from, found.index) });
    from = found.index + all.length;
    const path = EACH.exec(key)?.[1];
    if (path !== undefined) {
      const each = { kind: "each", path, each: [], none: [] } as const satisfies Part;
      into.push(each);
      open.push({ into, each });
      into = each.each;
    } else if (key === "else") into = open.at(-1)?.each.none ?? into;
    else if (key === "/each") into = open.pop()?.into ?? into;
    else into.push({ kind: "place", key });
  }
  if (from < template.length) into.push({ kind: "text", text: template.slice(from) });
  return top;
}

const rendered = (parts: readonly Part[], look: TemplateLookup): string => parts.map((part) => textOf(part, look)).join("");

function textOf(part: Part, look: TemplateLookup): string {
  switch (part.kind) {
    case "text":
      return part.text;
    case "place":
      return asText(look(part.key));
    case "each": {
      const list = look(part.path);
      const items = isList(list) ? list : [];
      if (items.length === 0) return rendered(part.none, look);
      return items
        .map((item) => rendered(part.each, (key) => (isOfItem(key) ? valueAtPath(item, key.split(".").slice(1)) : look(key))))
        .join("");
    }
  }
}

const isOfItem = (key: string): boolean => key === "item" || key.startsWith("item.");

/** The value at a path; empty if there is none. */
export function valueAtPath(value: Json, path: readonly string[]): Json {
  let at: Json | undefined = value;
  for (const step of path) {
    if (typeof at !== "object" || at === null) return "";
    at = isList(at) ? at[Number(step)] : Object.hasOwn(at, step) ? at[step] : undefined;
  }
  return at ?? "";
}

export const isList = (value: Json): value is readonly Json[] => Array.isArray(value);
export const asText = (value: Json): string => (typeof value === "string" ? value : JSON.stringify(value));
