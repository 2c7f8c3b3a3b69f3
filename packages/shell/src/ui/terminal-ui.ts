/**
 * A shell on a real terminal: keys in, frames out.
 *
 * The prompt is drawn before anything is loaded; lines sent meanwhile go out once a server is there.
 * Esc closes what is open, else cancels what runs; Ctrl-C clears the line, else stops what runs, and twice leaves; Ctrl-D on an empty line leaves; Ctrl-Z stops the shell.
 */
import { join } from "node:path";
import { coverageText, millis } from "@orgate/core/vocab";
import type { Shell } from "../contract.ts";
import type { Paint } from "../terminal/paint.ts";
import { escapeRow } from "./escape.ts";
import { drawFrame, type Picture, STARTING } from "./frame.ts";
import { applyCompletion, type Completion, complete } from "./input/complete.ts";
import { type Editor, type EditResult, edit, newEditor, withLine } from "./input/editor.ts";
import { type HiddenInput, typeHidden } from "./input/hidden-input.ts";
import { HOLDS_SECRET } from "./input/history.ts";
import type { Key } from "./input/keys.ts";
import { LineQueue } from "./input/line-queue.ts";
import { listFiles } from "./input/list-files.ts";
import { parseArguments } from "./input/parse-arguments.ts";
import { type LiveRegion, liveRegion } from "./live-region.ts";
import type { ScreenLook } from "./look.ts";
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
import type { Terminal, TerminalPorts } from "./terminal.ts";
import { themePaint } from "./themes.ts";
import type { Modal, ShellUi } from "./ui.ts";
import { foldLines } from "./wrap-lines.ts";

/** Says what Orgate is and how to get help. */
const WELCOME =
  "Orgate runs agents under your policies: each action is decided first and stays in the journal. Write to an agent, `/help` lists what else there is";

export type TerminalUi = Readonly<{
  ui: ShellUi;
  /** Connects a shell: lines sent before go out now. */
  begin(shell: Shell): void;
  /** Resolves when the operator leaves, or the process gets a signal to end. */
  left: Promise<void>;
  close(): void;
}>;

const TWICE_MS = 2_000;
/** Beginnings that open the completion without Tab: commands, agents, files. */
const OFFERED = /^\/\S*$|(^|\s)@\S*$/;

export function openTerminalUi(given: TerminalPorts): TerminalUi {
  return new TerminalScreen(given);
}

class TerminalScreen implements TerminalUi {
  readonly left: Promise<void>;
  readonly ui: ShellUi;
  readonly #leave: () => void;
  readonly #given: TerminalPorts;
  readonly #terminal: Terminal;
  readonly #printed: string[] = [];
  readonly #queue = new LineQueue();
  #region: LiveRegion;
  #paint: Paint;
  #editor: Editor;
  #shell: Shell | null = null;
  #panel: Panel | null = null;
  #completion: Completion | null = null;
  #modal: Modal | null = null;
  #hidden: HiddenInput | null = null;
  #hint = "";
  #isWelcomed = false;
  #showThinking = false;
  #lastKeyAt = Number.NEGATIVE_INFINITY;
  #leavingAt = Number.NEGATIVE_INFINITY;
  #arming = Number.NEGATIVE_INFINITY;
  #isDue = false;
  #isOver = false;

  constructor(given: TerminalPorts) {
    const { promise, resolve } = Promise.withResolvers<void>();
    [this.left, this.#leave] = [promise, resolve];
    this.#given = given;
    this.#paint = themePaint(given.theme, given.paint);
    this.#editor = newEditor(given.history.lines);
    this.#terminal = given.open({
      keys: (keys) => {
        for (const key of keys) this.#press(key);
        this.#draw();
      },
      resized: () => {
        this.#region.resized(this.#terminal.columns());
        if (this.#panel !== null) this.#panel = resetPages(this.#panel);
        this.#draw();
      },
      resumed: () => {
        this.#region = liveRegion(this.#terminal.columns());
        this.#draw();
      },
      ended: () => this.#leave(),
    });
    this.#region = liveRegion(this.#terminal.columns());
    this.ui = this.#openUi();
    this.#draw();
  }

