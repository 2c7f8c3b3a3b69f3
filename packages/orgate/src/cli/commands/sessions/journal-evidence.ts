/** `orgate journal evidence`: what ran, what it said, who decided. */

import { callId, FaultError } from "@orgate/core";
import { readAllEntries } from "@orgate/core/journal";
import { EXIT, type RunCommand, visible } from "@orgate/shell/terminal";
import { buildEnvelope, type Envelope, type SettledCall } from "../../../runtime/people/evidence.ts";
import { findSessionByText, withReadOnlyStore } from "../project/project.ts";

export const evidence: RunCommand = (given, screen) =>
  withReadOnlyStore(given, async ({ journal }) => {
    const [text = ""] = given.args;
    const slash = text.lastIndexOf("/");
    if (slash <= 0)
      throw new FaultError({
        kind: "usage",
        detail: `\`${text}\` names no call`,
        hint: "write SESSION/CALL: `orgate sessions show` has both",
      });
    const { session } = await findSessionByText(journal, text.slice(0, slash));
    const entries = await readAllEntries(journal, session);
    const wanted = text.slice(slash + 1);
    const envelope = buildEnvelope(entries, callId(wanted));
    if (envelope === null) {
      const ended = entries.flatMap(({ event }) => (event.kind === "act.ended" ? [event.call] : []));
      throw new FaultError({
        kind: "usage",
        detail: `no call \`${wanted}\` has ended in ${session}`,
        hint: ended.length === 0 ? "none has" : `there are: ${[...new Set(ended)].join(", ")}`,
      });
    }
    if (given.json) screen.line(JSON.stringify(envelope));
    else for (const line of linesOf(envelope)) screen.line(`${screen.paint("dim", line[0].padEnd(14))}${visible(line[1])}`);
    return EXIT.success;
  });

function linesOf(e: Envelope): readonly (readonly [string, string])[] {
  const at = (ms: number | null): string => (ms === null ? "" : new Date(ms).toISOString());
  return [
    ["tool", `${e.tool}${typeof e.version === "string" ? ` ${e.version}` : ""} (${e.toolDigest})`],
    ["parameters", JSON.stringify(e.parameters)],
    ["touches", e.resource],
    ["invocation", e.invocation === null ? "none shown: the tool is code" : JSON.stringify(e.invocation)],
    ["started", `${at(e.startedAt)}${e.starts > 1 ? ` (start ${e.starts})` : ""}`],
    ["ended", `${at(e.endedAt)}, after ${e.durationMs} ms`],
    ["outcome", e.outcome],
    ...(e.settled === null ? [] : [["settled", settledText(e.settled)] as const]),
    ["exit status", e.exitStatus === null ? "none" : String(e.exitStatus)],
    ["output", e.outputSha256 === null ? `digest ${e.outputDigest ?? "none"}` : `sha256 ${String(e.outputSha256)}`],
    ["policies", e.policies.join(", ")],
    ...(e.approval === null ? [] : [["approval", e.approval] as const]),
    ["identity", `agent ${e.identity.agent} for ${e.identity.onBehalfOf}, on ${e.identity.surface}`],
    ...(Object.keys(e.shown).length === 0 ? [] : [["shown", JSON.stringify(e.shown)] as const]),
    ["entries", `decided ${e.entries.decided ?? "-"}, started ${e.entries.started ?? "-"}, ended ${e.entries.ended} of ${e.session}`],
  ];
}

const AS: Readonly<Record<SettledCall["as"], string>> = {
  done: "it was done",
  failed: "it failed",
  happened: "it happened",
  "did-not-happen": "it did not happen",
  "given-up": "given up: nobody will find out",
};

function settledText({ how, as, detail, by, at, entry }: SettledCall): string {
  const who = how === "late" ? "its result came late" : how === "tool" ? "its tool was asked" : `${by ?? ""} says so`;
  return `${AS[as]} (${who}, ${new Date(at).toISOString()}, entry ${entry})${detail === "" ? "" : `: ${detail}`}`;
}
