/**
 * A shell on a real terminal: keys in, frames out.
 *
 * The prompt is drawn before anything is loaded, and what is written meanwhile is sent when there is somebody to send it to.
 * Esc closes what is open, else cancels what runs; Ctrl-C clears the line, else stops what runs, and twice leaves; Ctrl-D on an empty line leaves; Ctrl-Z stops the shell.
 */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { coverageText, type JsonObject, millis } from "@orgate/core/vocab";
import type { Paint } from "../../terminal/paint.ts";
import type { Modal, Shell, ShellUi } from "../shell.ts";
import { applyCompletion, type Completion, complete } from "./complete.ts";
import { type Editor, type EditResult, edit, newEditor, withLine } from "./editor.ts";
import { escapeRow } from "./escape.ts";
import { drawFrame, type Footer } from "./frame.ts";
import { type HiddenInput, typeHidden } from "./hidden-input.ts";
import { type History, HOLDS_SECRET } from "./history.ts";
import type { Key } from "./keys.ts";
import { liveRegion } from "./live-region.ts";
import {
  type ApprovalRef,
  approvalRef,
  type Choice,
  markDrawn,
  type Panel,
  panelFor,
  press,
  QUIET_MS,
  rearm,
  resetPages,
} from "./panel.ts";
import type { ScreenLook } from "./screen.ts";
import type { Terminal, TerminalEvents } from "./terminal.ts";
import { type Theme, themePaint } from "./themes.ts";
import { foldLines } from "./wrap-lines.ts";

/** What this is, and how to get help. */
const WELCOME =
  "Orgate runs agents under your policies: each action is decided first and stays in the journal. Write to an agent, `/help` lists what else there is";

export type TerminalUi = Readonly<{
  face: ShellUi;
  /** Now there is somebody to talk to: what was sent meanwhile goes out. */
  begin(shell: Shell): void;
  /** Resolves when the person leaves, or is made to. */
  left: Promise<void>;
  close(): void;
}>;
export type Surroundings = Readonly<{
  open(events: TerminalEvents): Terminal;
  /** What this terminal is painted with by itself. */
  paint: Paint;
  theme: Theme;
  cwd: string;
  history: History;
  now(): number;
  /** Calls back once, before long: what changes meanwhile is drawn together. */
  soon(run: () => void): void;
  /** Calls back once, then. */
  wait(ms: number, run: () => void): void;
}>;

const TWICE_MS = 2_000;
/** What is offered without being asked for: commands, agents, files. */
const OFFERED = /^\/\S*$|(^|\s)@\S*$/;
const STARTING: Footer = {
  where: "",
  state: "starting",
  addressee: null,
  model: "",
  contextTokens: 0,
  contextLimit: null,
  phase: null,
  micros: null,
  waiting: 0,
  halts: [],
  isRunning: false,
};

