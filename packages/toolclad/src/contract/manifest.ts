/**
 * A manifest, read: what is known of it before anybody calls it. All problems are reported at once, each with its place.
 *
 * T-15 a setting that the format does not know, or of the wrong kind, is refused with its place; nothing is ignored.
 * T-15 what parses and cannot be held to is refused with the reason: sessions, browsers, free text that decides.
 * T-18 an argument that feeds a decision is no free text.
 */

import { readPattern } from "@orgate/core/pattern";
import { copyFrozen, type JsonObject } from "@orgate/core/vocab";
import {
  ARG_TYPES,
  type ArgType,
  createArgReader,
  FREE_TEXT,
  lowerBound,
  type ProjectPaths,
  type ReadArg,
  upperBound,
} from "./arg-type.ts";
import { type Command, readCommand } from "./command.ts";
import { readTarget } from "./hosts.ts";
import { type Http, readHttp } from "./http.ts";
import { type ManifestIssue, toIssues } from "./issue.ts";
import { type ArgDef, argSchema, type CustomTypes, customTypesSchema, manifestSchema, type WrittenManifest } from "./manifest-schema.ts";
import { addImpliedTypes } from "./output.ts";
import { listPlaceholders, type TemplatePiece, templatePieces } from "./template.ts";

export type Arg = Readonly<{
  name: string;
  type: ArgType;
  def: ArgDef;
  take: ReadArg;
  /** It points at a host. */
  isHost: boolean;
  /** And that host must be in scope. */
  isScoped: boolean;
  /** As it is taken when it is not given; null: it is left out. */
  fallback: string | number | boolean | null;
}>;

export type Backend =
  | Readonly<{ kind: "command"; command: Command }>
  | Readonly<{ kind: "executor"; file: string }>
  | Readonly<{ kind: "http"; http: Http }>
  | Readonly<{ kind: "mcp"; server: string; tool: string; fields: Readonly<Record<string, string>> }>;

export type Manifest = Readonly<{
  tool: WrittenManifest["tool"];
  args: ReadonlyMap<string, Arg>;
  backend: Backend;
  env: readonly (readonly [string, readonly TemplatePiece[]])[];
  stdin: readonly TemplatePiece[] | null;
  output: Readonly<{ format: WrittenManifest["output"]["format"]; parser: string | null; schema: JsonObject | null; envelope: boolean }>;
  /** By name, in order: what it needs from the store. */
  secrets: readonly string[];
}>;

export type ReadManifest =
  | Readonly<{ kind: "manifest"; manifest: Manifest }>
  | Readonly<{ kind: "refused"; issues: readonly ManifestIssue[] }>;

const HINT = "see docs/guide/manifests.md for every setting";

export type ReadTypes = Readonly<{ kind: "types"; types: CustomTypes }> | Readonly<{ kind: "refused"; issues: readonly ManifestIssue[] }>;

/** `toolclad.toml`. */
export function decodeCustomTypes(value: unknown): ReadTypes {
  const read = customTypesSchema().safeParse(value);
  if (!read.success) return { kind: "refused", issues: toIssues(read.error, HINT) };
  const issues = Object.entries(read.data.types).flatMap(([name, { base, ...def }]): readonly ManifestIssue[] => {
    const path = ["types", name];
    if (isType(name)) return [{ path, detail: `\`${name}\` is a type of the format`, hint: "give it another name" }];
    if (!isType(base)) return [{ path: [...path, "base"], detail: `there is no type \`${base}\``, hint: TYPES }];
    const found: ManifestIssue[] = [];
    checkDef(name, argSchema().parse({ ...def, type: base }), path, found);
    return found;
  });
  return issues.length > 0 ? { kind: "refused", issues } : { kind: "types", types: read.data.types };
}

const isType = (name: string): name is ArgType => ARG_TYPES.some((type) => type === name);
const TYPES = `the types are ${ARG_TYPES.join(", ")}`;

