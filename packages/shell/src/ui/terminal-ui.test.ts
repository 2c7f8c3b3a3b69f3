import { expect, test } from "vitest";
import { plain } from "../terminal/paint.ts";
import { NO_HISTORY } from "./input/history.ts";
import { keyReader } from "./input/keys.ts";
import type { TerminalEvents } from "./terminal.ts";
import { openTerminalUi } from "./terminal-ui.ts";

function seated() {
  const writes: string[] = [];
  const due: (() => void)[] = [];
  const added: string[] = [];
  let events: TerminalEvents | null = null;
  const terminal = openTerminalUi({
    open: (given) => {
      events = given;
      return { columns: () => 80, rows: () => 24, write: (text) => writes.push(text), suspend: () => {}, close: () => {} };
    },
    paint: plain,
    theme: "plain",
    cwd: ".",
    history: { ...NO_HISTORY, add: (text) => added.push(text) },
    now: () => 0,
    soon: (run) => due.push(run),
    wait: () => {},
  });
  const reader = keyReader();
  return {
    terminal,
    writes,
    added,
    tick: () => {
      for (const run of due.splice(0)) run();
    },
    type: (keys: string) => events?.keys([...reader.read(keys), ...reader.settle()]),
  };
}

test("10,000 lines that come one by one are drawn once; after them a key costs what a key costs", () => {
  const { terminal, writes, tick, type } = seated();
  writes.splice(0);
  for (let i = 0; i < 10_000; i += 1) terminal.ui.print([`line ${i}`]);
  tick();
  expect(writes).toHaveLength(1);
  expect(writes[0]?.match(/line \d+/g)).toHaveLength(10_000);
  writes.splice(0);
  for (const letter of "quick") type(letter);
  expect(writes).toHaveLength(5);
  expect(Math.max(...writes.map((text) => text.length))).toBeLessThan(200);
  tick();
  expect(writes).toHaveLength(5);
});

test("what is asked for hidden is neither shown nor kept, can be mended, and can be left unsaid", async () => {
  const { terminal, writes, tick, type, added } = seated();
  type("half a line");
  const answer = terminal.ui.askHidden?.("passphrase: ");
  tick();
  expect(writes.join("")).toContain("passphrase: ");
  type("secrex\u007ft\r");
  expect(await answer).toBe("secret");
  const unsaid = terminal.ui.askHidden?.("again: ");
  type("sec\u001b");
  await expect(unsaid).rejects.toThrow("not said");
  type(" goes on\r");
  expect([added, writes.join("").includes("secre")]).toEqual([["half a line goes on"], false]);
});
