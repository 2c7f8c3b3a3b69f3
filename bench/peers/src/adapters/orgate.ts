/**
 * Orgate, compiled as for a release. On disk: `createRuntime` with SQLite, synchronous FULL, its default (examples/src/03-first-agent.ts).
 * In memory: the same loop on the memory journal of @orgate/core/testing, entries hashed and chained, a hash in place of the signature.
 * There is no way to run it without a gate: Cedar policies decide each tool call, each model call and the answer, in every figure here.
 *
 * Requests are cut to the context budget (32,000 tokens unless told otherwise), as they are for every user: the model is not shown what no
 * longer fits. The variant `whole history` sends everything, as peers do that leave this to the application.
 */
import {
  type Agent,
  agentFacts,
  approvalId,
  callId,
  DEFAULT_BREAKER,
  DEFAULT_MODEL_RETRY,
  defineAgent,
  defineTool,
  drive,
  estimates,
  intentId,
  keyId,
  type Limits,
  type Message,
  type Model,
  millis,
  NO_CHILDREN,
  NO_FOLDS,
  NO_MORE_FACTS,
  NO_OUTPUTS,
  noKnowledge,
  openBreakers,
  openCounts,
  openOrders,
  openSession,
  type Ports,
  type Principal,
  sessionId,
  toolbox,
  toResult,
  writerId,
} from "@orgate/core";
import { type CedarGate, cedarGate, loadPolicies } from "@orgate/core/gate";
import { memoryStore } from "@orgate/core/testing";
import { cedarEngine, createRuntime, sha256 } from "orgate";
import * as z from "zod";
import type { Open, Opened } from "../adapter.ts";
import { policiesText } from "../policies.ts";
import { argsOf, argsText, DESCRIPTION, PROMPT, TOOL, type Work } from "../workload.ts";

const USER: Principal = { kind: "user", id: "bench" };
const LIMITS: Partial<Limits> = { iterations: 100_000, calls: 100_000, tokens: 1_000_000_000, turnMs: 86_400_000 };
const WHOLE: Partial<Limits> = { ...LIMITS, contextTokens: 900_000_000 };
const usage = { input: 10, output: 5 };
const input = z.strictObject({ n: z.number().int(), path: z.string(), query: z.string() });
/** Model calls and answers are decided like tool calls. */
const OWN_ACTIONS = 'permit (principal, action in [Action::"model", Action::"respond"], resource);';

const newestResult = (message: Message | undefined): string | null => (message?.role === "tool" ? message.text : null);

const modelOf = (work: Work): Model => ({
  id: "bench/counting",
  async ask({ messages }) {
    const reply = work.ask(newestResult(messages.at(-1)));
    const rest = { usage, model: "bench/counting", meta: null };
    return reply.kind === "text"
      ? { ...rest, finish: "stop", parts: [{ kind: "text", text: reply.text, meta: null }] }
      : { ...rest, finish: "calls", parts: [{ kind: "call", id: reply.id, tool: TOOL, text: argsText(reply.n), meta: null }] };
  },
});

const agentOf = (work: Work, limits: Partial<Limits>): Agent =>
  defineAgent({
    name: "bench",
    instructions: "Look things up.",
    model: "bench/counting",
    limits,
    tools: [
      defineTool({
        name: TOOL,
        description: DESCRIPTION,
        input,
        effects: ["read"],
        resource: ({ path }) => ({ type: "File", id: path }),
        run: (args) => work.effect(args),
      }),
    ],
  });

function gateOf({ tools }: Agent, policies: number, cache?: number): CedarGate {
  const text = policiesText(policies, { action: `Action::"tool:${TOOL}"`, args: "context.args", person: "Agent" });
  const engine = cedarEngine();
  const file = { path: "bench.cedar", name: "bench", text: `${OWN_ACTIONS}\n${text}`, shadow: false };
  const loaded = loadPolicies([file], { agents: [], users: [], tools }, engine);
  if (loaded.kind === "refused") throw new Error(JSON.stringify(loaded.problems[0]));
  return cedarGate(loaded.set, engine, sha256, cache === undefined ? {} : { cache });
}

