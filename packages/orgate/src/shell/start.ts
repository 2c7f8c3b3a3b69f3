/**
 * `orgate shell`: agents, approvals and the fleet from a terminal, in front of a server of its own or of another one.
 * Without a terminal on both ends, or with --plain, it speaks in lines.
 */
import { FaultError, type SessionId } from "@orgate/core/vocab";
import { EXIT, type Given, type RunCommand } from "../terminal/command.ts";
import { plain } from "../terminal/paint.ts";
import type { Screen } from "../terminal/screen.ts";
import type { Shell } from "./contract.ts";
import { withProfile } from "./profile.ts";
import { connectToServer, openServerSwitch, type ServerSwitch } from "./server-switch.ts";
import { historyPath, openHistory } from "./ui/input/history.ts";
import { openTerminal } from "./ui/terminal.ts";
import { openTerminalUi } from "./ui/terminal-ui.ts";
import { parseTheme, type Theme } from "./ui/themes.ts";
import { foldLines } from "./ui/wrap-lines.ts";

export const shell: RunCommand = async (asGiven, screen) => {
  const given = withProfile(asGiven);
  if (given.flag("list")) return listed(given, screen);
  const { stdin, stdout } = process;
  return given.flag("plain") || !stdin.isTTY || !stdout.isTTY || given.env.TERM === "dumb"
    ? inLines(given, given.flag("plain") ? { ...screen, paint: plain, paintAside: plain } : screen)
    : onTerminal(given, screen);
};

async function onTerminal(given: Given, screen: Screen): Promise<number> {
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
  const server = openServerSwitch(given, aside, terminal.ui, terminal.begin);
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

async function inLines(given: Given, screen: Screen): Promise<number> {
  const { openPlainUi } = await import("./ui/plain-ui.ts");
  const { hiddenPrompt } = await import("../terminal/hidden-prompt.ts");
  const isTyped = process.stdin.isTTY === true && process.stdout.isTTY === true;
  const prompt = isTyped ? screen.write : null;
  const how = { columns: screen.columns, paint: screen.paint, theme: themeOf(given), ask: hiddenPrompt(), cwd: given.cwd, prompt };
  const { ui, begin, run, interrupt } = openPlainUi(process.stdin, screen.line, how);
  const server = openServerSwitch(given, screen, ui, begin);
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
  const { resumeNamed: takeNamed } = await import("./commands/session.ts");
  await takeNamed(opened, resume);
}

async function listed(given: Given, screen: Screen): Promise<number> {
  const { hiddenPrompt } = await import("../terminal/hidden-prompt.ts");
  const reach = await connectToServer(given.text("attach"), given, screen, hiddenPrompt());
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
