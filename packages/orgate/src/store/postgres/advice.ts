/** What the journal's promises rest on in the database, as this project's role has it there. Nothing stops a project that goes without: its operator is told. */
import { FaultError } from "@orgate/core/vocab";
import { asUnreadable } from "./faults.ts";
import { findSkew } from "./lease.ts";
import { type DatabaseOptions, isBehindPooler, type Link, openLink } from "./link.ts";

type Setting = Readonly<{ name: string; setting: string; source: string }>;

/** One line for each setting that takes something back from the promises. Rejects as a store does that cannot be opened, and where no process could begin. */
export async function findWeakSettings(options: DatabaseOptions): Promise<readonly string[]> {
  const link = await openLink({ ...options, poolSize: 1 });
  try {
    const sent = Date.now();
    const [clock] = await link.read<{ at: string }>("SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS at");
    const skew = findSkew(Number(clock?.at), sent, link.place);
    if (skew !== null) throw new FaultError(skew);
    const names = ["fsync", "full_page_writes", "synchronous_commit", "synchronous_standby_names", "statement_timeout"];
    const rows = await link.read<Setting>("SELECT name, setting, source FROM pg_settings WHERE name = ANY($1)", [names]);
    return [...weakIn(new Map(rows.map((row) => [row.name, row])), (options.listenUrl ?? null) !== null), ...(await deafness(link))];
  } finally {
    await link.close();
  }
}

function weakIn(settings: ReadonlyMap<string, Setting>, isPooled: boolean): readonly string[] {
  const lines: string[] = [];
  const warn = (name: string, is: string, effect: string): void => {
    const { setting = "", source = "" } = settings.get(name) ?? {};
    if (setting === is) lines.push(`\`${name}\` of the database is ${setting} (from: ${source}): ${effect}`);
  };
  warn("fsync", "off", "a crash of its machine can damage or lose the journal; turn it on");
  warn("full_page_writes", "off", "a crash of its machine can damage the journal; turn it on");
  warn(
    "synchronous_commit",
    "off",
    "entries that count as written are gone after a crash, and calls in them may be made twice; turn it on",
  );
  if ((settings.get("synchronous_standby_names")?.setting ?? "") !== "")
    warn("synchronous_commit", "local", "commits do not wait for the replica, and one that is promoted may lack entries; turn it on");
  const fix = "`statement_seconds` does not reach a database behind a pooler: `ALTER ROLE … SET statement_timeout = '30s'` does";
  if (isPooled) warn("statement_timeout", "0", `statements may wait without end; ${fix}`);
  return lines;
}

/** A pooler may hand the connection that listens to others between two transactions: what it hears and what it locks is then not this process's. */
async function deafness(link: Link): Promise<readonly string[]> {
  const client = link.listener();
  client.on("error", () => {}); // the query says so
  try {
    await client.connect();
    if (!(await isBehindPooler(client))) return [];
    return [
      "the address for LISTEN leads through a pooler: intents may be noticed a second late, and a process that dies keeps its sessions until its lease ends; set `listen` in [cluster] to a direct address",
    ];
  } catch (error) {
    throw asUnreadable(error, link.place);
  } finally {
    await client.end().catch(() => {});
  }
}