export function openTerminalUi({ open, paint: own, theme, cwd, history, now, soon, wait }: Surroundings): TerminalUi {
  const { promise: left, resolve: leave } = Promise.withResolvers<void>();
  let paint = themePaint(theme, own);
  let editor: Editor = newEditor(history.lines);
  let shell: Shell | null = null;
  let panel: Panel | null = null;
  let completion: Completion | null = null;
  let modal: Modal | null = null;
  let hidden: HiddenInput | null = null;
  let hint = "";
  let isWelcomed = false;
  let showThinking = false;
  let [lastKeyAt, leavingAt, isDue, isOver] = [Number.NEGATIVE_INFINITY, Number.NEGATIVE_INFINITY, false, false];
  let arming = Number.NEGATIVE_INFINITY;
  const printed: string[] = [];
  const kept: string[] = []; // sent before there was anybody
  let isCatchingUp = false;

  const terminal = open({
    keys: (keys) => {
      for (const key of keys) pressed(key);
      draw();
    },
    resized: () => {
      region.resized(terminal.columns());
      if (panel !== null) panel = resetPages(panel);
      draw();
    },
    resumed: () => {
      region = liveRegion(terminal.columns());
      draw();
    },
    ended: () => leave(),
  });
  let region = liveRegion(terminal.columns());
  const look = (): ScreenLook => ({ columns: terminal.columns(), paint, showThinking, me: shell?.me() ?? null });

  function draw(): void {
    isDue = false;
    if (isOver) return;
    if (kept.length > 0 && shell !== null) void catchUp(shell);
    const isLineEmpty = editor.line.text === "";
    panel = panelFor(panel, shell?.openApprovals() ?? [], { now: now(), lastKeyAt, isLineEmpty });
    armed();
    const settled = [...printed.splice(0), ...(shell?.takeSettledLines() ?? [])];
    const talks =
      shell?.conversations.all().flatMap((talk) => (talk.isCaughtUp() ? [{ view: talk.view, settled: talk.settled() }] : [])) ?? [];
    const question = hidden?.question ?? null;
    const picture = { talks, editor, panel, completion, modal, question, hint, now: now(), footer: shell?.footer() ?? STARTING };
    const { rows, cursor, next } = drawFrame(picture, look(), terminal.rows());
    if (panel !== null) panel = markDrawn(panel, next);
    terminal.write(region.draw(settled.map(escapeRow), { rows: rows.map(escapeRow), cursor }));
  }
  /** Draws again when keys begin to count. */
  function armed(): void {
    const at = panel?.armedAt ?? now();
    if (at <= now() || at === arming) return;
    arming = at;
    wait(at - now(), changed);
  }
  function changed(): void {
    if (isDue || isOver) return;
    isDue = true;
    soon(draw);
  }

  // ── keys ──

  function pressed(key: Key): void {
    const at = now();
    hint = "";
    // S-4 what is typed into something else is typing too, and while that has the keys the question may not even be on screen
    if (panel !== null && (hidden !== null || modal !== null)) panel = rearm(panel, at);
    if (hidden !== null) {
      hidden = typeHidden(hidden, key);
      return;
    }
    if (modal !== null) {
      modal.pressed(key);
      return;
    }
    if (panel !== null) {
      const done = press(panel, key, at, editor.line.text === "");
      panel = done.panel;
      lastKeyAt = at;
      if (done.kind === "taken") {
        if (panel.writing === null && key.kind === "named" && key.name === "escape") editor = withLine(editor, { text: "", at: 0 });
        return;
      }
      if (done.kind === "chosen") {
        chosen(done.panel, done.choice);
        return;
      }
    }
    lastKeyAt = at;
    if (completion !== null && offering(completion, key)) return;
    apply(edit(editor, key), at);
  }

  function offering(open: Completion, key: Key): boolean {
    if (key.kind !== "named") return false;
    const move = (by: number): boolean => {
      completion = { ...open, chosen: (open.chosen + by + open.offers.length) % open.offers.length };
      return true;
    };
    if (key.name === "down") return move(1);
    if (key.name === "up" || key.name === "back-tab") return move(-1);
    if (key.name === "escape") {
      completion = null;
      return true;
    }
    if (key.name !== "tab") return false;
    editor = withLine(editor, applyCompletion(editor.line, open));
    completion = null;
    return true;
  }

  function apply(edited: EditResult, at: number): void {
    editor = edited.editor;
    completion = null;
    if (edited.kind === "sent") sent(edited.text);
    else if (edited.kind === "passed") passed(edited.key, at);
    else if (editor.search !== null)
      return; // Enter, Tab and Esc are the search's
    else if (shell !== null && (panel === null || panel.writing === null) && OFFERED.test(editor.line.text.slice(0, editor.line.at)))
      completion = complete(editor.line, shell.choices());
  }

  function passed(key: Key, at: number): void {
    if (key.kind === "named" && key.name === "tab" && shell !== null) {
      const open = complete(editor.line, shell.choices());
      const isOnly = open !== null && open.offers.length === 1;
      if (isOnly) editor = withLine(editor, applyCompletion(editor.line, open)); // there is nothing to choose
      completion = isOnly ? null : open;
    }
    if (key.kind === "named" && key.name === "escape") void cancel();
    if (key.kind !== "ctrl") return;
    if (key.letter === "d") leave();
    if (key.letter === "z") terminal.suspend(region.clear());
    if (key.letter === "t") showThinking = !showThinking;
    if (key.letter === "l") {
      terminal.write("\u001b[2J\u001b[H");
      region = liveRegion(terminal.columns());
    }
    if (key.letter === "c") interrupted(at);
  }

  function interrupted(at: number): void {
    if (editor.line.text !== "") editor = withLine(editor, { text: "", at: 0 });
    else if (at - leavingAt < TWICE_MS) leave();
    else {
      leavingAt = at;
      hint = "Ctrl-C again leaves";
      void shell?.cancel("Ctrl-C").then((isCancelled) => {
        if (isCancelled) hint = "cancelled; Ctrl-C again leaves";
        changed();
      });
    }
  }

  async function cancel(): Promise<void> {
    if (shell === null) return;
    hint = (await shell.cancel("Esc")) ? "cancelled" : "";
    changed();
  }

  // ── sending ──

  function sent(text: string): void {
    if (panel?.writing === "reason" && text.trim() === "") hint = "say why not: the agent is told, and the journal keeps it";
    else if (panel?.writing === "reason") answerWith(approvalRef(panel), { kind: "deny", reason: text });
    else if (panel?.writing === "arguments") editedTo(panel, text);
    else {
      history.add(text);
      if (shell !== null && !isCatchingUp && !shell.isSwitchingServer()) return void submit(shell, text);
      kept.push(text);
      if (shell === null) hint = "it is sent as soon as everything is loaded";
      else if (shell.isSwitchingServer()) hint = "it is sent as soon as the server is there";
    }
  }
  /** One after the other: what is said after `/agent use` is for that agent. S-14 and after a save, or `/attach`, for the server that comes of it. */
  async function catchUp(to: Shell): Promise<void> {
    if (isCatchingUp) return;
    isCatchingUp = true;
    try {
      while (shell === to && !to.isSwitchingServer()) {
        const text = kept.shift();
        if (text === undefined) break;
        await submit(to, text);
      }
    } finally {
      isCatchingUp = false;
    }
  }
  async function submit(to: Shell, text: string): Promise<void> {
    if (text.startsWith("/"))
      face.print(["", paint("accent", `› ${HOLDS_SECRET.test(text) ? `${text.split(/\s/, 1)[0] ?? ""} …` : text}`)]);
    const isTaken = await to.submit(text);
    // A refused message comes back to be mended, unless something else is being written. A refused command does not: what is typed next would be joined to it,
    // and `/config/login` is no command, but a message (S-13). The up key brings it back.
    if (!isTaken && editor.line.text === "" && !/^[/!]/.test(text)) editor = withLine(editor, { text, at: text.length });
    changed();
  }

  function answerWith(bound: ApprovalRef, answer: Parameters<Shell["answer"]>[1]): void {
    if (panel !== null) panel = { ...panel, writing: null, focus: "line" };
    void shell?.answer(bound, answer).then(changed);
  }
  function editedTo(open: Panel, text: string): void {
    const args = objectIn(text);
    if (args !== null) answerWith(approvalRef(open), { kind: "edit", args });
    else {
      hint = "these are no arguments: one JSON object is";
      editor = withLine(editor, { text, at: text.length });
    }
  }

  function chosen(open: Panel, choice: Choice): void {
    if (choice === "approve") answerWith(approvalRef(open), { kind: "approve" });
    else if (choice === "deny") panel = { ...open, writing: "reason" };
    else if (choice === "give-grant" && open.granting != null) answerWith(approvalRef(open), { kind: "grant", grant: open.granting.grant });
    else if (shell !== null && choice !== "give-grant") void looked(shell, open, choice);
  }
  /** What needs all of the question: its arguments, how wide a grant may be. */
  async function looked(to: Shell, open: Panel, choice: Exclude<Choice, "approve" | "deny" | "give-grant">): Promise<void> {
    if (choice === "why") {
      await (await import("../commands/approvals.ts")).explainApproval(open.asked.item.approval, to);
      return;
    }
    const found = await to.unwrap(to.connection.client.call("approval", { params: { approval: open.asked.item.approval } }));
    const isStill =
      panel !== null && approvalRef(panel).approval === approvalRef(open).approval && approvalRef(panel).digest === found?.digest;
    if (found === null || !isStill || panel === null) return;
    if (choice === "edit") {
      panel = { ...panel, writing: "arguments" };
      const text = JSON.stringify(found.args ?? {});
      editor = withLine(editor, { text, at: text.length });
    } else if (found.widest === null || found.shown === null) hint = "the policy lets nobody grant this: y is for once";
    else {
      const { scope, lifetime } = found.widest;
      const until = typeof lifetime === "string" ? lifetime : millis(Date.now() + lifetime.ms);
      const grant = { scope, until };
      panel = { ...panel, granting: { grant, says: `It would cover ${coverageText(found.shown, grant)}.` }, armedAt: now() + QUIET_MS };
    }
    changed();
  }

  const face: ShellUi = {
    look,
    print(lines) {
      const columns = terminal.columns();
      for (const line of lines) printed.push(...foldLines(line, columns));
      changed();
    },
    changed,
    leave,
    cwd,
    files: (folder) => filesIn(join(cwd, folder)),
    show(next) {
      modal = next;
      changed();
      return true;
    },
    askHidden: (question) =>
      new Promise((resolve, reject) => {
        hidden?.reject(new Error("something else is asked"));
        hidden = { question, typed: "", resolve, reject };
        changed();
      }),
    setTheme(next) {
      paint = themePaint(next, own);
      region.resized(terminal.columns()); // every row is another one now
      changed();
    },
  };
  draw();
  return {
    face,
    begin(to) {
      shell = to;
      if (!isWelcomed) to.say(WELCOME);
      isWelcomed = true;
      hint = ""; // what it said of what was kept is over
      void catchUp(to);
      draw();
    },
    left,
    close() {
      draw();
      isOver = true;
      terminal.write(region.clear());
      terminal.close();
    },
  };
}

function objectIn(text: string): JsonObject | null {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}
const isObject = (value: unknown): value is JsonObject => typeof value === "object" && value !== null && !Array.isArray(value);

const MOST_FILES = 1_000;
function filesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder, { withFileTypes: true })
      .filter(({ name }) => !name.startsWith("."))
      .slice(0, MOST_FILES)
      .map((one) => (one.isDirectory() ? `${one.name}/` : one.name));
  } catch {
    return []; // no such folder yet
  }
}
