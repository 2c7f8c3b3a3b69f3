import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { FaultError } from "@orgate/core";
import { afterAll, expect, test } from "vitest";
import { sha256 } from "../node/crypto.ts";
import { readFolder, readSkill, toSkill } from "./skill-folder.ts";

const base = realpathSync(mkdtempSync(join(tmpdir(), "orgate-skill-")));
afterAll(() => rmSync(base, { recursive: true }));
let made = 0;

const SKILL = "---\nname: mail\ndescription: How to mail.\n---\nMail it.\n";

/** A folder with these files, in a folder of its own. */
function folder(files: Readonly<Record<string, string | Uint8Array>>, name = "mail"): string {
  made += 1;
  const root = join(base, String(made), name);
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), content);
  }
  return root;
}
const read = (root: string) => readFolder(root, base, sha256);

function refusal(root: string): string {
  try {
    readSkill(root);
  } catch (error) {
    if (error instanceof FaultError && error.fault.kind === "file-bad") return error.message.replace(base, "");
    throw error;
  }
  throw new Error("it was read");
}

test("K-1 a folder is its SKILL.md and the texts beside it; what is no text is part of its digest and not offered", () => {
  const root = folder({ "SKILL.md": SKILL, "ref/limits.md": "fifty", "logo.png": new Uint8Array([0x89, 0x50, 0, 0xff]) });
  const found = read(root);
  expect([...found.files].map(([path, { bytes, text }]) => [path, bytes, text])).toEqual([
    ["SKILL.md", SKILL.length, SKILL],
    ["logo.png", 4, null],
    ["ref/limits.md", 5, "fifty"],
  ]);
  expect(toSkill(root, found, [])).toMatchObject({
    kind: "skill",
    skill: { name: "mail", files: { "ref/limits.md": "fifty" }, labels: [] },
  });
  const skill = readSkill(root);
  expect(Object.keys(skill.files)).toEqual(["ref/limits.md"]);
  expect(skill.labels).toEqual(["untrusted"]);
  expect(readSkill(root, { labels: [] }).labels).toEqual([]);
});

test("K-1 the digest tells any two folders apart: names, texts, bytes", () => {
  const folders = [
    { "SKILL.md": SKILL },
    { "SKILL.md": `${SKILL} ` },
    { "SKILL.md": SKILL, "a.md": "a" },
    { "SKILL.md": SKILL, "b.md": "a" },
    { "SKILL.md": SKILL, "a/md": "a" },
    { "SKILL.md": SKILL, "a.md": new Uint8Array([0]) },
    { "SKILL.md": SKILL, "a.md": new Uint8Array([1, 0]) },
    { "SKILL.md": SKILL, "a.md": "\ufeffa" },
  ];
  expect(new Set(folders.map((files) => read(folder(files)).digest)).size).toBe(folders.length);
  expect(read(folder({ "SKILL.md": SKILL })).digest).toBe(read(folder({ "SKILL.md": SKILL })).digest);
});

test("K-1 a link that leads out of the folder, in any way, refuses the skill", () => {
  const outside = join(base, "secret.txt");
  writeFileSync(outside, "secret");
  for (const to of [outside, "../../secret.txt", "..", base, "nowhere.txt", "loop.md"]) {
    const root = folder({ "SKILL.md": SKILL });
    symlinkSync(to, join(root, "loop.md"));
    expect(refusal(root), to).toContain("`loop.md` leads out of it");
  }
  const inner = folder({ "SKILL.md": SKILL, "ref/a.md": "a" });
  symlinkSync("ref/a.md", join(inner, "same.md"));
  expect(readSkill(inner).files["same.md"]).toBe("a");
  symlinkSync("ref", join(inner, "again"));
  expect(refusal(inner)).toContain("`again` is a link to a folder");
});

test("K-1 a folder that is itself a link out of where skills lie is refused", () => {
  const elsewhere = folder({ "SKILL.md": SKILL });
  const within = join(base, "project");
  mkdirSync(join(within, "skills"), { recursive: true });
  symlinkSync(elsewhere, join(within, "skills", "mail"));
  expect(() => readFolder(join(within, "skills", "mail"), within, sha256)).toThrow("leads out of where it should lie");
});

test.each<[string, Readonly<Record<string, string>>, string?]>([
  ["`big.md` is larger than 262144 bytes", { "SKILL.md": SKILL, "big.md": "x".repeat(262_145) }],
  [
    "more than 2097152 bytes",
    { "SKILL.md": SKILL, ...Object.fromEntries(Array.from({ length: 9 }, (_, i) => [`${i}.md`, "x".repeat(250_000)])) },
  ],
  ["more than 256 files", { "SKILL.md": SKILL, ...Object.fromEntries(Array.from({ length: 256 }, (_, i) => [`${i}.md`, ""])) }],
  ["nested deeper than 4", { "SKILL.md": SKILL, "a/b/c/d/e.md": "x" }],
  ["no plain name", { "SKILL.md": SKILL, "a\u202egpj.md": "x" }],
  ["no SKILL.md", { "skill.md.txt": SKILL }],
  ["SKILL.md:2:7: its name is `male`, and its folder's `mail`", { "SKILL.md": SKILL.replace("mail", "male") }],
  ["SKILL.md:2:7: `Mail` is no name for a skill", { "SKILL.md": SKILL.replace("mail", "Mail") }, "Mail"],
  ["skill.md:2:7: its name is `male`, and its folder's `mail`", { "skill.md": SKILL.replace("mail", "male") }],
  ["its name is `m\\u{430}il`, and its folder's `mail`", { "SKILL.md": SKILL.replace("mail", "m\u0430il") }],
  ["`m\u0430il` is no name for a skill", { "SKILL.md": SKILL.replace("mail", "m\u0430il") }, "m\u0430il"],
  ["it has both SKILL.md and skill.md", { "SKILL.md": SKILL, "skill.md": SKILL }],
  ["SKILL.md:3:1: there is no field `desription`", { "SKILL.md": SKILL.replace("description", "desription") }],
  ["`instructions` has 70000 characters", { "SKILL.md": SKILL.replace("Mail it.", "x".repeat(70_000)) }],
])("K-1 K-2 %s: refused", (detail, files, name = "mail") => {
  expect(refusal(folder(files, name))).toContain(detail);
});

test("K-2 `skill.md` is read as `SKILL.md` is, and is no file beside itself", () => {
  const root = folder({ "skill.md": SKILL, "limits.md": "fifty" });
  expect(readSkill(root)).toMatchObject({ name: "mail", files: { "limits.md": "fifty" } });
  expect(Object.keys(readSkill(root).files)).toEqual(["limits.md"]);
});

test.each([
  ["caf\u00e9", "cafe\u0301"],
  ["cafe\u0301", "caf\u00e9"],
  ["\u0447\u0435\u043a-2", "\u0447\u0435\u043a-2"],
  ["\u7ffb\u8a33", "\u7ffb\u8a33"],
])("K-2 a skill of folder %s may say that its name is %s: names are compared in their composed form", (called, name) => {
  expect(readSkill(folder({ "SKILL.md": SKILL.replace("mail", name) }, called)).name).toBe(name.normalize("NFC"));
});
