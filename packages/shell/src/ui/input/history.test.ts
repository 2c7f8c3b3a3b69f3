import { appendFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { historyPath, openHistory } from "./history.ts";

const folder = mkdtempSync(join(tmpdir(), "orgate-history-"));
const file = join(folder, ".orgate", "shell-history");
afterEach(() => rmSync(join(folder, ".orgate"), { recursive: true, force: true }));

test("S-6 what was typed is there at the next start, for this person alone; what begins with a blank is not", () => {
  const one = openHistory(file);
  for (const text of ["first", "two\nlines", " secret", "first", "first"]) one.add(text);
  expect(openHistory(file).lines).toEqual(["first", "two\nlines", "first"]);
  expect(statSync(file).mode & 0o777).toBe(0o600);
});

test("S-6 two shells at once, and half a line of one that was killed", () => {
  const [one, other] = [openHistory(file), openHistory(file)];
  one.add("of one");
  other.add("of the other");
  one.add("of one again");
  appendFileSync(file, '"half');
  appendFileSync(file, "\n");
  expect(openHistory(file).lines).toEqual(["of one", "of the other", "of one again"]);
});

test("S-6 it does not grow for ever, and what was set aside is still looked through", () => {
  openHistory(file).add("old");
  writeFileSync(file, `${JSON.stringify("x".repeat(4_000))}\n`.repeat(150));
  const next = openHistory(file);
  next.add("new");
  expect(statSync(file).size).toBeLessThan(100);
  expect(openHistory(file).lines.slice(-2)).toEqual(["x".repeat(4_000), "new"]);
  next.add("y".repeat(9_000));
  expect(readFileSync(file, "utf8")).not.toContain("y");
});

test("S-6 it lies in the project's state, wherever below it the shell is started, else in the person's", () => {
  expect(historyPath(folder, { ORGATE_HOME: "mine/.orgate" }, null)).toBe("mine/.orgate/shell-history");
  writeFileSync(join(folder, "orgate.toml"), "");
  expect(historyPath(join(folder, "a", "b"), {}, null)).toBe(file);
  expect(historyPath(folder, {}, "work")).toBe(`${file}-work`);
});

test("S-6 what is typed is written through no link, and nothing is read through one; a file that others could read is one's own from then on", () => {
  mkdirSync(join(folder, ".orgate"));
  const target = join(folder, ".orgate", "profile");
  writeFileSync(target, '"theirs"\n');
  symlinkSync(target, file);
  const linked = openHistory(file);
  linked.add("curl evil");
  expect([linked.lines, readFileSync(target, "utf8")]).toEqual([[], '"theirs"\n']);
  rmSync(file);
  symlinkSync("/dev/zero", file);
  expect(openHistory(file).lines).toEqual([]);
  rmSync(file);
  writeFileSync(file, '"old"\n', { mode: 0o644 });
  const own = openHistory(file);
  own.add("new");
  expect(openHistory(file).lines).toEqual(["old", "new"]);
  expect(statSync(file).mode & 0o777).toBe(0o600);
});

test("S-6 a value that was typed where none belongs is not kept", () => {
  const one = openHistory(file);
  const held = [
    "/secrets set KEY sk-live-1",
    "/secret set KEY sk-live-1",
    "/SECRETS  set KEY sk-live-1",
    "/attach https://me:sk-live-1@host",
    "/attach https://host sk-live-1",
  ];
  for (const text of held) one.add(text);
  expect(existsSync(file)).toBe(false);
  for (const text of ["/secrets set KEY", "/attach https://host"]) one.add(text);
  expect(openHistory(file).lines).toEqual(["/secrets set KEY", "/attach https://host"]);
});
