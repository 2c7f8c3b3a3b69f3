/** The JSON Schema of the arguments that the model is shown. */

import { readPattern } from "@orgate/core/pattern";
import type { Json, JsonObject } from "@orgate/core/vocab";
import { lowerBound, MAX_TEXT, upperBound } from "./arg-type.ts";
import type { Arg } from "./manifest.ts";

export function toInputSchema(args: ReadonlyMap<string, Arg>): JsonObject {
  const all = [...args.values()];
  const inOrder = all.toSorted((a, b) => (a.def.position ?? all.length) - (b.def.position ?? all.length));
  const required = inOrder.filter((arg) => arg.def.required && arg.fallback === null).map((arg) => arg.name);
  return {
    type: "object",
    properties: Object.fromEntries(inOrder.map((arg) => [arg.name, { ...typeOf(arg), ...said(arg) }])),
    required,
    additionalProperties: false,
  };
}

function said({ def, type, fallback }: Arg): JsonObject {
  const form = FORMS[type];
  const text = [def.description.trim(), form].filter((part) => part !== undefined && part !== "").join("; ");
  return { ...(text === "" ? {} : { description: text }), ...(fallback === null ? {} : { default: fallback }) };
}

const FORMS: Readonly<Partial<Record<Arg["type"], string>>> = {
  scope_target: "a host name, an address or a range such as 10.0.0.0/8, in scope",
  ip_address: "an IPv4 or IPv6 address, in scope",
  cidr: "a range such as 10.0.0.0/8, in scope",
  url: "a whole address: scheme://host/path",
  path: "a path below the project's folder",
  credential_file: "an existing file below the project's folder",
  duration: "such as 30s, 5m or 2h",
  msf_options: "set NAME VALUE; set NAME VALUE",
};

function typeOf({ type, def }: Arg): JsonObject {
  switch (type) {
    case "integer":
      return { type: "integer", ...bounds(def.clamp ? {} : def) };
    case "number": {
      const [minimum, maximum] = def.clamp ? [null, null] : [lowerBound(def), upperBound(def)];
      return { type: "number", ...(minimum === null ? {} : { minimum }), ...(maximum === null ? {} : { maximum }) };
    }
    case "port":
      return { type: "integer", minimum: Math.max(1, def.min ?? 1), maximum: Math.min(65_535, def.max ?? 65_535) };
    case "boolean":
      return { type: "boolean" };
    case "enum":
      return { type: "string", enum: [...(def.allowed ?? [])] };
    case "string":
    case "regex_match": {
      const read = def.pattern === undefined ? null : readPattern(def.pattern);
      const isCommon = read?.kind === "pattern" && read.pattern.isCommon;
      return { type: "string", maxLength: MAX_TEXT, ...(isCommon ? { pattern: def.pattern ?? "" } : {}) };
    }
    case "duration":
      return { type: "string", pattern: "^[0-9]+[smh]?$" };
    case "scope_target":
    case "url":
    case "path":
    case "ip_address":
    case "cidr":
    case "msf_options":
    case "credential_file":
    case "agent_summary":
      return { type: "string", maxLength: MAX_TEXT };
  }
}

const bounds = ({ min, max }: Readonly<{ min?: number | undefined; max?: number | undefined }>): Record<string, Json> => ({
  ...(min === undefined ? {} : { minimum: Math.ceil(min) }),
  ...(max === undefined ? {} : { maximum: Math.floor(max) }),
});
