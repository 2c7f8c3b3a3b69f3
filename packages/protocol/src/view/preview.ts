/** A reply while it streams in, before its entry is written. */
import { escapeHidden, escapeHiddenLines, type Preview } from "@orgate/core/vocab";
import type { ViewBuilder } from "./shared.ts";

export type PreviewOf = Readonly<{ iteration: number; attempt: number; preview: Preview }>;

/** `offset` says where a piece belongs: one that was sent again, or a late joiner's text so far, takes the place of what is there. */
export function foldPreview(ground: ViewBuilder, { iteration, attempt, preview }: PreviewOf): void {
  const { view, raw } = ground;
  const isNew = view.streaming?.iteration !== iteration || view.streaming.attempt !== attempt;
  if (isNew) [raw.text, raw.thinking] = ["", ""];
  const now = isNew || view.streaming === null ? { iteration, attempt, text: "", thinking: "", calls: [] } : view.streaming;
  if (preview.part === "call") {
    const before = now.calls[preview.call]?.text ?? "";
    if (preview.call > now.calls.length || preview.offset > before.length) return;
    const calls = [...now.calls];
    calls[preview.call] = { tool: escapeHidden(preview.tool), text: before.slice(0, preview.offset) + preview.text };
    view.streaming = { ...now, calls };
    return;
  }
  const before = raw[preview.part];
  if (preview.offset > before.length) return; // something before it was lost: the reply itself comes
  const isNext = preview.offset === before.length && !/[\ud800-\udbff\r]$/.test(before.slice(-1));
  raw[preview.part] = before.slice(0, preview.offset) + preview.text;
  const shown = isNext ? now[preview.part] + escapeHiddenLines(preview.text) : escapeHiddenLines(raw[preview.part]);
  view.streaming = { ...now, [preview.part]: shown };
}
