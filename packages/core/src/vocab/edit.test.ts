import { expect, test } from "vitest";
import { isEdit, toFileEdit } from "./edit.ts";

const own = { name: "rewrite", edits: true, server: null };
const plain = { name: "write_file", edits: false, server: null };
const served = (name: string) => ({ name, edits: false, server: "files" });

test("T-13 a tool that says so is an edit, and one over MCP by its name or an old_string; nobody else", () => {
  expect(isEdit(own, {})).toBe(true);
  expect(isEdit(plain, { old_string: "a" })).toBe(false);
  for (const name of ["save_artifact", "write_file", "edit_file", "apply_edit"]) {
    expect(isEdit(served(name), {})).toBe(true);
    expect(isEdit(served(`files__${name}`), {})).toBe(true);
    expect(isEdit(served(`files__${name}s`), {})).toBe(false);
  }
  expect(isEdit(served("files__patch"), { old_string: "a" })).toBe(true);
  expect(isEdit(served("files__patch"), { old_string: 1 })).toBe(false);
  expect(isEdit(served("files__patch"), null)).toBe(false);
});

test("T-13 what changed is what the evidence shows, else what the arguments say, else nothing", () => {
  const edit = { path: "a", before: null, after: "x", whole: true, beforeDigest: null, afterDigest: "d" };
  expect(toFileEdit(own, { path: "b", content: "c" }, { edit })).toEqual(edit);
  expect(toFileEdit(plain, null, { edit })).toEqual(edit);
  expect(toFileEdit(own, null, { edit: { path: 1, after: "x" } })).toBeNull();
  expect(toFileEdit(own, null, { edit: ["a"] })).toBeNull();
  expect(toFileEdit(served("s__write_file"), { path: "b", content: "c" }, null)).toMatchObject({
    path: "b",
    before: null,
    after: "c",
    whole: true,
  });
  expect(toFileEdit(served("s__patch"), { file_path: "b", old_string: "o", new_string: "n" }, null)).toMatchObject({
    before: "o",
    after: "n",
    whole: false,
  });
  expect(toFileEdit(served("s__write_file"), { path: "b" }, null)).toBeNull();
  expect(toFileEdit(plain, { path: "b", content: "c" }, null)).toBeNull();
});
