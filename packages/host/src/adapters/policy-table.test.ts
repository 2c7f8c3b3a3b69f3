import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { FaultError } from "@orgate/core";
import { afterEach, beforeEach, expect, test } from "vitest";
import { loadTable, locate } from "./policy-table.ts";

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "orgate-table-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

function faultOf(text: string | null): FaultError["fault"] {
  const file = join(folder, "table.json");
  if (text !== null) writeFileSync(file, text);
  try {
    loadTable(file);
  } catch (error) {
    if (error instanceof FaultError) return error.fault;
    throw error;
  }
  throw new Error("it was accepted");
}

test("A20 a table is read as it stands, in its order", () => {
  const file = join(folder, "table.json");
  const rows = [
    { id: "no-mail", action: "tool:mail_*", verdict: "deny", say: "mail is off" },
    { id: "few", action: "tool:read", callsBelow: 3, labels: ["untrusted"], verdict: "ask", say: "read more?" },
    { id: "rest", action: "*", verdict: "allow" },
  ];
  writeFileSync(file, JSON.stringify(rows));
  expect(loadTable(file)).toEqual(rows);
  writeFileSync(file, "[]");
  expect(loadTable(file)).toEqual([]);
});

test.each<[string, string, number, number, string]>([
  ["no JSON", '[\n  { "id": "a", }\n]', 2, 16, "not JSON"],
  ["a key twice", '[{ "id": "a", "id": "b" }]', 1, 15, "stands twice"],
  ["no list", '{ "rows": [] }', 1, 1, "expected array"],
  [
    "a missing field",
    '[\n  { "id": "a", "action": "*", "verdict": "allow" },\n  { "id": "b", "action": "*" }\n]',
    3,
    3,
    "row 2: `verdict` is missing",
  ],
  ["an unknown field", '[\n  { "id": "a", "action": "*",\n    "verdit": "allow", "verdict": "deny" }\n]', 3, 15, "no field `verdit`"],
  ["a wrong verdict", '[{ "id": "a", "action": "*", "verdict": "maybe" }]', 1, 41, "row 1: `verdict`"],
  ["an action that can match nothing", '[{ "id": "a", "action": "read_log", "verdict": "allow" }]', 1, 25, "tool:NAME"],
  ["a wrong label", '[{"id":"a","action":"*","labels":["x",[1,{"b":"]"}], 3],"verdict":"deny"}]', 1, 39, "`labels.1`"],
  ["an id twice", '[{"id":"a","action":"*","verdict":"deny"},\n {"id":"a","action":"model","verdict":"allow"}]', 2, 8, "stands twice"],
])("A20 %s is refused with file, line and column", (_, text, line, column, detail) => {
  const found = faultOf(text);
  expect(found).toMatchObject({ kind: "file-bad", file: join(folder, "table.json"), line, column });
  expect("detail" in found && found.detail).toContain(detail);
});

test("A20 a table that is not there, or is a folder, is refused by name", () => {
  expect(faultOf(null)).toMatchObject({ kind: "file-bad", detail: "there is no such file" });
  expect(() => loadTable(folder)).toThrow("is a folder");
});

test("A20 a value is found wherever it stands", () => {
  const text = '{ "a\\"b" : [ 1 , {"x": [ "]}", {} ] , "y" :true} ] }';
  expect(text.slice(locate(text, ['a"b', 1, "y"]))).toMatch(/^true\}/);
  expect(text.slice(locate(text, ['a"b', 1, "none"]))).toMatch(/^\{"x"/);
});
