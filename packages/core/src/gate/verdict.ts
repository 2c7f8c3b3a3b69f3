/** From the engine's answer to a verdict. */
import {
  type Action,
  type Ask,
  type Decision,
  type Digest,
  deepFreeze,
  type Edit,
  type JsonObject,
  type PolicyFault,
  type PolicyId,
  policyId,
  toCanonicalJson,
  type Verdict,
} from "../vocab/index.ts";
import type { GateRequest } from "./ask.ts";
import type { EngineAnswer, Uid } from "./policies/engine.ts";
import type { LoadedPolicy } from "./policies/loaded-policy.ts";
import { applyEdits } from "./request.ts";

/** The answer of the policies, as far as it depends only on what they read: it is cached. The words of a verdict may say more. */
export type PolicyAnswer =
  | Readonly<{ kind: "verdict"; verdict: Verdict }>
  /** Denied, and no policy gives a reason of its own. */
  | Readonly<{ kind: "denied"; because: readonly PolicyId[] }>
  | Readonly<{ kind: "edited"; because: readonly PolicyId[]; asks: readonly Ask[]; edits: readonly Edit[] }>;

export function denyByPolicy(
  because: readonly string[],
  faults: readonly PolicyFault[],
  reason: string,
): Extract<Verdict, { kind: "deny" }> {
  return { kind: "deny", by: "policy", because: because.map(policyId), faults, reason };
}

/** Cedar skips a policy that errs, so a broken `forbid` disappears. Here any error denies (G-3). */
export function toPolicyAnswer(answer: EngineAnswer, policies: readonly LoadedPolicy[]): PolicyAnswer {
  return deepFreeze(said(answer, policies));
}

const verdict = (verdict: Verdict): PolicyAnswer => ({ kind: "verdict", verdict });

function said(answer: EngineAnswer, policies: readonly LoadedPolicy[]): PolicyAnswer {
  if (answer.type === "failure") {
    const faults = answer.errors.map((e) => ({ policy: null, message: e.message }));
    return verdict(denyByPolicy([], faults, `the policies could not be evaluated: ${faults[0]?.message ?? "unknown"}`));
  }
  const { decision, diagnostics } = answer.response;
  const because = diagnostics.reason.toSorted();
  const faults = diagnostics.errors
    .map((e) => ({ policy: policyId(e.policyId), message: e.error.message }))
    .toSorted((a, b) => (a.policy < b.policy ? -1 : 1));
  const [fault] = faults;
  if (fault !== undefined) return verdict(denyByPolicy(because, faults, `policy ${fault.policy} could not be evaluated: ${fault.message}`));
  const deciding = policies.filter((p) => because.includes(p.id));
  if (decision !== "allow" || deciding.length === 0) {
    const reasons = deciding.flatMap((p) => p.duties.reason ?? []);
    return reasons.length > 0 ? verdict(denyByPolicy(because, [], reasons.join("; "))) : { kind: "denied", because: because.map(policyId) };
  }
  return permitted(because.map(policyId), deciding);
}

/** G-7. What a permit asks for beside its yes, of all that decided. */
function permitted(because: readonly PolicyId[], deciding: readonly LoadedPolicy[]): PolicyAnswer {
  const asks = deciding.flatMap((p) => p.duties.ask ?? []);
  const edits = deciding.flatMap((p) => p.duties.edits);
  const [firstAsk, ...moreAsks] = asks;
  if (edits.length > 0 && (firstAsk !== undefined || deciding.every((p) => p.duties.defer === null)))
    return { kind: "edited", because, asks, edits };
  if (firstAsk !== undefined) return verdict({ kind: "ask", because, asks: [firstAsk, ...moreAsks] });
  const defers = deciding.flatMap((p) => p.duties.defer ?? []);
  if (defers.length > 0) return verdict({ kind: "defer", because, ms: Math.min(...defers.map((d) => d.ms)) });
  return verdict({ kind: "allow", because, approval: null });
}

/** The words for this one asking. */
export function toVerdict(said: PolicyAnswer, asked: GateRequest): Verdict {
  switch (said.kind) {
    case "verdict":
      return said.verdict;
    case "denied":
      return denyByPolicy(said.because, [], reasonFor(said.because, asked));
    case "edited":
      return edited(said, asked.told?.call ?? null);
  }
}

/** A question is put about what would run: the edits are made first (G-7), and what they leave as it was needs none. */
function edited(
  { because, asks, edits }: Extract<PolicyAnswer, { kind: "edited" }>,
  call: Extract<Action, { kind: "call" }> | null,
): Verdict {
  if (call !== null && call.args !== null && changes(call.args, edits)) return { kind: "modify", because, edits };
  const [firstAsk, ...moreAsks] = asks;
  return firstAsk === undefined ? { kind: "allow", because, approval: null } : { kind: "ask", because, asks: [firstAsk, ...moreAsks] };
}

const changes = (args: JsonObject, edits: readonly Edit[]): boolean => toCanonicalJson(applyEdits(args, edits)) !== toCanonicalJson(args);

function reasonFor(because: readonly PolicyId[], { action, resource }: GateRequest): string {
  const what = `${short(action.uid.id)} on ${uidText(resource.uid)}`;
  return because.length > 0 ? `${because.join(", ")} forbids ${what}` : `no policy permits ${what}`;
}

const MAX_NAME = 200;
const short = (text: string): string => (text.length > MAX_NAME ? `${text.slice(0, MAX_NAME).toWellFormed()}…` : text);
const uidText = (uid: Uid): string => `${uid.type}::${JSON.stringify(short(uid.id))}`;

const ORDER: readonly Verdict["kind"][] = ["allow", "modify", "defer", "ask", "deny"];

/** T-29 two answers about one call: the stricter holds, with the reasons of both; questions of both are asked. */
export function combineDecisions(own: Decision, unsandboxed: Decision, slice: Digest): Decision {
  const read = { ...unsandboxed.read, ...own.read };
  return { verdict: stricter(own.verdict, unsandboxed.verdict), slice, read, shadow: own.shadow ?? unsandboxed.shadow };
}

function stricter(own: Verdict, unsandboxed: Verdict): Verdict {
  if (own.kind === "deny") return own;
  if (unsandboxed.kind === "deny") return { ...unsandboxed, reason: `it runs without a sandbox, and ${unsandboxed.reason}` };
  if (own.kind === "modify") return own; // it is gated again as it then is (G-7)
  const because = [...new Set([...own.because, ...unsandboxed.because])];
  if (own.kind === "ask" && unsandboxed.kind === "ask") return { ...own, because, asks: [...own.asks, ...unsandboxed.asks] };
  const chosen = ORDER.indexOf(unsandboxed.kind) > ORDER.indexOf(own.kind) ? unsandboxed : own;
  return { ...chosen, because };
}
