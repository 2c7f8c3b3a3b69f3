/** What the sandbox adds to a program that does nothing. The floor is the same program started without one, by the same code. */
import { hostRunning } from "orgate";
import { type Contender, compare, type Effort, ratio, spread } from "../measure.ts";
import { digits, type Report } from "../report.ts";

type Invocation = Extract<Parameters<ReturnType<typeof hostRunning>["run"]>[0], { kind: "process" }>;

const TRUE: Invocation = {
  kind: "process",
  argv: ["true"],
  cwd: null,
  env: {},
  stdin: null,
  network: null,
  paths: [],
  tier: "none",
  limits: { memoryBytes: 268_435_456, processes: 64, fileBytes: 67_108_864, openFiles: 256, timeMs: 30_000, outputBytes: 65_536 },
};
const AIM_MS = 10;

export async function sandboxed({ effort, runs }: { readonly effort: Effort; readonly runs: number }): Promise<Report> {
  const running = hostRunning();
  const standing = await running.standing();
  const shown = { name: "sandbox", title: "A program that does nothing", unit: "µs per run", by: "wall" } as const;
  if (standing.kind === "unusable") {
    const aim = { what: "sandboxed `true` over bare", want: `≤ ${AIM_MS} ms`, got: `no sandbox here: ${standing.reason}`, met: false };
    return { ...shown, lines: [], aims: [aim], notes: [standing.hint] };
  }
  const contender = (label: string, tier: Invocation["tier"]): Contender => ({
    label,
    units: runs,
    async run() {
      for (let i = 0; i < runs; i += 1) {
        const ran = await running.run({ ...TRUE, tier }, { signal: new AbortController().signal, onOutput: () => {} });
        if (ran.kind !== "exited" || ran.code !== 0) throw new Error(`\`true\` did not do nothing: ${JSON.stringify(ran)}`);
      }
    },
  });
  const [bare, boxed] = await compare([contender("bare", "none"), contender("sandboxed", "process")], effort);
  if (bare === undefined || boxed === undefined) throw new Error("nothing was measured");
  const over = spread(boxed.rounds.map((s, i) => (s.wallUs - (bare.rounds[i]?.wallUs ?? 0)) / 1_000));
  return {
    ...shown,
    lines: [
      { label: bare.label, cpu: bare.cpu, wall: bare.wall, ratio: null, more: "the floor" },
      {
        label: boxed.label,
        cpu: boxed.cpu,
        wall: boxed.wall,
        ratio: ratio(boxed, bare, "wallUs"),
        more: `limits by ${standing.holding.kind}`,
      },
    ],
    aims: [
      {
        what: "sandboxed `true` over bare, round by round",
        want: `≤ ${AIM_MS} ms`,
        got: `${digits(over.median)} ms [${digits(over.min)}–${digits(over.max)}]`,
        met: over.median <= AIM_MS,
      },
    ],
    notes: ["cpu is this process's own: what the programs use is not in it"],
  };
}
