import { ENDINGS, millis, NO_USAGE, seq, sessionId } from "@orgate/core/vocab";
import { VIEW_CASES } from "@orgate/protocol/testing";
import { buildSessionView, createSessionFold, textWidth } from "@orgate/protocol/view";
import { describe, expect, test } from "vitest";
import { plain } from "../terminal/paint.ts";
import type { ScreenLook } from "./look.ts";
import { countSettled, renderItem, wrapText } from "./screen.ts";

const VIEWED = sessionId("s_viewed00001");
const LOOK: ScreenLook = { columns: 80, paint: plain, showThinking: true };

test("of a message of many rows the beginning is shown, and how many more there are", () => {
  const said = (rows: number) => {
    const text = Array.from({ length: rows }, (_, i) => `line ${i}`).join("\n");
    return renderItem({ kind: "said", key: "s", seq: seq(1), at: millis(1), how: "turn", by: "user:ann", text, files: [] }, LOOK).slice(1);
  };
  expect(said(60)).toHaveLength(60);
  expect([said(10_000).length, said(10_000).slice(-2)]).toEqual([60, ["  line 58", "  … 9941 rows more"]]);
});

describe.each(VIEW_CASES)("$name", ({ entries, shown, hidden }) => {
  const { items } = buildSessionView(VIEWED, entries);
  const lines = items.flatMap((item) => renderItem(item, LOOK));

  test("S-19 what is to be seen is on the screen, what is withheld is not, and nothing is wider than it", () => {
    const text = wrappedAway(lines);
    for (const one of shown.filter((one) => one !== ENDINGS.completed.sentence)) expect(text).toContain(wrappedAway([one]).slice(0, 60));
    for (const one of hidden) expect(text).not.toContain(one);
    for (const columns of [40, 80])
      for (const line of items.flatMap((item) => renderItem(item, { ...LOOK, columns })))
        expect(textWidth(line)).toBeLessThanOrEqual(columns);
  });

  test("S-19 what is settled is settled for good: as it was, whatever comes after", () => {
    const fold = createSessionFold(VIEWED);
    const printed: string[] = [];
    const open = new Set<string>();
    let done = 0;
    for (const entry of entries) {
      fold.add(entry);
      const to = countSettled(fold.view, done);
      for (const item of fold.view.items.slice(done, to)) {
        printed.push(...renderItem(item, LOOK));
        if (item.kind === "call" && item.status === "unknown") open.add(item.key); // what becomes of it is told when it is known
      }
      done = to;
    }
    const last = fold.view.items.slice(0, done).flatMap((item) => (open.has(item.key) ? [] : renderItem(item, LOOK)));
    expect(printed.filter((line) => last.includes(line))).toEqual(last);
  });
});

/** That an answer was given is seen by the answer itself; every other ending says its sentence. Where a line was broken says nothing about what it says. */
const wrappedAway = (lines: readonly string[]): string => lines.join(" ").replace(/\s+/g, " ");

test("only what failed is red; a denial says why and by which policy", () => {
  const tones: string[] = [];
  const paint = (tone: string, text: string): string => {
    if (tone === "bad") tones.push(text);
    return text;
  };
  const decided = VIEW_CASES.find(({ name }) => name === "an allow, a denial and an approval");
  const lines = buildSessionView(VIEWED, decided?.entries ?? []).items.flatMap((item) => renderItem(item, { ...LOOK, paint }));
  expect(tones).toEqual([]);
  expect(lines.some((line) => /^ {2}⎿ denied: .+ \(.+\)$/.test(line))).toBe(true);
});

test.each([
  ["one two three", 8, ["one two", "three"]],
  ["abcdefghij", 8, ["abcdefgh", "ij"]],
  ["a\n\nb\n", 8, ["a", "", "b"]],
  ["日本語日本語", 8, ["日本語日", "本語"]],
  ["  kept indent", 8, ["  kept", "indent"]],
])("%j in %i columns", (text, columns, rows) => {
  expect(wrapText(text, { columns, paint: plain })).toEqual(rows);
});

test("S-22 a turn that stopped early says why and what to do; one that said nothing at all is an error with what may help", () => {
  const tones = new Map<string, string>();
  const paint = (tone: string, text: string): string => {
    tones.set(text, tone);
    return text;
  };
  const totals = { usage: NO_USAGE, lost: NO_USAGE, micros: null, iterations: 20, calls: 3, activeMs: 1 };
  const ended = (ending: keyof typeof ENDINGS, said: boolean) => {
    tones.clear();
    const item = {
      kind: "ended",
      key: "e",
      seq: seq(9),
      at: millis(1),
      turn: 1,
      ending,
      ...ENDINGS[ending],
      ...totals,
      detail: null,
      output: null,
      said,
    } as const;
    return wrappedAway(renderItem(item, { ...LOOK, columns: 200, paint }));
  };
  expect(ended("out-of-iterations", true)).toMatch(/^! The turn used up its model calls\. +Send another message to go on from here/);
  expect([...tones.values()]).not.toContain("bad");
  const mute = ended("out-of-tokens", false);
  expect(mute).toMatch(/^✗ There is no answer\. The turn used up its tokens\./);
  for (const remedy of ["/compact", "/clear", "other words"]) expect(mute).toContain(remedy);
  expect([...tones.values()]).toContain("bad");
  expect(ended("completed", false)).not.toContain("/compact");
  expect(ended("cancelled", false)).not.toContain("✗"); // somebody wanted that
});

test("what goes on of a point in a list goes on below its words", () => {
  const look = { ...LOOK, columns: 30 };
  expect(wrapText("I can\n- author an agent NAME that reads notes\n10. ask before it saves anything", look)).toEqual([
    "I can",
    "- author an agent NAME that",
    "  reads notes",
    "10. ask before it saves",
    "    anything",
  ]);
});
