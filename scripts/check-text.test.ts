import { expect, test } from "vitest";
import { checkText } from "./check-text.ts";
import { temporaryTree } from "./fixtures/temporary-tree.ts";

// Put together at run time: this file is searched too.
const under = (folder: string) => `/${folder}/ada/notes.txt`;
const begin = (kind: string) => `-----BEGIN ${kind}PRIVATE${" KEY-----"}`;

test.each([
  ["a registry host", `https://${"reg"}istry.npmjs.org/zod`],
  ["a registry host", `host: ${"npm"}.pkg.github.com`],
  ["a registry host", `http://${"verd"}accio.example.org:4873/zod`],
  ["a path of one machine", `cd ${under("work")}`],
  ["a path of one machine", `"${under("root")}"`],
  ["a path of one machine", `file://${under("home")}`],
  ["a path of one machine", `(${under("Users")})`],
  ["a path of one machine", `"C:${"\\Users\\"}ada"`],
  ["a merge that was not finished", `${"<".repeat(7)} HEAD`],
  ["a merge that was not finished", `${">".repeat(7)} main`],
  ["a private key", begin("")],
  ["a private key", begin("OPENSSH ")],
  ["a private key", `MC4CAQAwBQYD${"K2VwBCIEIA"}`],
  ["a private key", `{"kty":"OKP","d":"${"x".repeat(43)}"}`],
])("R-2 %s is found: %s", (what, line) => {
  const root = temporaryTree({ "docs/a.md": `first\n${line}\n` });
  expect(checkText(root, {})).toEqual([{ file: "docs/a.md", line: 2, message: `holds ${what}` }]);
});

test.each([
  "https://example.org/home/ada",
  "see packages/work/a.ts",
  "./root/a",
  "the public key -----BEGIN PUBLIC KEY-----",
  "the registry of tools",
  "/srv/notes/a.txt",
])("R-2 %s is not a finding", (line) => {
  expect(checkText(temporaryTree({ "a.md": line }), {})).toEqual([]);
});

test("R-2 the registry that npm was told to use is found by its host", () => {
  const root = temporaryTree({ "package-lock.json": '{ "resolved": "http://packages.example.org:8080/zod.tgz" }' });
  expect(checkText(root, {})).toEqual([]);
  expect(checkText(root, { npm_config_registry: "http://packages.example.org:8080/" })).toHaveLength(1);
});
