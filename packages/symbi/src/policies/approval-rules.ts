/** `require: approval(…)`: rules that ask a person. */
import { type ApprovalTerms, findUnanswerable, REQUESTER, type UnanswerableTerms, type UserGroups } from "@orgate/core/vocab";
import { BLOCK_KEYS } from "../keys.ts";
import type { Expression, Rule } from "../tree.ts";
import { readEntries } from "../values.ts";
import { cedarText } from "./cedar-text.ts";
import { groupHint } from "./condition-values.ts";
import { groupTargets, policyText } from "./rule-groups.ts";
import { readTargets } from "./rule-targets.ts";
import type { PolicyDraft, RuleBase, RuleWorld } from "./rule-world.ts";

/** A person approves, or it is not done; an unknown condition counts as one that asks. */
export function compileApproval(
  rule: Rule,
  call: Extract<Expression, { kind: "call" }>,
  base: RuleBase,
  around: RuleWorld,
): readonly PolicyDraft[] {
  const { draft, report } = around;
  const [what, terms, more] = call.args;
  if (what === undefined || what.kind === "named-argument" || more !== undefined || (terms !== undefined && terms.kind !== "record")) {
    report(
      call.at,
      "`approval` takes what is to be approved, and how",
      'write approval(pay), or approval(pay, { question: "Pay it?", quorum: 2 })',
    );
    return [];
  }
  const targets = readTargets(what, "approval", around);
  const annotations = annotationsOf(terms, base, around);
  if (targets === null || annotations === null) return [];
  // the question is about the call: the leave that goes with it asks no second one
  const [calls, leaves] = [targets.filter(({ kind }) => kind !== "leave"), targets.filter(({ kind }) => kind === "leave")];
  const asked = groupTargets(calls, rule.condition, around, (condition) => condition?.whenUnknown(false) ?? null);
  const allowed = groupTargets(leaves, rule.condition, around, (condition) => condition?.whenUnknown(false) ?? null);
  const unsure = groupTargets(calls, rule.condition, around, (condition) => {
    const [loose, strict] = [condition?.whenUnknown(true), condition?.whenUnknown(false)];
    return loose === undefined || loose === strict ? "" : `(${loose} && !(${strict}))`;
  }).filter(({ when }) => when !== null && when !== "");
  return [
    ...asked.map(({ scope, tag, when }) => ({
      ...base,
      tag,
      annotations,
      body: policyText("permit", draft.name, scope, when),
      shadow: false,
      why: null,
    })),
    ...allowed.map(({ scope, tag, when }) => ({
      ...base,
      tag: tag ?? "unsandboxed",
      annotations: [],
      body: policyText("permit", draft.name, scope, when),
      shadow: false,
      why: null,
    })),
    ...unsure.map(({ scope, tag, when }) => ({
      ...base,
      tag: tag === null ? "unknown" : `${tag}-unknown`,
      annotations: [],
      body: policyText("forbid", draft.name, scope, when),
      shadow: false,
      why: "whether it needs an approval cannot be told: an argument or a fact is missing",
    })),
  ];
}

const LABEL = /^[a-z][a-z0-9_:.-]{0,63}$/;

function annotationsOf(
  terms: Extract<Expression, { kind: "record" }> | undefined,
  base: RuleBase,
  { report, world }: RuleWorld,
): readonly string[] | null {
  let good = true;
  const fields = (terms?.fields ?? []).map(({ key, value, at }) => ({ kind: "entry", at, key, value }) as const);
  const values = readEntries(fields, BLOCK_KEYS.approval, "approval", (...wrong) => {
    good = false;
    report(...wrong);
  });
  const get = (key: string): unknown => values.get(key)?.value;
  const question = get("question");
  const approvers = get("approvers");
  const [quorum, expires, onExpiry, grant, survives] = ["quorum", "expires", "on_expiry", "grant", "grant_survives"].map(get);
  if (question === "") {
    report(values.get("question")?.at ?? base.at, "`question` asks nothing", "say what the person is asked, or take it out");
    return null;
  }
  if (typeof expires === "number" && (expires < 1_000 || expires % 1_000 !== 0)) {
    report(values.get("expires")?.at ?? base.at, "`expires` is in whole seconds", "write 30s, 15m or 8h");
    return null;
  }
  if (Array.isArray(approvers) && approvers.some((one) => typeof one !== "string" || !/^[\w-]+$/.test(one))) {
    report(values.get("approvers")?.at ?? base.at, "`approvers` are names of groups of users", 'write ["operators"]');
    return null;
  }
  if (Array.isArray(survives) && (typeof grant !== "string" || survives.some((one) => typeof one !== "string" || !LABEL.test(one)))) {
    const [detail, hint] =
      typeof grant === "string"
        ? ["`grant_survives` are labels", "write [untrusted]"]
        : ["`grant_survives` stands beside no `grant` that could be given", 'add grant: "session", or leave it out'];
    report(values.get("grant_survives")?.at ?? base.at, detail, hint);
    return null;
  }
  const groups = Array.isArray(approvers) ? approvers.filter((one) => typeof one === "string") : [];
  const never = nobodyFor({ approvers: groups, quorum: typeof quorum === "number" ? quorum : 1 }, world.userGroups);
  if (never !== null) {
    report(values.get(never.of)?.at ?? base.at, never.detail, never.hint);
    return null;
  }
  if (!good) return null;
  return [
    `@ask(${cedarText(typeof question === "string" ? question : "May it do this?")})`,
    ...(Array.isArray(approvers) ? [`@approvers(${cedarText(approvers.join(", "))})`] : []),
    ...(typeof quorum === "number" ? [`@quorum("${quorum}")`] : []),
    ...(typeof expires === "number" ? [`@expires("${expires / 1_000}s")`] : []),
    ...(typeof onExpiry === "string" ? [`@onExpiry("${onExpiry}")`] : []),
    ...(typeof grant === "string" ? [`@grant(${cedarText(grant)})`] : []),
    ...(Array.isArray(survives) ? [`@grantSurvives(${cedarText(survives.join(", "))})`] : []),
  ];
}

/** Why nobody could ever say yes; null: somebody could, or nobody knows. */
function nobodyFor(
  terms: Pick<ApprovalTerms, "approvers" | "quorum">,
  groups: UserGroups | null,
): Omit<UnanswerableTerms, "isRefused"> | null {
  if (groups === null) return null;
  const stranger = terms.approvers.find((one) => one !== REQUESTER && !Object.hasOwn(groups, one));
  if (stranger === undefined) return findUnanswerable(terms, groups).find(({ isRefused }) => isRefused) ?? null;
  return { of: "approvers", detail: `there is no group of users \`${stranger}\``, hint: groupHint(stranger, Object.keys(groups)) };
}
