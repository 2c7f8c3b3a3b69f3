/** Policies checked in a thread of their own: reading and validating a large set takes seconds. Tools have code, which stays here: what it says of each case is sent along. */
import { extname } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { parentPort, workerData } from "node:worker_threads";
import type { Agent, CheckedArgs, Json, Resource, Tool } from "@orgate/core";
import type { PolicyWorld } from "@orgate/core/gate";
import type { Groups } from "../config/config.ts";
import { runInThread } from "../node/thread.ts";
import type { PolicyFolderPath, ReadFolder } from "./policy-files.ts";
import { loadRead, type PolicyReport, toPolicyWorld } from "./policy-load.ts";

export type CheckedPolicies = Pick<PolicyReport, "problems" | "warnings" | "cases"> & Readonly<{ ok: boolean }>;
export type PolicyCheckInput = Readonly<{ read: ReadFolder; place: PolicyFolderPath; agents: readonly Agent[]; groups: Groups }>;

/** A case's arguments as the tool's own code reads them. */
type Said = Readonly<{ checked: CheckedArgs; resource: Resource | null }>;
type Sent = Readonly<{
  policies: Readonly<{ read: ReadFolder; place: PolicyFolderPath; cast: PolicyWorld; own: readonly Agent["policies"][] }>;
  said: ReadonlyMap<string, Said>;
}>;

const keyOf = (tool: string, args: Json): string => JSON.stringify([tool, args]);

export async function checkPoliciesInWorker(
  { read, place, agents, groups }: PolicyCheckInput,
  gone: AbortSignal,
): Promise<CheckedPolicies> {
  const cast = toPolicyWorld(agents, groups);
  const said = await saidOf(read, cast.tools, gone);
  const plain: unknown = JSON.parse(JSON.stringify(cast)); // without code
  const own = agents.map(({ policies }) => policies);
  const file = new URL(`./policies-worker${extname(import.meta.url)}`, import.meta.url);
  const { messages } = runInThread<CheckedPolicies>(file, { policies: { read, place, cast: plain, own }, said }, gone);
  for await (const found of messages) return found;
  throw new Error("the thread has ended");
}

async function saidOf(read: ReadFolder, tools: readonly Tool[], gone: AbortSignal): Promise<ReadonlyMap<string, Said>> {
  const all = new Map<string, Said>();
  const cases = read.kind === "folder" ? read.folder.tables.flatMap((table) => table.cases.map(({ case: c }) => c)) : [];
  const byName = new Map(tools.map((tool) => [tool.name, tool]));
  for (const [i, c] of cases.entries()) {
    if (i % 100 === 99) await nextTurn(); // others have work to do too
    gone.throwIfAborted();
    const tool = byName.get(c.action.replace(/^tool:/, ""));
    if (tool === undefined) continue;
    const given: Json = JSON.parse(JSON.stringify(c.args ?? {}));
    const checked = tool.check(given);
    all.set(keyOf(tool.name, given), { checked, resource: checked.kind === "valid" ? tool.resource(checked.args) : null });
  }
  return all;
}

/** Tools that say what was said of them. */
function standIns(tools: readonly Tool[], said: ReadonlyMap<string, Said>): readonly Tool[] {
  return tools.map((tool) => {
    let last: Resource | null = null;
    return {
      ...tool,
      check(args: Json): CheckedArgs {
        const known = said.get(keyOf(tool.name, args));
        if (known === undefined) throw new Error(`nothing was said of ${keyOf(tool.name, args)}`);
        last = known.resource;
        return known.checked;
      },
      resource: () => last ?? { type: "Tool", id: tool.name }, // asked right after `check`
    };
  });
}

function work({ policies: { read, place, cast, own }, said }: Sent): CheckedPolicies {
  const agents = own.map((policies) => ({ policies }));
  const loading = loadRead(read, { place, agents, cast: { ...cast, tools: standIns(cast.tools, said) } });
  const { problems, warnings, cases } = loading.report;
  return { ok: loading.kind === "loaded", problems, warnings, cases };
}

const given: unknown = workerData;
if (parentPort !== null && typeof given === "object" && given !== null && "policies" in given) parentPort.postMessage(work(given as Sent));
