import { globSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, expect, test } from "vitest";
import { askingDesk, parked, waitingIn, withPeople } from "../fixtures/asking.ts";
import { expectRefusal, makeDesk } from "../fixtures/desk.ts";

const desk = makeDesk();
afterAll(() => desk.remove());

test("J-8 `journal erase` exits 1 while a reader keeps old pages in the file, and 0 once they are gone", async () => {
  const { session } = (await desk.json("run", "desk", "--input", "please look")) as { session: string };
  const [file = ""] = globSync("**/*.{db,sqlite}", { cwd: join(desk.root, ".orgate") });
  const reader = new DatabaseSync(join(desk.root, ".orgate", file), { readOnly: true });
  const erase = () => desk.orgate("journal", "erase", "--session", session, "--reason", "asked for");
  try {
    reader.exec("BEGIN");
    reader.prepare("SELECT count(*) FROM sqlite_schema").get();
    const first = await erase();
    expect([first.code, first.stdout]).toEqual([1, expect.stringContaining("a reader was in the way")]);
  } finally {
    reader.close();
  }
  const again = await erase();
  expect([again.code, again.stdout]).toEqual([0, expect.not.stringContaining("a reader was in the way")]);
});

test("J-8 `knowledge forget --erase` exits 1 while a reader keeps old pages in the file, and the command that it names exits 0 once they are gone", async () => {
  desk.write("notes.md", "# notes\n\nthe key lies under the mat\n");
  await desk.json("knowledge", "add", "notes.md");
  const reader = new DatabaseSync(join(desk.root, ".orgate", "knowledge.db"), { readOnly: true });
  let again = "";
  try {
    reader.exec("BEGIN");
    reader.prepare("SELECT count(*) FROM sqlite_schema").get();
    const first = await desk.orgate("knowledge", "forget", "--document", "notes.md", "--erase", "--yes", "--reason", "asked for");
    expect([first.code, first.stdout]).toEqual([1, expect.stringContaining("a reader was in the way")]);
    again = /`orgate (knowledge forget k_\S+ --erase --yes) --reason/.exec(first.stdout)?.[1] ?? "";
  } finally {
    reader.close();
  }
  const sure = await desk.orgate(...again.split(" "), "--reason", "asked for");
  expect([sure.code, sure.stdout]).toEqual([0, expect.not.stringContaining("a reader was in the way")]);
});

test("J-9 a session with an open approval request is erased only with --anyway, and is closed then: nothing waits in it any more", async () => {
  const asking = askingDesk();
  try {
    await withPeople(asking, "ana", "eve");
    const { session, approval } = await parked(asking, "pay");
    const erase = (...more: readonly string[]) =>
      asking.orgate("journal", "erase", "--session", session, "--reason", "asked for", "--as", "ana", ...more);
    const refused = await erase();
    expectRefusal(refused, 2, `nothing was erased: 1 approval request in session \`${session}\` is open`);
    expect(refused.stderr).toContain(`orgate sessions cancel ${session}`);
    expect(await waitingIn(asking)).toMatchObject([{ approval }]);
    expect((await erase("--anyway")).code).toBe(0);
    expect(await waitingIn(asking)).toEqual([]);
    expect(await asking.json("sessions", "list")).toMatchObject([
      { session, state: "closed", shown: "closed", openQuestions: 0, title: null },
    ]);
    expect(await asking.json("sessions", "list", "--state", "waiting")).toEqual([]);
    expect((await asking.orgate("journal", "verify")).code).toBe(0);
  } finally {
    asking.remove();
  }
});
