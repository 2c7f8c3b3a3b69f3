/** What a decision costs: cold, from memory, a million times, and as a part of an iteration. The floor is the engine itself with a bare permit. */
import { type Action, callId, defineTool, type Facts, type Label, millis, NO_MORE_FACTS, toDecisionTime } from "@orgate/core";
import { type CedarGate, cedarGate, type Engine, loadPolicies } from "@orgate/core/gate";
import { cedarEngine, sha256 } from "orgate";
import { type Contender, compare, type Effort, type Measured, ratio, spread } from "../measure.ts";
import { digits, type Report } from "../report.ts";
import { lookup } from "../workload.ts";
import { session } from "./memory-loop.ts";

const SIZES = [1, 10, 100, 1_000];
const OTHERS = Array.from({ length: 40 }, (_, i) => ({ ...lookup, name: `other${i}` }));
const ORDER = { type: "object", properties: { order: { type: "string" } }, required: ["order"], additionalProperties: false } as const;
const ORDERS = { description: "About orders.", input: ORDER, labels: [], run: () => null };
const readOrder = defineTool({
  ...{ ...ORDERS, name: "read_order", effects: ["read"] },
  records: [{ type: "order", key: "id", fields: { status: "status" }, owner: "customer" }],
});
const cancel = defineTool({ ...ORDERS, name: "cancel", effects: ["write"], targets: { order: { kind: "id", of: "order" } } });
const TOOLS = [lookup, readOrder, cancel, ...OTHERS];
const EVERYTHING = "permit (principal, action, resource);";

/** Three policies can decide a look-up; the others are about other tools and other agents. */
function policies(count: number): string {
  const own = [
    'permit (principal, action == Action::"tool:lookup", resource) when { context.args.path like "docs/*" };',
    'forbid (principal, action == Action::"tool:lookup", resource) when { context.labels.contains("secret") };',
    'forbid (principal, action in Action::"read", resource) when { context.calls.lookup.turn > 1000000 };',
  ];
  const others = Array.from({ length: Math.max(0, count - own.length) }, (_, i) => {
    const tool = `tool:other${i % OTHERS.length}`;
    return i % 2 === 0
      ? `permit (principal == Agent::"a${i}", action, resource);`
      : `forbid (principal, action == Action::"${tool}", resource) when { context.args.path like "private/${i}/*" };`;
  });
  return [...own, ...others].slice(0, count).join("\n");
}

/** As before, but what the three read are a record, whose it is, and the time. */
function policiesOfRecords(count: number): string {
  const own = [
    'permit (principal, action == Action::"tool:cancel", resource) when { context has subject && context.records has order && context.records.order.status == "pending" && context.records.order.owner == context.subject.id };',
    'forbid (principal, action == Action::"tool:cancel", resource) when { context.now.hour < 0 };',
    'forbid (principal, action in Action::"write", resource) when { context.records has order && context.records.order.ageSeconds > 600 };',
  ];
  return [...own, ...policies(count).split("\n").slice(own.length)].join("\n");
}

function gateOf(text: string, engine: Engine, cache?: number): CedarGate {
  const loaded = loadPolicies(
    [{ path: "bench.cedar", name: "bench", text, shadow: false }],
    { agents: [], users: [], tools: TOOLS },
    engine,
  );
  if (loaded.kind === "refused") throw new Error(JSON.stringify(loaded.problems[0]));
  return cedarGate(loaded.set, engine, sha256, cache === undefined ? {} : { cache });
}

const LABELS = ["untrusted"] as readonly string[] as readonly Label[];
const COUNTS = { turn: 3, session: 40 };
const FACTS: Facts = {
  agent: "bench",
  onBehalfOf: { kind: "user", id: "ann" },
  surface: "library",
  labels: LABELS,
  calls: () => COUNTS,
  spent: COUNTS,
  cents: null,
  ...NO_MORE_FACTS,
};
const NOON = millis(1_795_000_000_000);
const ABOUT_ORDERS: Facts = {
  ...FACTS,
  subject: { id: "C-7", attributes: {} },
  records: () => ({ order: { each: [{ id: "O-1", owner: "C-7", fields: { status: "pending" }, ageSeconds: 5 }] } }),
  now: (zone) => toDecisionTime(NOON, zone),
};
const CANCELS = Array.from({ length: 64 }, (_, i): Action => {
  const args = { order: `O-${i}` };
  const { name, effects } = cancel;
  return { kind: "call", call: callId("1.1"), tool: name, toolDigest: null, effects, args, inexact: [], resource: cancel.resource(args) };
});
const lookUp = (path: string, n = 1): Action => {
  const args = { n, path, query: "x".repeat(150) };
  const { name, effects } = lookup;
  return { kind: "call", call: callId("1.1"), tool: name, toolDigest: null, effects, args, inexact: [], resource: lookup.resource(args) };
};
const PATHS = Array.from({ length: 64 }, (_, i) => lookUp(`docs/chapter-${i}.md`));
const at = (i: number): Action => PATHS[i % PATHS.length] ?? lookUp("docs/a");

