import fc from "fast-check";
import { expect, test } from "vitest";
import { type Editor, type EditResult, edit, newEditor } from "./editor.ts";
import { type Key, keyReader } from "./keys.ts";

const press = (editor: Editor, sent: string): Readonly<{ editor: Editor; said: readonly string[]; passed: readonly Key[] }> => {
  const reader = keyReader();
  const [said, passed]: [string[], Key[]] = [[], []];
  let now = editor;
  for (const key of [...reader.read(sent), ...reader.settle()]) {
    const done: EditResult = edit(now, key);
    if (done.kind === "sent") said.push(done.text);
    if (done.kind === "passed") passed.push(done.key);
    now = done.editor;
  }
  return { editor: now, said, passed };
};
const UP = "\u001b[A";
const DOWN = "\u001b[B";
const LEFT = "\u001b[D";

test("enter sends and clears; alt-enter and a paste put line breaks in", () => {
  const { editor, said } = press(newEditor(), "one\u001b\rtwo\u001b[200~\nthree\n\u001b[201~\r");
  expect(said).toEqual(["one\ntwo\nthree\n"]);
  expect(editor.line).toEqual({ text: "", at: 0 });
  expect(press(newEditor(), "  \r").said).toEqual([]);
});

test("the draft comes back from the history, and what is sent joins it once", () => {
  const first = press(newEditor(), "alpha\rbeta\rbeta\r").editor;
  expect(first.history).toEqual(["alpha", "beta"]);
  expect(press(first, `dra${UP}${UP}${UP}`).editor.line.text).toBe("alpha");
  expect(press(first, `dra${UP}${UP}${DOWN}${DOWN}${DOWN}ft\r`).said).toEqual(["draft"]);
});

test("a search looks back, on and on, and given up leaves what was written", () => {
  const { editor } = press(newEditor(["run a", "list", "run b", "look"]), "dra");
  expect(press(editor, "\u0012run").editor.line.text).toBe("run b");
  expect(press(editor, "\u0012run\u0012").editor.line.text).toBe("run a");
  expect(press(editor, "\u0012run\u0012\u0012").editor.line.text).toBe("run a");
  expect(press(editor, "\u0012run\u0007").editor.line).toEqual(editor.line);
  expect(press(editor, "\u0012nothing").editor.line.text).toBe("dra");
  expect(press(editor, "\u0012run\r").said).toEqual(["run b"]);
});

test.each([
  ["one two", "\u0017", "one ", 4],
  ["one two", "\u0015", "", 0],
  ["one two", `${LEFT}${LEFT}${LEFT}\u000b`, "one ", 4],
  ["one two", "\u0017\u0019\u0019", "one twotwo", 10],
  ["one two", "\u0001x", "xone two", 1],
  ["one two", "\u001bb\u001bb>", ">one two", 1],
  ["👨‍👩‍👧e\u0301", "\u007f", "👨‍👩‍👧", 8],
  ["👨‍👩‍👧e\u0301", "\u007f\u007f", "", 0],
  ["a\u001b\rbc", `${UP}x`, "ax\nbc", 2],
  ["ab\u001b\rc", `${UP}${DOWN}x`, "ab\ncx", 5],
])("%j then %j", (written, keys, text, at) => {
  expect(press(newEditor(), written + keys).editor.line).toEqual({ text, at });
});

test("what is not the editor's is passed on: tab, escape, ctrl-c, ctrl-d on an empty line", () => {
  expect(press(newEditor(), "\t\u0003\u0004").passed).toHaveLength(3);
  expect(press(newEditor(), "x\u0004").passed).toHaveLength(0);
});

test("whatever is pressed, the place is inside the text and between characters", () => {
  const sent = fc.oneof(
    fc.constantFrom(
      UP,
      DOWN,
      LEFT,
      "\u001b[C",
      "\u0017",
      "\u000b",
      "\u0019",
      "\u0012",
      "\r",
      "\u001b\r",
      "\u007f",
      "\u001b[3~",
      "\u001bb",
      "\u001bf",
      "\u001bd",
    ),
    fc.string({ unit: "grapheme", maxLength: 4 }),
  );
  fc.assert(
    fc.property(fc.array(sent, { maxLength: 25 }), (keys) => {
      let editor = newEditor(["old one", "old two"]);
      for (const key of keys) {
        editor = press(editor, key).editor;
        const { text, at } = editor.line;
        expect(at >= 0 && at <= text.length).toBe(true);
        expect(/[\ud800-\udbff]$/.test(text.slice(0, at))).toBe(false);
      }
    }),
    { numRuns: 150 },
  );
});
