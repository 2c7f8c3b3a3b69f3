/**
 * The smallest gate: a decision table, first matching row decides, no row denies (G-1). Data, so it is journalled and digested like any policy.
 * Cedar takes its place where rules need more than names; tests use it with a permissive table, which is a policy like any other.
 */
import {
  type Action,
  type ApprovalTerms,
  type Ask,
  DEFAULT_TERMS,
  type Decision,
  type Digest,
  digestJson,
  type Facts,
  FaultError,
  type Hash,
  type JsonObject,
  knowledgeAction,
  type PolicyId,
  policyId,
  type UserAct,
  type Verdict,
} from "../vocab/index.ts";
import { decideAlsoAsApprover } from "./policies/user-acts.ts";
import type { Gate } from "./port.ts";

export type Row = Readonly<{
  id: string;
  /** `tool:NAME`, `model`, `respond`, `recall`, `remember`, `delegate:AGENT`, what people do (`approve`, …), or `*` for everything; a trailing `*` matches a prefix. */
  action: string;
  /** Every one of these labels must be in the session. */
  labels?: readonly string[];
  /** Only while fewer calls of this tool were allowed in the turn. */
  callsBelow?: number;
  verdict: "allow" | "deny" | "ask" | "defer";
  /** The reason for a denial, the question for an ask. */
  say?: string;
  /** How a question may be answered. */
  terms?: Partial<ApprovalTerms>;
  /** For a `defer`: how long until it is denied. */
  deferMs?: number;
}>;

export function tableGate(rows: readonly Row[], hash: Hash, groups: Readonly<Record<string, readonly string[]>> = {}): Gate {
  if (!Array.isArray(rows) || typeof hash !== "function")
    throw new FaultError({
      kind: "usage",
      detail: `\`tableGate\` was called wrongly: ${Array.isArray(rows) ? "`hash` must be a function" : "`rows` must be a list"}`,
      hint: "such as tableGate([{ id, action, verdict }], sha256)",
    });
  const digest = digestJson({ table: rows }, hash);
  const slices = new Map<string, Digest>(); // by action: as many as the agent has tools
  const sliceOf = (name: string): Digest => {
    const slice = slices.get(name) ?? digestJson({ rows: rows.filter((r) => namesAction(r, name)) }, hash);
    slices.set(name, slice);
    return slice;
  };
  return {
    digest,
    lately: [],
    decide(action: Action, facts: Facts): Decision {
      const name = nameOf(action);
      const row = rows.find((r) => matches(r, name, facts));
      const calls = action.kind === "call" ? facts.calls(action.tool) : NO_CALLS;
      const read: JsonObject = { action: name, labels: facts.labels, calls };
      return {
        verdict: toVerdict(row, name),
        slice: sliceOf(name),
        read,
        shadow: null,
      };
    },
    groupsOf: (user) => groups[user] ?? [],
    decideFor: (user: string, act: UserAct) =>
      decideAlsoAsApprover(act, ({ kind }) => {
        const row = rows.find((r) => namesAction(r, kind));
        return { verdict: toVerdict(row, kind), slice: digest, read: { action: kind, user }, shadow: null };
      }),
  };
}

function nameOf(action: Action): string {
  if (action.kind === "call") return knowledgeAction(action.tool) ?? `tool:${action.tool}`;
  return action.kind === "delegate" ? `delegate:${action.to}` : action.kind;
}

const NO_CALLS = { turn: 0, session: 0 };

function matches(row: Row, name: string, facts: Facts): boolean {
  if (!namesAction(row, name)) return false;
  if (row.labels !== undefined && !row.labels.every((l) => facts.labels.some((has) => has === l))) return false;
  return row.callsBelow === undefined || facts.calls(name.slice("tool:".length)).turn < row.callsBelow;
}

const namesAction = (row: Row, name: string): boolean =>
  row.action.endsWith("*") ? name.startsWith(row.action.slice(0, -1)) : row.action === name;

function toVerdict(row: Row | undefined, name: string): Verdict {
  if (row === undefined) return { kind: "deny", by: "policy", because: [], faults: [], reason: `no policy permits ${name}` };
  const because: readonly PolicyId[] = [policyId(row.id)];
  switch (row.verdict) {
    case "allow":
      return { kind: "allow", because, approval: null };
    case "deny":
      return { kind: "deny", by: "policy", because, faults: [], reason: row.say ?? `${row.id} forbids it` };
    case "ask": {
      const ask: Ask = { policy: policyId(row.id), question: row.say ?? `allow ${name}?`, terms: { ...DEFAULT_TERMS, ...row.terms } };
      return { kind: "ask", because, asks: [ask] };
    }
    case "defer":
      return { kind: "defer", because, ms: row.deferMs ?? 60_000 };
  }
}
