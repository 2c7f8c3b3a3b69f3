import { EditorState, type TransactionSpec } from "@codemirror/state";
import type { EditorView } from "@codemirror/view";
import { expect, test } from "vitest";
import { EDITOR_KEYS, editorKeys } from "./editor-keys.ts";

/** An editor without a page: keys are looked up as they are bound. */
function editor(doc: string) {
  let state = EditorState.create({ doc, extensions: editorKeys });
  const dispatch = (spec: TransactionSpec) => {
    state = state.update(spec).state;
  };
  return {
    press(key: string, shift = false): void {
      const found = EDITOR_KEYS.find((one) => one.key === key);
      const target: Pick<EditorView, "state" | "dispatch"> = { state, dispatch: dispatch as EditorView["dispatch"] };
      (shift ? found?.shift : found?.run)?.(target as EditorView);
    },
    type: (text: string) => dispatch({ ...state.replaceSelection(text), userEvent: "input.type" }),
    text: () => state.doc.toString(),
    selected: () => state.sliceDoc(state.selection.main.from, state.selection.main.to),
  };
}
const LONG = Array.from({ length: 5_000 }, (_, i) => `// line ${i}`).join("\n");

test("text typed after Ctrl+End is at the end of the whole text, however long, and after Ctrl+Home at its beginning", () => {
  const long = editor(LONG);
  long.press("Mod-End");
  long.type("!");
  long.press("Mod-Home");
  long.type("?");
  expect(long.text()).toBe(`?${LONG}!`);
});

test("Ctrl+A selects the whole text, Shift+Ctrl+End the rest of it, and Delete removes the selection", () => {
  const long = editor(LONG);
  long.press("Mod-End", true);
  expect(long.selected()).toBe(LONG);
  long.press("Mod-a");
  expect(long.selected()).toBe(LONG);
  long.press("Delete");
  expect(long.text()).toBe("");
});

test("typing is undone and redone", () => {
  const long = editor(LONG);
  long.press("Mod-End");
  for (const letter of "abc") long.type(letter);
  long.press("Mod-a");
  long.press("Backspace");
  long.press("Mod-z");
  expect(long.text()).toBe(`${LONG}abc`);
  long.press("Mod-z");
  expect(long.text()).toBe(LONG);
  long.press("Mod-y");
  expect(long.text()).toBe(`${LONG}abc`);
  long.press("Mod-y");
  long.press("Mod-y");
  expect(long.text()).toBe("");
});
