/** Who takes part in what. Loaded on demand: a process imports one framework alone. */
import type { Open } from "./adapter.ts";
import type { WorkloadId } from "./plan.ts";

export type Variant = Readonly<{
  id: string;
  /** What `--peers` names. */
  peer: string;
  title: string;
  /** Whose version counts. */
  package: string;
  in: readonly WorkloadId[];
  /** Cells that are not tried, and why: `W1:1000`. */
  skip?: Readonly<Record<string, string>>;
  /** Decides, and runs no loop. */
  decisionsOnly?: true;
  /** Decides nothing: policies make no difference. */
  ungated?: true;
  /** What to know when reading its figures. */
  note?: string;
  load(): Promise<Open>;
}>;

const floors = () => import("./adapters/floors.ts");
const orgate = () => import("./adapters/orgate.ts");
const langgraph = () => import("./adapters/langgraph.ts");
const mastra = () => import("./adapters/mastra.ts");
const strands = () => import("./adapters/strands.ts");
const voltagent = () => import("./adapters/voltagent.ts");

/** What every ratio is taken to, by workload. */
export const OURS: Readonly<Record<WorkloadId, string>> = { W1: "orgate", W2: "orgate-sqlite", W3: "orgate", W4: "orgate", W7: "orgate" };

const GROWS = "what it writes grows with the square of the iterations";

