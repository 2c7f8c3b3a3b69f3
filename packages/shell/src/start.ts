/**
 * `orgate shell`: agents, approvals and the fleet from a terminal, in front of a server of its own or of another one.
 * Without a terminal on both ends, or with --plain, it speaks in lines.
 */
import { FaultError, type SessionId } from "@orgate/core/vocab";
import type { Shell } from "./contract.ts";
import { withProfile } from "./profile.ts";
import { connectToServer, openServerSwitch, type ServerSwitch, type ShellSetup, type StartLocalServer } from "./server-switch.ts";
import { EXIT, type Given, type RunCommand } from "./terminal/command.ts";
import { plain } from "./terminal/paint.ts";
import type { Screen } from "./terminal/screen.ts";
import { historyPath, openHistory } from "./ui/input/history.ts";
import { openTerminal } from "./ui/terminal.ts";
import { openTerminalUi } from "./ui/terminal-ui.ts";
import { parseTheme, type Theme } from "./ui/themes.ts";
import { foldLines } from "./ui/wrap-lines.ts";

/** The command `orgate shell`, for a program that can start a local server. */
export const shellCommand =
  (startLocalServer: StartLocalServer): RunCommand =>
  (given, screen) =>
    start({ given: withProfile(given), screen, startLocalServer });

async function start(setup: ShellSetup): Promise<number> {
  const { given, screen } = setup;
  if (given.flag("list")) return listed(setup);
  const { stdin, stdout } = process;
  return given.flag("plain") || !stdin.isTTY || !stdout.isTTY || given.env.TERM === "dumb"
    ? inLines({ ...setup, screen: given.flag("plain") ? { ...screen, paint: plain, paintAside: plain } : screen })
    : onTerminal(setup);
}

async function onTerminal(setup: ShellSetup): Promise<number> {
  const { given, screen } = setup;
  const terminal = openTerminalUi({
    open: (events) => openTerminal(process.stdin, process.stdout, events),
    paint: screen.paint,
    theme: themeOf(given),
    cwd: given.cwd,
    history: openHistory(historyPath(given.cwd, given.env, given.text("profile"))),
    now: () => performance.now(),
    soon: (run) => void setTimeout(run, FRAME_MS),
    wait: (ms, run) => void setTimeout(run, ms).unref(),
  });
  // what is said beside goes into the scrollback: a line from elsewhere would tear the picture
  const aside: Screen = { ...screen, aside: (text) => terminal.ui.print(text.split("\n")) };
  const server = openServerSwitch({ ...setup, screen: aside }, terminal.ui, terminal.begin);
  try {
    const leaving = Promise.race([terminal.left, server.lost]);
    const fault = await Promise.race([begun(given, server).then(() => leaving), leaving]);
    if (fault !== undefined) throw fault;
    return EXIT.success;
  } finally {
    const last = lastOf(server.shell());
    terminal.close();
    await server.close();
    const columns = process.stdout.columns ?? screen.columns; // as wide as it is by now
    if (last !== null)
      for (const line of foldLines(`orgate shell --resume ${last} goes on here`, columns)) screen.line(screen.paint("dim", line));
  }
}
const FRAME_MS = 16;
/** S-3 the conversation with whom is addressed, else the last that was had: one that waits for an answer is not left without a word of where. */
const lastOf = (shell: Shell | null): SessionId | null => (shell?.current() ?? shell?.conversations.all().at(-1))?.session ?? null;

async function inLines(setup: ShellSetup): Promise<number> {
  const { given, screen } = setup;
  const { openPlainUi } = await import("./ui/plain-ui.ts");
  const { hiddenPrompt } = await import("./terminal/hidden-prompt.ts");
  const isTyped = process.stdin.isTTY === true && process.stdout.isTTY === true;
  const prompt = isTyped ? screen.write : null;
  const how = { columns: screen.columns, paint: screen.paint, theme: themeOf(given), ask: hiddenPrompt(), cwd: given.cwd, prompt };
  const { ui, begin, run, interrupt } = openPlainUi(process.stdin, screen.line, how);
  const server = openServerSwitch(setup, ui, begin);
  if (isTyped) process.on("SIGINT", interrupt);
  try {
    await begun(given, server);
    const waits = await Promise.race([run(), server.lost]);
    if (typeof waits !== "boolean") throw waits;
    return waits ? EXIT.waiting : EXIT.success;
  } finally {
    process.off("SIGINT", interrupt);
    await server.close();
  }
}

async function begun(given: Given, server: ServerSwitch): Promise<void> {
  const opened = await server.switchTo(given.text("attach"));
  const resume = given.text("resume");
  if (resume === null) return;
  const { resumeNamed } = await import("./commands/session.ts");
  await resumeNamed(opened, resume);
}

async function listed(setup: ShellSetup): Promise<number> {
  const { given, screen } = setup;
  const { hiddenPrompt } = await import("./terminal/hidden-prompt.ts");
  const reach = await connectToServer(given.text("attach"), setup, hiddenPrompt());
  try {
    const found = await reach.client.call("sessions", { query: { limit: 50 } });
    if (found.kind === "problem") throw new FaultError({ kind: "usage", detail: found.problem.detail, hint: found.problem.hint });
    const { sessionTable } = await import("./commands/session.ts");
    if (given.json) screen.line(JSON.stringify(found.value.items));
    else for (const line of sessionTable(found.value.items, Date.now(), screen)) screen.line(line);
    return EXIT.success;
  } finally {
    await reach.close();
  }
}

const themeOf = (given: Given): Theme => parseTheme(given.text("theme") ?? "") ?? "colour";
