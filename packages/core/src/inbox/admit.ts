/** From an intent to the event it becomes, or why it becomes none. Pure: the holder's state in, a value out. */
import {
  type Answer,
  type Attachment,
  type CallId,
  type Digest,
  describeFault,
  type Intent,
  type IntentBody,
  type IntentId,
  type IntentMessage,
  isRefusal,
  type JournalEvent,
  type Label,
  type Limits,
  type Millis,
  type PolicyId,
  type Principal,
  type Resource,
  readAttachments,
  toSessionAct,
} from "../vocab/index.ts";
import type { Arrived } from "./port.ts";

export type AnswerableApproval = Readonly<{ digest: Digest; expiresAt: Millis | null; answer: Answer | null; voters: readonly string[] }>;
export type MayAnswer = Readonly<
  { kind: "may"; counts: readonly PolicyId[]; digest: Digest; about: Resource | null } | { kind: "may-not"; reason: string }
>;

/** The part of a session that an intent is checked against. */
export type Standing = Readonly<{
  turns: number;
  running: boolean;
  /** The turn in progress is work for another session. */
  delegated: boolean;
  /** Said to follow the turn, and not begun. */
  queued: number;
  closed: boolean;
  limits: Limits;
  /** Of the conversation that the model is shown. */
  tokens: number;
  /** Those that the session's agent may be asked with. */
  models: readonly string[];
  question(approval: string): AnswerableApproval | null;
  /** Whether this person may give this answer: the policies' word, and for edited arguments the tool's. */
  mayAnswer(user: string, wish: Extract<IntentBody, { kind: "answer" }>): MayAnswer;
  mayResolve(user: string, call: CallId): Readonly<{ kind: "may" } | { kind: "may-not"; reason: string }>;
  /** Whether this person may speak here, steer or cancel. */
  maySend(user: string, act: "say" | "steer" | "cancel"): Readonly<{ kind: "may" } | { kind: "may-not"; reason: string }>;
  hasLabel(label: Label): boolean;
  mayUnlabel(user: string, label: Label): Readonly<{ kind: "may" } | { kind: "may-not"; reason: string }>;
  isUnknown(call: CallId): boolean;
  /** Whether this session works on that call, and has not recorded its ending yet. */
  isOpenChild(call: CallId, child: string): boolean;
  /** A dead letter that nobody has settled yet. */
  isSetAside(call: CallId): boolean;
  /** The principal of an intent by which the runtime fires the schedule that this session belongs to; null for any other intent. */
  firesFor(intent: IntentId): Principal | null;
}>;

export type Admitted = { readonly kind: "event"; readonly event: JournalEvent } | { readonly kind: "refused"; readonly reason: string };

/** Unknown outcomes of a closed session can still be resolved: an unknown of it makes calls of other sessions ask. */
const AFTER_CLOSE: ReadonlySet<IntentBody["kind"]> = new Set(["dismiss", "resolve", "late"]);

const IN_PROGRESS = "a turn is in progress: cancel it, or wait for its end";
const MAY = { kind: "may" } as const;
const event = (e: JournalEvent): Admitted => ({ kind: "event", event: e });
const refuse = (reason: string): Admitted => ({ kind: "refused", reason });

export function admit(arrived: Arrived, at: Standing): Admitted {
  const { id, by, wish } = arrived.intent;
  if (!isPrincipal(by)) return refuse("it does not say whose it is");
  if (!isWish(wish)) return refuse("it is no intent that this version knows");
  if (at.closed && !AFTER_CLOSE.has(wish.kind)) return refuse("the session is closed");
  const act = toSessionAct(wish.kind);
  const leave = by.kind === "user" && act !== null ? at.maySend(by.id, act) : MAY;
  if (leave.kind === "may-not") return refuse(leave.reason);
  switch (wish.kind) {
    case "say":
      if (at.running) return refuse("a turn is in progress: steer it, cancel it, or wait for its end");
      return spoken(wish, (input, files) => ({
        kind: "turn.started",
        turn: at.turns + 1,
        input,
        files,
        by,
        limits: at.limits,
        intent: id,
      }));
    case "steer":
      return at.running
        ? spoken(wish, (text, files) => ({ kind: "input.steered", text, files, by, intent: id }))
        : refuse("there is no turn to steer");
    case "follow-up":
      if (at.delegated) return refuse("it works for another session, which waits for it: say it there, or when this turn has ended");
      return spoken(wish, (text, files) => ({ kind: "input.queued", text, files, by: speakerOf(arrived.intent, at), intent: id }));
    case "cancel":
      return at.running
        ? event({ kind: "turn.cancel-asked", by, reason: wish.reason, all: false, intent: id })
        : refuse("there is no turn to cancel");
    case "cancel-all":
      return at.running || at.queued > 0
        ? event({ kind: "turn.cancel-asked", by, reason: wish.reason, all: true, intent: id })
        : refuse("there is nothing to cancel");
    case "answer":
      return answer(arrived, wish, at);
    case "resolve":
      return resolve(arrived.intent, wish, at);
    case "dismiss":
      return dismiss(arrived.intent, wish, at);
    case "unlabel":
      return unlabel(arrived.intent, wish, at);
    case "clear":
      if (at.running) return refuse(IN_PROGRESS);
      return event({ kind: "context.cleared", before: at.tokens, by, intent: id });
    case "compact":
      if (at.running) return refuse(IN_PROGRESS);
      return event({ kind: "context.compact-asked", tokens: wish.tokens ?? Math.floor(at.limits.contextTokens / 2), by, intent: id });
    case "choose-model":
      return at.models.includes(wish.model)
        ? event({ kind: "model.chosen", model: wish.model, by, intent: id })
        : refuse(
            `its agent has no model \`${wish.model.slice(0, 100)}\`: it has ${at.models.join(", ")}; \`orgate run AGENT --input TEXT --session ID --model MODEL\` takes any other`,
          );
    case "unreadable":
      return refuse(`it cannot be read: ${wish.detail}`);
    case "child-ended": {
      if (by.kind !== "system") return refuse("only the runtime tells of a delegate's ending");
      const { call, child, ending, output, detail, used, lost = 0 } = wish;
      return at.isOpenChild(call, child)
        ? event({ kind: "child.ended", call, child, ending, output, detail, used, lost, intent: id })
        : refuse("no such delegate is at work here");
    }
    case "late":
      if (by.kind !== "system") return refuse("only the runtime reports a late outcome");
      return at.isUnknown(wish.call)
        ? event({ kind: "act.late", call: wish.call, outcome: wish.outcome, intent: id })
        : refuse("that outcome is known already");
  }
}

