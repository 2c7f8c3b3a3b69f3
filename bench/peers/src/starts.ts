/** W4: processes that only start, and what an installation takes. */
import { type SpawnSyncOptionsWithStringEncoding, spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, realpathSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Size, Told } from "./results.ts";

const HERE = join(import.meta.dirname, "..");

export type Start = Readonly<{
  id: string;
  peer: string;
  title: string;
  /** What a user installs for it. */
  installs: readonly string[];
  args: readonly string[];
  /** The folder whose node_modules have it. */
  from: string;
}>;

const imports = (...names: readonly string[]): readonly string[] => [
  "--input-type=module",
  "--eval",
  names.map((name) => `import ${JSON.stringify(name)};`).join(" "),
];

export const STARTS: readonly Start[] = [
  { id: "node", peer: "floor", title: "`node -e 0` (floor)", installs: [], args: ["--eval", "0"], from: "." },
  {
    id: "orgate-help",
    peer: "orgate",
    title: "`orgate --help`",
    installs: [],
    args: ["node_modules/orgate/bin/orgate.js", "--help"],
    from: ".",
  },
  { id: "orgate", peer: "orgate", title: "Orgate: import of `orgate`", installs: ["orgate"], args: imports("orgate"), from: "." },
  {
    id: "orgate-core",
    peer: "orgate",
    title: "Orgate: import of `@orgate/core`",
    installs: ["@orgate/core"],
    args: imports("@orgate/core"),
    from: ".",
  },
  { id: "ai-sdk", peer: "ai-sdk", title: "AI SDK: `ai`", installs: ["ai", "zod"], args: imports("ai"), from: "." },
  {
    id: "pi",
    peer: "pi",
    title: "pi: `@earendil-works/pi-agent-core`",
    installs: ["@earendil-works/pi-agent-core"],
    args: imports("@earendil-works/pi-agent-core"),
    from: ".",
  },
  {
    id: "openai-agents",
    peer: "openai-agents",
    title: "OpenAI Agents: `@openai/agents`",
    installs: ["@openai/agents", "zod"],
    args: imports("@openai/agents"),
    from: ".",
  },
  {
    id: "strands",
    peer: "strands",
    title: "Strands: `@strands-agents/sdk`, its Cedar",
    installs: ["@strands-agents/sdk", "@cedar-policy/cedar-wasm", "@cedar-policy/mcp-schema-generator-wasm", "zod"],
    args: imports("@strands-agents/sdk", "@strands-agents/sdk/vended-interventions/cedar"),
    from: "strands",
  },
  {
    id: "langgraph",
    peer: "langgraph",
    title: "LangGraph: `langchain`, `SqliteSaver`",
    installs: ["langchain", "@langchain/langgraph", "@langchain/core", "@langchain/langgraph-checkpoint-sqlite"],
    args: imports("langchain", "@langchain/langgraph-checkpoint-sqlite"),
    from: ".",
  },
  {
    id: "mastra",
    peer: "mastra",
    title: "Mastra: `@mastra/core/agent`, LibSQL, memory",
    installs: ["@mastra/core", "@mastra/libsql", "@mastra/memory", "zod"],
    args: imports("@mastra/core/agent", "@mastra/libsql", "@mastra/memory"),
    from: ".",
  },
  {
    id: "voltagent",
    peer: "voltagent",
    title: "VoltAgent: `@voltagent/core`, LibSQL",
    installs: ["@voltagent/core", "@voltagent/libsql", "@voltagent/logger", "ai", "zod"],
    args: imports("@voltagent/core", "@voltagent/libsql"),
    from: "voltagent",
  },
  { id: "eve", peer: "eve", title: "eve: `eve`", installs: ["eve", "ai", "just-bash", "zod"], args: imports("eve"), from: "eve" },
];

/** Tells what a process used, whatever it runs, on its last line. Costs a little itself, so it stands in the second of two processes. */
const TELL = `data:text/javascript,${encodeURIComponent(
  "process.on('exit',()=>{const r=process.resourceUsage();process._rawDebug('\\nused '+(r.userCPUTime+r.systemCPUTime)+' '+r.maxRSS)})",
)}`;

export function sampleStart({ args, from }: Start, env: NodeJS.ProcessEnv): Told {
  const options = {
    cwd: join(HERE, from),
    env,
    encoding: "utf8" as const,
    stdio: ["ignore", "ignore", "pipe"],
  } satisfies SpawnSyncOptionsWithStringEncoding;
  const began = performance.now();
  const plain = spawnSync(process.execPath, [...args], options);
  const wallUs = (performance.now() - began) * 1_000;
  const told = spawnSync(process.execPath, ["--import", TELL, ...args], options);
  const used = /\nused (\d+) (\d+)/.exec(told.stderr);
  if (plain.status !== 0 || used === null) throw new Error(`it does not start: ${plain.stderr.slice(-300)}`);
  const rest = { written: null, disk: null, rssBefore: null } as const;
  return { kind: "figures", what: "start", n: 1, policies: 1, units: 1, cpuUs: Number(used[1]), wallUs, rssPeak: Number(used[2]), ...rest };
}

/** The packages it needs, found as Node finds them, each with its files. Optional ones count when they were installed. */
export function sizeOf({ id, installs, from }: Start): Size {
  const seen = new Set<string>();
  const visit = (name: string, at: string, needed: boolean): void => {
    const folder = find(name, at);
    if (folder === null) {
      if (needed) throw new Error(`\`${name}\` is not installed for ${id}`);
      return;
    }
    if (seen.has(folder)) return;
    seen.add(folder);
    const manifest: Manifest = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
    for (const next of Object.keys(manifest.dependencies ?? {}))
      visit(next, folder, !Object.hasOwn(manifest.optionalDependencies ?? {}, next));
    for (const next of Object.keys(manifest.optionalDependencies ?? {})) visit(next, folder, false);
    for (const next of Object.keys(manifest.peerDependencies ?? {}))
      if (manifest.peerDependenciesMeta?.[next]?.optional !== true) visit(next, folder, false);
  };
  for (const name of installs) visit(name, join(HERE, from), true);
  return { id, packages: seen.size, bytes: [...seen].reduce((sum, folder) => sum + ownBytes(folder), 0) };
}
type Manifest = Readonly<{
  dependencies?: Readonly<Record<string, string>>;
  optionalDependencies?: Readonly<Record<string, string>>;
  peerDependencies?: Readonly<Record<string, string>>;
  peerDependenciesMeta?: Readonly<Record<string, Readonly<{ optional?: boolean }>>>;
}>;

function find(name: string, from: string): string | null {
  for (let at = from; ; at = dirname(at)) {
    const folder = join(at, "node_modules", name);
    if (existsSync(join(folder, "package.json"))) return realpathSync(folder);
    if (at === dirname(at)) return null;
  }
}

/** On disk, packages inside it left out: they are counted when they are needed. */
function ownBytes(folder: string): number {
  let sum = 0;
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isFile()) sum += statSync(path).blocks * 512;
    else if (entry.isDirectory() && entry.name !== "node_modules") sum += ownBytes(path);
  }
  return sum;
}

export function versionOf(name: string): string {
  const folder = [".", "voltagent", "strands", "eve"].map((from) => find(name, join(HERE, from))).find((found) => found !== null);
  return folder === undefined || folder === null
    ? "not installed"
    : String(JSON.parse(readFileSync(join(folder, "package.json"), "utf8")).version);
}
