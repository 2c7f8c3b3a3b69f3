/** An entry as it is stored: with it and the root's public key anybody can check it. */
import { countNoun, escapeHidden, escapeHiddenLines } from "@orgate/core/vocab";
import type { OperationOutput } from "@orgate/protocol";
import { Facts } from "./charts/Figures.tsx";
import { CodeView } from "./code/CodeView.tsx";
import css from "./StoredEntry.module.css";
import { exactTime } from "./time/time.ts";

export function StoredEntry({ of }: Readonly<{ of: OperationOutput<"storedEntry"> }>) {
  const { kind, at, previous, payloadHash, entryHash, payload, seal } = of;
  return (
    <div className={css.stored}>
      <Facts
        of={[
          ["Kind", <code key="k">{escapeHidden(kind)}</code>],
          ["When", exactTime(at)],
          ["Hash", <Hash key="h" of={entryHash} />],
          ["Payload hash", <Hash key="p" of={payloadHash} />],
          ["Previous entry", <Hash key="b" of={previous} />],
          ...(seal === null
            ? ([["Sealed by", "no seal yet: it was written a moment ago, or right before a crash"]] as const)
            : ([
                ["Sealed by", `seal ${seal.number} of ${seal.writer}, key ${seal.key}${seal.recovered ? ", made after a crash" : ""}`],
                ["Seal hash", <Hash key="c" of={seal.hash} />],
              ] as const)),
        ]}
      />
      <h2>Payload</h2>
      {payload === null ? (
        <p>Erased on request. Its hash stays, so the chain can still be checked.</p>
      ) : (
        <CodeView text={pretty(payload)} language="json" label="Payload of the entry" />
      )}
    </div>
  );
}

function Hash({ of }: Readonly<{ of: string }>) {
  return <code className={css.hash}>{of}</code>;
}

const MOST = 200_000;
function pretty(payload: string): string {
  if (payload.length > MOST) return `${escapeHiddenLines(payload.slice(0, MOST))}… (${countNoun(payload.length - MOST, "character")} more)`;
  try {
    return escapeHiddenLines(JSON.stringify(JSON.parse(payload), null, 2));
  } catch {
    return escapeHiddenLines(payload);
  }
}