  readonly begin = (to: Shell): void => {
    this.#shell = to;
    if (!this.#isWelcomed) to.say(WELCOME);
    this.#isWelcomed = true;
    this.#hint = ""; // a hint about queued lines is out of date
    void this.#sendQueued(to);
    this.#draw();
  };

  close(): void {
    this.#draw();
    this.#isOver = true;
    this.#terminal.write(this.#region.clear());
    this.#terminal.close();
  }

  #openUi(): ShellUi {
    const { cwd } = this.#given;
    const changed = (): void => this.#changed();
    return {
      look: () => this.#look(),
      print: (lines) => {
        const columns = this.#terminal.columns();
        for (const line of lines) this.#printed.push(...foldLines(line, columns));
        changed();
      },
      changed,
      leave: this.#leave,
      cwd,
      files: (folder) => listFiles(join(cwd, folder)),
      show: (next) => {
        this.#modal = next;
        changed();
        return true;
      },
      askHidden: (question) =>
        new Promise((resolve, reject) => {
          this.#hidden?.reject(new Error("something else is asked"));
          this.#hidden = { question, typed: "", resolve, reject };
          changed();
        }),
      setTheme: (theme) => {
        this.#paint = themePaint(theme, this.#given.paint);
        this.#region.resized(this.#terminal.columns()); // every row has changed
        changed();
      },
    };
  }

  #look(): ScreenLook {
    return { columns: this.#terminal.columns(), paint: this.#paint, showThinking: this.#showThinking, me: this.#shell?.me() ?? null };
  }

