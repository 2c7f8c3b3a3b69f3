/** One PostgreSQL for all tests of a run; each test makes its own schema or database. A server of one's own is named by the same variable. */
import { startPostgres } from "./servers/postgres.ts";

export default async function startForTests(): Promise<() => Promise<void>> {
  if (process.env.ORGATE_TEST_POSTGRES !== undefined) return async () => {};
  const postgres = await startPostgres();
  process.env.ORGATE_TEST_POSTGRES = postgres.url();
  return postgres.stop;
}
