/**
 * `orgate shell`: agents, approvals and the fleet from a terminal, in front of a server of its own or of another one.
 * S62 without a terminal on both ends, or with --plain, it speaks in lines.
 */
import { FaultError } from "@orgate/core/vocab";
import { EXIT, type Given, type Run } from "../cli/command.ts";
import { plain } from "../cli/paint.ts";
import type { Screen } from "../cli/screen.ts";
import { openTerminalFace } from "../shell/face-terminal.ts";
import type { Reach } from "../shell/reach.ts";
import type { Face, Shell } from "../shell/shell.ts";
import { openTerminal } from "../shell/terminal.ts";

export const shell: Run = async (given, screen) => {
  if (given.flag("list")) return listed(given, screen);
  const { stdin, stdout } = process;
  return given.flag("plain") || !stdin.isTTY || !stdout.isTTY || given.env.TERM === "dumb"
    ? inLines(given, screen)
    : onTerminal(given, screen);
};

async function onTerminal(given: Given, screen: Screen): Promise<number> {
  const terminal = openTerminalFace({
    open: (events) => openTerminal(process.stdin, process.stdout, events),
    paint: paintOf(given, screen),
    cwd: given.cwd,
    history: [],
    now: () => performance.now(),
    soon: (run) => void setTimeout(run, FRAME_MS),
  });
  // what is said beside goes into the scrollback: a line from elsewhere would tear the picture
  const aside: Screen = { ...screen, aside: (text) => terminal.face.print(text.split("\n")) };
  let opened: Shell | null = null;
  try {
    opened = await begun(given, aside, terminal.face);
    terminal.begin(opened);
    await terminal.left;
    return EXIT.success;
  } finally {
    const last = opened?.current()?.session ?? null;
    terminal.close();
    await opened?.close();
    if (last !== null) screen.line(screen.paint("dim", `orgate shell --resume ${last} goes on here`));
  }
}
const FRAME_MS = 16;

async function inLines(given: Given, screen: Screen): Promise<number> {
  const { openPlainFace } = await import("../shell/face-plain.ts");
  const { face, run } = openPlainFace(process.stdin, screen.line, { columns: screen.columns, paint: paintOf(given, screen) });
  const opened = await begun(given, screen, face);
  try {
    return (await run(opened)) ? EXIT.waiting : EXIT.success;
  } finally {
    await opened.close();
  }
}

async function begun(given: Given, screen: Screen, face: Face): Promise<Shell> {
  const reach = await reached(given, screen);
  const { openShell } = await import("../shell/shell.ts");
  const opened = await openShell(reach, face);
  const resume = given.text("resume");
  if (resume === null) return opened;
  const { sessionNamed } = await import("../shell/table-session.ts");
  const found = await sessionNamed(opened, resume);
  if (found !== null) opened.take(found.session, found.agent);
  return opened;
}

async function reached(given: Given, screen: Screen): Promise<Reach> {
  const url = given.text("attach");
  if (url === null) return (await import("../shell/here.ts")).openHere(given, screen);
  const token = given.env.ORGATE_API_KEY ?? "";
  if (token === "")
    throw new FaultError({
      kind: "usage",
      detail: "$ORGATE_API_KEY is not set",
      hint: "set it to an API key of that server: `orgate keys create NAME --api` makes one",
    });
  const address = URL.canParse(url) ? new URL(url) : null;
  if (address === null || !/^https?:$/.test(address.protocol))
    throw new FaultError({ kind: "usage", detail: `--attach is \`${url}\``, hint: "write the server's address: http://127.0.0.1:4680" });
  const { reachAt } = await import("../shell/reach.ts");
  return { ...reachAt(address.href, token), name: address.host, isLocal: false, close: async () => {} };
}

async function listed(given: Given, screen: Screen): Promise<number> {
  const reach = await reached(given, screen);
  try {
    const found = await reach.client.call("sessions", { query: { limit: 50 } });
    if (found.kind === "problem") throw new FaultError({ kind: "usage", detail: found.problem.detail, hint: found.problem.hint });
    const { sessionTable } = await import("../shell/table-session.ts");
    if (given.json) screen.line(JSON.stringify(found.value.items));
    else for (const line of sessionTable(found.value.items, Date.now(), screen.paint)) screen.line(line);
    return EXIT.success;
  } finally {
    await reach.close();
  }
}

const paintOf = (given: Given, screen: Screen): Screen["paint"] => (given.text("theme") === "plain" ? plain : screen.paint);
