/**
 * The argument types of manifests: what each takes, as JSON, and the one text that goes into a template. A value is trimmed, brought into one
 * form, and refused when it is anything else; what was decided on is what runs.
 *
 * T-18 every type refuses what is not of it; shell characters and control characters are refused in texts; what is not given is not checked
 *     because it is not there.
 * T-20 an address (`url`) is parsed once: its host is compared, its scheme is one of those allowed, and it holds no name or password.
 */

import { readPattern } from "@orgate/core/pattern";
import type { Json } from "@orgate/core/vocab";
import { type Host, isInternal, readHost, readRange, readTarget } from "./hosts.ts";
import type { ArgDef } from "./manifest-schema.ts";
import { readSummary } from "./summary.ts";

export const ARG_TYPES = [
  "string",
  "integer",
  "number",
  "port",
  "boolean",
  "enum",
  "scope_target",
  "url",
  "path",
  "ip_address",
  "cidr",
  "msf_options",
  "credential_file",
  "duration",
  "regex_match",
  "agent_summary",
] as const;
export type ArgType = (typeof ARG_TYPES)[number];

/** Texts that say anything at all: no decision may hang on them. */
export const FREE_TEXT: readonly string[] = ["string", "regex_match", "msf_options", "agent_summary"];

/** The project's files, as the host sees them. `real` is below the project's folder, relative to it, with `/` between its steps. */
export type ProjectPaths = Readonly<{
  resolve(
    path: string,
    must: "exist" | "be-a-file" | "lead-somewhere",
  ): Readonly<{ kind: "place"; real: string; absolute: string }> | Readonly<{ kind: "refused"; why: string }>;
}>;

/** `value` is what the gate sees and the journal keeps, `text` what a template gets; `host` is whom it points at. */
export type ArgValue =
  | Readonly<{ kind: "value"; value: Json; text: string; host: Host | null; path: string | null }>
  | Readonly<{ kind: "bad"; why: string }>;

export type ReadArg = (given: Json, places: ProjectPaths) => ArgValue;

export const MAX_TEXT = 32_768;
const CONTROL = /[\u0000-\u001f\u007f]/;
const SHELL = /[;|&$`(){}[\]<>!]/;
const UNPRINTABLE = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/;

const bad = (why: string): ArgValue => ({ kind: "bad", why });
const taken = (value: Json, text: string, more: Partial<Pick<Extract<ArgValue, { kind: "value" }>, "host" | "path">> = {}): ArgValue => ({
  kind: "value",
  value,
  text,
  host: more.host ?? null,
  path: more.path ?? null,
});

/** A text that is no text, too long, or holds what no type takes. */
function textOf(given: Json, plain: "shell-safe" | "any"): { readonly text: string } | { readonly why: string } {
  if (typeof given !== "string") return { why: "must be a text" };
  const text = given.trim();
  if (text === "") return { why: "is empty" };
  if (text.length > MAX_TEXT) return { why: `is longer than ${MAX_TEXT} characters` };
  if (!text.isWellFormed()) return { why: "is ill-formed" };
  if (plain === "shell-safe" && CONTROL.test(text)) return { why: "holds a control character" };
  const shell = plain === "shell-safe" ? SHELL.exec(text) : null;
  return shell === null ? { text } : { why: `holds \`${shell[0]}\`` };
}

const ofText =
  (plain: "shell-safe" | "any", read: (text: string, places: ProjectPaths) => ArgValue): ReadArg =>
  (given, places) => {
    const found = textOf(given, plain);
    return "why" in found ? bad(found.why) : read(found.text, places);
  };

/** Makes a check of a definition; everything that can be worked out once is worked out here. */
export function createArgReader(type: ArgType, def: ArgDef): ReadArg {
  switch (type) {
    case "string":
    case "regex_match":
      return matching(def);
    case "integer":
      return integer(def.min ?? Number.MIN_SAFE_INTEGER, def.max ?? Number.MAX_SAFE_INTEGER, def.clamp);
    case "number":
      return decimal(lowerBound(def), upperBound(def), def.clamp);
    case "port":
      return integer(Math.max(1, def.min ?? 1), Math.min(65_535, def.max ?? 65_535), false);
    case "boolean":
      return (given) => (typeof given === "boolean" ? taken(given, String(given)) : bad("must be true or false"));
    case "enum": {
      const allowed = new Set(def.allowed ?? []);
      const list = [...allowed].join(", ");
      return (given) => (typeof given === "string" && allowed.has(given) ? taken(given, given) : bad(`must be one of ${list}`));
    }
    case "scope_target":
      return ofHost(readTarget, def);
    case "ip_address":
      return ofHost((text) => onlyAddress(readHost(text)), def);
    case "cidr":
      return ofHost(readRange, def);
    case "url":
      return address(def);
    case "path":
      return ofPath("lead-somewhere");
    case "credential_file":
      return ofPath("be-a-file");
    case "duration":
      return duration(def);
    case "msf_options":
      return ofText("any", options);
    case "agent_summary":
      return ofText("any", (text) => {
        const read = readSummary(text);
        return read.kind === "text" ? taken(read.text, read.text) : bad(read.why);
      });
  }
}

function matching(def: ArgDef): ReadArg {
  const read = def.pattern === undefined ? null : readPattern(def.pattern);
  const isFree = def.sanitize?.includes("text") === true;
  return ofText(isFree ? "any" : "shell-safe", (text) => {
    if (isFree && UNPRINTABLE.test(text)) return bad("holds a control character");
    const look = read === null ? "fits" : read.kind === "pattern" ? read.pattern.look(text) : "does-not";
    if (look === "too-long") return bad("is too long to be compared with its pattern");
    return look === "fits" ? taken(text, text) : bad(`does not match ${def.pattern ?? ""}`);
  });
}

