/**
 * A session's view as lines of a terminal; pure. What can no longer change is settled and goes into the scrollback, in order; the rest is drawn
 * below it until it is.
 *
 * S-19 an item is shown once, where it stands in the conversation; nothing is settled before everything above it is.
 * A card is `● name(summary)` with `⎿ output` below it, paired by its call; red is for what failed, not for what was refused or said.
 * A queued message is in the scrollback once: where its turn begins.
 * S-19 words in progress are never settled: they go when the reply that takes their place is there.
 * Rule: S-22.
 */
import {
  answeredText,
  type CallItem,
  countNoun,
  type DiffLine,
  durationText,
  type EndedItem,
  type QuestionItem,
  quorumText,
  type SessionView,
  shorten,
  textWidth,
  tokenCountText,
  tokensText,
  type ViewItem,
} from "@orgate/protocol/view";
import type { Tone } from "../terminal/paint.ts";
import { visible } from "../terminal/visible.ts";
import { formatMoney, type ScreenLook } from "./look.ts";
import { callTitle, isCancelled } from "./sub-agents.ts";

/** Counts the items from the first that can no longer change. */
export function countSettled({ items }: SessionView, from: number): number {
  let at = from;
  while (at < items.length && isSettled(items[at])) at += 1;
  return at;
}

const OVER: ReadonlySet<CallItem["status"]> = new Set(["denied", "done", "failed", "unknown", "dropped"]);
function isSettled(item: ViewItem | undefined): boolean {
  if (item === undefined) return false;
  if (item.kind === "call") return OVER.has(item.status);
  if (item.kind === "question") return item.state !== "open";
  return !(item.kind === "reply" && item.withheld);
}

/** A queued message is shown below until its turn begins, and then in the scrollback: never twice. */
export const isQueued = (item: ViewItem): boolean => item.kind === "said" && item.how === "queued";
/** Queued messages whose turn has not begun. Only recent items are searched. */
export function queuedTexts({ items }: SessionView): readonly string[] {
  const begun = new Map<string, number>();
  const waiting: string[] = [];
  for (const item of items.slice(-MOST_LOOKED).reverse()) {
    if (item.kind !== "said") continue;
    const key = `${item.by}\n${item.text}`;
    const seen = begun.get(key) ?? 0;
    if (item.how === "turn") begun.set(key, seen + 1);
    else if (item.how === "queued" && seen > 0) begun.set(key, seen - 1);
    else if (item.how === "queued") waiting.unshift(item.text);
  }
  return waiting;
}
const MOST_LOOKED = 200;

/** A person who pasted a thousand lines knows them: the answer is not to be looked for below them. */
const beginningOf = (rows: readonly string[], { paint }: ScreenLook): readonly string[] =>
  rows.length <= MOST_SAID ? rows : [...rows.slice(0, MOST_SAID - 1), paint("dim", `  … ${rows.length - MOST_SAID + 1} rows more`)];
const MOST_SAID = 60;

export function renderItem(item: ViewItem, look: ScreenLook): readonly string[] {
  const { paint } = look;
  switch (item.kind) {
    case "said":
      return [
        "",
        ...beginningOf(wrapText(item.text, look, { first: paint("accent", "› "), rest: "  ", indent: 2 }), look),
        ...item.files.map((file) => paint("dim", `  + ${file}`)),
      ];
    case "reply":
      return item.withheld
        ? [paint("dim", shorten("  the reply is withheld: nobody has let it be told", look.columns))]
        : ["", ...wrapText(item.text, look)];
    case "thinking":
      return look.showThinking ? wrapText(item.text, look, { first: "  ", rest: "  ", indent: 2 }, "dim") : [];
    case "call":
      return callLines(item, look);
    case "question":
      return questionLines(item, look);
    case "notice":
      return wrapText(item.text, look, { first: `${item.mark} `, rest: "  ", indent: 2 }, item.tone);
    case "ended":
      return endedLines(item, look);
  }
}

const DOT: Readonly<Record<CallItem["status"], Tone>> = {
  proposed: "dim",
  asking: "warn",
  deferred: "warn",
  denied: "warn",
  allowed: "dim",
  running: "accent",
  recovering: "warn",
  done: "good",
  failed: "bad",
  unknown: "bad",
  dropped: "dim",
};
const MOST_OUTPUT_LINES = 6;
const MOST_NEWLY = 12;