/** Z-4 a schedule speaks for its owner, each time it fires; nobody but the runtime speaks for a schedule. */
const speakerOf = ({ id, by }: Intent, at: Standing): Principal => (by.kind === "system" ? (at.firesFor(id) ?? by) : by);

/** M-21 anybody who can write a row can name a file anything: it is read again here. */
function spoken({ text, files = [] }: IntentMessage, becomes: (text: string, files: readonly Attachment[]) => JournalEvent): Admitted {
  const read = readAttachments(files);
  return read.kind === "files" ? event(becomes(text.toWellFormed(), read.files)) : refuse(describeFault(read.fault).message);
}

/**
 * Bound to the id and the digest on screen, in time, and given by somebody who may. A model never answers. Anybody who can write a row can say when it arrived:
 * an answer is in time only by what its signer says as well.
 */
function answer({ intent, arrivedAt }: Arrived, wish: Extract<IntentBody, { kind: "answer" }>, at: Standing): Admitted {
  const { id, by } = intent;
  const question = at.question(wish.approval);
  if (by.kind !== "user") return refuse("only a person can answer an approval request");
  if (question === null) return refuse(`there is no open approval request \`${wish.approval}\``);
  if (question.answer !== null) return refuse(`approval request \`${wish.approval}\` is answered already`);
  if (question.digest !== wish.digest) return refuse("the answer is bound to another action than the one that waits");
  if (question.expiresAt !== null && Math.max(arrivedAt, intent.at) >= question.expiresAt)
    return refuse(`approval request \`${wish.approval}\` had expired`);
  if (isRefusal(wish.answer) && wish.answer.reason.trim() === "")
    return refuse("it does not say why: the agent is told, and the journal keeps it");
  if (!isRefusal(wish.answer) && question.voters.includes(nameOf(by)))
    return refuse("this person has answered it already: the others have to be different people");
  const leave = at.mayAnswer(by.id, wish);
  if (leave.kind === "may-not") return refuse(leave.reason);
  const { counts, digest, about } = leave;
  return event({ kind: "approval.answered", approval: wish.approval, by, answer: wish.answer, counts, digest, about, intent: id });
}

function resolve({ id, by }: Intent, { call, as, note }: Extract<IntentBody, { kind: "resolve" }>, at: Standing): Admitted {
  if (by.kind !== "user") return refuse("only a person resolves an unknown outcome");
  if (!at.isUnknown(call)) return refuse(`no outcome of a call \`${call}\` is unknown`);
  const leave = at.mayResolve(by.id, call);
  if (leave.kind === "may-not") return refuse(leave.reason);
  if (as === "reconcile") return event({ kind: "unknown.reconcile-asked", call, by, intent: id });
  return event({ kind: "unknown.resolved", call, as, by, note, intent: id });
}

/** G-33 nothing else takes a label off a session. */
function unlabel({ id, by }: Intent, { labels, why }: Extract<IntentBody, { kind: "unlabel" }>, at: Standing): Admitted {
  if (by.kind !== "user") return refuse("only a person takes a label off");
  if (why.trim() === "") return refuse("it does not say why");
  const missing = labels.find((label) => !at.hasLabel(label));
  if (missing !== undefined) return refuse(`the session is not labelled \`${missing}\``);
  for (const label of labels) {
    const leave = at.mayUnlabel(by.id, label);
    if (leave.kind === "may-not") return refuse(leave.reason);
  }
  return event({ kind: "labels.removed", labels: [...new Set(labels)], by, why: why.toWellFormed(), intent: id });
}

