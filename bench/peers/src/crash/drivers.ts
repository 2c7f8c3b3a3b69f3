/** Who takes part, and by which package its version is told. Loaded on demand: a victim imports one framework alone. */
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Case } from "./cases.ts";
import type { Driver } from "./driver.ts";
import { buildApp } from "./drivers/eve-app.ts";

export type Peer = Readonly<{
  name: string;
  /** As the table shows it. */
  title: string;
  /** Whose version counts. */
  package: string;
  /** Said with the figures of a case. */
  remark?(crashed: Case): string | null;
  /** Done once per matrix; returns what its victims find in their environment. */
  prepare?(scratch: string): Readonly<Record<string, string>>;
  load(): Promise<Driver>;
}>;

const isAsked = ({ before, after }: Case): boolean => before.includes("answer") || after.includes("answer");
const noApprovals = (crashed: Case): string | null =>
  isAsked(crashed) ? "no approvals of its own: the application asks in a hook that waits, and nobody can look up what is asked" : null;
/** Parked, no step is in flight. */
const lease = ({ hold }: Case): string | null =>
  hold === null ? null : "the lease of an interrupted step is set to 2 s here; by default it is 860 s, and nothing goes on before that";

export const drivers: readonly Peer[] = [
  { name: "orgate", title: "Orgate", package: "orgate", load: async () => (await import("./drivers/orgate.ts")).driver },
  {
    name: "langgraph",
    title: "LangGraph, SqliteSaver",
    package: "@langchain/langgraph",
    load: async () => (await import("./drivers/langgraph.ts")).asyncDriver,
  },
  {
    name: "langgraph-exit",
    title: "LangGraph, SqliteSaver, durability `exit`",
    package: "@langchain/langgraph",
    load: async () => (await import("./drivers/langgraph.ts")).exitDriver,
  },
  {
    name: "mastra",
    title: "Mastra, LibSQL, saved per step",
    package: "@mastra/core",
    load: async () => (await import("./drivers/mastra.ts")).driver,
  },
  {
    name: "mastra-durable",
    title: "Mastra durable agent, LibSQL, recovery",
    package: "@mastra/core",
    load: async () => (await import("./drivers/mastra-durable.ts")).driver,
  },
  { name: "ai-sdk", title: "Vercel AI SDK", package: "ai", load: async () => (await import("./drivers/ai-sdk.ts")).driver },
  {
    name: "openai-agents",
    title: "OpenAI Agents",
    package: "@openai/agents",
    load: async () => (await import("./drivers/openai-agents.ts")).driver,
  },
  {
    name: "pi",
    title: "pi-agent-core, Agent",
    package: "@earendil-works/pi-agent-core",
    remark: noApprovals,
    load: async () => (await import("./drivers/pi.ts")).driver,
  },
  {
    name: "pi-harness",
    title: "pi-agent-core, AgentHarness, JSONL session",
    package: "@earendil-works/pi-agent-core",
    remark: noApprovals,
    load: async () => (await import("./drivers/pi-harness.ts")).driver,
  },
  {
    name: "voltagent",
    title: "VoltAgent, LibSQL, saved per step",
    package: "@voltagent/core",
    load: async () => (await import("./drivers/voltagent.ts")).driver,
  },
  {
    name: "strands",
    title: "Strands, file sessions, saved per message",
    package: "@strands-agents/sdk",
    load: async () => (await import("./drivers/strands.ts")).driver,
  },
  {
    name: "eve",
    title: "eve, local world, lease 2 s",
    package: "eve",
    remark: lease,
    prepare: buildApp,
    load: async () => (await import("./drivers/eve.ts")).driver,
  },
];

/** Looked up where this file's imports are looked up: a package's own manifest is often not among its exports. */
export function versionOf({ package: name }: Peer): string {
  const places: string[] = [];
  for (let at = import.meta.dirname; at !== dirname(at); at = dirname(at)) places.push(at);
  places.push(...["voltagent", "strands", "eve"].map((folder) => join(import.meta.dirname, "../..", folder))); // those that are not linked here
  for (const place of places) {
    const manifest = join(place, "node_modules", name, "package.json");
    if (existsSync(manifest)) return String(JSON.parse(readFileSync(manifest, "utf8")).version);
  }
  return "not installed";
}
