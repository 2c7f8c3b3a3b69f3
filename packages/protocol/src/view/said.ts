/** Messages of people, and those that a session was opened with. */
import { type Attachment, type CallId, escapeHidden, fileLine, type HistoryMessage } from "@orgate/core/vocab";
import { toCallItem } from "./calls.ts";
import { MAX_SAID, type SaidItem, shownText } from "./items.ts";
import { push, setCall, toPlacement, type ViewBuilder } from "./shared.ts";

/** Messages from before this session: a call and its result are one card here too. */
export function foldEarlier(ground: ViewBuilder, one: HistoryMessage, i: number): void {
  const place = toPlacement(ground, `earlier:${i}`);
  switch (one.role) {
    case "user":
    case "note": {
      pushSaid(
        ground,
        { how: "earlier", by: one.role, text: one.text, files: one.role === "user" ? (one.files ?? []) : [] },
        `earlier:${i}`,
      );
      return;
    }
    case "assistant":
      if (one.text !== "")
        push(ground, {
          kind: "reply",
          ...place,
          turn: 0,
          iteration: 0,
          text: shownText(one.text, MAX_SAID).text,
          withheld: false,
          model: "",
        });
      for (const call of one.calls ?? []) {
        const id = `earlier:${call.id}` as CallId; // no call of this session has such an id
        push(ground, {
          ...toCallItem(ground, { key: `call:${id}`, call: id, tool: call.tool, turn: 0 }, null, call.text),
          status: "dropped",
        });
      }
      return;
    case "tool": {
      const shown = shownText(one.text);
      setCall(ground, `earlier:${one.id}`, { status: one.isError ? "failed" : "done", result: shown.text, cut: shown.cut });
      return;
    }
  }
}

type Spoken = Readonly<{ how: SaidItem["how"]; by: string; text: string; files: readonly Attachment[] }>;
export function pushSaid(ground: ViewBuilder, { how, by, text, files }: Spoken, key = `said:${ground.entry.seq}`): void {
  push(ground, {
    kind: "said",
    ...toPlacement(ground, key),
    how,
    by: escapeHidden(by),
    text: shownText(text, MAX_SAID).text,
    files: files.map((file) => escapeHidden(fileLine(file))),
  });
}
