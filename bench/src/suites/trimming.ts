/** A conversation of 1,000 messages kept within 4,000 tokens, by each plan, against one that is never trimmed: is the cost of a message flat? */
import type { ContextPlan } from "@orgate/core";
import { type Contender, compare, type Effort, ratio } from "../measure.ts";
import { digits, type Report } from "../report.ts";
import { session } from "./memory-loop.ts";

const TOKENS = 4_000;
const PLANS: readonly (readonly [string, ContextPlan])[] = [
  ["window", { kind: "window" }],
  ["mask, keep 8", { kind: "mask", keep: 8 }],
  ["summarise, keep 6", { kind: "summarise", keep: 6, model: null }],
];
/** A call and its result are two messages. */
const MESSAGES = 1_000;
const SHORT = 50;

export async function trimming({ effort }: { readonly effort: Effort }): Promise<Report> {
  const of = (label: string, messages: number, plan: ContextPlan, tokens: number): Contender => ({
    label: `${label}, ${messages} messages`,
    units: MESSAGES,
    run: async () => {
      for (let i = 0; i < MESSAGES / messages; i += 1) await session(messages / 2, undefined, [], { plan, tokens });
    },
  });
  const contenders = [
    of("never trimmed (floor)", MESSAGES, { kind: "window" }, 10_000_000),
    ...PLANS.flatMap(([label, plan]) => [of(label, SHORT, plan, TOKENS), of(label, MESSAGES, plan, TOKENS)]),
  ];
  const measured = await compare(contenders, effort);
  const [floor, ...ours] = measured;
  if (floor === undefined) throw new Error("nothing was measured");
  const aims = PLANS.map(([label], i) => {
    const [short, long] = [ours[2 * i], ours[2 * i + 1]];
    if (short === undefined || long === undefined) throw new Error("nothing was measured");
    const growth = ratio(long, short, "cpuUs");
    return {
      what: `CPU per message, ${label}, ${MESSAGES} against ${SHORT}`,
      want: "flat: at most 1.2×",
      got: `${digits(growth)}×`,
      met: growth <= 1.2,
    };
  });
  return {
    name: "trimming",
    title: `A conversation of ${MESSAGES} messages within ${TOKENS} tokens, memory journal`,
    unit: "µs/message",
    by: "cpu",
    lines: measured.map((m) => ({ ...m, ratio: m === floor ? null : ratio(m, floor, "cpuUs"), more: "" })),
    aims,
    notes: ["the whole loop, not the trimming alone; a summary is made by a model that answers at once"],
  };
}