function integer(min: number, max: number, clamp: boolean): ReadArg {
  return (given) => {
    if (typeof given !== "number" || !Number.isSafeInteger(given)) return bad("must be a whole number");
    if (!clamp && (given < min || given > max)) return bad(given < min ? `must be at least ${min}` : `must be at most ${max}`);
    const value = Math.min(max, Math.max(min, given)) + 0; // no -0
    return taken(value, String(value));
  };
}

/** Bounds of a `number`: null where there is none. */
export const lowerBound = ({ min, min_float }: Pick<ArgDef, "min" | "min_float">): number | null => min_float ?? min ?? null;
export const upperBound = ({ max, max_float }: Pick<ArgDef, "max" | "max_float">): number | null => max_float ?? max ?? null;

/** In digits alone: not every program reads `1e-7`, and some read it as something else. */
function decimal(min: number | null, max: number | null, clamp: boolean): ReadArg {
  const [least, most] = [min ?? Number.NEGATIVE_INFINITY, max ?? Number.POSITIVE_INFINITY];
  return (given) => {
    if (typeof given !== "number" || !Number.isFinite(given)) return bad("must be a number");
    if (!clamp && (given < least || given > most)) return bad(given < least ? `must be at least ${least}` : `must be at most ${most}`);
    const value = Math.min(most, Math.max(least, given)) + 0; // no -0
    const text = String(value);
    return text.includes("e") ? bad("is too large or too small to be written in digits") : taken(value, text);
  };
}

const onlyAddress = (read: ReturnType<typeof readHost>): ReturnType<typeof readHost> =>
  read.kind === "host" && read.host.kind !== "address" ? { kind: "bad", why: "is no address" } : read;

const ofHost = (read: typeof readHost, def: ArgDef): ReadArg =>
  ofText("any", (text) => {
    const found = read(text);
    if (found.kind === "bad") return bad(found.why);
    if (def.block_internal && isInternal(found.host)) return bad("is an address inside this network");
    return taken(found.host.text, found.host.text, { host: found.host });
  });

/** Refuses characters that programs may read otherwise than the parser did: blanks, backslashes, control characters. */
function address(def: ArgDef): ReadArg {
  const schemes = new Set((def.schemes ?? ["http", "https"]).map((scheme) => `${scheme.toLowerCase()}:`));
  const list = [...schemes].map((scheme) => scheme.slice(0, -1)).join(", ");
  return ofText("any", (text) => {
    if (/[\s\\]/.test(text) || CONTROL.test(text)) return bad("holds a blank, a backslash or a control character");
    const url = URL.parse(text);
    if (url === null || !/^[a-z][a-z0-9+.-]*:\/\//i.test(text)) return bad("is no address: write scheme://host/path");
    if (!schemes.has(url.protocol)) return bad(`must begin with one of ${list}`);
    if (url.username !== "" || url.password !== "") return bad("holds a name or a password");
    const read = readHost(url.hostname.startsWith("[") ? url.hostname.slice(1, -1) : url.hostname);
    if (read.kind === "bad") return bad(`has a host that ${read.why}`);
    // as it was written: the parser takes 0x7f.1 for 127.0.0.1, and not everybody does
    const written = /^[a-z][a-z0-9+.-]*:\/\/([^/?#]*)/i.exec(text)?.[1]?.replace(/:\d*$/, "") ?? "";
    const plain = readHost(written.startsWith("[") ? written.slice(1, -1) : written);
    if (plain.kind === "bad" || plain.host.text !== read.host.text)
      return bad(`has a host that ${plain.kind === "bad" ? plain.why : "is written in an unusual way"}`);
    if (def.block_internal && isInternal(read.host)) return bad("is an address inside this network");
    return taken(url.href, url.href, { host: read.host });
  });
}

const ofPath = (must: "be-a-file" | "lead-somewhere"): ReadArg =>
  ofText("shell-safe", (text, places) => {
    const found = places.resolve(text, must);
    return found.kind === "place" ? taken(found.real, found.absolute, { path: found.absolute }) : bad(found.why);
  });

const SECONDS: Readonly<Record<string, number>> = { "": 1, s: 1, m: 60, h: 3600 };

function duration(def: ArgDef): ReadArg {
  return ofText("shell-safe", (text) => {
    const [, digits = "", unit = ""] = /^(\d{1,15})([smh]?)$/.exec(text) ?? [];
    const seconds = digits === "" ? 0 : Number(digits) * (SECONDS[unit] ?? 0);
    if (seconds < 1 || !Number.isSafeInteger(seconds)) return bad("is no duration: write 30s, 5m or 2h");
    if (seconds < (def.min ?? 1) || seconds > (def.max ?? Number.MAX_SAFE_INTEGER))
      return bad(`must be ${def.min ?? 1} to ${def.max ?? "any number of"} seconds`);
    return taken(text, String(seconds));
  });
}

/** `set NAME VALUE`, several parted by semicolons. */
function options(text: string): ArgValue {
  const parts = text.split(";").map((part) => part.trim());
  if (parts.at(-1) === "") parts.pop();
  const wrong = parts.find((part) => !/^set [A-Za-z][A-Za-z0-9_:]{0,63} \S.*$/.test(part) || CONTROL.test(part) || SHELL.test(part));
  if (wrong !== undefined || parts.length === 0) return bad("must be `set NAME VALUE`, several parted by semicolons");
  const joined = parts.join("; ");
  return taken(joined, joined);
}
