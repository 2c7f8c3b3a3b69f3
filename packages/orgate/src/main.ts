/** The command line: words in, an exit code out. What goes wrong is one line and what to do about it. */

import { setFlagsFromString } from "node:v8";
import { describeFault, errorMessage, type Fault, FaultError } from "@orgate/core/vocab";
import { EXIT, type Given, hintAsTyped, INTERRUPTED, processScreen, type Screen, visible } from "@orgate/shell/terminal";
import { helpText } from "./cli/help.ts";
import { parse } from "./cli/parse.ts";
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
const STAYING: ReadonlySet<string> = new Set(["up", "dev", "shell"]);
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
  const fault: Fault | null = error instanceof FaultError ? error.fault : null;
  const said = fault === null ? bug(error) : { kind: fault.kind, ...describeFault(fault) };
  if (json) screen.aside(JSON.stringify({ error: said }));
  else {
    screen.aside(`${screen.paintAside("bad", "error:")} ${visible(said.message)}`);
    if (said.hint !== "") screen.aside(`${screen.paintAside("dim", "hint:")} ${visible(hintAsTyped(said.hint, env))}`);
  }
  if (error instanceof FaultError && error.cause === INTERRUPTED) return EXIT.interrupted;
  return fault?.kind === "usage" ? EXIT.usage : EXIT.failure;
}

function bug(error: unknown): { readonly kind: string; readonly message: string; readonly hint: string } {
  const message = errorMessage(error);
  const where = error instanceof Error ? (/\bat .*[\\/](?<place>[^\\/]+:\d+:\d+)/.exec(error.stack ?? "")?.groups?.place ?? "") : "";
  return {
    kind: "bug",
    message: `unexpected: ${message}${where === "" ? "" : ` (${where})`}`,
    hint: "this is a defect of orgate: please report it",
  };
}
