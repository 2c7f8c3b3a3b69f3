/**
 * What is said of Orgate against the others, computed from the results and from nothing else.
 * Rule: X-1.
 */
import { OURS, VARIANTS } from "./catalogue.ts";
import type { CrashRow } from "./crash-row.ts";
import type { WorkloadId } from "./plan.ts";
import { type Metric, midRunOf, type Results, ratioAt, type Spread, spreadAt, type Where } from "./results.ts";
import { STARTS } from "./starts.ts";
import { amount, BYTES, digits, KILOBYTES, MICROSECONDS, type Scale } from "./text.ts";

export type Win = Readonly<{
  where: string;
  metric: string;
  peer: string;
  theirs: string;
  ours: string;
  times: number;
  clear: boolean;
  remark: string;
}>;

const METRICS: Readonly<Record<WorkloadId, readonly (readonly [Metric, string, Scale])[]>> = {
  W1: [
    ["cpuUs", "CPU per iteration", MICROSECONDS],
    ["wallUs", "wall per iteration", MICROSECONDS],
  ],
  W2: [
    ["cpuUs", "CPU per iteration", MICROSECONDS],
    ["wallUs", "wall per iteration", MICROSECONDS],
    ["written", "bytes written per iteration", BYTES],
    ["disk", "bytes on disk per iteration", BYTES],
  ],
  W3: [
    ["cpuUs", "CPU per iteration", MICROSECONDS],
    ["wallUs", "wall per iteration", MICROSECONDS],
    ["rssPerSession", "memory added per session", BYTES],
  ],
  W4: [
    ["wallUs", "wall to start", MICROSECONDS],
    ["cpuUs", "CPU to start", MICROSECONDS],
    ["rssPeak", "peak memory", KILOBYTES],
  ],
  W7: [["cpuUs", "CPU", MICROSECONDS]],
};

const cellsOf = ({ samples }: Results, workload: WorkloadId): readonly Omit<Where, "variant">[] => {
  const found = new Map<string, Omit<Where, "variant">>();
  for (const sample of samples)
    if (sample.workload === workload)
      for (const { n, policies, what, kind } of sample.told)
        if (kind === "figures") found.set(`${what} ${n} ${policies}`, { workload, n, policies, what });
  return [...found.values()];
};

const nameOf = ({ workload, n, policies, what }: Omit<Where, "variant">): string => {
  if (workload === "W3") return "W3, 1,000 × 10";
  if (workload === "W4") return "W4, import";
  if (workload === "W7") return `W7, ${policies} policies, ${what === "decision" ? "the decision alone" : `N=${n}`}`;
  return `${workload}, N=${n.toLocaleString("en")}`;
};

/** Everybody but the floors and Orgate itself. */
function rivals(workload: WorkloadId): readonly Readonly<{ id: string; title: string; peer: string }>[] {
  const all = workload === "W4" ? STARTS : VARIANTS.filter((v) => v.in.includes(workload));
  return all.filter(({ peer }) => peer !== "floor" && peer !== "orgate");
}

export function winsOf(results: Results, crashes: readonly CrashRow[]): readonly Win[] {
  const workloads = Object.keys(OURS) as WorkloadId[];
  const measured = workloads.flatMap((workload) =>
    cellsOf(results, workload).flatMap((cell) =>
      METRICS[workload].flatMap(([metric, title, scale]) =>
        rivals(workload).flatMap(({ id, title: peer }) => {
          const at = { ...cell, variant: OURS[workload] };
          const [ours, theirs] = [spreadAt(results, at, metric), spreadAt(results, { ...cell, variant: id }, metric)];
          if (ours === null || theirs === null || theirs.median >= ours.median) return [];
          const times = 1 / (ratioAt(results, { ...cell, variant: id }, at, metric) ?? theirs.median / ours.median);
          const texts = { theirs: amount(theirs.median, scale), ours: amount(ours.median, scale) };
          return [
            {
              where: nameOf(cell),
              metric: title,
              peer,
              ...texts,
              times,
              clear: theirs.max < ours.min,
              remark: remarkOn(results, workload, id),
            },
          ];
        }),
      ),
    ),
  );
  return [...measured, ...sizeWins(results), ...crashWins(crashes)];
}

function remarkOn(results: Results, workload: WorkloadId, variant: string): string {
  if (workload !== "W2") return workload === "W1" || workload === "W3" ? "decides and records nothing" : "";
  const mid = midRunOf(results, variant);
  return mid !== null && mid.found < mid.finished ? `half-way ${mid.found} of ${mid.finished} finished results are on disk` : "";
}

function sizeWins({ sizes }: Results): readonly Win[] {
  const ours = sizes.find(({ id }) => id === OURS.W4);
  if (ours === undefined) return [];
  const rest = { where: "W4, install", clear: true, remark: "" };
  return sizes
    .filter(({ id }) => rivals("W4").some((rival) => rival.id === id))
    .flatMap(({ id, bytes: size, packages }) => {
      const peer = STARTS.find((s) => s.id === id)?.title ?? id;
      return [
        ...(size < ours.bytes
          ? [{ ...rest, metric: "size", peer, theirs: amount(size, BYTES), ours: amount(ours.bytes, BYTES), times: ours.bytes / size }]
          : []),
        ...(packages < ours.packages
          ? [{ ...rest, metric: "packages", peer, theirs: digits(packages), ours: digits(ours.packages), times: ours.packages / packages }]
          : []),
      ];
    });
}

const CRASH: readonly (readonly [string, (row: CrashRow) => number])[] = [
  ["runs lost", (row) => (row.lost ? 1 : 0)],
  ["effects doubled", (row) => row.effectsDoubled],
  ["model calls repeated", (row) => row.callsRepeated],
];

