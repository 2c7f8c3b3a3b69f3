import { readFileSync } from "node:fs";
import { join } from "node:path";
import { FaultError, describeFault as say } from "@orgate/core";
import { findNearestWord } from "@orgate/core/vocab";
import { plain } from "@orgate/shell/terminal";
import { expect, test } from "vitest";
import { COMMANDS } from "./cli/commands.ts";
import { helpText, usageLine } from "./cli/help.ts";
import { COMMON } from "./cli/table/options.ts";
import { parse } from "./main.ts";

const around = { cwd: "/", env: {} };
const parsed = (...argv: string[]) => parse(argv, around);
function refused(...argv: string[]): string {
  try {
    parsed(...argv);
  } catch (error) {
    if (error instanceof FaultError) return `${say(error.fault).message} | ${say(error.fault).hint}`;
    throw error;
  }
  throw new Error("it was accepted");
}
function given(...argv: string[]) {
  const found = parsed(...argv);
  if (found.kind !== "command") throw new Error(`it is ${found.kind}`);
  return { name: found.command.name, ...found.given };
}

test("A-9 a command is found by its words, options before, between and after them", () => {
  const run = given("--project", "p", "--json", "run", "ops", "--input", "hi there");
  expect(run).toMatchObject({ name: "run", args: ["ops"], json: true, project: "p" });
  expect([run.text("input"), run.text("session"), run.flag("json")]).toEqual(["hi there", null, true]);
  expect(given("sessions", "say", "s_1", "-", "--project=q")).toMatchObject({ name: "sessions say", args: ["s_1", "-"], project: "q" });
  expect(given("sessions", "say", "s_1", "--", "--not an option")).toMatchObject({ args: ["s_1", "--not an option"] });
  expect(given("run", "ops", "--input", "-").text("input")).toBe("-");
});

test.each<[string[], string]>([
  [["sesions", "list"], "there is no command `sesions` | did you mean `sessions`?"],
  [["sessions", "lsit"], "command `sessions` has no `lsit` | did you mean `list`?"],
  [["sessions"], "`orgate sessions` needs one of: list, show, fork, import, close, resume, say, steer, cancel"],
  [["run", "ops", "--inptu", "x"], "there is no option `--inptu` | did you mean `--input`?"],
  [["run", "ops", "-x"], "there is no option `-x`"],
  [["run", "ops", "--input"], "--input needs a value | write --input TEXT"],
  [["run", "ops", "--input", "--json"], "--input needs a value | write --input TEXT, or --input=TEXT when it begins with a dash"],
  [["run", "ops", "--json=yes"], "--json takes no value"],
  [["run"], "AGENT is missing | usage: orgate run AGENT"],
  [["sessions", "say", "s_1", "two", "words"], "`words` is one argument too many | put the text in quotes"],
  [["sessions", "list", "--state", "asleep"], "--state is `asleep` | use idle, running, waiting, interrupted, halted or closed"],
  [["completion", "tcsh"], "SHELL is `tcsh` | use bash, zsh or fish"],
  [["--jsno"], "there is no option `--jsno`"],
  [["--json"], "no command was given"],
  [["help", "rnu"], "there is no command `rnu` | did you mean `run`?"],
])("A-9 %j is refused, and nothing is run", (argv, message) => {
  expect(refused(...argv)).toContain(message);
});

test("A-9 only what is near is proposed", () => {
  expect(findNearestWord("verfiy", ["show", "verify", "export"])).toBe("verify");
  expect(findNearestWord("xyz", ["show", "verify"])).toBeNull();
  expect(findNearestWord("rot", ["rotate-key", "head"])).toBe("rotate-key");
});

test("A-9 the guide's table has every command, and no other", () => {
  const page = readFileSync(join(import.meta.dirname, "../../../docs/guide/cli.md"), "utf8").replaceAll(/^[^|].*$/gm, "");
  const told = [...page.matchAll(/`orgate ([a-z|\\-]+)(?: ([a-z|\\-]+))?/g)].flatMap(([, first = "", verbs = ""]) =>
    first.split("\\|").flatMap((word) => verbs.split("\\|").map((verb) => `${word} ${verb}`.trim())),
  );
  const there = COMMANDS.map(({ name }) => name);
  expect(there.filter((name) => !told.includes(name))).toEqual([]);
  expect(told.filter((name) => name !== "help" && !there.includes(name))).toEqual([]);
});

test("A-9 every command has help with its options and an example that parses", () => {
  expect(parsed()).toEqual({ kind: "help", group: null, command: null });
  expect(parsed("--version")).toEqual({ kind: "version" });
  expect(parsed("journal", "--help")).toMatchObject({ kind: "help", group: "journal" });
  for (const command of COMMANDS) {
    const words = command.name.split(" ");
    for (const asked of [parsed(...words, "--help"), parsed("help", ...words), parsed(...words, "-h")])
      expect(asked).toMatchObject({ kind: "help", command });
    const text = helpText(null, command, plain);
    for (const option of Object.keys({ ...command.options, ...COMMON })) expect(text).toContain(`--${option}`);
    expect(command.examples.length).toBeGreaterThan(0);
    for (const example of command.examples)
      expect(example).toContain(`orgate ${command.name}`.replace(/^orgate journal head$/, "orgate journal"));
  }
  expect(helpText(null, null, plain)).toContain("sessions resume");
  expect(helpText("keys", null, plain)).not.toContain("sessions");
});

test("every help line begins with a verb, and a usage line shows what is required without brackets", () => {
  for (const { name, summary } of COMMANDS)
    expect([name, summary]).toEqual([name, expect.stringMatching(/^[A-Z][a-z]+ (?!is\b|are\b).*[^.]$/)]);
  const usageOf = (name: string): string => COMMANDS.filter((one) => one.name === name).map(usageLine)[0] ?? "";
  expect(usageOf("keys revoke")).toBe("orgate keys revoke ACCESS --reason TEXT [--as NAME]");
  expect(usageOf("schedules next")).toBe("orgate schedules next SCHEDULE [--limit N] [--as NAME]");
});