/** The decisions of the loop, and nothing else. */
function decider(gate: CedarGate, { tools }: Agent): NonNullable<Opened["decide"]> {
  const [lookup] = tools;
  if (lookup === undefined) throw new Error("there is no tool");
  const counts = { turn: 3, session: 40 };
  const facts = {
    agent: "bench",
    onBehalfOf: USER,
    surface: "library",
    labels: [],
    calls: () => counts,
    spent: counts,
    cents: null,
    ...NO_MORE_FACTS,
  } as const;
  return (times) => {
    for (let n = 1; n <= times; n += 1) {
      const args = { ...argsOf(n) };
      const { name, effects } = lookup;
      const call = { kind: "call", call: callId("1.1"), tool: name, toolDigest: null, effects, args, inexact: [] } as const;
      const { verdict } = gate.decide({ ...call, resource: lookup.resource(args) }, facts);
      if (verdict.kind !== "allow") throw new Error("a look-up was not allowed");
    }
  };
}

const padded = (n: number, digits: number): string => String(n).padStart(digits, "0");
const NEVER = new AbortController().signal;

const sleep = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, Math.min(ms, 2 ** 31 - 1));
    const stop = () => {
      clearTimeout(timer);
      resolve();
    };
    signal.addEventListener("abort", stop, { once: true });
  });

const inMemory =
  (limits: Partial<Limits>, cache?: number): Open =>
  async ({ work, policies }) => {
    const agent = agentOf(work, limits);
    const gate = gateOf(agent, policies, cache);
    const tools = toolbox(agent.tools, sha256);
    const facts = agentFacts(agent, { gate, tools, hash: sha256 });
    let [sessions, salts] = [0, 0];
    const seal = { writer: writerId("w1"), key: keyId("none"), hash: sha256, sign: sha256, salt: () => padded(++salts, 32) };
    return {
      async run() {
        const store = memoryStore(seal);
        const now = () => millis(Date.now());
        const ports: Ports = {
          model: modelOf(work),
          fallbacks: [],
          summariser: modelOf(work),
          counters: estimates,
          contextPlans: () => null,
          gate,
          tools,
          middleware: [],
          outputs: NO_OUTPUTS,
          knowledge: noKnowledge,
          journal: store.journal,
          inbox: store.inbox,
          children: NO_CHILDREN,
          orders: openOrders(store.journal, now),
          breakers: openBreakers(store.journal, { now, hash: sha256, self: { kind: "system", id: "bench" } }),
          counts: openCounts(store.journal, now),
          folds: NO_FOLDS,
          modelRetry: DEFAULT_MODEL_RETRY,
          modelBreaker: DEFAULT_BREAKER,
          authenticate: () => ({ kind: "genuine" }),
          signAsWriter: (intent) => ({ ...intent, by: USER, key: null, signature: null }),
          clock: { now, elapsed: () => performance.now(), sleep },
          ids: {
            session: () => sessionId(`s_${padded(++sessions, 12)}`),
            approval: () => approvalId("none"),
            intent: () => intentId("none"),
          },
          hash: sha256,
          watch: () => {},
        };
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
        const start = { kind: "turn.started", turn: 1, input: PROMPT, files: [], by: USER, limits: agent.limits, intent: null } as const;
        const state = await drive(ports, { ...held, begin: [...held.begin, start] }, { limits: agent.limits, cancel: NEVER });
        const { output, ending } = toResult(state);
        return output ?? `ended ${ending}`;
      },
      close: async () => {},
      decide: decider(gate, agent),
    };
  };

const onDisk =
  (thread: "main" | "worker"): Open =>
  async ({ work, folder, policies }) => {
    const agent = agentOf(work, LIMITS);
    const gate = gateOf(agent, policies);
    const runtime = await createRuntime({ directory: folder, agents: [agent], gate, principal: USER, thread, model: () => modelOf(work) });
    return {
      async run() {
        const { output, ending } = await runtime.run("bench", PROMPT).result;
        return output ?? `ended ${ending}`;
      },
      close: () => runtime.close(),
    };
  };

export const orgate: Open = inMemory(LIMITS);
export const orgateWhole: Open = inMemory(WHOLE);
/** Every decision goes to the engine: none is remembered. */
export const orgateForgetful: Open = inMemory(LIMITS, 0);
export const orgateSqlite: Open = onDisk("main");
