/** Processes of their own: how long one takes to start, and what it holds. */
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { spread } from "../measure.ts";
import { inFolder } from "../places.ts";
import { digits, type Line, type Report } from "../report.ts";

type Started = Readonly<{ wallUs: number; cpuUs: number; rssMb: number; said: string }>;
type Command = Readonly<{ label: string; args: (folder: string) => readonly string[] }>;

/** Tells what a process used, whatever it runs: on its last line, when it ends. */
const TELL = `data:text/javascript,${encodeURIComponent(
  "process.on('exit',()=>{const r=process.resourceUsage();process._rawDebug('\\nused '+(r.userCPUTime+r.systemCPUTime)+' '+r.maxRSS)})",
)}`;

const file = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
const ORGATE = file("../../../packages/orgate/bin/orgate.js");

const COMMANDS: readonly Command[] = [
  { label: "node, nothing (floor)", args: () => ["--eval", "0"] },
  {
    label: "import of @orgate/core",
    args: () => ["--input-type=module", "--eval", `import ${JSON.stringify(import.meta.resolve("@orgate/core"))}`],
  },
  { label: "orgate --version", args: () => [ORGATE, "--version"] },
  { label: "one run of the library", args: (folder) => [file("../start-run.ts"), folder, "run"] },
  { label: "an idle runtime", args: (folder) => [file("../start-run.ts"), folder, "idle"] },
];

export async function start({ rounds }: { readonly rounds: number }): Promise<Report> {
  const found = COMMANDS.map((): Started[] => []);
  const broken = new Map<string, string>();
  for (let round = -1; round < rounds; round += 1) {
    for (const [i, command] of COMMANDS.entries()) {
      if (broken.has(command.label)) continue;
      const started = await inFolder(async (folder) => run(command.args(folder)));
      if (typeof started === "string") broken.set(command.label, started);
      else if (round >= 0) found[i]?.push(started); // the first round fills the page cache
    }
  }
  const lines = COMMANDS.map(({ label }, i) => lineOf(label, found[i] ?? [], found[0] ?? [], broken.get(label) ?? null));
  return {
    name: "start",
    title: "Start-up and memory",
    unit: "ms",
    by: "wall",
    lines,
    aims: [],
    notes: ["from source, with types stripped at start; docs/performance.md compares with compiled files"],
  };
}

function lineOf(label: string, samples: readonly Started[], floor: readonly Started[], broken: string | null): Line {
  if (broken !== null || samples.length === 0) return { label, cpu: null, wall: null, ratio: null, more: `did not run: ${broken}` };
  const ms = (pick: (s: Started) => number) => spread(samples.map((s) => pick(s) / 1_000));
  const rss = spread(samples.map((s) => s.rssMb)).median;
  const over = rss - spread(floor.map((s) => s.rssMb)).median;
  const said = samples.at(-1)?.said ?? "";
  return {
    label,
    cpu: ms((s) => s.cpuUs),
    wall: ms((s) => s.wallUs),
    ratio: samples === floor ? null : spread(samples.map((s, i) => s.wallUs / (floor[i]?.wallUs ?? Number.NaN))).median,
    more: `peak RSS ${digits(rss)} MB${samples === floor ? "" : ` (+${digits(over)})`}${said === "" ? "" : `, ${said}`}`,
  };
}

/** What it used, or why it did not run. */
export function run(args: readonly string[], around: Readonly<{ cwd?: string; env?: NodeJS.ProcessEnv }> = {}): Started | string {
  const began = performance.now();
  const { status, stderr, stdout } = spawnSync(process.execPath, ["--import", TELL, ...args], { encoding: "utf8", ...around });
  const wallUs = (performance.now() - began) * 1_000;
  const used = /\nused (\d+) (\d+)/.exec(stderr);
  if (status !== 0 || used === null)
    return (
      stderr
        .trim()
        .split("\n")
        .find((line) => line.includes("Error")) ?? `exit ${status}`
    );
  const said = /^says (.*)$/m.exec(stdout)?.[1] ?? "";
  return { wallUs, cpuUs: Number(used[1]), rssMb: Number(used[2]) / 1_024, said };
}
