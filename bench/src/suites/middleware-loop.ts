/** What ten middlewares with all five hooks add to an iteration: looking only, rewriting at every stage, and answering with a promise. */
import { defineMiddleware, type Middleware } from "@orgate/core";
import { type Contender, compare, type Effort, ratio } from "../measure.ts";
import { digits, type Report } from "../report.ts";
import { session } from "./memory-loop.ts";

const TEN = Array.from({ length: 10 }, (_, i) => i);

const looking = (i: number): Middleware =>
  defineMiddleware({
    name: `look${i}`,
    userMessage: () => undefined,
    beforeModel: () => undefined,
    afterModel: () => undefined,
    beforeTool: () => undefined,
    afterTool: () => undefined,
  });

const promising = (i: number): Middleware =>
  defineMiddleware({
    name: `promise${i}`,
    userMessage: async () => undefined,
    beforeModel: async () => undefined,
    afterModel: async () => undefined,
    beforeTool: async () => undefined,
    afterTool: async () => undefined,
  });

/** One of them rewrites the request, another what the model is shown: each leaves an entry in every iteration. */
const rewriting = (i: number): Middleware =>
  i === 0
    ? defineMiddleware({ name: "system", beforeModel: ({ system }) => ({ system: `${system} Be brief.` }) })
    : i === 1
      ? defineMiddleware({ name: "shorten", afterTool: ({ text }) => text.slice(0, -1) })
      : looking(i);

export async function middlewareLoop({ effort, iterations }: { readonly effort: Effort; readonly iterations: number }): Promise<Report> {
  const of = (label: string, all: readonly Middleware[]): Contender => ({
    label,
    units: iterations,
    run: async () => {
      for (let i = 0; i < iterations / 100; i += 1) await session(100, undefined, all);
    },
  });
  const measured = await compare(
    [
      of("none (floor), N=100", []),
      of("ten that look", TEN.map(looking)),
      of("ten, two of which rewrite", TEN.map(rewriting)),
      of("ten that answer with a promise", TEN.map(promising)),
    ],
    effort,
  );
  const [floor, plain] = measured;
  if (floor === undefined || plain === undefined) throw new Error("nothing was measured");
  const more = ratio(plain, floor, "cpuUs");
  return {
    name: "middleware",
    title: "Ten middlewares, loop on a memory journal",
    unit: "µs/iteration",
    by: "cpu",
    lines: measured.map((m) => ({ ...m, ratio: m === floor ? null : ratio(m, floor, "cpuUs"), more: "" })),
    aims: [{ what: "ten middlewares that look, against none", want: "at most 1.5×", got: `${digits(more)}×`, met: more <= 1.5 }],
    notes: ["a hook that answers with a promise before the model costs one more append"],
  };
}
