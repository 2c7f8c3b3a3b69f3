/**
 * A command: argv items that were split when the manifest was read, and are filled when it is called.
 *
 * T-17 the fixed items are as written, and a placeholder is exactly one item or part of one; only a mapping or conditional contributes several,
 *     all written in the manifest; a bare placeholder whose argument is not given contributes none.
 * T-17 a value never begins an option: an item that begins with a value and a dash is refused unless the argument says `option = true` (or is
 *     an integer or a number whose least value is below 0).
 * T-17 mappings cover every value they may get, conditionals name arguments that exist, and no placeholder is filled with code for an
 *     interpreter.
 */
import { lowerBound } from "./arg-type.ts";
import type { ManifestIssue } from "./issue.ts";
import type { ArgDef, WrittenManifest } from "./manifest-schema.ts";
import {
  listPlaceholders,
  listTemplateItems,
  listTemplateSecrets,
  splitCommand,
  type TemplateItem,
  type TemplatePiece,
} from "./template.ts";
import { conditionHolds, readWhen, type When } from "./when.ts";

type Slot =
  | Readonly<{ kind: "arg"; name: string; mayDash: boolean }>
  | Readonly<{ kind: "fixed"; text: string }>
  | Readonly<{ kind: "ambient"; name: Ambient }>
  | Readonly<{ kind: "mapping"; arg: string; values: ReadonlyMap<string, readonly TemplateItem[]> }>
  | Readonly<{ kind: "conditional"; when: When; items: readonly TemplateItem[] }>;

/** Placeholders that the host fills. */
const AMBIENT = ["_scan_id", "_output_file", "_evidence_dir"] as const;
export type Ambient = (typeof AMBIENT)[number];

export type Command = Readonly<{
  items: readonly TemplateItem[];
  slots: ReadonlyMap<string, Slot>;
  /** Those that it uses. */
  ambient: readonly Ambient[];
}>;

type Args = ReadonlyMap<string, Readonly<{ def: ArgDef; isHost: boolean }>>;
type Report = (path: readonly PropertyKey[], detail: string, hint: string) => void;

/** Null when an issue was reported. */
export function readCommand(written: WrittenManifest, args: Args, issues: ManifestIssue[]): Command | null {
  const { command } = written;
  if (command === undefined) return null;
  const before = issues.length;
  const report: Report = (path, detail, hint) => issues.push({ path, detail, hint });
  const inWhole = command.exec !== undefined;
  const fragment = (text: string, path: readonly PropertyKey[]): readonly TemplateItem[] => {
    const split = inWhole ? { kind: "items" as const, items: listTemplateItems([text]) } : splitCommand(text);
    if (split.kind === "items") return split.items;
    report(path, `\`${path.at(-1)?.toString() ?? ""}\` ${split.why}`, "close the quote, or write the character with a backslash");
    return [];
  };
  const items = command.exec === undefined ? fragment(command.template ?? "", ["command", "template"]) : listTemplateItems(command.exec);
  const slots = new Map<string, Slot>();
  const at = ["command", inWhole ? "exec" : "template"];
  for (const [name, { def }] of args)
    slots.set(name, {
      kind: "arg",
      name,
      mayDash: def.option || (def.type === "integer" && (def.min ?? 0) < 0) || (def.type === "number" && (lowerBound(def) ?? 0) < 0),
    });
  for (const [name, value] of Object.entries(command.defaults))
    if (!slots.has(name)) slots.set(name, { kind: "fixed", text: String(value) });
  const reading: Reading = { args, fragment, slots, report };
  readMappings(command.mappings, reading);
  readConditionals(command.conditionals, reading);
  for (const name of AMBIENT) if (!slots.has(name)) slots.set(name, { kind: "ambient", name });

  const appended = Object.keys(command.conditionals).filter((name) => !mentions(items, `_${name}`));
  const all = [...items, ...appended.map((name): TemplateItem => ({ pieces: [{ kind: "value", name: `_${name}` }], bare: true }))];
  for (const item of [...all, ...innerItems(slots)]) checkItem(item, { slots, at, report });
  checkProgram(written, items, { slots, at, report });
  if (issues.length > before) return null;
  const used = new Set([...all, ...innerItems(slots)].flatMap((item) => listPlaceholders(item.pieces)));
  return { items: all, slots, ambient: AMBIENT.filter((name) => used.has(name) && slots.get(name)?.kind === "ambient") };
}

const mentions = (items: readonly TemplateItem[], name: string): boolean =>
  items.some((item) => listPlaceholders(item.pieces).includes(name));

const innerItems = (slots: ReadonlyMap<string, Slot>): readonly TemplateItem[] => [...slots.values()].flatMap(itemsIn);
function itemsIn(slot: Slot): readonly TemplateItem[] {
  if (slot.kind === "mapping") return [...slot.values.values()].flat();
  return slot.kind === "conditional" ? slot.items : [];
}

