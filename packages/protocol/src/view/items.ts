/** Items of a session's view. Plain JSON: it can be sent, stored and compared. Every text in it is escaped already (V-1). */
import {
  type ActionText,
  type ApprovalId,
  type Ask,
  type CallId,
  type Digest,
  type Ending,
  escapeHidden,
  escapeHiddenLines,
  type Label,
  type Millis,
  type PolicyId,
  type Principal,
  type Seq,
  type SessionId,
  SURFACES,
  type Surface,
  type Usage,
  type Verdict,
  type Vote,
  verdictReason,
} from "@orgate/core/vocab";
import type { DiffLine } from "./diff.ts";
import type { Tone } from "./tone.ts";

/** `file`: null for what the runtime itself asks for (`orgate:…`). */
export type PolicyRef = Readonly<{ id: PolicyId; file: string | null }>;

/** A policy's id begins with its file's name below `policies/`, without the ending; folders there are surfaces, or `shadow`. One of an agent's own file names it whole (Y-11). */
export function policyRef(id: PolicyId): PolicyRef {
  const parts = id.split("/");
  if (parts.length < 2) return { id, file: null };
  const own = parts.findLastIndex((part) => /\.(?:symbi|dsl)$/.test(part));
  if (own !== -1 && own < parts.length - 1) return { id, file: parts.slice(0, own + 1).join("/") };
  const folders = parts.findIndex((part) => part !== "shadow" && !SURFACES.some((surface) => surface === part));
  const end = Math.min(Math.max(folders, 0), parts.length - 2) + 1;
  return { id, file: `policies/${parts.slice(0, end).join("/")}.cedar` };
}

export type VerdictView = Readonly<{
  kind: Verdict["kind"];
  policies: readonly PolicyRef[];
  reason: string;
  /** Of a denial: who. */
  by: string | null;
  /** The entry that says so. */
  seq: Seq;
}>;
export const verdictView = (verdict: Verdict, seq: Seq): VerdictView => ({
  kind: verdict.kind,
  policies: verdict.because.map(policyRef),
  reason: escapeHidden(verdictReason(verdict) ?? ""), // none of a kind that only a newer version knows
  by: verdict.kind === "deny" ? verdict.by : null,
  seq,
});

export type CallStatus =
  | "proposed" // not decided
  | "asking" // a person is asked
  | "deferred"
  | "denied"
  | "allowed" // not started
  | "running"
  | "recovering" // it failed, and something is tried
  | "done"
  | "failed"
  | "unknown"
  | "dropped"; // its turn ended first

/** Change of a file. `newly`: decisions that would change, where the file is one that decides; as the author of the edit computed them. */
export type EditView = Readonly<{
  path: string;
  added: number;
  removed: number;
  whole: boolean;
  lines: readonly (DiffLine | null)[];
  newly: readonly string[];
}>;

type Placed = Readonly<{
  /** Unique in the view, and the same for as long as the thing is there. */
  key: string;
  /** The entry it began with. */
  seq: Seq;
  at: Millis;
}>;

export type SaidItem = Placed &
  Readonly<{ kind: "said"; how: "turn" | "steered" | "queued" | "earlier"; by: string; text: string; files: readonly string[] }>;
/** `withheld`: no decision has released it; its text is absent then. */
export type ReplyItem = Placed &
  Readonly<{ kind: "reply"; turn: number; iteration: number; text: string; withheld: boolean; model: string }>;
export type ThinkingItem = Placed & Readonly<{ kind: "thinking"; turn: number; iteration: number; text: string }>;
export type CallItem = Placed &
  Readonly<{
    kind: "call";
    turn: number;
    call: CallId;
    tool: string;
    summary: string;
    /** The arguments, indented. */
    args: string;
    status: CallStatus;
    verdict: VerdictView | null;
    /** The resource of the call. */
    resource: string | null;
    approval: ApprovalId | null;
    startedAt: Millis | null;
    endedAt: Millis | null;
    durationMs: number | null;
    starts: number;
    /** Output while it runs: the last of it. */
    live: string;
    result: string | null;
    /** Characters of the result that are not shown here. */
    cut: number;
    /** The entry with its evidence. */
    evidence: Seq | null;
    edit: EditView | null;
    child: Readonly<{
      session: SessionId;
      agent: string;
      ending: Ending | null;
      /** Usage of the sub-agent; null until it has ended. */
      used: Readonly<{ tokens: number /** Reserved for calls that were cut off. */; lost: number; micros: number | null }> | null;
    }> | null;
    labels: readonly Label[];
    /** Recovery steps after a failure, a line each. */
    recovery: readonly string[];
  }>;
export type QuestionState = "open" | "approved" | "edited" | "granted" | "denied" | "expired" | "withdrawn";
export type QuestionItem = Placed &
  Readonly<{
    kind: "question";
    turn: number;
    approval: ApprovalId;
    action: ActionText;
    call: CallId | null;
    tool: string;
    summary: string;
    resource: string | null;
    /** Whom the session serves: the answer is for them. */
    subject: string | null;
    /** Digest of the call: an answer is bound to it. */
    digest: Digest;
    asks: readonly AskView[];
    quorum: Quorum;
    again: string | null;
    expiresAt: Millis | null;
    state: QuestionState;
    answers: readonly Readonly<{ by: string; answer: string; reason: string | null; at: Millis }>[];
  }>;
