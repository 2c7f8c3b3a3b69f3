/** Ports that a program brings, made safe: an error or nonsense in one never widens what an agent may do, and never ends a run. */
import {
  type Agent,
  type BreakerSettings,
  breakerSubject,
  type Counters,
  type Entry,
  estimateTokens,
  type OpenBreakers,
  type OwnContextPlan,
  type Ports,
  type TokenCount,
} from "@orgate/core";
import { tokenizers } from "../../models/tokenizers.ts";

/** Null: the built-in counter of that name. */
export type OwnCounters = (tokenizer: string) => TokenCount | null;

/** A counter that throws, or counts something else than whole tokens, is replaced by the estimate for that text: limits keep holding. */
export function withOwnCounters(own: OwnCounters | undefined): Counters {
  if (own === undefined) return tokenizers;
  return (tokenizer) => {
    const count = attempt(() => own(tokenizer), null);
    if (typeof count !== "function") return tokenizers(tokenizer);
    return (text) => {
      const tokens = attempt(() => count(text), null);
      return tokens !== null && Number.isSafeInteger(tokens) && tokens >= 0 ? tokens : estimateTokens(text);
    };
  };
}

/** By name; an inherited name such as `toString` does not count. The caller handles an error that a plan throws. */
export const ownContextPlans =
  (plans: Readonly<Record<string, OwnContextPlan>> = {}): Ports["contextPlans"] =>
  (name) =>
    Object.hasOwn(plans, name) ? (plans[name] ?? null) : null;

/** Settings by breaker (`tool:NAME`, `model:PROVIDER/NAME`, `mcp:SERVER`); `*` is for all that have no line. */
export type BreakerTable = Readonly<Record<string, Partial<BreakerSettings>>>;

/** Settings of the runtime count in place of those of agents and tools. */
export function withBreakerTable(breakers: OpenBreakers, table: BreakerTable | undefined): OpenBreakers {
  if (table === undefined) return breakers;
  type Breaker = Parameters<OpenBreakers["refusal"]>[0];
  const adjust = ({ name, settings }: Breaker): Breaker => {
    const subject = breakerSubject(name);
    return { name, settings: { ...settings, ...(Object.hasOwn(table, subject) ? table[subject] : table["*"]) } };
  };
  return {
    ...breakers,
    refusal: (breaker, key) => breakers.refusal(adjust(breaker), key),
    pass: (breaker, key) => breakers.pass(adjust(breaker), key),
    report: (breaker, key, what, reason) => breakers.report(adjust(breaker), key, what, reason),
  };
}

/** Hears every entry once it is durable, in sessions driven here. */
export type Tracer = Readonly<{ hear(entry: Entry, agent: Pick<Agent, "name" | "model">): void; close?(): Promise<void> }>;

const CLOSE_MS = 5_000;

/** Errors of a tracer are dropped, and closing does not wait for it longer than five seconds. */
export function safeTracer(own: Tracer | undefined, withinMs = CLOSE_MS): Required<Tracer> | null {
  if (own === undefined) return null;
  return {
    hear: (entry, agent) => void Promise.resolve(attempt(() => own.hear(entry, agent), undefined)).catch(() => {}),
    async close() {
      const late = Promise.withResolvers<void>();
      const timer = setTimeout(() => late.resolve(), withinMs);
      await Promise.race([Promise.resolve(attempt(() => own.close?.(), undefined)).catch(() => {}), late.promise]);
      clearTimeout(timer);
    },
  };
}

function attempt<T, F>(work: () => T, otherwise: F): T | F {
  try {
    return work();
  } catch {
    return otherwise;
  }
}