export const VARIANTS: readonly Variant[] = [
  {
    id: "floor-loop",
    peer: "floor",
    title: "bare loop (floor)",
    package: "zod",
    in: ["W1", "W3"],
    load: async () => (await import("./adapters/bare-loop.ts")).bareLoop,
  },
  {
    id: "floor-inserts",
    peer: "floor",
    title: "bare loop, two FULL inserts (floor)",
    package: "zod",
    in: ["W2"],
    load: async () => (await floors()).bareInserts,
  },
  {
    id: "floor-cedar",
    peer: "floor",
    title: "one raw Cedar call, parsed before (floor)",
    package: "@cedar-policy/cedar-wasm",
    in: ["W7"],
    decisionsOnly: true,
    load: async () => (await floors()).rawCedar,
  },
  {
    id: "orgate",
    peer: "orgate",
    title: "Orgate, gated",
    package: "orgate",
    in: ["W1", "W3", "W7"],
    load: async () => (await orgate()).orgate,
  },
  {
    id: "orgate-whole",
    peer: "orgate",
    title: "Orgate, gated, whole history",
    package: "orgate",
    in: ["W1"],
    load: async () => (await orgate()).orgateWhole,
  },
  {
    id: "orgate-forgetful",
    peer: "orgate",
    title: "Orgate, no decision remembered",
    package: "orgate",
    in: ["W7"],
    load: async () => (await orgate()).orgateForgetful,
  },
  {
    id: "orgate-sqlite",
    peer: "orgate",
    title: "Orgate, gated, SQLite FULL",
    package: "orgate",
    in: ["W2"],
    note: "every append is flushed before its effect, hashed, chained and signed",
    load: async () => (await orgate()).orgateSqlite,
  },
  {
    id: "pi",
    peer: "pi",
    title: "pi-agent-core",
    package: "@earendil-works/pi-agent-core",
    in: ["W1", "W3"],
    load: async () => (await import("./adapters/pi.ts")).pi,
  },
  {
    id: "pi-session",
    peer: "pi",
    title: "pi AgentHarness, JSONL session",
    package: "@earendil-works/pi-agent-core",
    in: ["W2"],
    load: async () => (await import("./adapters/pi-session.ts")).piSession,
  },
  {
    id: "ai-sdk",
    peer: "ai-sdk",
    title: "AI SDK ToolLoopAgent",
    package: "ai",
    in: ["W1", "W3"],
    load: async () => (await import("./adapters/ai-sdk.ts")).aiSdk,
  },
  {
    id: "strands",
    peer: "strands",
    title: "Strands, no gate",
    ungated: true,
    package: "@strands-agents/sdk",
    in: ["W1", "W3", "W7"],
    load: async () => (await strands()).strands,
  },
  {
    id: "strands-cedar",
    peer: "strands",
    title: "Strands, Cedar",
    package: "@strands-agents/sdk",
    in: ["W7"],
    load: async () => (await strands()).strandsCedar,
  },
  {
    id: "strands-files",
    peer: "strands",
    title: "Strands, Cedar, file session at the end (default)",
    package: "@strands-agents/sdk",
    in: ["W2"],
    skip: { "W2:1000": "its loop takes longer with every message of the history: minutes" },
    load: async () => (await strands()).strandsFiles,
  },
  {
    id: "strands-files-message",
    peer: "strands",
    title: "Strands, Cedar, file session per message",
    package: "@strands-agents/sdk",
    in: ["W2"],
    skip: { "W2:1000": GROWS },
    load: async () => (await strands()).strandsFilesPerMessage,
  },
  {
    id: "openai-agents",
    peer: "openai-agents",
    title: "OpenAI Agents",
    package: "@openai/agents",
    in: ["W1", "W3"],
    load: async () => (await import("./adapters/openai-agents.ts")).openaiAgents,
  },
  {
    id: "voltagent",
    peer: "voltagent",
    title: "VoltAgent, memory off",
    package: "@voltagent/core",
    in: ["W1", "W3"],
    load: async () => (await voltagent()).voltagent,
  },
  {
    id: "voltagent-libsql",
    peer: "voltagent",
    title: "VoltAgent, LibSQL per step (default)",
    package: "@voltagent/core",
    in: ["W2"],
    skip: { "W2:1000": GROWS },
    load: async () => (await voltagent()).voltagentLibsql,
  },
  {
    id: "langgraph",
    peer: "langgraph",
    title: "LangGraph, no checkpointer",
    package: "@langchain/langgraph",
    in: ["W1", "W3"],
    load: async () => (await langgraph()).langgraph,
  },
  {
    id: "langgraph-memory",
    peer: "langgraph",
    title: "LangGraph, MemorySaver",
    package: "@langchain/langgraph",
    in: ["W1"],
    skip: { "W1:1000": "it keeps every state whole: minutes, and memory by the gigabyte" },
    load: async () => (await langgraph()).langgraphMemory,
  },
  {
    id: "langgraph-sqlite",
    peer: "langgraph",
    title: "LangGraph, SqliteSaver (default)",
    package: "@langchain/langgraph",
    in: ["W2"],
    skip: { "W2:1000": GROWS },
    note: "with better-sqlite3 13.0.3 in place of its own 12, which aborts on this Node; commits are not flushed one by one (WAL, NORMAL)",
    load: async () => (await langgraph()).langgraphSqlite,
  },
  {
    id: "langgraph-sqlite-exit",
    peer: "langgraph",
    title: "LangGraph, SqliteSaver, durability exit",
    package: "@langchain/langgraph",
    in: ["W2"],
    note: "nothing is on disk until the run is over",
    load: async () => (await langgraph()).langgraphSqliteExit,
  },
  {
    id: "mastra",
    peer: "mastra",
    title: "Mastra, no storage",
    package: "@mastra/core",
    in: ["W1", "W3"],
    load: async () => (await mastra()).mastra,
  },
  {
    id: "mastra-libsql",
    peer: "mastra",
    title: "Mastra, LibSQL at the end (default)",
    package: "@mastra/core",
    in: ["W2"],
    skip: { "W2:1000": "its loop takes longer with every message of the history: minutes" },
    load: async () => (await mastra()).mastraLibsql,
  },
  {
    id: "mastra-libsql-step",
    peer: "mastra",
    title: "Mastra, LibSQL, savePerStep",
    package: "@mastra/core",
    in: ["W2"],
    skip: { "W2:1000": GROWS },
    load: async () => (await mastra()).mastraLibsqlPerStep,
  },
  {
    id: "eve",
    peer: "eve",
    title: "eve, local world",
    package: "eve",
    in: ["W2"],
    skip: { "W2:1000": "minutes, and bytes per iteration grow" },
    note: "a server of its own: CPU and bytes are of that process, wall includes a loopback request and a stream per run",
    load: async () => (await import("./adapters/eve.ts")).eve,
  },
];
