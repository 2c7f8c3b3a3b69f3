/** One PostgreSQL and one Restate for all tests of a run; each test makes its own schema or database. Servers of one's own are named by the same variables. */
import { installDebianPrograms } from "./servers/debian.ts";
import { startPgBouncer } from "./servers/pgbouncer.ts";
import { startPostgres } from "./servers/postgres.ts";
import { startRestate } from "./servers/restate.ts";

export default async function startForTests(): Promise<() => Promise<void>> {
  const stops: (() => Promise<unknown>)[] = [];
  if (process.env.ORGATE_TEST_POSTGRES === undefined) {
    const postgres = await startPostgres();
    process.env.ORGATE_TEST_POSTGRES = postgres.url();
    stops.push(postgres.stop);
    const why = installDebianPrograms((line) => console.error(line));
    if (why !== null && process.env.ORGATE_REQUIRE !== undefined) throw new Error(why);
    if (why !== null) console.error(`the contracts do not run through PgBouncer: ${why}`);
    else {
      const pooler = await startPgBouncer(postgres);
      process.env.ORGATE_TEST_PGBOUNCER = pooler.url();
      stops.unshift(pooler.kill);
    }
  }
  if (process.env.ORGATE_TEST_RESTATE === undefined) {
    const { ingress, admin, identity, kill } = await startRestate();
    process.env.ORGATE_TEST_RESTATE = `${ingress} ${admin} ${identity}`;
    stops.push(kill);
  }
  return async () => {
    for (const stop of stops) await stop();
  };
}
