// @module-tag postgres
import { randomBytes } from "node:crypto";
import { createConnection, createServer, type Socket } from "node:net";
import { afterEach, expect, test } from "vitest";
import { type Link, openLink } from "../../../store/postgres/link.ts";
import { until } from "../fixtures/desk.ts";
import { effects, openCluster, reached, type WorkerStore, workerCases } from "../fixtures/worker-cases.ts";

const ends: (() => void)[] = [];
afterEach(() => {
  for (const end of ends.splice(0)) end();
});

const url = (): string => process.env.ORGATE_TEST_POSTGRES ?? "";
const newSchema = (): string => `w_${randomBytes(6).toString("hex")}`;
const onPostgres = (schema = newSchema(), database = url()): WorkerStore => ({
  settings: `[cluster]\ndatabase = { env = "TEST_DATABASE" }\nschema = "${schema}"\nlease_seconds = 2\n`,
  env: { TEST_DATABASE: database },
});

workerCases(onPostgres);

/** Resolves when the lease of a writer has run out, by the database's clock. */
const lapsed = ({ query, schema }: Link, writer: unknown): Promise<true> =>
  until(async () => {
    const rows = await query<{ over: boolean }>(
      `SELECT lease_until < clock_timestamp() AS over FROM "${schema}".writers WHERE writer = $1`,
      [writer],
    );
    return rows[0]?.over === true ? true : null;
  });

test("J-4 a worker that sleeps past its lease has no effect and appends nothing afterwards; it goes on with other work, unless its name is taken", async () => {
  const schema = newSchema();
  const { desk, run, worker, unknowns, verify } = await openCluster(onPostgres(schema));
  const link = await openLink({ url: url(), schema, poolSize: 1 });
  ends.push(() => void link.close());
  const first = await worker();
  const answer = run(0, "hold", 60_000);
  await reached(desk, "hold");
  const second = await worker();
  first.kill("SIGSTOP");
  const { ending, session } = await answer; // the second took it over
  expect([ending, effects(desk)]).toEqual(["completed", ["hold"]]);
  const last = async () => (await link.query<{ seq: string }>(`SELECT seq FROM "${schema}".streams WHERE stream = $1`, [session]))[0]?.seq;
  const before = await last();
  desk.write("go", "");
  first.kill("SIGCONT");
  second.kill("SIGTERM");
  expect((await second.ended).code).toBe(0);
  expect(await run(1, "look")).toMatchObject({ ending: "completed" }); // by the first, who was asleep
  expect(effects(desk)).toEqual(["hold", "look"]);
  expect(await last()).toBe(before);
  expect(await unknowns(0)).toMatchObject([{ session, tool: "hold" }]);
  first.kill("SIGSTOP");
  await lapsed(link, first.told.worker);
  const third = await worker();
  expect([second.told.worker, first.told.worker]).toContain(third.told.worker);
  const fourth = await worker(); // both names are taken now
  expect([third.told.worker, fourth.told.worker]).toContain(first.told.worker);
  first.kill("SIGCONT");
  const { code, stderr } = await first.ended;
  expect([code, stderr.includes("another process has taken over the name of this writer")]).toEqual([1, true]);
  expect(await verify()).toMatchObject({ verified: true });
}, 180_000);