/** `value` is the parsed file. */
export function decodeManifest(value: unknown, types: CustomTypes): ReadManifest {
  const read = manifestSchema().safeParse(withCustomTypes(value, types));
  if (!read.success) return { kind: "refused", issues: toIssues(read.error, HINT) };
  const written = read.data;
  const issues: ManifestIssue[] = [];
  refuseModes(written, issues);
  const args = argsOf(written, types, issues);
  const backend = issues.length > 0 ? null : backendOf(written, args, issues);
  const env = Object.entries(written.tool.orgate.env).map(([name, text]) => [name, templatePieces(text)] as const);
  const stdin = written.tool.orgate.stdin === undefined ? null : templatePieces(written.tool.orgate.stdin);
  checkTexts(env, stdin, args, issues);
  checkRest(written, issues);
  if (issues.length > 0 || backend === null) return { kind: "refused", issues };
  const pieces = [...env.flatMap(([, p]) => p), ...(stdin ?? []), ...(backend.kind === "http" ? httpPieces(backend.http) : [])];
  const secrets = [...new Set(pieces.flatMap((p) => (p.kind === "secret" ? [p.name] : [])))].sort();
  const { format, parser = null, envelope, schema } = written.output;
  const output = { format, parser, envelope, schema: schema === undefined ? null : (copyFrozen(addImpliedTypes(schema)) as JsonObject) };
  return { kind: "manifest", manifest: { tool: written.tool, args, backend, env, stdin, output, secrets } };
}

const httpPieces = (http: Http): readonly TemplatePiece[] => [
  ...http.headers.flatMap(([, pieces]) => pieces),
  ...(http.body?.pieces ?? []),
];

/** A custom type is its base with its own settings, over which the argument's own come. */
function withCustomTypes(value: unknown, types: CustomTypes): unknown {
  const args = isTable(value) ? value["args"] : undefined;
  if (!isTable(value) || !isTable(args)) return value;
  const merged = Object.entries(args).map(([name, arg]) => {
    const custom = isTable(arg) && typeof arg["type"] === "string" && Object.hasOwn(types, arg["type"]) ? types[arg["type"]] : undefined;
    if (custom === undefined || !isTable(arg)) return [name, arg];
    const { base, ...own } = custom;
    return [name, { ...own, ...arg, type: base }];
  });
  return { ...value, args: Object.fromEntries(merged) };
}
const isTable = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

function refuseModes({ tool: { mode, dispatch }, session, browser }: WrittenManifest, issues: ManifestIssue[]): void {
  const path = mode === "oneshot" ? [session === undefined ? "browser" : "session"] : ["tool", "mode"];
  if (mode === "session" || session !== undefined)
    issues.push({
      path,
      detail: "interactive sessions are not run: what is typed into one cannot be gated before it has an effect",
      hint: 'write one manifest for each command, with `mode = "oneshot"`',
    });
  else if (dispatch === "callback")
    issues.push({
      path: ["tool", "dispatch"],
      detail: "a manifest that only checks arguments runs nothing here",
      hint: "write the tool in code with `defineTool`, or give it [command], [http] or [mcp] and leave `dispatch` out",
    });
  else if (mode === "browser" || browser !== undefined)
    issues.push({
      path,
      detail: "browsers are not run: what a page does with a click cannot be gated before it has an effect",
      hint: "use an [http] manifest, or a browser behind an MCP server ([mcp])",
    });
}

function argsOf({ args }: WrittenManifest, types: CustomTypes, issues: ManifestIssue[]): ReadonlyMap<string, Arg> {
  const found = new Map<string, Arg>();
  for (const [name, def] of Object.entries(args)) {
    const path = ["args", name];
    if (!isType(def.type)) {
      const custom = Object.keys(types);
      const hint = custom.length === 0 ? TYPES : `${TYPES}; toolclad.toml has ${custom.join(", ")}`;
      issues.push({ path: [...path, "type"], detail: `there is no type \`${def.type}\``, hint });
      continue;
    }
    const before = issues.length;
    checkDef(name, def, path, issues);
    if (issues.length > before) continue;
    const take = createArgReader(def.type, def);
    const fallback = fallbackOf(def);
    const isPath = def.type === "path" || def.type === "credential_file";
    const wrong = fallback === null || isPath ? null : take(fallback, NOWHERE);
    if (wrong?.kind === "bad")
      issues.push({
        path: [...path, "default"],
        detail: `\`${String(fallback)}\` ${wrong.why}`,
        hint: "a default is a value like any other",
      });
    const isHost = HOSTS.includes(def.type);
    const isScoped = isHost && (def.type !== "url" || def.scope_check);
    found.set(name, { name, type: def.type, def, take, isHost, isScoped, fallback });
  }
  return found;
}
const HOSTS: readonly ArgType[] = ["scope_target", "url", "ip_address", "cidr"];
const NOWHERE: ProjectPaths = { resolve: () => ({ kind: "refused", why: "is no place" }) };

