/** The command line, started by `bin/orgate.js`: words in, an exit code out. An error is one line, with a hint how to mend it. */

import { parseArgs } from "node:util";
import { setFlagsFromString } from "node:v8";
import { describeFault, errorMessage, FaultError, findNearestWord, usageFault } from "@orgate/core/text";
import { type CommandSpec, EXIT, type Given, hintAsTyped, INTERRUPTED, processScreen, type Screen, visible } from "@orgate/shell/terminal";
import { COMMANDS, groups, listCommandsIn } from "./cli/commands.ts";
import { helpText, usageLine } from "./cli/help.ts";
import { OperationError } from "./cli/operation-error.ts";
import { COMMON } from "./cli/table/options.ts";
import { version } from "./node/version.ts";

export async function main(argv: readonly string[]): Promise<number> {
  const { env } = process;
  if (!argv.some((word) => STAYING.has(word))) setFlagsFromString(BASELINE);
  const code = await command(argv, { cwd: process.cwd(), env }, processScreen(env));
  // a tool that was given up may go on for ever; nobody waits for it
  setTimeout(() => process.exit(code), PATIENCE_MS).unref();
  return code;
}

const PATIENCE_MS = 250;
const STAYING: ReadonlySet<string> = new Set(["up", "dev", "shell", "worker"]);
/** For a command that soon ends, compiling Cedar twice, the second time well, takes longer than its decisions ever do (decision 0049). */
const BASELINE = "--wasm-tiering-budget=1000000000";

export async function command(argv: readonly string[], around: Pick<Given, "cwd" | "env">, screen: Screen): Promise<number> {
  try {
    const parsed = parse(argv, around);
    switch (parsed.kind) {
      case "version":
        screen.line(version());
        return EXIT.success;
      case "help":
        screen.line(helpText(parsed.group, parsed.command, screen.paint));
        return EXIT.success;
      case "command": {
        const run = await parsed.command.load();
        return await run(parsed.given, screen);
      }
    }
  } catch (error) {
    return report(error, argv.includes("--json"), screen, around.env);
  }
}

/** A-8 an error is one line, its remedy another; with --json one object: kind, message, hint. */
export function report(error: unknown, json: boolean, screen: Screen, env: Given["env"] = {}): number {
  const said = describe(error);
  if (json) screen.aside(JSON.stringify({ error: said }));
  else {
    screen.aside(`${screen.paintAside("bad", "error:")} ${visible(said.message)}`);
    if (said.hint !== "") screen.aside(`${screen.paintAside("dim", "hint:")} ${visible(hintAsTyped(said.hint, env))}`);
  }
  if (error instanceof FaultError && error.cause === INTERRUPTED) return EXIT.interrupted;
  return said.kind === "usage" ? EXIT.usage : EXIT.failure;
}

type ErrorText = Readonly<{ kind: string; message: string; hint: string }>;

function describe(error: unknown): ErrorText {
  if (error instanceof FaultError) return { kind: error.fault.kind, ...describeFault(error.fault) };
  return error instanceof OperationError ? { kind: error.kind, message: error.message, hint: error.hint } : bug(error);
}

function bug(error: unknown): ErrorText {
  const message = errorMessage(error);
  const where = error instanceof Error ? (/\bat .*[\\/](?<place>[^\\/]+:\d+:\d+)/.exec(error.stack ?? "")?.groups?.place ?? "") : "";
  return {
    kind: "bug",
    message: `unexpected: ${message}${where === "" ? "" : ` (${where})`}`,
    hint: "this is a defect of orgate: please report it",
  };
}

// ── from words to a command (A-9) ──

export type Parsed =
  | Readonly<{ kind: "version" }>
  /** Of everything, of a group, or of one command. */
  | Readonly<{ kind: "help"; group: string | null; command: CommandSpec | null }>
  | Readonly<{ kind: "command"; command: CommandSpec; given: Given }>;

type Around = Pick<Given, "cwd" | "env">;

export function parse(argv: readonly string[], around: Around): Parsed {
  const { words, rest } = leadingWords(argv);
  const [first, second] = words;
  if (first === undefined) return withoutCommand(rest);
  if (first === "help") return helpOn(words.slice(1));
  const exact = COMMANDS.find(({ name }) => name === first);
  if (exact !== undefined) return parseCommand(exact, [...words.slice(1), ...rest], around);
  if (!groups().includes(first)) throw unknownWord("command", first, groups(), "`orgate help` lists them");
  const verbs = listCommandsIn(first).map(({ name }) => name.slice(first.length + 1));
  if (second === undefined) {
    if (rest.includes("--help")) return { kind: "help", group: first, command: null };
    throw usageFault(`\`orgate ${first}\` needs one of: ${verbs.join(", ")}`, `\`orgate ${first} --help\` tells what they do`);
  }
  const command = COMMANDS.find(({ name }) => name === `${first} ${second}`);
  if (command === undefined) throw unknownWord(`command \`${first}\``, second, verbs, `\`orgate ${first} --help\` lists them`);
  return parseCommand(command, [...words.slice(2), ...rest], around);
}

/** The words before the first option, common options that stand before them moved behind. */
function leadingWords(argv: readonly string[]): { readonly words: readonly string[]; readonly rest: readonly string[] } {
  const before: string[] = [];
  let i = 0;
  for (; i < argv.length && argv[i]?.startsWith("--"); i += 1) {
    const option = argv[i] ?? "";
    if (option === "--") break;
    before.push(option);
    if (option === "--project" && i + 1 < argv.length) before.push(argv[++i] ?? "");
  }
  const from = argv.slice(i);
  const end = from.findIndex((word) => word.startsWith("-") && word !== "-");
  return end < 0 ? { words: from, rest: before } : { words: from.slice(0, end), rest: [...before, ...from.slice(end)] };
}

