/** The facts of its agent that a session records: enough to see, later, that it runs on another. */
import type { Agent } from "../../agents/agent.ts";
import type { Gate } from "../../gate/port.ts";
import { toolText } from "../../reason/prompted.ts";
import { type Counters, estimates, PER_MESSAGE } from "../../reason/tokens.ts";
import { type AgentFacts, type Hash, MICROS_PER_CENT, type Tools, toCanonicalJson } from "../../vocab/index.ts";

type FactParts = Readonly<{ gate: Gate; tools: Tools; hash: Hash; counters?: Counters }>;

export function agentFacts(agent: Agent, { gate, tools, hash, counters = estimates }: FactParts): AgentFacts {
  const { name, instructions, model, prices, fallbacks, tokenizer, context, knowledge } = agent;
  const count = counters(tokenizer);
  const inWords = agent.modelOptions["tools"] === "prompted" ? count(toolText([], "x".repeat(16), null)) : 0;
  const overheadTokens = count(instructions) + PER_MESSAGE + inWords + tools.offered.reduce((n, t) => n + count(toCanonicalJson(t)), 0);
  return {
    name,
    digest: agent.digest(hash),
    instructions,
    model,
    policies: gate.digest,
    tools: tools.digest,
    overheadTokens,
    tokenizer,
    context,
    prices,
    fallbacks,
    charges: listCharges(tools),
    knowledge,
  };
}

/** Micros by tool: reserved before one of them starts. */
export function listCharges(tools: Tools): AgentFacts["charges"] {
  const charged = tools.offered.flatMap(({ name }) => {
    const cents = tools.find(name)?.maxCents ?? 0;
    return cents === 0 ? [] : [[name, Math.ceil(cents * MICROS_PER_CENT)] as const];
  });
  return Object.fromEntries(charged);
}
