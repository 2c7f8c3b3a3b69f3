/**
 * Keys of the editor. Only the lines on screen exist in the page, so the browser's own Ctrl+End or Ctrl+A would end in the middle of a
 * long file: text typed after it would land there.
 *
 * Keys that reach beyond the screen act on the whole text; typing can be undone.
 */
import {
  Annotation,
  type ChangeSet,
  EditorSelection,
  type EditorState,
  type Extension,
  StateField,
  type TransactionSpec,
} from "@codemirror/state";
import { type EditorView, type KeyBinding, keymap } from "@codemirror/view";

type Target = Pick<EditorView, "state" | "dispatch">;
type Edge = "start" | "end";

const goTo =
  (edge: Edge, extend: boolean) =>
  ({ state, dispatch }: Target): boolean => {
    const head = edge === "start" ? 0 : state.doc.length;
    const anchor = extend ? state.selection.main.anchor : head;
    dispatch({ selection: EditorSelection.single(anchor, head), scrollIntoView: true, userEvent: "select" });
    return true;
  };

function selectAll({ state, dispatch }: Target): boolean {
  dispatch({ selection: EditorSelection.single(0, state.doc.length), userEvent: "select" });
  return true;
}

/** A selection may reach beyond the lines on screen; without one the browser does it. */
function deleteSelection({ state, dispatch }: Target): boolean {
  if (state.selection.main.empty || state.readOnly) return false;
  dispatch({ ...state.replaceSelection(""), scrollIntoView: true, userEvent: "delete.selection" });
  return true;
}

const page =
  (forward: boolean, extend: boolean) =>
  (view: EditorView): boolean => {
    const from = view.state.selection.main;
    const { head } = view.moveVertically(from, forward, Math.max(view.defaultLineHeight, view.scrollDOM.clientHeight));
    view.dispatch({ selection: EditorSelection.single(extend ? from.anchor : head, head), scrollIntoView: true, userEvent: "select" });
    return true;
  };

type Step = Readonly<{ back: ChangeSet; selection: EditorSelection; typed: boolean }>;
type Steps = Readonly<{ undo: readonly Step[]; redo: readonly Step[] }>;
const MAX_STEPS = 1_000;
const stepping = Annotation.define<keyof Steps>();

const steps = StateField.define<Steps>({
  create: () => ({ undo: [], redo: [] }),
  update(value, change) {
    if (!change.docChanged) return value;
    const typed = change.isUserEvent("input.type");
    const step: Step = { back: change.changes.invert(change.startState.doc), selection: change.startState.selection, typed };
    const how = change.annotation(stepping);
    if (how === "undo") return { undo: value.undo.slice(0, -1), redo: [...value.redo, step] };
    if (how === "redo") return { undo: [...value.undo, step], redo: value.redo.slice(0, -1) };
    const last = value.undo.at(-1);
    if (!typed || last?.typed !== true) return { undo: [...value.undo, step].slice(-MAX_STEPS), redo: [] };
    return { undo: [...value.undo.slice(0, -1), { ...last, back: step.back.compose(last.back) }], redo: [] }; // typed in one go
  },
});

const step =
  (how: keyof Steps) =>
  ({ state, dispatch }: Target): boolean => {
    const spec = stepOf(state, how);
    if (spec !== null) dispatch(spec);
    return true; // also with nothing to undo: the browser's own undo knows nothing of this text
  };

function stepOf(state: EditorState, how: keyof Steps): TransactionSpec | null {
  const last = state.field(steps)[how].at(-1);
  if (last === undefined || state.readOnly) return null;
  return { changes: last.back, selection: last.selection, annotations: stepping.of(how), scrollIntoView: true, userEvent: how };
}

export const EDITOR_KEYS: readonly KeyBinding[] = [
  { key: "Mod-Home", mac: "Cmd-ArrowUp", run: goTo("start", false), shift: goTo("start", true), preventDefault: true },
  { key: "Mod-End", mac: "Cmd-ArrowDown", run: goTo("end", false), shift: goTo("end", true), preventDefault: true },
  { key: "PageUp", run: page(false, false), shift: page(false, true), preventDefault: true },
  { key: "PageDown", run: page(true, false), shift: page(true, true), preventDefault: true },
  { key: "Mod-a", run: selectAll, preventDefault: true },
  { key: "Backspace", run: deleteSelection },
  { key: "Delete", run: deleteSelection },
  { key: "Mod-z", run: step("undo"), preventDefault: true },
  { key: "Mod-y", mac: "Mod-Shift-z", run: step("redo"), preventDefault: true },
];

export const editorKeys: Extension = [steps, keymap.of(EDITOR_KEYS)];