function decideAll(gate: CedarGate, times: number): void {
  for (let i = 0; i < times; i += 1) if (gate.decide(at(i), FACTS).verdict.kind !== "allow") throw new Error("a look-up was not allowed");
}

function decideOrders(gate: CedarGate, times: number): void {
  for (let i = 0; i < times; i += 1) {
    const { verdict } = gate.decide(CANCELS[i % CANCELS.length] ?? lookUp("docs/a"), ABOUT_ORDERS);
    if (verdict.kind !== "allow") throw new Error("a cancellation was not allowed");
  }
}

function bareCalls(engine: Engine): (times: number) => void {
  const json = engine.parse(EVERYTHING);
  const answer = json.type === "success" ? engine.keep({ bare: json.json }) : json;
  if (answer.type === "failure") throw new Error("the bare permit is not taken");
  const { kept } = answer;
  const question = {
    principal: { type: "Agent", id: "bench" },
    action: { type: "Action", id: "tool:lookup" },
    resource: { type: "File", id: "docs/a" },
    context: {},
    entities: [],
  };
  return (times) => {
    for (let i = 0; i < times; i += 1) engine.decide(kept, question);
  };
}

const need = (found: Measured | undefined): Measured => {
  if (found === undefined) throw new Error("nothing was measured");
  return found;
};

export async function gateCold({ effort, decisions }: { readonly effort: Effort; readonly decisions: number }): Promise<Report> {
  const engine = cedarEngine();
  const bare = bareCalls(engine);
  const aboutOrders = gateOf(policiesOfRecords(10), engine, 0);
  const contenders: readonly Contender[] = [
    { label: "engine itself, one bare permit (floor)", units: decisions, run: () => bare(decisions) },
    ...SIZES.map((size) => {
      const gate = gateOf(policies(size), engine, 0);
      return { label: `gate, ${size} policies, slice of ${Math.min(3, size)}`, units: decisions, run: () => decideAll(gate, decisions) };
    }),
    {
      label: "gate, 10 policies, slice of 3 that reads a record, the subject and the time",
      units: decisions,
      run: () => decideOrders(aboutOrders, decisions),
    },
  ];
  const measured = await compare(contenders, effort);
  const [floor, , ten, , thousand, ofRecords] = measured.map(need);
  const times = ratio(need(ten), need(floor), "cpuUs");
  const timesOfRecords = ratio(need(ofRecords), need(floor), "cpuUs");
  const growth = ratio(need(thousand), need(ten), "cpuUs");
  return {
    name: "gate-cold",
    title: "One decision, memory off",
    unit: "µs/decision",
    by: "cpu",
    lines: measured.map((m) => ({ ...m, ratio: m === floor ? null : ratio(m, need(floor), "cpuUs"), more: "" })),
    aims: [
      { what: "slice of 3 against the bare engine", want: "at most 5×", got: `${digits(times)}×`, met: times <= 5 },
      {
        ...{ what: "slice of 3 that reads a record, the subject and the time, against the bare engine", want: "at most 5×" },
        ...{ got: `${digits(timesOfRecords)}×`, met: timesOfRecords <= 5 },
      },
      { what: "1,000 policies against 10, same slice", want: "within 10 %", got: `${digits(growth)}×`, met: growth <= 1.1 },
    ],
    notes: ["sends one argument, the labels and one counter"],
  };
}

export async function gateHits({ effort, decisions }: { readonly effort: Effort; readonly decisions: number }): Promise<Report> {
  const engine = cedarEngine();
  const constant = gateOf(EVERYTHING, engine);
  const contenders: readonly Contender[] = [
    ...SIZES.map((size) => {
      const gate = gateOf(policies(size), engine);
      return {
        label: `from memory, ${size} policies, slice of ${Math.min(3, size)}`,
        units: decisions,
        run: () => decideAll(gate, decisions),
      };
    }),
    { label: "a slice that reads nothing", units: decisions, run: () => decideAll(constant, decisions) },
  ];
  const measured = await compare(contenders, effort);
  const worst = Math.max(...measured.map((m) => m.cpu.median));
  return {
    name: "gate-hits",
    title: "One decision, from memory",
    unit: "µs/decision",
    by: "cpu",
    lines: measured.map((m) => ({ ...m, ratio: null, more: "" })),
    aims: [{ what: "CPU, the slowest of them", want: "at most 3 µs", got: `${digits(worst)} µs`, met: worst <= 3 }],
    notes: ["64 different arguments in turn"],
  };
}

