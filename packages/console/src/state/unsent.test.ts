import { expect, test } from "vitest";
import { openUnsentTexts } from "./unsent.ts";

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

test("O-7 typed text is there again after a reload, until it is sent or discarded", () => {
  const tab = storage();
  openUnsentTexts(() => tab).keep("chat.s_1", "half a sen");
  const later = openUnsentTexts(() => tab);
  expect([later.of("chat.s_1"), later.of("chat.s_2")]).toEqual(["half a sen", null]);
  later.drop("chat.s_1");
  expect([later.of("chat.s_1"), openUnsentTexts(() => tab).of("chat.s_1"), tab.kept.size]).toEqual([null, null, 0]);
});

test("O-7 where the browser stores nothing, text is kept until the page is closed", () => {
  const refuses = openUnsentTexts(() => {
    throw new Error("refused");
  });
  refuses.belongTo("user:ana");
  refuses.keep("a", "one");
  refuses.belongTo("user:ana");
  expect([refuses.of("a"), refuses.of("b")]).toEqual(["one", null]);
  refuses.belongTo("user:bo");
  expect(refuses.of("a")).toBeNull();
});

test("O-7 signing out deletes everything: of this page, of earlier ones, and values kept beside", () => {
  const tab = storage();
  tab.setItem("orgate.theme", "dark");
  openUnsentTexts(() => tab).keep("a", "one");
  const later = openUnsentTexts(() => tab);
  const beside = later.beside<number>().set("b", 1);
  later.keep("b", "two");
  later.clear();
  expect([later.of("a"), later.of("b"), beside.size, [...tab.kept.keys()]]).toEqual([null, null, 0, ["orgate.theme"]]);
});

test("O-7 the same person finds their text after signing in again, another one finds none", () => {
  const tab = storage();
  const before = openUnsentTexts(() => tab);
  before.belongTo("user:ana");
  before.keep("a", "one");
  const again = openUnsentTexts(() => tab);
  again.belongTo("user:ana");
  expect(again.of("a")).toBe("one");
  const other = openUnsentTexts(() => tab);
  other.belongTo("user:bo");
  expect([other.of("a"), tab.kept.has("orgate.words.a")]).toEqual([null, false]);
});