/** An empty default counts as no default; numbers and flags may stand in quotes. */
function fallbackOf({ type, default: given }: ArgDef): Arg["fallback"] {
  if (given === undefined || given === "") return null;
  if (type === "integer" || type === "port") return typeof given === "string" && /^-?\d+$/.test(given) ? Number(given) : given;
  if (type === "number") return typeof given === "string" && /^-?\d+(?:\.\d+)?$/.test(given) ? Number(given) : given;
  if (type === "boolean") return given === "true" ? true : given === "false" ? false : given;
  return String(given);
}

function checkDef(name: string, def: ArgDef, path: readonly PropertyKey[], issues: ManifestIssue[]): void {
  const { type } = def;
  const report = (field: string, detail: string, hint: string): void => void issues.push({ path: [...path, field], detail, hint });
  if (type === "enum" && (def.allowed ?? []).length === 0)
    report("allowed", `\`${name}\` is an enum without values`, 'name them: allowed = ["a", "b"]');
  if (type === "regex_match" && def.pattern === undefined) report("pattern", `\`${name}\` has no pattern to match`, "give it `pattern`");
  const read = def.pattern === undefined ? null : readPattern(def.pattern);
  if (read?.kind === "refused")
    report("pattern", `\`${def.pattern ?? ""}\` ${read.why}`, "write a regular expression without backward references and looking around");
  const [least, most] = type === "number" ? [lowerBound(def), upperBound(def)] : [def.min ?? null, def.max ?? null];
  if (least !== null && most !== null && least > most)
    report(least === def.min ? "min" : "min_float", `${least} is more than \`${most === def.max ? "max" : "max_float"}\``, "exchange them");
  for (const field of ["min_float", "max_float"] as const)
    if (def[field] !== undefined && type !== "number")
      report(
        field,
        `\`${field}\` is for numbers, and \`${name}\` is of type ${type}`,
        `use \`${field.slice(0, 3)}\`, or make it a \`number\``,
      );
  if (def.feeds_decision && FREE_TEXT.includes(type))
    report(
      "feeds_decision",
      `\`${name}\` is free text, and no decision may hang on it`,
      "make it an enum, an integer or a boolean, or drop `feeds_decision`",
    );
  if (def.sanitize?.includes("text") === true && type !== "string" && type !== "regex_match")
    report("sanitize", `"text" is for texts, and \`${name}\` is a ${type}`, "leave it out");
}

function backendOf(written: WrittenManifest, args: ReadonlyMap<string, Arg>, issues: ManifestIssue[]): Backend | null {
  const { command, http, mcp } = written;
  const given = [command, http, mcp].filter((one) => one !== undefined).length;
  if (given !== 1) {
    issues.push({
      path: ["tool", "name"],
      detail: given === 0 ? "nothing says what it runs" : "more than one thing says what it runs",
      hint: "give one of [command], [http] and [mcp]",
    });
    return null;
  }
  if (http !== undefined) {
    const read = readHttp(written, args, issues);
    return read === null ? null : { kind: "http", http: read };
  }
  if (mcp !== undefined) {
    const stranger = Object.keys(mcp.field_map).find((name) => !args.has(name));
    if (stranger !== undefined)
      issues.push({
        path: ["mcp", "field_map", stranger],
        detail: `there is no argument \`${stranger}\``,
        hint: "a field map goes from arguments to fields",
      });
    return { kind: "mcp", server: mcp.server, tool: mcp.tool, fields: mcp.field_map };
  }
  const ways = [command?.template, command?.exec, command?.executor].filter((one) => one !== undefined).length;
  if (ways !== 1 && !(command?.exec !== undefined && command.executor === undefined)) {
    issues.push({
      path: ["command"],
      detail: ways === 0 ? "nothing says what it runs" : "more than one thing says what it runs",
      hint: "give `template`, `exec` or `executor`",
    });
    return null;
  }
  if (command?.executor !== undefined) return { kind: "executor", file: command.executor };
  const read = readCommand(written, args, issues);
  return read === null ? null : { kind: "command", command: read };
}

