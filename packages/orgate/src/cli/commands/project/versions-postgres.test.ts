// @module-tag postgres
/** Two versions of Orgate on one project at once: a rolling upgrade, with real processes. */
import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { version } from "../../../node/version.ts";
import { testUrl } from "../../../store/postgres/fixtures/schemas.ts";
import { openLink } from "../../../store/postgres/link.ts";
import { expectRefusal, until } from "../fixtures/desk.ts";
import { makeNextVersion, NEXT_VERSION, type NextVersion } from "../fixtures/next-version.ts";
import { effects, openCluster, reached } from "../fixtures/worker-cases.ts";

let next: NextVersion;
beforeAll(() => {
  next = makeNextVersion();
});
afterAll(() => next.remove());

type Process = Readonly<{ writer: string; role: string | null; version: string | null; holds: number }>;

test("J-38 two versions work side by side: what the newer one wrote the older one leaves alone, with one clear line, and goes on with the rest", async () => {
  const schema = `v_${randomBytes(6).toString("hex")}`;
  const settings = `[cluster]\ndatabase = { env = "TEST_DATABASE" }\nschema = "${schema}"\nlease_seconds = 2\n`;
  const env = { TEST_DATABASE: testUrl() };
  const { desk, ask, run, worker, workerOf } = await openCluster({ settings, env });
  const link = await openLink({ url: testUrl(), schema, poolSize: 1 });
  try {
    const older = await worker();
    expect(await run(0, "look")).toMatchObject({ ending: "completed" });
    const newer = await workerOf(next.entry); // a migration later; who runs already goes on
    const listed = ((await (await ask(0, "GET", "/api/v1/processes")).json()) as { processes: readonly Process[] }).processes;
    const ours = version();
    expect(listed.map((one) => `${one.role} ${one.version}`).sort()).toEqual(
      [`coordinator ${ours}`, `coordinator ${ours}`, `worker ${ours}`, `worker ${NEXT_VERSION}`].sort(),
    );
    const told = await desk.start(["doctor", "--json"], undefined, env, next.entry).ended;
    expect(
      (JSON.parse(told.stdout) as { processes: readonly Process[] }).processes.map((one) => `${one.role} ${one.version}`).sort(),
    ).toEqual(listed.map((one) => `${one.role} ${one.version}`).sort());
    const shown = await desk.start(["doctor"], undefined, env, next.entry).ended;
    expect(shown.stdout).toMatch(/process w\d+ +worker 99\.0\.0, process \d+ on .*, holds 0 sessions, heard of \d+\.\d s ago/);
    const late = await desk.start(["worker", "--as", "ana"], undefined, env).ended;
    expectRefusal(late, 1, "a newer version of Orgate has made it");

    older.kill("SIGSTOP"); // so that it is the newer one that drives
    const sessionsNow = async () =>
      (await link.query<{ stream: string }>(`SELECT stream FROM "${schema}".streams WHERE stream LIKE 's\\_%'`)).map(
        ({ stream: one }) => one,
      );
    const before = await sessionsNow();
    await ask(0, "POST", "/api/v1/agents/desk/execute", { body: { input: "hold", waitMs: 0 } }); // its older server may not be able to read what is there already
    await reached(desk, "hold");
    const [session = ""] = (await sessionsNow()).filter((one) => !before.includes(one));
    newer.kill("SIGKILL");
    await newer.ended;
    const stream = () =>
      link.query<{ seq: string; hash: string }>(`SELECT seq, hash FROM "${schema}".streams WHERE stream = $1`, [session]);
    const written = await stream();
    older.kill("SIGCONT");
    const lines = () =>
      older
        .stderr()
        .split("\n")
        .filter((text) => text.includes(session) && text.includes('"error"'));
    await until(() => (lines().length > 0 ? true : null));
    for (const input of ["look-again", "look-a-third-time"]) // by the older one, which looks at every write for what wants driving
      expect(await run(1, input)).toMatchObject({ ending: "completed" });
    expect(effects(desk)).toEqual(["look", "hold", "look", "look"]);
    expect(lines()).toEqual([expect.stringContaining("unknown kind `model.replied@2`: written by a newer version?")]);
    const [left] = await stream();
    expect([left?.seq, left?.hash]).toEqual([written[0]?.seq, written[0]?.hash]);

    const second = await workerOf(next.entry);
    const unknown = await until(async () => {
      const rows = await link.query(`SELECT 1 FROM "${schema}".unknowns WHERE session = $1`, [session]);
      return rows.length > 0 ? true : null;
    });
    expect(unknown).toBe(true); // and the turn goes on there
    expect(effects(desk)).toEqual(["look", "hold", "look", "look"]);
    expect([lines().length, await link.query(`SELECT * FROM "${schema}".alarms`)]).toEqual([1, []]);
    second.kill("SIGTERM");
    expect((await second.ended).code).toBe(0);
    older.kill("SIGTERM");
    expect((await older.ended).code).toBe(0);
    const { code, stdout } = await desk.start(["journal", "verify", "--json"], undefined, env, next.entry).ended;
    expect([code, JSON.parse(stdout)]).toEqual([0, expect.objectContaining({ verified: true })]);
  } finally {
    await link.query(`DROP SCHEMA IF EXISTS "${schema}" CASCADE`);
    await link.close();
  }
}, 180_000);