function callLines(item: CallItem, look: ScreenLook): readonly string[] {
  const { paint, columns } = look;
  const head = callTitle(item);
  const used = item.child?.used ?? null;
  const spent = used === null ? "" : ` · ${tokenCountText(used)}${used.micros === null ? "" : ` · ${formatMoney(used.micros)}`}`;
  const took = item.durationMs === null ? "" : `  ${durationText(item.durationMs)}${spent}`;
  const title = `${paint(isCancelled(item) ? "dim" : DOT[item.status], "●")} ${shorten(head, columns - 2 - textWidth(took))}${paint("dim", took)}`;
  const status = saidOf(item);
  if (item.edit !== null && item.status !== "denied" && item.status !== "failed") {
    const { path, added, removed, lines } = item.edit;
    return [
      title,
      ...(status === null ? [] : [below(status.text, look, status.tone)]),
      below(`${path}  +${added} −${removed}`, look, "dim"),
      ...lines.slice(0, MOST_DIFF).map((line) => renderDiffLine(line, look)),
      ...more(lines.length - MOST_DIFF, look),
      ...item.edit.newly.slice(0, MOST_NEWLY).map((line) => `    ${paint("warn", shorten(line, columns - 4))}`),
      ...more(item.edit.newly.length - MOST_NEWLY, look),
    ];
  }
  const output = item.status === "denied" ? "" : (item.result ?? item.live).replace(/\n+$/, ""); // what the model was told of it is the reason again
  const lines = output === "" ? [] : output.split("\n");
  const cut = item.result === null ? lines.slice(-MOST_OUTPUT_LINES) : lines.slice(0, MOST_OUTPUT_LINES);
  const tone: Tone = isCancelled(item) ? "dim" : item.status === "failed" ? "bad" : "plain";
  return [
    title,
    ...(item.status === "recovering" ? [] : item.recovery.map((line) => below(line, look, "dim"))),
    ...(status === null ? [] : [below(status.text, look, status.tone)]),
    ...cut.map((line, i) => (i === 0 && status === null ? below(line, look, tone) : `    ${paint(tone, shorten(line, columns - 4))}`)),
    ...more(lines.length - cut.length, look),
  ];
}

const below = (text: string, { paint, columns }: ScreenLook, tone: Tone): string =>
  `  ${paint("dim", "⎿")} ${paint(tone, shorten(text, columns - 4))}`;
const more = (n: number, { paint }: ScreenLook): readonly string[] => (n > 0 ? [paint("dim", `    … ${countNoun(n, "line")} more`)] : []);

function saidOf(item: CallItem): { readonly text: string; readonly tone: Tone } | null {
  const because =
    item.verdict === null || item.verdict.policies.length === 0 ? "" : ` (${item.verdict.policies.map(({ id }) => id).join(", ")})`;
  switch (item.status) {
    case "denied": {
      const why = item.result ?? item.verdict?.reason ?? "";
      return { text: `denied: ${why}${why.includes(because.trim()) ? "" : because}`, tone: "warn" };
    }
    case "asking":
      return { text: `waits for an answer${because}`, tone: "warn" };
    case "deferred":
      return { text: `deferred${because}`, tone: "warn" };
    case "unknown":
      return { text: "nobody knows whether it happened: `/approvals` lists what is open", tone: "bad" };
    case "dropped":
      return { text: "not run: its turn ended first", tone: "dim" };
    case "recovering":
      return { text: item.recovery.at(-1) ?? "tries again", tone: "warn" };
    case "proposed":
    case "allowed":
    case "running":
    case "done":
    case "failed":
      return null;
  }
}

const MOST_DIFF = 24;
export function renderDiffLine(line: DiffLine | null, { paint, columns }: ScreenLook): string {
  if (line === null) return paint("dim", "    ⋮");
  const [mark, tone] =
    line.kind === "added" ? (["+", "good"] as const) : line.kind === "removed" ? (["-", "bad"] as const) : ([" ", "dim"] as const);
  return paint(tone, `    ${mark} ${shorten(line.text, columns - 6)}`);
}

function questionLines(item: QuestionItem, look: ScreenLook): readonly string[] {
  const { paint } = look;
  if (item.state !== "open") {
    const question = item.asks.map((ask) => ask.question).join(" ");
    return wrapText(
      `${question} ${item.tool}(${item.summary}): ${answeredText(item, look.me ?? null)}`,
      look,
      { first: paint("dim", "? "), rest: "  ", indent: 2 },
      "dim",
    );
  }
  return [
    `${paint("warn", "?")} ${shorten(`${item.tool}(${item.summary})`, look.columns - 2)}`,
    ...item.asks.flatMap(({ question, policy }) =>
      wrapText(`${question} (${policy.id})`, look, { first: "  ", rest: "  ", indent: 2 }, "warn"),
    ),
    ...[quorumText(item.quorum)].flatMap((voted) =>
      voted === null ? [] : wrapText(voted, look, { first: "  ", rest: "  ", indent: 2 }, "warn"),
    ),
  ];
}