  #draw(): void {
    this.#isDue = false;
    if (this.#isOver) return;
    if (!this.#queue.isEmpty() && this.#shell !== null) void this.#sendQueued(this.#shell);
    const isLineEmpty = this.#editor.line.text === "";
    this.#panel = panelFor(this.#panel, this.#shell?.openApprovals() ?? [], {
      now: this.#given.now(),
      lastKeyAt: this.#lastKeyAt,
      isLineEmpty,
    });
    this.#redrawWhenArmed();
    const settled = [...this.#printed.splice(0), ...(this.#shell?.takeSettledLines() ?? [])];
    const talks =
      this.#shell?.conversations.all().flatMap((talk) => (talk.isCaughtUp() ? [{ view: talk.view, settled: talk.settled() }] : [])) ?? [];
    const picture: Picture = {
      talks,
      editor: this.#editor,
      panel: this.#panel,
      completion: this.#completion,
      modal: this.#modal,
      question: this.#hidden?.question ?? null,
      hint: this.#hint,
      now: this.#given.now(),
      footer: this.#shell?.footer() ?? STARTING,
    };
    const { rows, cursor, next } = drawFrame(picture, this.#look(), this.#terminal.rows());
    if (this.#panel !== null) this.#panel = markDrawn(this.#panel, next);
    this.#terminal.write(this.#region.draw(settled.map(escapeRow), { rows: rows.map(escapeRow), cursor }));
  }
  /** Redraws when the panel begins to accept keys. */
  #redrawWhenArmed(): void {
    const at = this.#panel?.armedAt ?? this.#given.now();
    if (at <= this.#given.now() || at === this.#arming) return;
    this.#arming = at;
    this.#given.wait(at - this.#given.now(), () => this.#changed());
  }
  #changed(): void {
    if (this.#isDue || this.#isOver) return;
    this.#isDue = true;
    this.#given.soon(() => this.#draw());
  }

  // ── keys ──

  #press(key: Key): void {
    const at = this.#given.now();
    this.#hint = "";
    // S-4 typing elsewhere counts as typing, and meanwhile the request may not even be on screen
    if (this.#panel !== null && (this.#hidden !== null || this.#modal !== null)) this.#panel = rearm(this.#panel, at);
    if (this.#hidden !== null) {
      this.#hidden = typeHidden(this.#hidden, key);
      return;
    }
    if (this.#modal !== null) {
      this.#modal.pressed(key);
      return;
    }
    if (this.#panel !== null) {
      const done = press(this.#panel, key, at, this.#editor.line.text === "");
      this.#panel = done.panel;
      this.#lastKeyAt = at;
      if (done.kind === "taken") {
        if (this.#panel.writing === null && key.kind === "named" && key.name === "escape")
          this.#editor = withLine(this.#editor, { text: "", at: 0 });
        return;
      }
      if (done.kind === "chosen") {
        this.#choose(done.panel, done.choice);
        return;
      }
    }
    this.#lastKeyAt = at;
    if (this.#completion !== null && this.#pressInCompletion(this.#completion, key)) return;
    this.#apply(edit(this.#editor, key), at);
  }

  #pressInCompletion(open: Completion, key: Key): boolean {
    if (key.kind !== "named") return false;
    const move = (by: number): boolean => {
      this.#completion = { ...open, chosen: (open.chosen + by + open.offers.length) % open.offers.length };
      return true;
    };
    if (key.name === "down") return move(1);
    if (key.name === "up" || key.name === "back-tab") return move(-1);
    if (key.name === "escape") {
      this.#completion = null;
      return true;
    }
    if (key.name !== "tab") return false;
    this.#editor = withLine(this.#editor, applyCompletion(this.#editor.line, open));
    this.#completion = null;
    return true;
  }

  #apply(edited: EditResult, at: number): void {
    this.#editor = edited.editor;
    this.#completion = null;
    if (edited.kind === "sent") this.#sendLine(edited.text);
    else if (edited.kind === "passed") this.#handlePassed(edited.key, at);
    else if (this.#editor.search !== null)
      return; // Enter, Tab and Esc are the search's
    else if (
      this.#shell !== null &&
      (this.#panel === null || this.#panel.writing === null) &&
      OFFERED.test(this.#editor.line.text.slice(0, this.#editor.line.at))
    )
      this.#completion = complete(this.#editor.line, this.#shell.choices());
  }

  #handlePassed(key: Key, at: number): void {
    if (key.kind === "named" && key.name === "tab" && this.#shell !== null) {
      const open = complete(this.#editor.line, this.#shell.choices());
      const isOnly = open !== null && open.offers.length === 1;
      if (isOnly) this.#editor = withLine(this.#editor, applyCompletion(this.#editor.line, open)); // there is nothing to choose
      this.#completion = isOnly ? null : open;
    }
    if (key.kind === "named" && key.name === "escape") void this.#cancel();
    if (key.kind !== "ctrl") return;
    if (key.letter === "d") this.#leave();
    if (key.letter === "z") this.#terminal.suspend(this.#region.clear());
    if (key.letter === "t") this.#showThinking = !this.#showThinking;
    if (key.letter === "l") {
      this.#terminal.write("\u001b[2J\u001b[H");
      this.#region = liveRegion(this.#terminal.columns());
    }
    if (key.letter === "c") this.#interrupt(at);
  }

  #interrupt(at: number): void {
    if (this.#editor.line.text !== "") this.#editor = withLine(this.#editor, { text: "", at: 0 });
    else if (at - this.#leavingAt < TWICE_MS) this.#leave();
    else {
      this.#leavingAt = at;
      this.#hint = "Ctrl-C again leaves";
      void this.#shell?.cancel("Ctrl-C").then((isCancelled) => {
        if (isCancelled) this.#hint = "cancelled; Ctrl-C again leaves";
        this.#changed();
      });
    }
  }

  async #cancel(): Promise<void> {
    if (this.#shell === null) return;
    this.#hint = (await this.#shell.cancel("Esc")) ? "cancelled" : "";
    this.#changed();
  }

  // ── sending ──

  #sendLine(text: string): void {
    if (this.#panel?.writing === "reason" && text.trim() === "") this.#hint = "say why not: the agent is told, and the journal keeps it";
    else if (this.#panel?.writing === "reason") this.#answerWith(approvalRef(this.#panel), { kind: "deny", reason: text });
    else if (this.#panel?.writing === "arguments") this.#approveEdited(this.#panel, text);
    else {
      this.#given.history.add(text);
      if (this.#shell !== null && !this.#queue.isSending() && !this.#shell.isSwitchingServer()) return void this.#submit(this.#shell, text);
      this.#queue.add(text);
      if (this.#shell === null) this.#hint = "it is sent as soon as everything is loaded";
      else if (this.#shell.isSwitchingServer()) this.#hint = "it is sent as soon as the server is there";
    }
  }
  /** In order: a message typed after `/agent use` is for that agent (S-14), a message typed after a save or `/attach` is for the new server. */
  async #sendQueued(to: Shell): Promise<void> {
    await this.#queue.drain(
      () => this.#shell === to && !to.isSwitchingServer(),
      (text) => this.#submit(to, text),
    );
  }
  async #submit(to: Shell, text: string): Promise<void> {
    if (text.startsWith("/"))
      this.ui.print(["", this.#paint("accent", `› ${HOLDS_SECRET.test(text) ? `${text.split(/\s/, 1)[0] ?? ""} …` : text}`)]);
    const isTaken = await to.submit(text);
    // A refused message goes back to the line, unless something else is being written. A refused command does not: text typed next would join it,
    // and `/config/login` is no command but a message (S-13). The up key brings it back.
    if (!isTaken && this.#editor.line.text === "" && !/^[/!]/.test(text)) this.#editor = withLine(this.#editor, { text, at: text.length });
    this.#changed();
  }

  #answerWith(bound: ApprovalRef, answer: Parameters<Shell["answer"]>[1]): void {
    if (this.#panel !== null) this.#panel = { ...this.#panel, writing: null, focus: "line" };
    void this.#shell?.answer(bound, answer).then(() => this.#changed());
  }
  #approveEdited(open: Panel, text: string): void {
    const args = parseArguments(text);
    if (args !== null) this.#answerWith(approvalRef(open), { kind: "edit", args });
    else {
      this.#hint = "these are no arguments: one JSON object is";
      this.#editor = withLine(this.#editor, { text, at: text.length });
    }
  }

  #choose(open: Panel, choice: Choice): void {
    if (choice === "approve") this.#answerWith(approvalRef(open), { kind: "approve" });
    else if (choice === "deny") this.#panel = { ...open, writing: "reason" };
    else if (choice === "give-grant" && open.granting != null)
      this.#answerWith(approvalRef(open), { kind: "grant", grant: open.granting.grant });
    else if (this.#shell !== null && choice !== "give-grant") void this.#chooseWithDetail(this.#shell, open, choice);
  }
  /** Choices that need the whole request: its arguments, how wide a grant may be. */
  async #chooseWithDetail(to: Shell, open: Panel, choice: Exclude<Choice, "approve" | "deny" | "give-grant">): Promise<void> {
    if (choice === "why") {
      await (await import("../commands/approvals.ts")).explainApproval(open.asked.item.approval, to);
      return;
    }
    const found = await to.unwrap(to.connection.client.call("approval", { params: { approval: open.asked.item.approval } }));
    const isStill =
      this.#panel !== null &&
      approvalRef(this.#panel).approval === approvalRef(open).approval &&
      approvalRef(this.#panel).digest === found?.digest;
    if (found === null || !isStill || this.#panel === null) return;
    if (choice === "edit") {
      this.#panel = { ...this.#panel, writing: "arguments" };
      const text = JSON.stringify(found.args ?? {});
      this.#editor = withLine(this.#editor, { text, at: text.length });
    } else if (found.widest === null || found.shown === null) this.#hint = "the policy lets nobody grant this: y is for once";
    else {
      const { scope, lifetime } = found.widest;
      const until = typeof lifetime === "string" ? lifetime : millis(Date.now() + lifetime.ms);
      const grant = { scope, until };
      this.#panel = {
        ...this.#panel,
        granting: { grant, says: `It would cover ${coverageText(found.shown, grant)}.` },
        armedAt: this.#given.now() + QUIET_MS,
      };
    }
    this.#changed();
  }
}
