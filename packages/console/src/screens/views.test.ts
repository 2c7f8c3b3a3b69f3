/** The shared table of journals and views, as the console draws it. */

import { VIEW_CASES, viewJournals } from "@orgate/protocol/testing";
import { buildSessionView } from "@orgate/protocol/view";
import { createElement } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import { expect, test } from "vitest";
import type { Hub } from "../link/hub.ts";
import { HubContext } from "../link/use.ts";
import { cell } from "../state/cell.ts";
import { InProgress, Row } from "./chat/Items.tsx";

const never = (): never => {
  throw new Error("what is drawn asks for nothing");
};
const hub: Hub = {
  who: cell({ kind: "finding-out" } as const),
  connection: cell({ kind: "connecting", attempt: 1 } as const),
  begin: never,
  leave: never,
  call: never,
  link: { call: never },
  listen: () => () => {},
  session: never,
};
const escaped = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");

test.each(VIEW_CASES)(
  "V-3 the console draws of “$name” what the table says, and nothing that is to be nowhere",
  ({ entries, shown, hidden }) => {
    const view = buildSessionView(viewJournals.VIEWED, entries);
    const drawn = view.items
      .map((item) => renderToStaticMarkup(createElement(HubContext, { value: hub }, createElement(Row, { item, view }))))
      .join("\n");
    for (const text of shown) expect(drawn).toContain(escaped(text));
    for (const text of hidden) expect(drawn).not.toContain(text);
    expect(drawn).not.toMatch(/<(?:img|script|style|iframe)/);
  },
);

test("O-10 a reply in progress hides no focusable element from screen readers", () => {
  const view = buildSessionView(viewJournals.VIEWED, []);
  const streaming = { iteration: 0, attempt: 1, text: "Look:\n\n```\nlong code\n```\n", thinking: "", calls: [] };
  const drawn = renderToStaticMarkup(createElement(InProgress, { view: { ...view, state: "running", streaming } }));
  expect(drawn).toMatch(/<pre tabindex="0"><code>long code/);
  expect(drawn).not.toMatch(/aria-hidden="true"[^>]*>(?!<svg|<path|<\/)/);
});
