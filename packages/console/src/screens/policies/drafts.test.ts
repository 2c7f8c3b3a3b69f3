import { expect, test } from "vitest";
import { draftsIn } from "./drafts.ts";

function storage() {
  const kept = new Map<string, string>();
  return {
    getItem: (name: string) => kept.get(name) ?? null,
    setItem: (name: string, value: string) => void kept.set(name, value),
    removeItem: (name: string) => void kept.delete(name),
    key: (i: number) => [...kept.keys()][i] ?? null,
    get length() {
      return kept.size;
    },
    kept,
  };
}

test("O99 a draft is there again after the page is loaded again, with what it was begun from, until it is thrown away", () => {
  const tab = storage();
  draftsIn(() => tab).keep("policies/a.cedar", { text: "new", base: "old" });
  const later = draftsIn(() => tab);
  expect(later.of("policies/a.cedar")).toEqual({ text: "new", base: "old" });
  expect(later.of("policies/b.cedar")).toBeNull();
  later.keep("policies/a.cedar", { text: "old", base: "old" });
  expect([later.of("policies/a.cedar"), tab.kept.size]).toEqual([null, 0]);
  later.keep("policies/a.cedar", { text: "newer", base: "old" });
  later.drop("policies/a.cedar");
  expect(draftsIn(() => tab).of("policies/a.cedar")).toBeNull();
});

test("O99 where the browser keeps nothing a draft holds until the page is closed, and what is no draft is none", () => {
  const refuses = draftsIn(() => {
    throw new Error("refused");
  });
  refuses.keep("a", { text: "new", base: "old" });
  expect([refuses.of("a")?.text, refuses.of("b")]).toEqual(["new", null]);
  const tab = storage();
  tab.setItem("orgate.draft.a", "{nonsense");
  tab.setItem("orgate.draft.b", '["one"]');
  expect(["a", "b"].map((path) => draftsIn(() => tab).of(path))).toEqual([null, null]);
});

test("O99 whoever signs out leaves no draft behind: none of this page, none that an earlier one kept", () => {
  const tab = storage();
  tab.setItem("orgate.theme", "dark");
  draftsIn(() => tab).keep("policies/a.cedar", { text: "new", base: "old" });
  const later = draftsIn(() => tab);
  later.keep("policies/b.cedar", { text: "new", base: "old" });
  later.clear();
  expect([later.of("policies/a.cedar"), later.of("policies/b.cedar"), [...tab.kept.keys()]]).toEqual([null, null, ["orgate.theme"]]);
});