/** Two agents for five people: reads of a hundred files (some often), sends, answers, model calls; labels and counters as a session goes on. */
export async function gateMix({ decisions }: { readonly decisions: number }): Promise<Report> {
  const text = [
    'permit (principal, action in [Action::"model", Action::"respond"], resource);',
    'permit (principal, action == Action::"tool:lookup", resource) when { context.args.path like "docs/*" };',
    'forbid (principal, action == Action::"tool:lookup", resource) when { context.args.path like "docs/private/*" };',
    '@ask("more than 20 in a turn") permit (principal, action == Action::"tool:other0", resource) when { context.calls.other0.turn > 20 };',
    'permit (principal, action == Action::"tool:other0", resource) when { context.labels.contains("untrusted") || context.args.n < 10 };',
  ].join("\n");
  const gate = gateOf(text, cedarEngine());
  let seed = 42;
  const upTo = (n: number): number => {
    seed = (Math.imul(seed, 1_103_515_245) + 12_345) >>> 0;
    return Math.floor((seed / 2 ** 32) * n);
  };
  const began = process.cpuUsage();
  for (let i = 0; i < decisions; i += 1) {
    const turn = i % 25;
    const facts: Facts = {
      ...FACTS,
      agent: upTo(2) === 0 ? "ops" : "desk",
      onBehalfOf: { kind: "user", id: `u${upTo(5)}` },
      labels: turn > 3 ? LABELS : [],
      calls: () => ({ turn, session: i % 500 }),
    };
    const kind = upTo(10);
    const path = `docs/${upTo(3) === 0 ? "common" : `file-${upTo(100)}`}.md`;
    const call = lookUp(path, upTo(20));
    if (kind < 4) gate.decide({ kind: "model", model: "offline/x" }, facts);
    else if (kind === 4) gate.decide({ kind: "respond", to: facts.onBehalfOf }, facts);
    else gate.decide(kind < 8 || call.kind !== "call" ? call : { ...call, tool: "other0" }, facts);
  }
  const used = process.cpuUsage(began);
  const each = spread([(used.user + used.system) / decisions]);
  const { hits, misses, slices } = gate.stats();
  const rate = hits / (hits + misses);
  return {
    name: "gate-mix",
    title: "A realistic mix",
    unit: "µs/decision",
    by: "cpu",
    lines: [{ label: `${decisions.toLocaleString("en-US")} decisions`, cpu: each, wall: null, ratio: null, more: `${slices} slices` }],
    aims: [],
    notes: [`${(100 * rate).toFixed(1)} % from memory; the requests themselves are made in the measured time`],
  };
}

/** Does the engine grow? Its memory is not ours to see, so the process's is shown, after each twentieth. */
export async function gateMillion({ decisions }: { readonly decisions: number }): Promise<Report> {
  const engine = cedarEngine();
  const gate = gateOf(policies(10), engine, 0);
  decideAll(gate, 5_000);
  const rss: number[] = [];
  const replaced: number[] = [];
  const began = process.cpuUsage();
  for (let part = 0; part < 20; part += 1) {
    decideAll(gate, decisions / 20);
    globalThis.gc?.();
    rss.push(process.memoryUsage().rss / 2 ** 20);
    replaced.push(engine.renewals());
  }
  const used = process.cpuUsage(began);
  const half = (from: number, to: number): number => spread(rss.slice(from, to)).median;
  const growth = half(10, 20) - half(2, 10);
  return {
    name: "gate-million",
    title: `${decisions.toLocaleString("en-US")} decisions, memory off`,
    unit: "µs/decision",
    by: "cpu",
    lines: [
      { label: "gate, 10 policies, slice of 3", cpu: spread([(used.user + used.system) / decisions]), wall: null, ratio: null, more: "" },
    ],
    aims: [
      {
        what: "resident memory, second half against the first",
        want: "no lasting growth: at most 8 MB",
        got: `${growth.toFixed(1)} MB`,
        met: growth <= 8,
      },
    ],
    notes: [
      `resident MB after each twentieth: ${rss.map((mb) => mb.toFixed(0)).join(" ")}`,
      `engine replaced so far:           ${replaced.join(" ")}`,
    ],
  };
}

export async function gateLoop({ effort, iterations }: { readonly effort: Effort; readonly iterations: number }): Promise<Report> {
  const engine = cedarEngine();
  const text = `permit (principal, action in [Action::"model", Action::"respond"], resource);\n${policies(100)}`;
  const remembering = gateOf(text, engine);
  const cold = gateOf(text, engine, 0);
  const run = async (gate?: CedarGate): Promise<void> => {
    for (let i = 0; i < iterations / 100; i += 1) await session(100, gate);
  };
  const measured = await compare(
    [
      { label: "decision table (floor)", units: iterations, run: () => run() },
      { label: "Cedar, 101 policies", units: iterations, run: () => run(remembering) },
      { label: "Cedar, 101 policies, memory off", units: iterations, run: () => run(cold) },
    ],
    effort,
  );
  const [floor, warm] = measured.map(need);
  const cpu = need(warm).cpu.median;
  return {
    name: "gate-loop",
    title: "A gated iteration on a memory journal, N=100",
    unit: "µs/iteration",
    by: "cpu",
    lines: measured.map((m) => ({ ...m, ratio: m === floor ? null : ratio(m, need(floor), "cpuUs"), more: "" })),
    aims: [{ what: "CPU per gated iteration", want: "at most 150 µs", got: `${digits(cpu)} µs`, met: cpu <= 150 }],
    notes: ["an iteration is a model call and a tool call: three decisions, two appends"],
  };
}