/** A command while it is read: mappings and conditionals add their slots. */
type Reading = Readonly<{
  args: Args;
  fragment: (text: string, path: readonly PropertyKey[]) => readonly TemplateItem[];
  slots: Map<string, Slot>;
  report: Report;
}>;
/** `at`: where the command's items are written. */
type Checking = Readonly<{ slots: ReadonlyMap<string, Slot>; at: readonly PropertyKey[]; report: Report }>;

/** `scan_type` is filled in as `{_scan_type_flags}`, `{_scan_type}` or, by the custom of the format, `{_scan_flags}`. */
function readMappings(mappings: NonNullable<WrittenManifest["command"]>["mappings"], { args, fragment, slots, report }: Reading): void {
  for (const [arg, table] of Object.entries(mappings)) {
    const path = ["command", "mappings", arg];
    const def = args.get(arg)?.def;
    if (def === undefined) {
      report(path, `there is no argument \`${arg}\` to map`, "a mapping has the name of an argument");
      continue;
    }
    const values = new Map(Object.entries(table).map(([value, text]) => [value, fragment(text, [...path, value])]));
    const missing =
      def.type === "boolean" ? ["true", "false"].filter((v) => !values.has(v)) : (def.allowed ?? []).filter((v) => !values.has(v));
    if (def.type === "enum" && missing[0] !== undefined)
      report(path, `\`${missing[0]}\` is allowed for \`${arg}\` and has no mapping`, "map it, to the empty text if it adds nothing");
    const slot: Slot = { kind: "mapping", arg, values };
    const short = arg.includes("_") ? `_${arg.slice(0, arg.lastIndexOf("_"))}_flags` : null;
    for (const name of [`_${arg}_flags`, `_${arg}`, ...(short === null ? [] : [short])]) {
      if (slots.has(name)) report(path, `\`{${name}}\` could mean two mappings`, "rename one of the arguments");
      else slots.set(name, slot);
    }
  }
}

function readConditionals(
  conditionals: NonNullable<WrittenManifest["command"]>["conditionals"],
  { args, fragment, slots, report }: Reading,
): void {
  for (const [name, { when, template }] of Object.entries(conditionals)) {
    const path = ["command", "conditionals", name];
    const read = readWhen(when);
    if (read.kind === "bad") {
      report([...path, "when"], `\`${when}\` ${read.why}`, "see docs/guide/manifests.md");
      continue;
    }
    const stranger = read.names.find((one) => !args.has(one) && slots.get(one)?.kind !== "fixed");
    if (stranger !== undefined) report([...path, "when"], `there is no argument \`${stranger}\``, known(args));
    // a mapping of an argument with the same name keeps its own word, and this one is appended
    const slot: Slot = { kind: "conditional", when: read.when, items: fragment(template, [...path, "template"]) };
    if (slots.get(`_${name}`)?.kind === "mapping") report(path, `\`{_${name}}\` could mean a mapping or this`, "rename it");
    else slots.set(`_${name}`, slot);
  }
}

const known = (args: Args): string => `the arguments are: ${[...args.keys()].join(", ") || "none"}`;

function checkItem(item: TemplateItem, { slots, at: path, report }: Checking): void {
  for (const secret of listTemplateSecrets(item.pieces))
    report(
      path,
      `\`{_secret:${secret}}\` would stand in the process list`,
      "put it into [tool.orgate.env] or [tool.orgate] stdin, where only the process sees it",
    );
  for (const name of listPlaceholders(item.pieces)) {
    const slot = slots.get(name);
    if (slot === undefined)
      report(
        path,
        `nothing fills \`{${name}}\``,
        `declare [args.${name}], or write {{${name}}} for braces; there is: ${[...slots.keys()].join(", ")}`,
      );
    else if (!item.bare && !fitsInside(slot))
      report(path, `\`{${name}}\` may be several items, and stands inside one`, "let it stand alone, between blanks and without quotes");
  }
}

/** Part of an item: something that is always exactly one text of the manifest. */
function fitsInside(slot: Slot): boolean {
  if (slot.kind === "conditional") return false;
  return (
    slot.kind !== "mapping" ||
    [...slot.values.values()].every((items) => items.length === 1 && items[0]?.pieces.every((p) => p.kind === "text"))
  );
}

const INTERPRETERS =
  /^(?:(?:ba|da|z|k|c|tc|fi|a)?sh|busybox|python[0-9.]*|perl|ruby|node|nodejs|deno|bun|php|lua[0-9.]*|osascript|pwsh|powershell|cmd|eval|xargs|awk|gawk|mawk|env|sudo)(?:\.exe)?$/;
const CODE = /^(?:-[a-z]*[ceErp]|--eval|--execute|--command|-Command|\/c)$/;

