// @module-tag postgres
import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openLink } from "../../../store/postgres/link.ts";
import { makeDesk } from "../fixtures/desk.ts";

const URL_OF_TESTS = process.env.ORGATE_TEST_POSTGRES ?? "";

test("J-35 a session of a project on PostgreSQL goes to a file that verifies, its words are in no row any more, and the journal verifies", async () => {
  const desk = makeDesk();
  const schema = `a_${randomBytes(6).toString("hex")}`;
  const link = await openLink({ url: URL_OF_TESTS, schema, poolSize: 1 });
  try {
    desk.write("orgate.toml", `${desk.read("orgate.toml")}[cluster]\ndatabase = { env = "TEST_DATABASE" }\nschema = "${schema}"\n`);
    const json = async (...args: readonly string[]) => {
      const { code, stdout, stderr } = await desk.within({ TEST_DATABASE: URL_OF_TESTS }, [...args, "--json"]);
      expect([code, code === 0 ? "" : stderr]).toEqual([0, ""]);
      return JSON.parse(stdout);
    };
    const [{ session }, kept] = [await json("run", "desk", "--input", "zqxcanary"), await json("run", "desk", "--input", "hello")];
    await json("sessions", "close", session);
    const before = await json("journal", "show", session);
    const file = join(desk.root, "kept", `${session}.jsonl`);
    expect(await json("journal", "archive", "--session", session, "--out", "kept")).toMatchObject({
      archived: [{ session, file }],
      kept: [],
    });
    expect(readFileSync(file, "utf8")).toContain("zqxcanary");
    expect(await json("journal", "verify", file)).toMatchObject({ verified: true, what: "session", stream: session });
    expect(await json("journal", "verify")).toMatchObject({ verified: true, counts: { erased: before.length } });
    const rows = await link.query<{ text: string }>(
      `SELECT t.text FROM (SELECT body AS text FROM "${schema}".appends UNION ALL SELECT summary FROM "${schema}".sessions
         UNION ALL SELECT intent FROM "${schema}".inbox UNION ALL SELECT body FROM "${schema}".requests) AS t WHERE t.text LIKE '%zqxcanary%'`,
    );
    expect(rows).toEqual([]);
    expect(await json("run", "desk", "--session", kept.session, "--input", "and on")).toMatchObject({ ending: "completed" });
  } finally {
    await link.query(`DROP SCHEMA IF EXISTS "${schema}" CASCADE`);
    await link.close();
    desk.remove();
  }
});
