import { expect, test } from "vitest";
import { editsBetween, listAppliable } from "./policy-sets.ts";

test("two sets are compared file by file: equal files are left out, a file of only one set is shown whole, hidden characters are escaped", () => {
  const before = [
    { path: "a.cedar", text: "permit(principal, action, resource);\n" },
    { path: "b.cedar", text: "// b\n" },
  ];
  const after = [
    { path: "b.cedar", text: "// b\n" },
    { path: "cli/c.cedar", text: "// \u202ec\n" },
  ];
  expect(editsBetween(before, after)).toMatchObject([
    { path: "a.cedar", added: 0, removed: 1 },
    { path: "cli/c.cedar", added: 1, removed: 0, lines: [{ kind: "added", text: expect.not.stringContaining("\u202e") }] },
  ]);
  expect(editsBetween(before, before)).toEqual([]);
});

test("rules in agents' own files are not applied again", () => {
  const paths = ["base.cedar", "base.cases.json", "agents/clerk.symbi#clerk"];
  expect(listAppliable(paths.map((path) => ({ path, text: "" }))).map(({ path }) => path)).toEqual(["base.cedar", "base.cases.json"]);
});
