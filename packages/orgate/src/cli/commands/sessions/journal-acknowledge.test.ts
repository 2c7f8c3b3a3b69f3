import { rmSync } from "node:fs";
import { join } from "node:path";
import { HALT, policyId } from "@orgate/core";
import { afterAll, expect, test } from "vitest";
import { databaseIn, dropLastAppend, forge } from "../../../runtime/fixtures/forging.ts";
import { askingDesk, parked, waitingIn, withPeople } from "../fixtures/asking.ts";
import { type Desk, expectRefusal } from "../fixtures/desk.ts";

const desks: Desk[] = [];
async function newDesk(): Promise<Desk & { readonly directory: string }> {
  const desk = askingDesk();
  desks.push(desk);
  await withPeople(desk, "ana", "eve");
  return { ...desk, directory: join(desk.root, ".orgate") };
}
afterAll(() => {
  for (const desk of desks) desk.remove();
});
const ana = { kind: "user", id: "ana" } as const;

test("J-18 J-20 at the command line: a forged lifting of a halt lifts nothing; the project is read-only until it is mended and acknowledged", async () => {
  const desk = await newDesk();
  expect((await desk.orgate("halt", "--reason", "stop it", "--as", "ana")).code).toBe(0);
  const run = () => desk.orgate("run", "clerk", "--input", "hello", "--as", "eve");
  expect((await run()).code).toBe(1);
  forge(desk.directory, HALT, { kind: "work.resumed", scope: "all", by: ana, reason: "x" }, "copied", (db) => db.exec("DELETE FROM halts"));
  const refused = await run();
  expect([refused.code, refused.stderr]).toEqual([
    1,
    expect.stringMatching(/seal \d+ of writer `w1` is bad: its signature does not match/),
  ]);
  expect(refused.stderr).toContain("orgate journal verify");
  const doctor = await desk.orgate("doctor");
  expect([doctor.code, doctor.stdout]).toEqual([1, expect.stringContaining("the project is read-only")]);
  const early = await desk.orgate("journal", "acknowledge", "--reason", "looked", "--as", "ana");
  expect([early.code, early.stderr]).toEqual([1, expect.stringContaining("it still does not verify")]);
  expect((await desk.orgate("journal", "acknowledge", "--as", "ana")).stderr).toContain("--reason is missing");

  const db = databaseIn(desk.directory); // as from a copy
  const { writer, seal } = db.prepare("SELECT writer, seal FROM appends ORDER BY id DESC LIMIT 1").get() as {
    writer: string;
    seal: number;
  };
  db.prepare("DELETE FROM seals WHERE writer = ? AND number = ?").run(writer, seal);
  dropLastAppend(db, HALT);
  db.exec("INSERT INTO halts VALUES ('all')");
  db.close();
  const still = await run();
  expect([still.code, still.stderr]).toEqual([1, expect.stringContaining("the project is read-only")]);
  const done = await desk.orgate("journal", "acknowledge", "--reason", "took the row out", "--as", "ana");
  expect([done.code, done.stdout]).toEqual([0, expect.stringMatching(/acknowledged 1 alarm: work may go on\n {2}seal \d+ of writer `w1`/)]);
  expect((await run()).stdout).toContain("halted");
  expect((await desk.orgate("resume-work", "--reason", "mended", "--as", "ana")).code).toBe(0);
  expect((await run()).code).toBe(0);
  expectRefusal(
    await desk.orgate("journal", "acknowledge", "--reason", "again", "--as", "ana"),
    2,
    "nothing was acknowledged: there is no alarm",
  );
});

test("J-20 acknowledged as it is, a forged answer stays refused, in its session alone, and raises no second alarm", async () => {
  const desk = await newDesk();
  const asked = await parked(desk, "pay");
  const { approval, digest, session } = asked as unknown as { approval: never; digest: never; session: never };
  const answer = {
    approval,
    by: ana,
    answer: { kind: "approve" },
    counts: [policyId("pays")],
    digest,
    about: null,
    intent: "i_1",
  } as never;
  forge(desk.directory, session, { kind: "approval.answered", ...(answer as object) } as never, "foreign");
  const resumed = await desk.orgate("sessions", "resume", session);
  expect([resumed.code, resumed.stderr]).toEqual([1, expect.stringContaining("is not certified for a writer")]);
  expect(desk.has("paid.txt")).toBe(false);
  expect((await desk.orgate("run", "clerk", "--input", "hello", "--as", "eve")).stderr).toContain("the project is read-only");
  const done = await desk.orgate("journal", "acknowledge", "--reason", "one session lost", "--as-is", "--as", "ana");
  expect([done.code, done.stdout]).toEqual([0, expect.stringContaining("still bad, and refused")]);
  expect((await desk.orgate("sessions", "resume", session)).code).toBe(1);
  expect(await desk.orgate("run", "clerk", "--input", "hello", "--as", "eve")).toMatchObject({ code: 0, stderr: "" });
  const other = await parked(desk, "pay");
  expect((await desk.orgate("approvals", "approve", other.approval, "--as", "ana")).stderr).toBe("");
  expect(desk.has("paid.txt")).toBe(true);
  expect(await waitingIn(desk)).toHaveLength(1);
  rmSync(join(desk.directory, "alarms.jsonl"));
});
