import { join } from "node:path";
import { expect, test } from "vitest";
import { isMeasured } from "./measure-house.ts";
import { filesOf, isSource, readText } from "./tree.ts";
import { findUnboundMethods } from "./unbound-methods.ts";

const root = join(import.meta.dirname, "..");
const STORE = "export class Store { #open = true; close() { this.#open = false; } bound = () => this.#open; static of() {} pure() {} }";
const linesIn = (text: string): readonly number[] =>
  findUnboundMethods([
    { file: "a.ts", text: STORE },
    { file: "b.ts", text },
  ]).map(({ line }) => line);

test("a method that is passed without its object is found, wherever the file shows the class", () => {
  expect(linesIn("const store = new Store();\nwork().finally(store.close);")).toEqual([2]);
  expect(linesIn("function f(store: Store) {\n return { close: store.close };\n}")).toEqual([2]);
  expect(linesIn("class A { #store = new Store();\n f() { return then(this.#store.close); } }")).toEqual([2]);
  expect(linesIn("class A { readonly #store: Store;\n f() { return [this.#store.close]; } }")).toEqual([2]);
});

test("a call, a bound method, a field with an arrow function and a method without `this` are not", () => {
  expect(linesIn("const store = new Store(); store.close(); run(() => store.close());")).toEqual([]);
  expect(linesIn("const store = new Store(); run(store.close.bind(store), store.bound, store.pure, Store.of);")).toEqual([]);
});

test("no method of our classes is passed without its object", () => {
  const sources = filesOf(root)
    .filter(isSource)
    .map((file) => ({ file, text: readText(root, file) }))
    .filter(isMeasured);
  expect(findUnboundMethods(sources)).toEqual([]);
});
