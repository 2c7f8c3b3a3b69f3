/** The gate's verdict on an action, with links to the policies that decided. */
import type { PolicyRef, VerdictView } from "@orgate/protocol/view";
import { policyPath } from "../routing/addresses.ts";
import { Link } from "./Link.tsx";
import { Tag, type Tone } from "./Tag.tsx";
import css from "./Verdict.module.css";

const TONES: Readonly<Record<VerdictView["kind"], Tone>> = { allow: "ok", deny: "bad", ask: "wait", defer: "wait", modify: "note" };
const WORDS: Readonly<Record<VerdictView["kind"], string>> = {
  allow: "allowed",
  deny: "denied",
  ask: "asks a person",
  defer: "deferred",
  modify: "changed first",
};

export function Verdict({ verdict }: Readonly<{ verdict: VerdictView }>) {
  return (
    <p className={css.verdict}>
      <Tag tone={TONES[verdict.kind]}>{WORDS[verdict.kind]}</Tag>
      {verdict.policies.length === 0 ? (
        <span>{verdict.kind === "deny" ? verdict.reason : "by no policy"}</span>
      ) : (
        <Policies of={verdict.policies} />
      )}
      {verdict.kind === "deny" && verdict.policies.length > 0 ? <span className={css.reason}>{reasonWithoutPolicies(verdict)}</span> : null}
    </p>
  );
}

/** The reason without the policy names at its end: they are shown before it, as links. */
function reasonWithoutPolicies({ reason, policies }: VerdictView): string {
  const names = ` (${policies.map(({ id }) => id).join(", ")})`;
  return reason.endsWith(names) ? reason.slice(0, -names.length) : reason;
}

export function Policies({ of }: Readonly<{ of: readonly PolicyRef[] }>) {
  return (
    <span>
      by{" "}
      {of.map(({ id, file }, i) => (
        <span key={id}>
          {i === 0 ? "" : ", "}
          {file === null ? <code>{id}</code> : <Link to={policyPath(id)}>{id}</Link>}
        </span>
      ))}
    </span>
  );
}
