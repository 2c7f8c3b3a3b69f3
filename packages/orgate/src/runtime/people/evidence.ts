/**
 * One execution, proved: all that the journal says of a call, put together.
 *
 * T-9 of an outcome that was unknown it says what was found out since: by whom, when, in which entry.
 */
import {
  type CallId,
  digestJson,
  type Entry,
  type JournalEvent,
  type Json,
  type JsonObject,
  listDecisions,
  type SessionId,
} from "@orgate/core";
import { sha256 } from "../../node/crypto.ts";

type Of<K extends JournalEvent["kind"]> = Extract<JournalEvent, { kind: K }>;

export type Envelope = Readonly<{
  session: SessionId;
  call: CallId;
  tool: string;
  version: Json;
  toolDigest: string;
  parameters: JsonObject | null;
  /** Null for tools in code, which show none. */
  invocation: Json;
  resource: string;
  startedAt: number | null;
  endedAt: number;
  durationMs: number;
  starts: number;
  outcome: string;
  /** How an unknown outcome was resolved; null if it was not unknown, or is not resolved. */
  settled: SettledCall | null;
  exitStatus: Json;
  outputDigest: string | null;
  outputSha256: Json;
  /** The policies that decided, and the answer or grant that it took. */
  policies: readonly string[];
  approval: string | null;
  identity: Readonly<{ agent: string; onBehalfOf: string; surface: string }>;
  /** Further evidence of the tool: an edit's before and after, where output is stored. */
  shown: JsonObject;
  /** Where in the session's stream it stands. */
  entries: Readonly<{ opened: number; decided: number | null; started: number | null; ended: number }>;
}>;

export type SettledCall = Readonly<{
  /** `late`: its result came after all; `tool`: asked, the tool said so; `person`: somebody looked. */
  how: "late" | "tool" | "person";
  as: "done" | "failed" | "happened" | "did-not-happen" | "given-up";
  detail: string;
  by: string | null;
  at: number;
  entry: number;
}>;

/** `entries` are all of one session. Null: the call never ended there. */
export function buildEnvelope(entries: readonly Entry[], call: CallId): Envelope | null {
  const last = <K extends JournalEvent["kind"]>(kind: K, is: (event: Of<K>) => boolean = () => true) =>
    entries.findLast((e): e is Entry & { event: Of<K> } => e.event.kind === kind && is(e.event as Of<K>));
  const ended = last("act.ended", (e) => e.call === call);
  const opened = last("session.opened");
  if (ended === undefined || opened === undefined) return null;
  const decided = listDecisions(entries).findLast(
    ({ event: e }) => e.verdict.kind === "allow" && e.action.kind === "call" && e.action.call === call,
  );
  const started = last("act.started", (e) => e.call === call);
  const turn = entries.findLast((e) => e.event.kind === "turn.started" && e.seq < ended.seq);
  const action = decided?.event.action.kind === "call" ? decided.event.action : null;
  const verdict = decided?.event.verdict.kind === "allow" ? decided.event.verdict : null;
  const { evidence, outcome } = ended.event;
  const {
    tool: _,
    version = null,
    manifest: __,
    parameters: ___,
    invocation = null,
    exitStatus = null,
    outputSha256 = null,
    ...shown
  } = evidence.proof ?? {};
  const by = turn?.event.kind === "turn.started" ? turn.event.by : opened.event.principal;
  return {
    session: opened.stream as SessionId,
    call,
    tool: action?.tool ?? "",
    version,
    toolDigest: action?.toolDigest ?? "",
    parameters: action?.args ?? null,
    invocation,
    resource: action === null ? "" : `${action.resource.type}::${JSON.stringify(action.resource.id)}`,
    startedAt: started?.at ?? null,
    endedAt: ended.at,
    durationMs: evidence.durationMs,
    starts: evidence.starts,
    outcome: outcome.kind === "unknown" ? `unknown (${outcome.cause})` : outcome.kind,
    settled: outcome.kind === "unknown" ? settledIn(entries, call, ended.seq) : null,
    exitStatus,
    outputDigest: outcome.kind === "done" ? digestJson(outcome.output, sha256) : null,
    outputSha256,
    policies: verdict?.because ?? [],
    approval: verdict?.approval ?? null,
    identity: { agent: opened.event.agent.name, onBehalfOf: `${by.kind}:${by.id}`, surface: opened.event.surface },
    shown,
    entries: { opened: opened.seq, decided: decided?.seq ?? null, started: started?.seq ?? null, ended: ended.seq },
  };
}

/** The first that settles it: what comes after that has nothing to say. */
function settledIn(entries: readonly Entry[], call: CallId, after: number): SettledCall | null {
  for (const { event, at, seq } of entries) {
    if (seq <= after) continue;
    const found = settling(event, call);
    if (found !== null) return { ...found, at, entry: seq };
  }
  return null;
}

function settling(event: JournalEvent, call: CallId): Omit<SettledCall, "at" | "entry"> | null {
  if (!("call" in event) || event.call !== call) return null;
  switch (event.kind) {
    case "act.late": {
      const { outcome } = event;
      if (outcome.kind === "unknown") return null;
      return { how: "late", as: outcome.kind, detail: outcome.kind === "failed" ? outcome.error : "", by: null };
    }
    case "unknown.resolved": {
      const { as, by, note } = event;
      return { how: "person", as: as === "abandon" ? "given-up" : as, detail: note, by: `${by.kind}:${by.id}` };
    }
    case "recovery.applied":
      if (event.strategy !== "reconcile" || event.found === null || event.found === "cannot-tell") return null;
      return { how: "tool", as: event.found, detail: event.detail, by: null };
    default:
      return null;
  }
}
