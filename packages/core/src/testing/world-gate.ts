/** Gates for test worlds: rows of a table, or Cedar as a project would have it. */
import { cedarGate } from "../gate/cedar.ts";
import type { Engine } from "../gate/policies/engine.ts";
import { loadPolicies } from "../gate/policies/load.ts";
import type { Gate } from "../gate/port.ts";
import { type Row, tableGate } from "../gate/table.ts";
import type { Hash, Tool } from "../vocab/index.ts";

/** Cedar for a world: the text of a policy file, and the engine (`cedarEngine()` of `orgate`; core has none of its own). */
export type WorldPolicies = Readonly<{ text: string; engine: Engine }>;

/** People may answer, unless a world's own rows say who. */
const APPROVING: Row = { id: "people", action: "approve", verdict: "allow" };

type Deciding = Readonly<{
  hash: Hash;
  rows: readonly Row[];
  policies: WorldPolicies | undefined;
  /** By person. */
  groups: Readonly<Record<string, readonly string[]>> | undefined;
  agents: Readonly<Record<string, Readonly<{ tools?: readonly Tool[] }>>>;
}>;

/** Policies that do not load are an error with every problem in it: a test that runs under no policy would prove nothing. */
export function worldGate({ hash, rows, policies, groups = {}, agents }: Deciding): Gate {
  if (policies === undefined) {
    const people = rows.some((row) => row.action === "approve") ? [] : [APPROVING];
    return tableGate([...people, ...rows], hash, groups);
  }
  const tools = [
    ...new Map(Object.values(agents).flatMap(({ tools: own = [] }) => own.map((tool) => [tool.name, tool] as const))).values(),
  ];
  const cast = {
    agents: Object.keys(agents).map((name) => ({ name, groups: [] })),
    users: Object.entries(groups).map(([name, of]) => ({ name, groups: of })),
    tools,
  };
  const file = { path: "world.cedar", name: "world", text: policies.text, shadow: false };
  const loaded = loadPolicies([file], cast, policies.engine);
  if (loaded.kind === "set") return cedarGate(loaded.set, policies.engine, hash);
  const lines = loaded.problems.map(({ file: at, line, column, detail, hint }) => `${at}:${line}:${column}: ${detail} (${hint})`);
  throw new Error(`the policies of this world do not load:\n${lines.join("\n")}`);
}