/** The manifest names the program, and no interpreter gets a value as its program text. */
function checkProgram({ tool, command }: WrittenManifest, items: readonly TemplateItem[], { slots, at: path, report }: Checking): void {
  if (command?.executor !== undefined) return;
  const [first, ...rest] = items;
  const program = first?.pieces.every((p) => p.kind === "text")
    ? first.pieces.map((p) => (p.kind === "text" ? p.text : "")).join("")
    : null;
  if (program === null || program === "" || program.startsWith("-")) {
    report(path, "the first item must be the program itself, without a placeholder", "begin it with the name of a program");
    return;
  }
  const base = (text: string): string => text.split("/").at(-1) ?? text;
  if (tool.binary !== "" && base(tool.binary) !== base(program))
    report(path, `it runs \`${program}\`, and \`binary\` says \`${tool.binary}\``, "let both name the same program");
  // `timeout 5 sh -c …` runs the program that it names
  const at = STARTERS.test(base(program)) ? rest.findIndex((item) => INTERPRETERS.test(base(textOf(item) ?? ""))) : -1;
  const name = at === -1 ? base(program) : base(textOf(rest[at]) ?? "");
  if (!INTERPRETERS.test(name)) return;
  const given = rest.slice(at + 1);
  const isProgramText = /awk$/.test(name)
    ? (_: TemplateItem, i: number) => i === 0
    : (item: TemplateItem, i: number) => isCode(given[i - 1]) || isGlued(item);
  const filled = given.find(
    (item, i) => isProgramText(item, i) && listPlaceholders(item.pieces).some((one) => slots.get(one)?.kind === "arg"),
  );
  if (filled !== undefined)
    report(
      path,
      `a value would become a program for \`${program}\``,
      "keep the program in a file, and pass the value as an argument of its own",
    );
}
const STARTERS = /^(?:timeout|nice|nohup|stdbuf|setsid|ionice|chrt|taskset|time|unshare|strace|xvfb-run|doas)$/;
const textOf = (item: TemplateItem | undefined): string | null =>
  item?.pieces.length === 1 && item.pieces[0]?.kind === "text" ? item.pieces[0].text : null;
const isCode = (item: TemplateItem | undefined): boolean => CODE.test(textOf(item) ?? "");
/** `-c{x}`, `--eval={x}`. */
const isGlued = ({ pieces: [first] }: TemplateItem): boolean => first?.kind === "text" && CODE.test(first.text.replace(/=$/, ""));

// ── filling ──

export type FilledCommand = Readonly<{ kind: "argv"; argv: readonly string[] }> | Readonly<{ kind: "refused"; why: string }>;

/** `textOf` an argument is null when it was not given. */
export function fillCommand(command: Command, textOf: (arg: string) => string | null, ambient: (name: Ambient) => string): FilledCommand {
  const argv: string[] = [];
  const add = (items: readonly TemplateItem[], depth: number): string | null => {
    for (const item of items) {
      const why = item.bare ? addBare(item, depth) : addWhole(item);
      if (why !== null) return why;
    }
    return null;
  };
  function addBare(item: TemplateItem, depth: number): string | null {
    const [piece] = item.pieces;
    const slot = piece?.kind === "value" ? command.slots.get(piece.name) : undefined;
    if (slot === undefined || depth > MAX_DEPTH) return "the template leads in a circle";
    if (slot.kind === "mapping") return add(slot.values.get(textOf(slot.arg) ?? "") ?? [], depth + 1);
    if (slot.kind === "conditional")
      return conditionHolds(slot.when, (name) => textIn(command.slots.get(name), textOf)) ? add(slot.items, depth + 1) : null;
    return slot.kind === "arg" && textOf(slot.name) === null ? null : addWhole(item);
  }
  function addWhole({ pieces }: TemplateItem): string | null {
    const texts = pieces.map((piece) => textOfPiece(piece, command, textOf, ambient));
    const text = texts.join("");
    const [opening] = pieces;
    if (opening?.kind === "value" && text.startsWith("-")) {
      // what is empty begins nothing: the first that holds something does, be it the manifest's own dash after a value that is left out
      const begins = pieces[texts.findIndex((one) => one !== "")];
      const first = begins?.kind === "value" ? begins : opening;
      const slot = command.slots.get(first.name);
      const own = slot?.kind === "arg" && slot.mayDash && textOf(slot.name)?.startsWith("-") === true;
      if (!own && slot?.kind !== "fixed" && slot?.kind !== "mapping") return `\`${first.name}\` begins with a dash, and would be an option`;
    }
    if (text.includes("\0")) return "a value holds a NUL";
    argv.push(text);
    return null;
  }
  const why = add(command.items, 0);
  return why === null ? { kind: "argv", argv } : { kind: "refused", why };
}
const MAX_DEPTH = 4;

function textOfPiece(
  piece: TemplatePiece,
  command: Command,
  textOf: (arg: string) => string | null,
  ambient: (name: Ambient) => string,
): string {
  if (piece.kind !== "value") return piece.kind === "text" ? piece.text : "";
  const slot = command.slots.get(piece.name);
  if (slot?.kind === "ambient") return ambient(slot.name);
  if (slot?.kind === "mapping") {
    const [item] = slot.values.get(textOf(slot.arg) ?? "") ?? [];
    return item?.pieces.map((p) => (p.kind === "text" ? p.text : "")).join("") ?? "";
  }
  return textIn(slot, textOf) ?? "";
}

function textIn(slot: Slot | undefined, textOf: (arg: string) => string | null): string | null {
  if (slot?.kind === "arg") return textOf(slot.name);
  return slot?.kind === "fixed" ? slot.text : null;
}