function endedLines(item: EndedItem, look: ScreenLook): readonly string[] {
  const { paint } = look;
  const cost = item.micros === null ? "" : ` · ${formatMoney(item.micros)}`;
  const figures = `${item.ending} · ${tokensText(item)} · ${countNoun(item.iterations, "iteration")} · ${durationText(item.activeMs)}${cost}`;
  const isGood = item.ending === "completed";
  const isMute = !isGood && !item.said && item.ending !== "cancelled";
  const why = item.detail === null ? item.sentence : `${item.sentence.replace(/\.$/, "")}: ${item.detail}`;
  const next = isMute
    ? `${item.next} If it says nothing again: \`/compact\` or \`/clear\` makes room, or say it in other words.`
    : item.next;
  return [
    ...(item.output === null ? [] : ["", ...wrapText(item.output, look)]),
    ...(isGood
      ? []
      : wrapText(
          isMute ? `There is no answer. ${why}` : why,
          look,
          { first: isMute ? "✗ " : "! ", rest: "  ", indent: 2 },
          isMute || item.ending === "failed" ? "bad" : "warn",
        )),
    ...(isGood || next === "" ? [] : wrapText(next, look, { first: "  ", rest: "  ", indent: 2 }, "dim")),
    paint("dim", shorten(figures, look.columns)),
  ];
}

/** The reply in progress: its last rows. */
export function renderStreaming({ streaming, state }: SessionView, look: ScreenLook, rows: number): readonly string[] {
  if (streaming === null || state !== "running") return []; // words may come after the reply that took their place
  const words = streaming.text === "" && look.showThinking ? streaming.thinking : streaming.text;
  const tail = words.slice(-(look.columns * rows)); // what cannot be seen is not worth the breaking into lines
  const lines = words === "" ? [] : wrapText(tail, look).slice(-rows);
  return [
    ...lines,
    ...streaming.calls.map(
      ({ tool, text }) => `${look.paint("dim", "●")} ${shorten(visible(`${tool}(${text.replace(/\s+/g, " ")}`), look.columns - 3)}`,
    ),
  ];
}

type Margin = Readonly<{ first: string; rest: string; indent: number }>;
const NO_MARGIN: Margin = { first: "", rest: "", indent: 0 };

/** At blanks where there are any, else anywhere; colours are put on line by line, so that each stands for itself. */
export function wrapText(
  text: string,
  { columns, paint }: Pick<ScreenLook, "columns" | "paint">,
  margin: Margin = NO_MARGIN,
  tone: Tone = "plain",
): readonly string[] {
  const room = Math.max(columns - margin.indent, 8);
  return text
    .replace(/\n+$/, "")
    .split("\n")
    .flatMap((line) => broken(line, room))
    .map((line, i) => `${i === 0 ? margin.first : margin.rest}${paint(tone, line)}`);
}

/** Continuation lines of a list item are indented to its text. */
function hangOf(line: string, room: number): string {
  const mark = /^\s*(?:[-*•]|\d{1,3}[.)])\s+/.exec(line)?.[0] ?? "";
  return mark.length <= room / 2 ? " ".repeat(mark.length) : "";
}

function broken(text: string, room: number): readonly string[] {
  const rows: string[] = [];
  let now = "";
  let used = 0;
  const line = text.replaceAll("\t", "  ");
  const hang = hangOf(line, room);
  for (const word of line.match(/\s+|\S+/g) ?? []) {
    const wide = textWidth(word);
    if (used + wide <= room) {
      now += word;
      used += wide;
    } else if (word.trim() === "") {
      rows.push(now); // blanks at a break are not shown
      [now, used] = [hang, hang.length];
    } else if (wide <= room - hang.length) {
      rows.push(now.trimEnd());
      [now, used] = [hang + word, hang.length + wide];
    } else
      for (const c of word) {
        const more = textWidth(c);
        if (used + more > room) {
          rows.push(now);
          [now, used] = [hang, hang.length];
        }
        now += c;
        used += more;
      }
  }
  return [...rows, now];
}
