/** Short journals as sessions write them, told event by event: what views are tested with. */
import {
  type ActionText,
  type AgentFacts,
  type ApprovalTerms,
  type Ask,
  actionText,
  approvalId,
  type CallId,
  callId,
  DEFAULT_LIMITS,
  DEFAULT_TERMS,
  type Digest,
  digest,
  type Ending,
  type Entry,
  epoch,
  intentId,
  type JournalEvent,
  type Json,
  type JsonObject,
  joinDecisions,
  type Label,
  label,
  millis,
  type Outcome,
  type Part,
  type Principal,
  policyId,
  type SessionEvent,
  seq,
  sessionId,
  toUsage,
  type Verdict,
  writerId,
} from "@orgate/core/vocab";

export const VIEWED = sessionId("s_viewed00001");
export const ana: Principal = { kind: "user", id: "ana" };
export const START = 1_790_000_000_000;
const d = (c: string): Digest => digest(c.repeat(64));

const agent: AgentFacts = {
  name: "clerk",
  digest: d("a"),
  instructions: "Answer briefly.",
  model: "offline/clerk",
  policies: d("b"),
  tools: d("c"),
  overheadTokens: 42,
  tokenizer: "estimate",
  context: { kind: "window", keep: 6 } as AgentFacts["context"],
  prices: { input: 3, output: 15 },
  fallbacks: [],
  charges: {},
  knowledge: null,
};

/** Milliseconds after the start, and what happened. */
export type TimedFact = readonly [number, JournalEvent];
export const journalOf = (...happened: readonly TimedFact[]): readonly Entry[] =>
  happened.map(([ms, event], i) => ({ stream: VIEWED, seq: seq(i + 1), at: millis(START + ms), event }));

/** With the decisions of each moment as part of what begins in it, numbered anew. */
export function asStored(entries: readonly Entry[]): readonly Entry[] {
  const moments = Map.groupBy(entries, ({ at }) => at);
  const stored = [...moments.values()].flatMap((all) => joinDecisions(all));
  return stored.map(({ at, event }, i) => ({ stream: VIEWED, seq: seq(i + 1), at, event }));
}

export const opened = (more: Partial<Extract<SessionEvent, { kind: "session.opened" }>> = {}): JournalEvent => ({
  kind: "session.opened",
  agent,
  principal: ana,
  surface: "coordinator",
  labels: [],
  history: [],
  external: null,
  parent: null,
  origin: null,
  ...more,
});
export const held = (n: number): JournalEvent => ({
  ...{ kind: "hold.taken", epoch: epoch(n), writer: writerId(`w${n}`) },
  powerCut: "lose-nothing",
});
export const turn = (n: number, input: string): JournalEvent => ({
  kind: "turn.started",
  turn: n,
  input,
  files: [],
  by: ana,
  limits: DEFAULT_LIMITS,
  intent: intentId(`i_${n}`),
});
export const asks = (iteration: number, attempt = 1): JournalEvent => ({
  kind: "model.asked",
  iteration,
  attempt,
  model: agent.model,
  purpose: "reply",
  request: d("e"),
  reserved: toUsage(100, 50),
  reservedMicros: 1_050,
  decisions: [],
});
export const says = (text: string): Part => ({ kind: "text", text, meta: null });
export const thinks = (text: string): Part => ({ kind: "thinking", text, meta: null });
export const wants = (id: string, tool: string, args: JsonObject): Part => ({
  kind: "call",
  id: callId(id),
  wireId: `w_${id}`,
  tool,
  text: JSON.stringify(args),
  meta: null,
});
export const replies = (iteration: number, ...parts: readonly Part[]): JournalEvent => ({
  kind: "model.replied",
  iteration,
  attempt: 1,
  purpose: "reply",
  parts,
  finish: parts.some((part) => part.kind === "call") ? "calls" : "stop",
  usage: toUsage(20, 10),
  micros: 210,
  model: agent.model,
  meta: null,
});
export const breaks = (iteration: number): JournalEvent => ({
  kind: "model.failed",
  iteration,
  attempt: 1,
  purpose: "reply",
  error: "the stream broke",
  broke: true,
  again: true,
  model: agent.model,
  transient: true,
  status: null,
  retryAfterMs: null,
  dueAt: null,
});