function crashWins(crashes: readonly CrashRow[]): readonly Win[] {
  const isOurs = ({ peer }: CrashRow): boolean => peer.startsWith("Orgate") || peer === "orgate";
  return crashes.filter(isOurs).flatMap((ours) =>
    crashes
      .filter((row) => !isOurs(row) && row.case === ours.case && row.workload === ours.workload)
      .flatMap((row) =>
        CRASH.flatMap(([metric, count]) =>
          count(row) >= count(ours)
            ? []
            : [
                {
                  where: `${row.workload}, ${row.case}`,
                  metric,
                  peer: row.peer,
                  theirs: digits(count(row)),
                  ours: digits(count(ours)),
                  times: count(ours) / count(row),
                  clear: true,
                  remark: row.lost ? "its run is lost" : "",
                },
              ],
        ),
      ),
  );
}

export type Aim = Readonly<{ what: string; want: string; got: string; met: boolean | null }>;

const median = (spread: Spread | null): number | null => spread?.median ?? null;

/** What was set out to be reached, as ratios within the same run; null where it was not measured. */
export function aimsOf(results: Results, crashes: readonly CrashRow[]): readonly Aim[] {
  const at = (workload: WorkloadId, variant: string, n: number): Where => ({ workload, variant, n });
  const atMost = (what: string, limit: number, got: number | null): Aim => ({
    what,
    want: `≤ ${digits(limit)}×`,
    got: got === null ? "not measured" : `${digits(got)}×`,
    met: got === null ? null : got <= limit,
  });
  const atLeast = (what: string, limit: number, got: number | null): Aim => ({
    what,
    want: `≥ ${digits(limit)}×`,
    got: got === null ? "not measured" : `${digits(got)}×`,
    met: got === null ? null : got >= limit,
  });
  const ours = { w1: OURS.W1, w2: OURS.W2 };
  const flat = (workload: WorkloadId, variant: string): number | null => {
    const [few, many] = [
      median(spreadAt(results, at(workload, variant, 10), "cpuUs")),
      median(spreadAt(results, at(workload, variant, 1_000), "cpuUs")),
    ];
    return few === null || many === null ? null : many / few;
  };
  const against = (metric: Metric, mine: Where, theirs: Where): number | null => ratioAt(results, mine, theirs, metric);
  const bytes = (what: string, limit: number, metric: Metric): Aim => {
    const got = median(spreadAt(results, at("W2", ours.w2, 500), metric));
    return {
      ...{ what: `W2, ${what} per iteration at 500`, want: `≤ ${amount(limit, BYTES)}` },
      ...{ got: got === null ? "not measured" : amount(got, BYTES), met: got === null ? null : got <= limit },
    };
  };
  const w3 = (metric: Metric): number | null => against(metric, at("W3", OURS.W3, 10), at("W3", "ai-sdk", 10));
  const start = (variant: string): Where => ({ workload: "W4", variant, n: 1, what: "start" });
  const mineCrashed = crashes.filter(({ peer }) => peer.startsWith("Orgate") || peer === "orgate");
  const bad = mineCrashed.reduce((sum, row) => sum + CRASH.reduce((n, [, count]) => n + count(row), 0), 0);
  return [
    ...[10, 100, 1_000].map((n) =>
      atMost(
        `W1, gated, CPU at ${digits(n)} against the AI SDK's ungated loop`,
        1,
        against("cpuUs", at("W1", ours.w1, n), at("W1", "ai-sdk", n)),
      ),
    ),
    atMost("W1, gated, CPU at 1,000 against pi's ungated loop", 2, against("cpuUs", at("W1", ours.w1, 1_000), at("W1", "pi", 1_000))),
    ...[100, 500].map((n) =>
      atMost(
        `W2, wall at ${digits(n)} against two bare inserts`,
        2.2,
        against("wallUs", at("W2", ours.w2, n), at("W2", "floor-inserts", n)),
      ),
    ),
    atMost("W2, CPU at 500 against two bare inserts", 3.5, against("cpuUs", at("W2", ours.w2, 500), at("W2", "floor-inserts", 500))),
    ...(
      [
        [100, 9],
        [500, 30],
      ] as const
    ).map(([n, limit]) =>
      atLeast(
        `W2, wall of LangGraph + SQLite at ${digits(n)} against Orgate's`,
        limit,
        against("wallUs", at("W2", "langgraph-sqlite", n), at("W2", ours.w2, n)),
      ),
    ),
    bytes("bytes written", 20_000, "written"),
    bytes("bytes on disk", 3_500, "disk"),
    atMost("W3, memory added per session against the AI SDK", 1, w3("rssPerSession")),
    atMost("W3, CPU per iteration against the AI SDK", 1, w3("cpuUs")),
    atMost("W1, CPU per iteration at 1,000 against 10", 1.1, flat("W1", ours.w1)),
    atMost("W2, CPU per iteration at 1,000 against 10", 1.1, flat("W2", ours.w2)),
    atMost("W4, CPU of the import of `orgate` against the AI SDK's", 1, against("cpuUs", start("orgate"), start("ai-sdk"))),
    atMost("W4, wall of `orgate --help` against `node -e 0`", 3, ratioAt(results, start("orgate-help"), start("node"), "wallUs")),
    {
      what: "W5 and W6: runs lost, effects doubled, calls repeated",
      want: "0",
      got: mineCrashed.length === 0 ? "not measured" : digits(bad),
      met: mineCrashed.length === 0 ? null : bad === 0,
    },
  ];
}
