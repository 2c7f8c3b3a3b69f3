/** The loop without a disk: what deciding, permitting, journalling and sealing cost by themselves. Signatures are left out (a hash stands for them). */
import {
  agentFacts,
  approvalId,
  type ContextPlan,
  DEFAULT_BREAKER,
  DEFAULT_MODEL_RETRY,
  drive,
  estimates,
  intentId,
  keyId,
  type Middleware,
  type Model,
  millis,
  NO_CHILDREN,
  NO_FOLDS,
  NO_OUTPUTS,
  noKnowledge,
  openBreakers,
  openCounts,
  openOrders,
  openSession,
  type Ports,
  seq,
  sessionId,
  tableGate,
  toolbox,
  toResult,
  writerId,
} from "@orgate/core";
import type { Gate } from "@orgate/core/gate";
import { memoryStore } from "@orgate/core/testing";
import { sha256 } from "orgate";
import { type Contender, compare, type Effort, ratio } from "../measure.ts";
import { checkRun, USER } from "../places.ts";
import { digits, type Report } from "../report.ts";
import { agent, countingModel, lookup, PERMIT_ALL, resultOf } from "../workload.ts";

const NEVER = new AbortController().signal;

export async function memoryLoop({ effort, iterations }: { readonly effort: Effort; readonly iterations: number }): Promise<Report> {
  const sizes = [10, 100, 1_000].filter((n) => n <= iterations);
  const contenders: readonly Contender[] = [
    { label: "bare loop (floor), N=100", units: iterations, run: () => repeat(iterations / 100, () => bareLoop(100)) },
    ...sizes.map((n) => ({
      label: `loop, memory journal, N=${n}`,
      units: iterations,
      run: () => repeat(iterations / n, () => session(n)),
    })),
  ];
  const measured = await compare(contenders, effort);
  const [floor, ...ours] = measured;
  const [small, big] = [ours[0], ours.at(-1)];
  if (floor === undefined || small === undefined || big === undefined) throw new Error("nothing was measured");
  const growth = ratio(big, small, "cpuUs");
  return {
    name: "memory-loop",
    title: "Loop on a memory journal",
    unit: "µs/iteration",
    by: "cpu",
    lines: measured.map((m) => ({ ...m, ratio: m === floor ? null : ratio(m, floor, "cpuUs"), more: "" })),
    aims: [
      {
        what: `CPU per iteration, N=${sizes.at(-1)} against N=${sizes[0]}`,
        want: "flat: at most 1.2×",
        got: `${digits(growth)}×`,
        met: growth <= 1.2,
      },
    ],
    notes: ["N=10 carries the opening and the ending of a session in every ten iterations"],
  };
}

async function repeat(times: number, run: () => Promise<void>): Promise<void> {
  for (let i = 0; i < times; i += 1) await run();
}

let sessions = 0;
const padded = (n: number, digits: number): string => String(n).padStart(digits, "0");

export async function session(
  iterations: number,
  gate: Gate = tableGate(PERMIT_ALL, sha256),
  middleware: readonly Middleware[] = [],
  context: Readonly<{ plan: ContextPlan; tokens: number }> = { plan: agent.context, tokens: agent.limits.contextTokens },
): Promise<void> {
  let salt = 0;
  const seal = {
    writer: writerId("w1"),
    key: keyId("none"),
    hash: sha256,
    sign: sha256,
    salt: () => padded(++salt, 32),
  };
  const store = memoryStore(seal);
  const tools = toolbox(agent.tools, sha256);
  const ports: Ports = {
    model: countingModel(iterations),
    fallbacks: [],
    summariser: SUMMING,
    counters: estimates,
    contextPlans: () => null,
    gate,
    tools,
    middleware,
    outputs: NO_OUTPUTS,
    journal: store.journal,
    inbox: store.inbox,
    knowledge: noKnowledge,
    children: NO_CHILDREN,
    orders: openOrders(store.journal, () => millis(Date.now())),
    breakers: openBreakers(store.journal, { now: () => millis(Date.now()), hash: sha256, self: { kind: "system", id: "bench" } }),
    counts: openCounts(store.journal, () => millis(Date.now())),
    folds: NO_FOLDS,
    modelRetry: DEFAULT_MODEL_RETRY,
    modelBreaker: DEFAULT_BREAKER,
    authenticate: () => ({ kind: "genuine" }),
    signAsWriter: (intent) => ({ ...intent, by: USER, key: null, signature: null }),
    clock: { now: () => millis(Date.now()), elapsed: () => performance.now(), sleep },
    ids: {
      session: () => sessionId(`s_${padded(++sessions, 12)}`),
      approval: () => approvalId("none"),
      intent: () => intentId("none"),
    },
    hash: sha256,
    watch: () => {},
  };
  const facts = { ...agentFacts(agent, { gate, tools, hash: sha256 }), context: context.plan };
  const limits = { ...agent.limits, contextTokens: context.tokens };
  const held = await openSession(ports, {
    agent: facts,
    principal: USER,
    surface: "library",
    labels: [],
    history: [],
    external: null,
    parent: null,
    origin: null,
  });
  const start = { kind: "turn.started", turn: 1, input: "go", files: [], by: USER, limits, intent: null } as const;
  const state = await drive(ports, { ...held, begin: [...held.begin, start] }, { limits, cancel: NEVER });
  checkRun(toResult(state), iterations);
}

/** Sums up at once, in as many words as fit. */
const SUMMING: Model = {
  id: "bench/counting",
  ask: async ({ maxOutputTokens }) => ({
    parts: [{ kind: "text", text: "so far so good ".repeat(Math.floor(maxOutputTokens / 8)), meta: null }],
    finish: "stop",
    usage: { input: 10, output: 5 },
    model: "bench/counting",
    meta: null,
  }),
};

/** As long as nothing is late, timers are set and cleared: that is part of what a call costs. */
const sleep = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, Math.min(ms, 2 ** 31 - 1));
    const stop = () => {
      clearTimeout(timer);
      resolve();
    };
    signal.addEventListener("abort", stop, { once: true });
  });

/** What anybody would write first: ask, check, run, append to a list. No record, no gate, no limits. */
async function bareLoop(iterations: number): Promise<void> {
  const model: Model = countingModel(iterations);
  const messages: Parameters<Model["ask"]>[0]["messages"][number][] = [{ role: "user", text: "go", tokens: 0, entry: seq(1) }];
  let calls = 0;
  for (;;) {
    const reply = await model.ask(
      { system: "", context: [], messages, tools: [], answer: null, temperature: 0, maxOutputTokens: 0, attempt: 1 },
      () => {},
      NEVER,
    );
    const [part] = reply.parts;
    if (part?.kind !== "call") break;
    const checked = lookup.check(JSON.parse(part.text));
    if (checked.kind !== "valid") throw new Error(JSON.stringify(checked));
    calls += 1;
    const text = await Promise.resolve(resultOf(Number(checked.args.n)));
    messages.push({ role: "tool", wireId: part.id, tool: part.tool, text, isError: false, tokens: 0, entry: seq(1) });
  }
  checkRun({ ending: "completed", calls }, iterations);
}
