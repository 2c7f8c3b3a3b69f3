import { expect, test } from "vitest";
import { findScreen, SCREENS } from "../screens/index.ts";
import { matchPath, pathTo } from "./router.ts";

test("a path matches its pattern part by part, and its parameters come back as written", () => {
  expect(matchPath("/chat/{session}", "/chat/s_12345678")).toEqual({ session: "s_12345678" });
  expect(matchPath("/chat/{session}", "/chat/")).toBeNull();
  expect(matchPath("/chat", "/chat/")).toEqual({});
  expect(matchPath("/chat/{session}", "/chat/a/b")).toBeNull();
  expect(matchPath("/x/{name}", "/x/%E0%A4%A")).toBeNull();
  const odd = { policy: "a/b ?#<img>" };
  expect(matchPath("/policies/{policy}", pathTo("/policies/{policy}", odd))).toEqual(odd);
});

test("every screen is found at its own addresses, and no two share one", () => {
  for (const { id, paths } of SCREENS) {
    for (const path of paths) expect(findScreen(path.replace(/\{\w+\}/g, "s_12345678"))?.screen.id).toBe(id);
  }
  const keys = SCREENS.flatMap(({ shortcut }) => (shortcut === null ? [] : [shortcut]));
  expect(new Set(keys).size).toBe(keys.length);
  expect(findScreen("/nowhere")).toBeNull();
});