/** Of the policy that still wants the most: how many different people have to say yes, and who has. */
export type Quorum = Readonly<{ needed: number; given: readonly string[] }>;

export function findQuorum(asks: readonly Pick<Ask, "policy" | "terms">[], votes: readonly Vote[]): Quorum {
  const all = asks.map(({ policy, terms }): Quorum => {
    const given = [...new Set(votes.filter((v) => v.counts.includes(policy)).map((v) => escapeHidden(v.by)))];
    return { needed: terms.quorum, given };
  });
  return all.reduce((most, one) => (countMissing(one) > countMissing(most) ? one : most), all[0] ?? { needed: 1, given: [] });
}
export const countMissing = ({ needed, given }: Quorum): number => Math.max(0, needed - given.length);

/** `1 of 2 have said yes (user:ana); one more is needed`; null where one yes is enough. */
export function quorumText(quorum: Quorum): string | null {
  const { needed, given } = quorum;
  if (needed <= 1) return null;
  const who = given.length === 0 ? "" : ` (${given.join(", ")})`;
  const missing = countMissing(quorum);
  const more = missing === 0 ? "" : `; ${missing === 1 ? "one more is" : `${missing} more are`} needed`;
  return `${given.length} of ${needed} have said yes${who}${more}`;
}

export type AskView = Readonly<{
  policy: PolicyRef;
  question: string;
  approvers: readonly string[];
  quorum: number;
  grant: string | null;
  onExpiry: Ask["terms"]["onExpiry"];
}>;
export const askView = ({ policy, question, terms }: Ask): AskView => ({
  policy: policyRef(policy),
  question: escapeHidden(question),
  approvers: terms.approvers.map(escapeHidden),
  quorum: terms.quorum,
  grant: terms.grant,
  onExpiry: terms.onExpiry,
});
/** Something that happened to the session and is no part of what was said. */
export type NoticeItem = Placed & Readonly<{ kind: "notice"; tone: Tone; mark: string; text: string }>;
/** `output`: null when the last reply is the answer. */
export type EndedItem = Placed &
  Readonly<{ kind: "ended"; turn: number; ending: Ending; sentence: string; next: string } & TurnTotals> &
  Readonly<{ detail: string | null; output: string | null /** Whether the turn said anything, to its end or before. */; said: boolean }>;
export type TurnTotals = Readonly<{
  usage: Usage;
  lost: Usage;
  micros: number | null;
  iterations: number;
  calls: number;
  activeMs: number;
}>;

export type ViewItem = SaidItem | ReplyItem | ThinkingItem | CallItem | QuestionItem | NoticeItem | EndedItem;

export type TurnSummary = Readonly<{
  turn: number;
  seq: Seq;
  startedAt: Millis;
  endedAt: Millis | null;
  ending: Ending | null;
  totals: TurnTotals;
}>;

/** Words of a reply in progress. */
export type Streaming = Readonly<{
  iteration: number;
  attempt: number;
  text: string;
  thinking: string;
  calls: readonly Readonly<{ tool: string; text: string }>[];
}>;

export type SessionView = {
  session: SessionId;
  agent: string;
  model: string;
  principal: Principal | null;
  surface: Surface | null;
  external: string | null;
  parent: SessionId | null;
  forkedFrom: Readonly<{ session: SessionId; at: Seq }> | null;
  openedAt: Millis | null;
  /** Of the last entry. */
  lastAt: Millis | null;
  seq: Seq;
  state: "idle" | "running" | "waiting" | "closed";
  turn: number;
  iteration: number;
  labels: readonly Label[];
  /** Holds so far, and who has the last. */
  epoch: number;
  writer: string | null;
  openQuestions: readonly ApprovalId[];
  openUnknowns: readonly CallId[];
  running: readonly CallId[];
  totals: TurnTotals;
  turns: TurnSummary[];
  /** Grows at the end; an item that changes is another object in the same place. */
  items: ViewItem[];
  streaming: Streaming | null;
  /** Entries that are erased, bad, or of a kind that this version does not know. */
  unread: number;
};

/** Longest text in a view; the entry has all of it. */
export const MAX_SHOWN = 20_000;
export const MAX_SAID = 200_000;
export const MAX_LIVE = 8_000;

export const shownText = (text: string, most = MAX_SHOWN): Readonly<{ text: string; cut: number }> =>
  text.length <= most
    ? { text: escapeHiddenLines(text), cut: 0 }
    : { text: `${escapeHiddenLines(wellCut(text, most))}…`, cut: text.length - most };
const wellCut = (text: string, most: number): string => text.slice(0, most).replace(/[\ud800-\udbff]$/, "");
