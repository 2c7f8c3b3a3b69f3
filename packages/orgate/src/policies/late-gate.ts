/**
 * A gate that asks elsewhere before an action is begun: a service, a queue, another team's rules. It stands behind a gate that decides at once, and
 * can only narrow what that one permits. Closed by default: an error, an answer that makes no sense and no answer within the time limit deny.
 */
import {
  type Action,
  AwaitsGate,
  type Counts,
  DEFAULT_TERMS,
  type Decision,
  type Facts,
  FaultError,
  type Gate,
  type PolicyId,
  type Principal,
  policyId,
  type Surface,
  toCallSubject,
  toCanonicalJson,
  type Verdict,
} from "@orgate/core";
import { bindMethods } from "../node/bind-methods.ts";

/** The facts of an action as plain data: it can be sent as JSON. */
export type LateFacts = Readonly<{
  agent: string;
  onBehalfOf: Principal;
  surface: Surface;
  labels: readonly string[];
  /** Calls of this tool that were allowed so far. */
  calls: Counts;
  /** Tokens. */
  spent: Counts;
  cents: Counts | null;
  media: readonly string[];
}>;

export type LateAnswer =
  | Readonly<{ kind: "allow" }>
  | Readonly<{ kind: "deny"; reason: string }>
  /** A person is asked. */
  | Readonly<{ kind: "ask"; question: string }>;

export type LateGateOptions<G extends Gate> = Readonly<{
  /** Named in decisions as the policy `late/NAME`. */
  name: string;
  /** Decides first; only what it allows or asks about is put to `answer`. */
  gate: G;
  answer(action: Action, facts: LateFacts, signal: AbortSignal): Promise<LateAnswer>;
  /** Denied after so long; 10 s unless given. */
  timeoutMs?: number;
  /** How long an answer counts that came when nobody waited for it any more, for the same action under the same facts; 1 s unless given. */
  freshMs?: number;
}>;

type Asked = { readonly answered: Promise<void>; readonly stop: AbortController; answer: LateAnswer | null; at: number; waiters: number };

const KEPT = 1_000;
/** The time limit is kept here; the driver's own comes after it. */
const GRACE_MS = 1_000;

/** The late answer counts for the facts it was asked with: when labels, counters or the policies' verdict have changed meanwhile, it is asked again. */
export function lateGate<G extends Gate>({ name, gate, answer, timeoutMs = 10_000, freshMs = 1_000 }: LateGateOptions<G>): G {
  const isWrong = !(timeoutMs > 0 && timeoutMs < 2 ** 31) || !(freshMs >= 0);
  if (isWrong || !/^[\w-]{1,64}$/.test(name) || typeof answer !== "function" || typeof gate?.decide !== "function")
    throw new FaultError({
      kind: "usage",
      detail: "`lateGate` was called wrongly",
      hint: "such as { name, gate: cedarPolicies(…), answer }",
    });
  const policy = policyId(`late/${name}`);
  const asked = new Map<string, Asked>();

  function ask(key: string, action: Action, facts: LateFacts): Asked {
    const stop = new AbortController();
    const late: Asked = {
      stop,
      answer: null,
      at: 0,
      waiters: 0,
      answered: withinTime((signal) => answer(action, facts, signal), timeoutMs, stop).then((came) => {
        late.answer = came;
        late.at = performance.now();
      }),
    };
    asked.delete(key);
    asked.set(key, late);
    for (const [old, { answer: over }] of asked) if (asked.size > KEPT && over !== null) asked.delete(old);
    return late;
  }

  /** An action that nobody waits for any more is not asked about any longer. */
  function letGo(key: string, late: Asked): void {
    late.waiters -= 1;
    if (late.waiters > 0 || late.answer !== null) return;
    if (asked.get(key) === late) asked.delete(key);
    late.stop.abort("nobody waits for the answer any more");
  }

  function decide(action: Action, facts: Facts): Decision {
    const first = gate.decide(action, facts);
    if ((first.verdict.kind !== "allow" && first.verdict.kind !== "ask") || facts.supposed === true) return first;
    const plain = toPlain(action, facts);
    const key = toCanonicalJson({ action, facts: plain, verdict: first.verdict, read: first.read, slice: first.slice });
    const known = asked.get(key);
    if (known !== undefined && known.answer !== null && (known.waiters > 0 || performance.now() - known.at <= freshMs)) {
      asked.delete(key); // an answer counts once: the same call of another session, or the next decision, is asked about again
      return { ...first, verdict: narrowed(first.verdict, known.answer, policy) };
    }
    const waiting = known !== undefined && known.answer === null ? known : ask(key, action, plain);
    throw new AwaitsGate(key, waiting.answered, timeoutMs + GRACE_MS, () => {
      waiting.waiters += 1;
      return () => letGo(key, waiting);
    });
  }

  return Object.defineProperty(bindMethods(gate), "decide", { value: decide, enumerable: true });
}

function toPlain(action: Action, facts: Facts): LateFacts {
  const { agent, onBehalfOf, surface, labels, spent, cents, media } = facts;
  const doing = toCallSubject(action);
  const calls = doing === null ? { turn: 0, session: 0 } : facts.calls(doing.tool);
  return { agent, onBehalfOf, surface, labels, calls, spent, cents, media };
}

/** Never rejects: what goes wrong is a denial. Aborting `stop` ends the wait and its timer at once. */
async function withinTime(
  ask: (signal: AbortSignal) => Promise<LateAnswer>,
  timeoutMs: number,
  stop: AbortController,
): Promise<LateAnswer> {
  const late = Promise.withResolvers<LateAnswer>();
  const timer = setTimeout(() => {
    late.resolve({ kind: "deny", reason: `no answer within ${timeoutMs} ms` });
    stop.abort("no answer in time");
  }, timeoutMs);
  stop.signal.addEventListener("abort", () => late.resolve({ kind: "deny", reason: "nobody waits for the answer any more" }), {
    once: true,
  });
  try {
    return checked(await Promise.race([ask(stop.signal), late.promise]));
  } catch (error) {
    return { kind: "deny", reason: `it failed: ${error instanceof Error ? error.message : String(error)}` };
  } finally {
    clearTimeout(timer);
  }
}

function checked(answer: unknown): LateAnswer {
  const { kind, reason, question } = (typeof answer === "object" && answer !== null ? answer : {}) as Record<string, unknown>;
  if (kind === "allow") return { kind };
  if (kind === "deny" && typeof reason === "string") return { kind, reason };
  if (kind === "ask" && typeof question === "string") return { kind, question };
  return { kind: "deny", reason: 'its answer makes no sense: { kind: "allow" }, { kind: "deny", reason } or { kind: "ask", question }' };
}

function narrowed(first: Extract<Verdict, { kind: "allow" | "ask" }>, answer: LateAnswer, policy: PolicyId): Verdict {
  const because = [...first.because, policy];
  switch (answer.kind) {
    case "allow":
      return { ...first, because };
    case "deny":
      return { kind: "deny", by: "policy", because, faults: [], reason: answer.reason };
    case "ask": {
      const question = { policy, question: answer.question, terms: DEFAULT_TERMS };
      return { kind: "ask", because, asks: first.kind === "ask" ? [...first.asks, question] : [question] };
    }
  }
}