function withoutCommand(rest: readonly string[]): Parsed {
  const [option] = rest;
  if (option === "--version" || option === "-V") return { kind: "version" };
  if (option === undefined || option === "--help" || option === "-h") return { kind: "help", group: null, command: null };
  if (option in { "--json": 1, "--project": 1 }) throw usageFault("no command was given", "`orgate help` lists them");
  throw unknownWord("option", option, ["--help", "--version"], "`orgate help` lists commands and options");
}

function helpOn([first, second]: readonly string[]): Parsed {
  if (first === undefined) return { kind: "help", group: null, command: null };
  if (!groups().includes(first)) throw unknownWord("command", first, groups(), "`orgate help` lists them");
  const command = COMMANDS.find(({ name }) => name === (second === undefined ? first : `${first} ${second}`)) ?? null;
  if (second !== undefined && command === null)
    throw unknownWord(
      `command \`${first}\``,
      second,
      listCommandsIn(first).map(({ name }) => name.slice(first.length + 1)),
      "",
    );
  return { kind: "help", group: first, command };
}

function parseCommand(command: CommandSpec, words: readonly string[], around: Around): Parsed {
  const options = { ...command.options, ...COMMON };
  const types = Object.fromEntries(
    Object.entries(options).map(([name, o]) => [
      name,
      name === "help" ? { type: o.type, short: "h" } : { type: o.type, multiple: o.type === "string" && o.many === true },
    ]),
  );
  let read: { values: Readonly<Record<string, string | boolean | (string | boolean)[] | undefined>>; positionals: readonly string[] };
  try {
    read = parseArgs({ args: [...words], options: types, allowPositionals: true, strict: true });
  } catch (error) {
    throw wrongOption(error, command, Object.keys(options));
  }
  const { values, positionals } = read;
  if (values.help === true) return { kind: "help", group: null, command };
  checkArgs(command, positionals);
  const text = (name: string): string | null => {
    const value = values[name];
    return typeof value === "string" ? value : null;
  };
  const texts = (name: string): readonly string[] => [values[name] ?? []].flat().filter((one) => typeof one === "string");
  for (const [name, option] of Object.entries(options)) {
    if (texts(name).includes("")) throw usageFault(`--${name} is empty`, `give it a value, or leave --${name} out`);
    const value = text(name);
    if (option.type === "string" && value !== null) checkChoice(`--${name}`, value, option.choices);
  }
  const flag = (name: string): boolean => values[name] === true;
  const given: Given = { args: positionals, text, texts, flag, json: flag("json"), project: text("project"), ...around };
  return { kind: "command", command, given };
}

function checkArgs(command: CommandSpec, given: readonly string[]): void {
  const hint = `usage: ${usageLine(command)}`;
  const missing = command.args.find((arg, i) => arg.required && given[i] === undefined);
  if (missing !== undefined) throw usageFault(`${missing.name} is missing`, hint);
  const empty = given.indexOf(""); // mostly a variable of a script that is not set: it must not read as "here" or "all"
  if (empty >= 0) throw usageFault(`${(command.args[empty] ?? command.args.at(-1))?.name ?? "an argument"} is empty`, hint);
  const extra = command.args.at(-1)?.many === true ? undefined : given[command.args.length];
  if (extra !== undefined) {
    const takesText = command.args.at(-1)?.name === "TEXT";
    throw usageFault(`\`${extra}\` is one argument too many`, takesText ? `put the text in quotes; ${hint}` : hint);
  }
  for (const [i, value] of given.entries()) checkChoice(command.args[i]?.name ?? "", value, command.args[i]?.choices);
}

function checkChoice(name: string, value: string, choices: readonly string[] | undefined): void {
  if (choices === undefined || choices.includes(value)) return;
  throw usageFault(`${name} is \`${value}\``, `use ${joinWithOr(choices)}`);
}

function wrongOption(error: unknown, command: CommandSpec, known: readonly string[]): unknown {
  const message = error instanceof Error ? error.message : "";
  const code = error instanceof Error && "code" in error ? error.code : "";
  const [, option = ""] = /'(?:-\w, )?(-{1,2}[^\s'<=]*)/.exec(message) ?? [];
  if (code === "ERR_PARSE_ARGS_UNKNOWN_OPTION") {
    const names = known.map((name) => `--${name}`);
    return unknownWord("option", option, names, `\`orgate ${command.name} --help\` lists them`);
  }
  if (code !== "ERR_PARSE_ARGS_INVALID_OPTION_VALUE") return error;
  const spec = { ...command.options, ...COMMON }[option.replace(/^--/, "")];
  if (spec?.type === "string")
    return usageFault(`${option} needs a value`, `write ${option} ${spec.value}, or ${option}=${spec.value} when it begins with a dash`);
  return usageFault(`${option} takes no value`, `write ${option} alone`);
}

function unknownWord(what: string, given: string, known: readonly string[], hint: string): FaultError {
  const near = findNearestWord(given, known);
  const said = what.startsWith("command `") ? `${what} has no \`${given}\`` : `there is no ${what} \`${given}\``;
  return usageFault(said, [near === null ? "" : `did you mean \`${near}\`?`, hint].filter((part) => part !== "").join(" "));
}

const joinWithOr = (names: readonly string[]): string =>
  names.length < 2 ? names.join("") : `${names.slice(0, -1).join(", ")} or ${names.at(-1)}`;
