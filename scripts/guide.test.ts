import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";

const root = join(import.meta.dirname, "..");
const textsIn = (folder: string, end: string): readonly string[] =>
  readdirSync(join(root, folder))
    .filter((name) => name.endsWith(end))
    .map((name) => readFileSync(join(root, folder, name), "utf8"));

test("R-7 code in the guide is a piece of an example, which is compiled and run", () => {
  const examples = textsIn("examples/src", ".ts");
  const pieces = textsIn("docs/guide", ".md").flatMap((page) => [...page.matchAll(/```ts\n([\s\S]*?)```/g)].map(([, code = ""]) => code));
  expect(pieces.length).toBeGreaterThan(0);
  expect(pieces.filter((code) => !examples.some((example) => example.includes(code)))).toEqual([]);
});

test("R-7 a page that a message or another page of the guide names is there", () => {
  const pages = readdirSync(join(root, "docs/guide"));
  const named = [
    ...textsIn("docs/guide", ".md").flatMap((page) => [...page.matchAll(/\]\(([a-z-]+\.md)\)/g)]),
    ...[...textsIn("packages/core/src/vocab", ".ts"), ...textsIn("packages/orgate/src/models", ".ts")].flatMap((code) => [
      ...code.matchAll(/docs\/guide\/([a-z-]+\.md)/g),
    ]),
  ].map(([, page = ""]) => page);
  expect(named.length).toBeGreaterThan(3);
  expect(named.filter((page) => !pages.includes(page))).toEqual([]);
});

test("R-7 README leads to every example, and the guide's pages are led to from README or another page", () => {
  const readme = readFileSync(join(root, "README.md"), "utf8");
  const list = readFileSync(join(root, "examples/README.md"), "utf8");
  const examples = readdirSync(join(root, "examples/src")).filter((name) => /^\d\d-.*\.ts$/.test(name));
  expect(readme).toContain("(examples/README.md)");
  expect(examples.filter((name) => !list.includes(`(src/${name})`))).toEqual([]);
  const pages = [readme, ...textsIn("docs/guide", ".md")];
  const led = (name: string) => pages.some((page) => page.includes(`](${name})`) || page.includes(`](docs/guide/${name})`));
  expect(readdirSync(join(root, "docs/guide")).filter((name) => !led(name))).toEqual([]);
});

test("decisions and examples are numbered from one, without gaps or doubles", () => {
  const numbersIn = (folder: string, name: RegExp) =>
    readdirSync(join(root, folder)).flatMap((file) => name.exec(file)?.slice(1).map(Number) ?? []);
  const decisions = numbersIn("docs/decisions", /^(\d{4})-.*\.md$/);
  const examples = numbersIn("examples/src", /^(\d\d)-.*\.ts$/);
  for (const numbers of [decisions, examples]) expect(numbers).toEqual(numbers.map((_, i) => i + 1));
});

test("links between the pages lead to files that exist", () => {
  const pages = readdirSync(join(root, "docs"), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".md"))
    .map((name) => `docs/${name}`);
  const dead = [...pages, "README.md", "examples/README.md", "ARCHITECTURE.md", "AGENTS.md", "CONTRIBUTING.md", "SECURITY.md"].flatMap(
    (page) =>
      [...readFileSync(join(root, page), "utf8").matchAll(/\]\((?!https?:|#)([^)#\s]+)/g)]
        .map(([, target = ""]) => target)
        .filter((target) => !existsSync(join(root, dirname(page), target)))
        .map((target) => `${page}: ${target}`),
  );
  expect(dead).toEqual([]);
});

test("files and folders that ARCHITECTURE names in its table exist", () => {
  const page = readFileSync(join(root, "ARCHITECTURE.md"), "utf8");
  const table = page.slice(page.indexOf("## To change X"));
  const named = [
    ...table.matchAll(/`((?:core|protocol|symbi|toolclad|shell|orgate|console|agents|policies|scripts|docs)\/[\w./-]+)`/g),
  ].map(([, path = ""]) => path);
  const toPath = (path: string) => path.replace(/^(core|protocol|symbi|toolclad|shell|orgate|console)\//, "packages/$1/src/");
  expect(named.length).toBeGreaterThan(100);
  expect(named.filter((path) => !existsSync(join(root, toPath(path))))).toEqual([]);
});

test("files and functions that docs/walks.md names exist", () => {
  const steps = [
    ...readFileSync(join(root, "docs/walks.md"), "utf8").matchAll(
      /`((?:core|protocol|symbi|toolclad|shell|orgate|console)\/[\w./-]+\.tsx?):(\w+)`/g,
    ),
  ];
  expect(steps.length).toBeGreaterThan(40);
  const missing = steps.filter(([, path = "", name = ""]) => {
    const file = join(root, path.replace(/^(core|protocol|symbi|toolclad|shell|orgate|console)\//, "packages/$1/src/"));
    return !existsSync(file) || !new RegExp(`\\b${name}\\b`).test(readFileSync(file, "utf8"));
  });
  expect(missing.map(([step]) => step)).toEqual([]);
});