export const allow = (...because: readonly string[]): Verdict => ({ kind: "allow", because: because.map(policyId), approval: null });
export const deny = (reason: string, ...because: readonly string[]): Verdict => ({
  kind: "deny",
  by: "policy",
  because: because.map(policyId),
  faults: [],
  reason,
});
export const askFor = (policy: string, question: string, terms: Partial<ApprovalTerms> = {}): Ask => ({
  policy: policyId(policy),
  question,
  terms: { ...DEFAULT_TERMS, ...terms },
});
export const asking = (ask: Ask): Verdict => ({ kind: "ask", because: [ask.policy], asks: [ask] });

const gated = (id: ActionText, action: Extract<SessionEvent, { kind: "gate.decided" }>["action"], verdict: Verdict): JournalEvent => ({
  kind: "gate.decided",
  id,
  action,
  digest: d("1"),
  slice: d("2"),
  verdict,
  read: {},
  shadow: null,
});
export const mayAsk = (iteration: number): JournalEvent =>
  gated(actionText(`model:${iteration}`), { kind: "model", model: agent.model }, allow("base/model"));
export const mayTell = (iteration: number, verdict: Verdict = allow("base/respond")): JournalEvent =>
  gated(actionText(`respond:${iteration}`), { kind: "respond", to: ana }, verdict);
type Touched = Readonly<{ tool: string; args: JsonObject; file: string }>;
export const decides = (id: string, { tool, args, file }: Touched, verdict: Verdict): JournalEvent =>
  gated(
    actionText(id),
    {
      kind: "call",
      call: callId(id),
      tool,
      toolDigest: d("f"),
      effects: ["write"],
      args,
      inexact: [],
      resource: { type: "File", id: file },
    },
    verdict,
  );
export const delegates = (id: string, to: string, verdict: Verdict): JournalEvent =>
  gated(actionText(id), { kind: "delegate", call: callId(id), to, agentDigest: d("5"), args: { agent: to, task: "read it" } }, verdict);

export const question = (approval: string, action: string, ask: Ask, expiresAt: number | null = null): JournalEvent => ({
  kind: "approval.asked",
  approval: approvalId(approval),
  action: actionText(action),
  digest: d("1"),
  asks: [ask],
  expiresAt: expiresAt === null ? null : millis(START + expiresAt),
  again: null,
});
type Answered = Extract<SessionEvent, { kind: "approval.answered" }>;
export const answers = (approval: string, by: string, answer: Answered["answer"], counts: readonly string[] = []): JournalEvent => ({
  kind: "approval.answered",
  approval: approvalId(approval),
  by: { kind: "user", id: by },
  answer,
  counts: counts.map(policyId),
  digest: d("1"),
  about: null,
  intent: intentId(`i_${approval}_${by}`),
});
export const uses = (approval: string, action: string): JournalEvent => ({
  kind: "approval.consumed",
  approval: approvalId(approval),
  action: actionText(action),
});

export const starts = (id: string, tool: string, start = 1): JournalEvent => ({
  kind: "act.started",
  call: callId(id),
  epoch: epoch(1),
  start,
  edition: 0,
  repeat: "idempotent",
  tool,
  values: {},
  decisions: [],
});
type Ending_ = Readonly<{ ms?: number; proof?: JsonObject | null; recovering?: boolean }>;
export const ends = (id: string, outcome: Outcome, { ms = 40, proof = null, recovering = false }: Ending_ = {}): JournalEvent => ({
  kind: "act.ended",
  call: callId(id),
  outcome,
  evidence: { durationMs: ms, starts: 1, proof },
  endsTurn: false,
  recovering,
});
export const done = (output: Json): Outcome => ({ kind: "done", output });
export const notes = (id: string, name: string, value: Json): JournalEvent => ({
  kind: "note",
  from: "tool",
  call: callId(id),
  name,
  value,
});
export const labels = (from: CallId | null, ...names: readonly string[]): JournalEvent => ({
  kind: "labels.added",
  labels: names.map((name): Label => label(name)),
  from,
});
export const over = (
  n: number,
  ending: Ending,
  output: string | null,
  more: Readonly<{ iterations?: number; calls?: number }> = {},
): JournalEvent => ({
  kind: "turn.ended",
  turn: n,
  ending,
  output,
  detail: null,
  usage: toUsage(40, 20),
  lost: toUsage(0, 0),
  micros: 420,
  iterations: 2,
  calls: 1,
  activeMs: 900,
  ...more,
});
