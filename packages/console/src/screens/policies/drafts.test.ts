import { expect, test } from "vitest";
import { openUnsentTexts } from "../../state/unsent.ts";
import { openDrafts } from "./drafts.ts";

const nowhere = () =>
  openUnsentTexts(() => {
    throw new Error("nothing is kept here");
  });

test("O-7 a draft is there again with its base, until it is discarded or equals the file", () => {
  const words = nowhere();
  openDrafts(words).keep("policies/a.cedar", { text: "new", base: "old" });
  const later = openDrafts(words);
  expect([later.of("policies/a.cedar"), later.of("policies/b.cedar")]).toEqual([{ text: "new", base: "old" }, null]);
  later.keep("policies/a.cedar", { text: "old", base: "old" });
  expect(later.of("policies/a.cedar")).toBeNull();
  later.keep("policies/a.cedar", { text: "newer", base: "old" });
  later.drop("policies/a.cedar");
  expect(later.of("policies/a.cedar")).toBeNull();
});

test("O-7 signing out deletes drafts, and a malformed draft is ignored", () => {
  const words = nowhere();
  const drafts = openDrafts(words);
  drafts.keep("a", { text: "new", base: "old" });
  words.clear();
  words.keep("policy.b", "{nonsense");
  words.keep("policy.c", '["one"]');
  expect(["a", "b", "c"].map((path) => drafts.of(path))).toEqual([null, null, null]);
});