function dismiss({ id, by }: Intent, { call, note }: Extract<IntentBody, { kind: "dismiss" }>, at: Standing): Admitted {
  if (by.kind !== "user") return refuse("only a person dismisses what was set aside");
  if (!at.isSetAside(call)) return refuse(`no call \`${call}\` is set aside`);
  const leave = at.mayResolve(by.id, call);
  return leave.kind === "may-not" ? refuse(leave.reason) : event({ kind: "dead-letter.dismissed", call, by, note, intent: id });
}

// ── untrusted: anybody who can write a row can write anything into it ──

/** Q-8 Later answers of the same person that take back a yes: it has not counted while both wait. */
export function findRefusals(earlier: Intent, later: readonly Arrived[]): readonly Arrived[] {
  const { by, wish } = earlier;
  if (!isPrincipal(by) || !isWish(wish) || wish.kind !== "answer" || isRefusal(wish.answer)) return [];
  return later.filter(({ intent }) => {
    if (!isPrincipal(intent.by) || !isWish(intent.wish) || intent.wish.kind !== "answer") return false;
    return intent.wish.approval === wish.approval && nameOf(intent.by) === nameOf(by) && isRefusal(intent.wish.answer);
  });
}

export const toRefusal = (intent: Intent, reason: string): JournalEvent => ({
  kind: "intent.refused",
  intent: intent.id,
  by: findSender(intent),
  wish: wishName(intent),
  reason,
});

/** Who it says it is from; a refusal has to be written down whatever that is. */
export const findSender = ({ by }: Intent): Principal => (isPrincipal(by) ? by : { kind: "system", id: "unknown" });
export function wishName({ wish }: Intent): string {
  const kind: unknown = (wish as { readonly kind?: unknown } | null | undefined)?.kind;
  return typeof kind === "string" ? kind.slice(0, 64).toWellFormed() : "unreadable";
}

type Fields = Readonly<Record<string, unknown>>;
const isRecord = (given: unknown): given is Fields => typeof given === "object" && given !== null && !Array.isArray(given);
const isText = (given: unknown): boolean => typeof given === "string";
const isOneOf = (given: unknown, ...words: readonly string[]): boolean => words.some((word) => word === given);
const isPrincipal = (given: unknown): boolean =>
  isRecord(given) && isOneOf(given["kind"], "user", "agent", "system") && isText(given["id"]);

function isWish(given: unknown): boolean {
  if (!isRecord(given)) return false;
  const { kind } = given;
  if (kind === "say" || kind === "steer" || kind === "follow-up") return isText(given["text"]);
  if (kind === "cancel" || kind === "cancel-all") return isText(given["reason"]);
  if (kind === "answer") return isText(given["approval"]) && isText(given["digest"]) && isAnswer(given["answer"]);
  if (kind === "resolve")
    return isText(given["call"]) && isText(given["note"]) && isOneOf(given["as"], "happened", "did-not-happen", "abandon", "reconcile");
  if (kind === "dismiss") return isText(given["call"]) && isText(given["note"]);
  if (kind === "unlabel") return Array.isArray(given["labels"]) && given["labels"].every(isText) && isText(given["why"]);
  if (kind === "clear") return true;
  if (kind === "compact") return given["tokens"] === null || (Number.isSafeInteger(given["tokens"]) && Number(given["tokens"]) >= 0);
  if (kind === "choose-model") return isText(given["model"]);
  if (kind === "unreadable") return isText(given["detail"]);
  if (kind === "child-ended")
    return (
      isText(given["call"]) && isText(given["child"]) && isText(given["ending"]) && isUsed(given["used"]) && Array.isArray(given["labels"])
    );
  return kind === "late" && isText(given["call"]) && isOutcome(given["outcome"]);
}

const isUsed = (given: unknown): boolean =>
  isRecord(given) &&
  ["iterations", "tokens", "calls", "ms"].every((of) => Number.isSafeInteger(given[of])) &&
  (given["micros"] === null || Number.isSafeInteger(given["micros"]));

function isAnswer(given: unknown): boolean {
  if (!isRecord(given)) return false;
  const { kind, grant } = given;
  if (kind === "deny" || kind === "withdraw") return isText(given["reason"]);
  if (kind === "edit") return isRecord(given["args"]);
  if (kind === "grant") return isRecord(grant) && isOneOf(grant["scope"], "digest", "resource", "tool") && isLifetime(grant["until"]);
  return kind === "approve";
}
const isLifetime = (given: unknown): boolean => isOneOf(given, "turn", "session") || Number.isSafeInteger(given);

function isOutcome(given: unknown): boolean {
  if (!isRecord(given)) return false;
  const { kind } = given;
  if (kind === "unknown") return isText(given["cause"]) && isText(given["detail"]);
  return kind === "failed" ? isText(given["error"]) : kind === "done" && given["output"] !== undefined;
}

const nameOf = (p: Principal): string => `${p.kind}:${p.id}`;