/** Variables that tell loaders, shells, interpreters and programs that call others what to run. */
const CHOOSES =
  /^(?:(?:LD|DYLD|GIT|GLIBC|GCONV)_|(?:NODE_(?:OPTIONS|PATH)|PYTHON(?:PATH|HOME|STARTUP|INSPECT)|PERL5?(?:LIB|OPT|DB)|RUBY(?:LIB|OPT)|LUA_(?:C?PATH|INIT)|(?:JAVA_TOOL|_JAVA|JDK_JAVA)_OPTIONS|CLASSPATH|BASH_ENV|ENV|IFS|PATH|PS4|PROMPT_COMMAND|SHELL|EDITOR|VISUAL|BROWSER|LESSOPEN|(?:[A-Z]+_?)?PAGER)$)/;

function checkTexts(env: Manifest["env"], stdin: Manifest["stdin"], args: ReadonlyMap<string, Arg>, issues: ManifestIssue[]): void {
  const places: readonly (readonly [string, readonly TemplatePiece[]])[] = [
    ...env.map(([name, p]) => [`env/${name}`, p] as const),
    ["stdin", stdin ?? []],
  ];
  for (const [field, pieces] of places) {
    const stranger = listPlaceholders(pieces).find((name) => !args.has(name));
    if (stranger !== undefined)
      issues.push({
        path: ["tool", "orgate", ...field.split("/")],
        detail: `nothing fills \`{${stranger}}\``,
        hint: `declare [args.${stranger}]`,
      });
  }
  for (const [name] of env)
    if (CHOOSES.test(name) && listPlaceholders(env.find(([n]) => n === name)?.[1] ?? []).length > 0)
      issues.push({
        path: ["tool", "orgate", "env", name],
        detail: `a value in \`${name}\` would choose what is run`,
        hint: "fix it in the manifest",
      });
}

function checkRest({ tool, output }: WrittenManifest, issues: ManifestIssue[]): void {
  const { hosts, labels = [] } = tool.orgate;
  for (const [i, host] of hosts.entries()) {
    const read = readTarget(host);
    if (read.kind === "bad")
      issues.push({ path: ["tool", "orgate", "hosts", i], detail: `\`${host}\` ${read.why}`, hint: "name a host, an address or a range" });
  }
  for (const [i, label] of labels.entries())
    if (!/^[a-z][a-z0-9:_-]{0,63}$/.test(label))
      issues.push({
        path: ["tool", "orgate", "labels", i],
        detail: `\`${label}\` is no label`,
        hint: "use a-z, 0-9, :, _ and -, a letter first",
      });
  const { output_dir } = tool.evidence;
  if (output_dir !== undefined && !/^\{_?evidence_dir\}(?:\/(?:[A-Za-z0-9_-]|\{_?scan_id\}|\.(?!\.))+)*$/.test(output_dir))
    issues.push({
      path: ["tool", "evidence", "output_dir"],
      detail: `\`${output_dir}\` leads out of the folder of evidence`,
      hint: "begin it with {evidence_dir}/",
    });
  const { parser = `builtin:${output.format}`, format } = output;
  const builtin = /^builtin:(.+)$/.exec(parser)?.[1];
  if (builtin !== undefined && builtin !== format)
    issues.push({ path: ["output", "parser"], detail: `\`${parser}\` does not read ${format}`, hint: "let `format` and `parser` agree" });
}