test("J-36 a worker whose clock is hours off the database's is refused in one line, and the others go on", async () => {
  const { run, worker } = await openCluster(onPostgres());
  const skewed = (hours: number): Promise<unknown> => {
    const code = `const now = Date.now; Date.now = () => now() + ${hours} * 3600000;`;
    return worker({ NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(code)}` });
  };
  await expect(skewed(3)).rejects.toThrow(/^[^\n]*the clock of this machine is 10[78]\d\d s ahead of that of postgres:[^\n]*NTP[^\n]*\n?$/);
  await expect(skewed(-3)).rejects.toThrow(/10[78]\d\d s behind/);
  await worker();
  expect(await run(0, "look")).toMatchObject({ ending: "completed" });
}, 120_000);

test("J-3 a turn goes on where it was when its database was away for longer than a lease: nothing lost, nothing twice", async () => {
  const way = await openWay();
  const schema = newSchema();
  const { desk, run, worker, unknowns, verify } = await openCluster(onPostgres(schema, way.url));
  const link = await openLink({ url: url(), schema, poolSize: 1 });
  ends.push(() => void link.close());
  const only = await worker();
  const early = run(0, "hold", 500);
  await reached(desk, "hold");
  await early;
  way.block();
  desk.write("go", ""); // its result cannot be written yet
  await lapsed(link, only.told.worker);
  way.open();
  const done = await until(async () => {
    const now = await run(1, "hold", 500).catch(() => null);
    return now === null || now.ending === null || now.ending === undefined ? null : now;
  });
  expect([done.ending, effects(desk), await unknowns(0)]).toEqual(["completed", ["hold"], []]);
  expect(await verify()).toMatchObject({ verified: true });
}, 120_000);

test("W-28 a server that drives nothing says so while no worker is alive", async () => {
  const { ask, worker } = await openCluster(onPostgres());
  const warnings = async (): Promise<string> =>
    JSON.stringify(((await (await ask(1, "GET", "/api/v1/health")).json()) as { warnings: unknown }).warnings);
  expect(await warnings()).toContain("no worker is alive");
  await worker();
  expect(await warnings()).not.toContain("no worker");
}, 120_000);

type Doing = Readonly<{ writer: string; role: string; figures: Readonly<Record<string, number>> | null }>;

test("W-30 every server shows what each worker does, and a probe beside a worker knows by its lease whether it lives", async () => {
  const store = onPostgres();
  const { desk, run, ask, worker } = await openCluster(store);
  const probe = async (...more: readonly string[]) => {
    const { code, stdout, stderr } = await desk.start(["worker", "--alive", ...more], undefined, store.env).ended;
    return [code, stdout, stderr];
  };
  const none = [1, "", expect.stringMatching(/^no worker on \S+ has a lease\n$/)];
  expect(await probe()).toEqual(none); // servers have leases too
  const only = await worker();
  expect(await probe()).toEqual([0, expect.stringMatching(/^worker w\d+ \(process \d+ on \S+\) renewed its lease \d\.\d s ago\n$/), ""]);
  await run(0, "hold", 500);
  await reached(desk, "hold");
  const listed = async (): Promise<readonly Doing[]> =>
    ((await (await ask(1, "GET", "/api/v1/processes")).json()) as { processes: readonly Doing[] }).processes;
  const busy = await until(async () => (await listed()).find(({ figures }) => figures?.driven === 1) ?? null);
  expect(busy).toMatchObject({ writer: only.told.worker, role: "worker", figures: { queued: 0 } });
  expect(busy.figures?.rssBytes).toBeGreaterThan(20_000_000);
  await expect
    .poll(async () => (await listed()).map(({ role, figures }) => [role, figures?.driven, figures?.lag]).sort())
    .toEqual([
      ["coordinator", 0, 0],
      ["coordinator", 0, 0],
      ["worker", 1, 0],
    ]);
  const text = await (await ask(0, "GET", "/api/v1/metrics/prometheus")).text();
  for (const [name, value] of [
    ["sessions_driven", "1"],
    ["sessions_queued", "0"],
    ["tail_lag_entries", "0"],
    ["event_loop_delay_max_ms", "\\d+"],
    ["memory_rss_bytes", "\\d+"],
  ])
    expect(text).toMatch(
      new RegExp(`^orgate_process_${name}\\{writer="${only.told.worker}",place="process ${only.told.pid} on [^"]+"\\} ${value}$`, "m"),
    );
  const { stdout } = await desk.start(["doctor"], undefined, store.env).ended;
  expect(stdout).toMatch(/worker \S+, process \d+ on .*, drives 1 and 0 wait, 0 entries behind, event loop \d+ ms late at most, \d+ MB/);
  only.kill("SIGSTOP");
  await until(async () => ((await probe())[0] === 1 ? true : null));
  expect(await probe()).toEqual(none);
  only.kill("SIGCONT");
  await until(async () => ((await probe())[0] === 0 ? true : null));
  only.kill("SIGKILL");
  await only.ended;
  expect(await probe("--json")).toEqual([1, `${JSON.stringify({ alive: false, worker: null, heardMs: null })}\n`, ""]); // at once, its lease runs on
}, 120_000);

/** A way to the database that can be blocked: connections are cut, and new ones refused. */
async function openWay(): Promise<Readonly<{ url: string; block(): void; open(): void }>> {
  const target = new URL(url());
  const sockets = new Set<Socket>();
  let isBlocked = false;
  const server = createServer((near) => {
    if (isBlocked) return void near.destroy();
    const far = createConnection(Number(target.port), target.hostname);
    for (const socket of [near, far]) socket.on("error", () => {});
    sockets.add(near);
    near.pipe(far);
    far.pipe(near);
    near.on("close", () => far.destroy());
    far.on("close", () => near.destroy());
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  ends.push(() => server.close());
  const address = server.address();
  const through = new URL(url());
  through.port = String(typeof address === "object" ? address?.port : 0);
  return {
    url: through.href,
    block() {
      isBlocked = true;
      for (const socket of sockets) socket.destroy();
      sockets.clear();
    },
    open() {
      isBlocked = false;
    },
  };
}
