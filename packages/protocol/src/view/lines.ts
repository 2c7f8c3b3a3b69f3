/**
 * Events as lines for people: `orgate run` while they happen, `orgate sessions show` afterwards. Pure, and the same words in both.
 *
 * V-3 every event has its line: what was decided and by which policies, what was done and what became of it, who holds the session.
 */
import {
  type ActionText,
  type Answer,
  type ApprovalId,
  type Attachment,
  type CallId,
  type Change,
  type Entry,
  escapeHidden,
  escapeHiddenLines,
  fileLine,
  grantText,
  isRefusal,
  type JournalEvent,
  MICROS_PER_CENT,
  type Outcome,
  type Part,
  principalName,
  type Reservation,
  type Resource,
  toCanonicalJson,
  type Verdict,
} from "@orgate/core/vocab";
import { scheduleLine } from "./schedules.ts";
import { countNoun, countSet, durationText, setText, shorten } from "./text-width.ts";
import type { Tone } from "./tone.ts";

export type Line = Readonly<{
  /** One column wide. */
  mark: string;
  tone: Tone;
  text: string;
  /** Below it, indented. */
  more: readonly string[];
  /** Shown while a turn runs; the others only in a full account. */
  live: boolean;
}>;

type Called = Readonly<{ tool: string; args: string }>;

/** One per session: it remembers which call is which. */
export function createNarrator(): (entry: Entry) => readonly Line[] {
  const calls = new Map<CallId, Called>();
  const touched = new Map<ActionText, string>();
  /** Questions that nobody has answered, by what they are about. */
  const waiting = new Map<ApprovalId, ActionText>();
  let inTurn = false;

  const nameOf = (call: CallId): string => `${calls.get(call)?.tool ?? "call"} ${call}`;

  return ({ event: e, at }) => {
    switch (e.kind) {
      case "session.opened":
        return [
          line("·", "dim", `session opened: agent ${e.agent.name} (${e.agent.model}), for ${principalName(e.principal)}, on ${e.surface}`),
        ];
      case "agent.changed":
        return [
          live("!", "warn", `the agent has changed since: ${e.agent.name} (${e.agent.model}), digest ${e.agent.digest.slice(0, 12)}`),
        ];
      case "hold.taken":
        if (waiting.size > 0) return [line("·", "dim", `taken up by ${e.writer} (hold ${e.epoch}): it waited for an answer`)];
        return inTurn
          ? [live("↻", "accent", `taken up by ${e.writer} (hold ${e.epoch}) in the middle of the turn: the process before it is gone`)]
          : [line("·", "dim", `held by ${e.writer} (hold ${e.epoch})`)];
      case "turn.started":
        inTurn = true;
        return [line("›", "strong", `turn ${e.turn}, ${principalName(e.by)}: ${escapeHidden(e.input)}${filesText(e.files)}`)];
      case "model.asked":
        return [line("·", "dim", `asked ${e.model}, iteration ${e.iteration}${e.attempt > 1 ? `, attempt ${e.attempt}` : ""}`)];
      case "model.replied":
        for (const part of e.parts) if (part.kind === "call") calls.set(part.id, { tool: escapeHidden(part.tool), args: argsOf(part) });
        return [replied(e)];
      case "model.failed":
        return [live("✗", "bad", `the model call failed: ${escapeHidden(e.error)}${whenAgain(e.dueAt, at)}`)];
      case "gate.decided":
        for (const [approval, action] of waiting) if (action === e.id) waiting.delete(approval);
        if (e.action.kind === "call") touched.set(e.id, resourceText(e.action.resource));
        return [decided(e)];
      case "approval.asked": {
        waiting.set(e.approval, e.action);
        const touches = touched.has(e.action) ? ` · touches ${touched.get(e.action)}` : "";
        return [live("?", "warn", `${e.approval}: ${e.asks.map(({ question }) => escapeHidden(question)).join(" · ")}${touches}`)];
      }
      case "approval.answered":
        if (isRefusal(e.answer)) waiting.delete(e.approval);
        return [live("!", "accent", `${principalName(e.by)} answered ${e.approval}: ${answerText(e.answer)}`)];
      case "approval.expired":
        waiting.delete(e.approval);
        return [live("!", "warn", `nobody answered ${e.approval} in time${e.result === "halt" ? ": the turn is halted" : ""}`)];
      case "grant.used":
        return [line("·", "dim", `grant ${e.grant} was used for ${e.action}`)];
      case "turn.halted":
        return [live("!", "bad", `halted (${escapeHidden(e.scope)}) by ${principalName(e.by)}: ${escapeHidden(e.reason)}`)];
      case "unknown.resolved":
        return [
          live(
            "!",
            "accent",
            `${principalName(e.by)} resolved ${nameOf(e.call)}: ${e.as}${e.note === "" ? "" : `, ${escapeHidden(e.note)}`}`,
          ),
        ];
      case "unknown.reconcile-asked":
        return [live("!", "accent", `${principalName(e.by)} wants the tool asked about ${nameOf(e.call)}`)];
      case "grant.given":
        return [
          line(
            "!",
            "accent",
            `${principalName(e.by)} granted ${escapeHidden(e.tool)} to ${escapeHidden(e.agent)} (${e.grant}): ${grantText(e)}`,
          ),
        ];
      case "grant.revoked":
        return [line("!", "warn", `${principalName(e.by)} revoked ${e.grant}: ${escapeHidden(e.reason)}`)];
      case "work.halted":
        return [line("!", "bad", `${principalName(e.by)} halted ${escapeHidden(e.scope)}: ${escapeHidden(e.reason)}`)];
      case "work.resumed":
        return [line("!", "good", `${principalName(e.by)} let ${escapeHidden(e.scope)} go on`)];
      case "approval.consumed":
        return [line("·", "dim", `the answer to ${e.approval} was used for ${e.action}`)];
      case "act.started": {
        const again = e.start > 1 ? ` again (start ${e.start}, same key)` : "";
        const text = `${nameOf(e.call)} ${e.start > 1 && e.repeat === "reconcile" ? "taken up" : "started"}${again}, ${e.repeat}`;
        return [e.start > 1 && e.repeat !== "reconcile" ? live("↻", "accent", text) : line("·", "dim", text)];
      }
      case "recovery.applied":
        return [
          (e.strategy === "ask-model" ? line : live)(
            "↻",
            "accent",
            `${nameOf(e.call)}: ${recoveryText(e)}${e.detail === "" ? "" : `, ${escapeHidden(e.detail)}`}`,
          ),
        ];
      case "dead-letter.dismissed":
        return [
          live("!", "accent", `${principalName(e.by)} has seen to ${nameOf(e.call)}${e.note === "" ? "" : `: ${escapeHidden(e.note)}`}`),
        ];
      case "session.forked":
        return [
          line(
            "·",
            "dim",
            `forked from ${e.from} at entry ${e.at}${e.unknown.length === 0 ? "" : `; unknown there: ${e.unknown.join(", ")}`}`,
          ),
        ];
      case "budget.reserved":
        return [line("·", "dim", `set aside for ${nameOf(e.call)}: ${allotmentText(e.amount)}`)];
      case "budget.settled":
        return [line("·", "dim", `${nameOf(e.call)} used ${allotmentText(e.amount)}`)];
      case "context.compacted":
        return [
          line("·", "dim", `entries ${e.first} to ${e.last} are shown ${COMPACTED[e.how](e.model)}: ${e.before} → ${e.after} tokens`),
        ];
      case "context.cleared":
        return [
          live("·", "accent", `${principalName(e.by)} clears the conversation: the model is shown nothing of before (${e.before} tokens)`),
        ];
      case "context.compact-asked":
        return [live("·", "dim", `${principalName(e.by)} wants no more than ${e.tokens} tokens of the conversation shown`)];
      case "model.chosen":
        return [live("·", "accent", `${principalName(e.by)} chose the model ${escapeHidden(e.model)}`)];
      case "output.asked":
        return [line("·", "dim", "the answer is to be JSON by a schema")];
      case "output.checked":
        return e.result.kind === "fits"
          ? [line("·", "dim", "the answer fits its schema")]
          : [
              line(
                "!",
                "warn",
                `the answer was not taken: ${escapeHidden(e.result.kind === "misfit" ? e.result.issues.join("; ") : e.result.detail)}`,
              ),
            ];
      case "calls.misread":
        return [line("!", "warn", `its calls were not understood: ${escapeHidden(e.detail)}`)];
      case "middleware.applied":
        return [
          line(
            "·",
            "dim",
            `middleware ${escapeHidden(e.middleware)} changed ${CHANGED[e.change.kind]}${e.call === null ? "" : ` of ${nameOf(e.call)}`}`,
          ),
        ];
      case "middleware.failed":
        return [live("✗", "bad", `middleware ${escapeHidden(e.middleware)} (${e.stage}) failed: ${escapeHidden(e.error)}`)];
      case "child.opened":
        return [
          live("⤷", "accent", `${nameOf(e.call)}: ${escapeHidden(e.agent)} works on it in ${e.child} (${allotmentText(e.allotment)})`),
        ];
      case "child.ended":
        return [live("⤶", e.ending === "completed" ? "good" : "warn", `${nameOf(e.call)}: ${e.child} ended ${e.ending}`)];
      case "input.queued":
        return [line("›", "dim", `for after the turn, ${principalName(e.by)}: ${escapeHidden(e.text)}${filesText(e.files)}`)];
      case "breaker.changed":
        return [line("!", e.to === "closed" ? "good" : "warn", `breaker ${escapeHidden(e.breaker)} is ${e.to}: ${escapeHidden(e.reason)}`)];
      case "act.ended":
        return [ended(nameOf(e.call), e.outcome, e.evidence.durationMs)];
      case "act.late":
        return [live("!", "accent", `${nameOf(e.call)}, unknown so far, turned out: ${outcomeText(e.outcome)}`)];
      case "labels.added":
        return [line("·", "dim", `labels from here on: ${e.labels.map((l) => escapeHidden(l)).join(", ")}`)];
      case "labels.removed":
        return [
          live(
            "!",
            "warn",
            `no longer labelled ${e.labels.map((l) => escapeHidden(l)).join(", ")}, says ${principalName(e.by)}: ${escapeHidden(e.why)}`,
          ),
        ];
      case "known.learned":
        return [line("·", "dim", `known from here on, in ${escapeHidden(e.set)}: ${e.values.map((v) => escapeHidden(v)).join(", ")}`)];
      case "names.told":
        return [line("·", "dim", `${nameOf(e.call)} named ${countNoun(e.names.length, escapeHidden(e.of))}`)];
      case "text.cleaned":
        return [line("·", "dim", `what the model sees of ${nameOf(e.call)} is without ${cleanedText(e)}`)];
      case "knowledge.recalled":
        return recalledLines(e);
      case "knowledge.keeping":
        return [line("·", "dim", `what the turn came to is about to be kept as ${e.item}`)];
      case "knowledge.kept":
        return [
          e.error === null
            ? line("·", "dim", `what the turn came to is kept as ${e.item}`)
            : line("!", "warn", `what the turn came to could not be kept: ${escapeHidden(e.error)}`),
        ];
      case "knowledge.added":
        return [
          line(
            "·",
            "plain",
            `${e.how === "add" ? "added" : "imported"} by ${principalName(e.by)}: ${e.documents.map(({ path, chunks }) => `${escapeHidden(path)} (${chunks})`).join(", ")}`,
          ),
        ];
      case "knowledge.forgotten":
        return [line("!", "warn", `${countNoun(e.items.length, "item")} forgotten by ${principalName(e.by)}: ${escapeHidden(e.reason)}`)];
      case "access.given":
        return [line("·", "plain", accessText(e))];
      case "access.revoked":
        return [line("!", "warn", `access ${e.access} revoked by ${principalName(e.by)}: ${escapeHidden(e.reason)}`)];
      case "known.added":
        return [
          line("·", "plain", `${escapeHidden(e.value)} added to ${escapeHidden(e.set)} by ${principalName(e.by)}: ${escapeHidden(e.why)}`),
        ];
      case "known.removed":
        return [
          line(
            "·",
            "plain",
            `${escapeHidden(e.value)} taken out of ${escapeHidden(e.set)} by ${principalName(e.by)}: ${escapeHidden(e.why)}`,
          ),
        ];
      case "note":
        return [
          line(
            "·",
            "dim",
            `note of ${escapeHidden(e.from)}, ${escapeHidden(e.name)}: ${shorten(escapeHidden(toCanonicalJson(e.value)), 120)}`,
          ),
        ];
      case "input.steered":
        return [live("›", "strong", `${principalName(e.by)} steers: ${escapeHidden(e.text)}${filesText(e.files)}`)];
      case "turn.cancel-asked":
        return [
          live("!", "warn", `cancel${e.all ? ", and all that was to follow" : ""}, by ${principalName(e.by)}: ${escapeHidden(e.reason)}`),
        ];
      case "intent.refused":
        return [line("✗", "warn", `refused to ${e.wish} for ${principalName(e.by)}: ${escapeHidden(e.reason)}`)];
      case "session.closed":
        return [live("·", "dim", `closed by ${principalName(e.by)}: ${escapeHidden(e.reason)}`)];
      case "turn.ended": {
        inTurn = false;
        waiting.clear();
        const text = `turn ${e.turn} ended: ${e.ending}${e.detail === null ? "" : `, ${escapeHidden(e.detail)}`} (${countNoun(e.iterations, "iteration")}, ${countNoun(e.calls, "call")}, ${durationText(e.activeMs)})`;
        return [{ ...line("■", e.ending === "completed" ? "good" : "warn", text), more: textLines(e.output) }];
      }
      case "key.certified":
        return [line("·", "plain", `key ${e.key} certified for ${holderText(e)}`)];
      case "key.rotated":
        return [line("·", "plain", `root key ${e.from} replaced by ${e.to}`)];
      case "key.withdrawn":
        return [line("!", "warn", `key ${e.key} withdrawn by ${principalName(e.by)}: ${escapeHidden(e.reason)}`)];
      case "content.erased":
        return [
          line("!", "warn", `entries ${e.first}-${e.last} of ${e.stream} erased by ${principalName(e.by)}: ${escapeHidden(e.reason)}`),
        ];
      case "policy.loaded":
        return [line("·", "plain", `policies ${e.digest.slice(0, 12)} in force: ${setText(countSet(e.files.map(({ path }) => path)))}`)];
      case "policy.applied":
        return [
          line(
            "·",
            "plain",
            `policies applied by ${principalName(e.by)}: ${e.changes.map((c) => `${c.change} ${escapeHidden(c.path)}`).join(", ")}${e.reason === "" ? "" : ` (${escapeHidden(e.reason)})`}`,
          ),
        ];
      case "policy.stored":
        return [line("·", "dim", `text ${e.digest.slice(0, 12)} of a policy stored: ${countNoun(e.text.length, "character")}`)];
      case "policy.refused":
        return [
          {
            ...line("✗", "warn", `policies refused on ${e.during}, ${principalName(e.by)}`),
            more: e.problems.map(escapeHidden),
          },
        ];
      case "schedule.declared":
      case "schedule.removed":
      case "schedule.paused":
      case "schedule.resumed":
      case "schedule.fired":
      case "schedule.queued":
      case "schedule.skipped":
      case "schedule.ended":
      case "schedule.stopped": {
        const { mark, tone, text } = scheduleLine(e);
        return [line(mark, tone, text)];
      }
      case "trust.given":
        return [line("·", "plain", `${escapeHidden(e.subject)} trusted by ${principalName(e.by)} as ${e.digest.slice(0, 12)}`)];
      case "trust.withdrawn":
        return [line("!", "warn", `trust in ${escapeHidden(e.subject)} withdrawn by ${principalName(e.by)}: ${escapeHidden(e.reason)}`)];
    }
  };
}

/** As a policy would write it. */
/** What was shown with words, by name: never its bytes. */
export const filesText = (files: readonly Attachment[]): string =>
  files.length === 0 ? "" : ` · with ${files.map((file) => escapeHidden(fileLine(file))).join(", ")}`;

export const resourceText = ({ type, id }: Resource): string => escapeHidden(`${type}::${JSON.stringify(id)}`);

const line = (mark: string, tone: Tone, text: string): Line => ({ mark, tone, text, more: [], live: false });
const live = (mark: string, tone: Tone, text: string): Line => ({ mark, tone, text, more: [], live: true });

type Of<K extends JournalEvent["kind"]> = Extract<JournalEvent, { kind: K }>;

function accessText({ access, means, person, agents, actions, until, by }: Of<"access.given">): string {
  const limits = [agents, actions].flatMap((list) => (list === null ? [] : [list.map((one) => escapeHidden(one)).join(", ")]));
  const within = limits.length === 0 ? "" : `, for ${limits.join("; ")}`;
  const ends = until === null ? "" : `, until ${new Date(until).toISOString()}`;
  return `${means} ${access} for ${escapeHidden(person)} by ${principalName(by)}${within}${ends}`;
}

const ARGS_SHOWN = 100;
function argsOf(part: Extract<Part, { kind: "call" }>): string {
  return shorten(escapeHidden(part.args.kind === "json" ? toCanonicalJson(part.args.value) : part.text), ARGS_SHOWN);
}

const COMPACTED: Readonly<Record<Of<"context.compacted">["how"], (model: string | null) => string>> = {
  window: () => "no more",
  mask: () => "without their results",
  summarise: (model) => `as a summary by ${model}`,
};

function whenAgain(dueAt: number | null, now: number): string {
  if (dueAt === null) return "";
  return dueAt <= now ? "; it is made again" : `; it is made again in ${Math.ceil((dueAt - now) / 1000)} s`;
}

function replied({ parts, usage, finish, purpose }: Of<"model.replied">): Line {
  if (purpose === "summary") return line("·", "dim", `the model summed up (${usage.input + usage.output} tokens)`);
  const text = parts.flatMap((part) => (part.kind === "text" ? textLines(part.text) : []));
  const calls = parts.filter((part) => part.kind === "call").length;
  const what = calls > 0 ? `proposed ${countNoun(calls, "call")}` : finish === "stop" ? "answered" : `ended with \`${finish}\``;
  return { ...line("·", "dim", `the model ${what} (${usage.input} + ${usage.output} tokens)`), more: text };
}

function recalledLines({ items, error }: Of<"knowledge.recalled">): readonly Line[] {
  const trouble = error === null ? [] : [line("!", "warn", `what is known could not be looked up: ${escapeHidden(error)}`)];
  if (items.length === 0) return trouble.length > 0 ? trouble : [line("·", "dim", "nothing is known that may help")];
  const names = items.map(({ id, kind, relevance }) => `${id} (${kind} ${relevance.toFixed(2)})`);
  return [...trouble, line("·", "dim", `recalled ${names.join(", ")}`)];
}

function decided({ action, verdict, id }: Of<"gate.decided">): Line {
  const what =
    action.kind === "call"
      ? `${escapeHidden(action.tool)} ${id} ${action.args === null ? "" : shorten(escapeHidden(toCanonicalJson(action.args)), ARGS_SHOWN)}`.trimEnd()
      : action.kind === "delegate"
        ? `delegate to ${escapeHidden(action.to)} ${id}`
        : action.kind === "model"
          ? `model ${action.model}`
          : action.kind === "recall" || action.kind === "remember"
            ? `${action.kind} ${action.scope}`
            : `respond to ${principalName(action.to)}`;
  const tone: Tone = verdict.kind === "allow" ? "good" : verdict.kind === "deny" ? "bad" : "warn";
  const mark = verdict.kind === "allow" ? "✓" : verdict.kind === "deny" ? "✗" : "?";
  const { word, why } = verdictText(verdict);
  const shown = action.kind === "call" || action.kind === "delegate" || verdict.kind !== "allow";
  return { mark, tone: shown ? tone : "dim", text: `${word}: ${what}${why}`, more: [], live: shown };
}

const DENIED_BY: Readonly<Record<string, string>> = {
  contract: " by its contract",
  person: " by a person",
  expiry: " when its time was up",
  halt: " by a halt",
  breaker: " by its breaker",
  middleware: " by middleware",
};

function verdictText(verdict: Verdict): { readonly word: string; readonly why: string } {
  const by = verdict.because.length === 0 ? "" : ` by ${verdict.because.map((p) => escapeHidden(p)).join(", ")}`;
  switch (verdict.kind) {
    case "allow":
      return {
        word: "allowed",
        why: ` ·${by === "" ? " allowed" : by}${verdict.approval === null ? "" : `, answered in ${verdict.approval}`}`,
      };
    case "deny": {
      const who = DENIED_BY[verdict.by] ?? by;
      return { word: "denied", why: ` ·${who === "" ? "" : `${who}:`} ${escapeHidden(verdict.reason)}` };
    }
    case "ask":
      return { word: "asks", why: ` ·${by}` };
    case "defer":
      return { word: "deferred", why: ` ·${by}: for ${verdict.ms / 1_000} s at most` };
    case "modify":
      return { word: "changed", why: ` ·${by}: ${verdict.edits.map(({ path }) => escapeHidden(path.join("."))).join(", ")}` };
  }
}

function ended(name: string, outcome: Outcome, ms: number): Line {
  const [mark, tone]: readonly [string, Tone] =
    outcome.kind === "done" ? ["←", "good"] : outcome.kind === "failed" ? ["✗", "bad"] : ["?", "warn"];
  return live(mark, tone, `${name} ${outcomeText(outcome)} · ${durationText(ms)}`);
}

function outcomeText(outcome: Outcome): string {
  switch (outcome.kind) {
    case "done":
      return `done: ${shorten(escapeHidden(typeof outcome.output === "string" ? outcome.output : toCanonicalJson(outcome.output)), 100)}`;
    case "failed":
      return `failed: ${escapeHidden(outcome.error)}`;
    case "unknown":
      return `unknown, ${outcome.cause}: ${escapeHidden(outcome.detail)}`;
  }
}

function answerText(answer: Answer): string {
  switch (answer.kind) {
    case "approve":
      return "approved";
    case "deny":
      return `denied, ${escapeHidden(answer.reason)}`;
    case "withdraw":
      return `withdrawn, ${escapeHidden(answer.reason)}`;
    case "edit":
      return `approved with other arguments: ${escapeHidden(toCanonicalJson(answer.args))}`;
    case "grant":
      return `approved, and remembered for this ${answer.grant.scope} ${typeof answer.grant.until === "number" ? `until ${new Date(answer.grant.until).toISOString()}` : `for the ${answer.grant.until}`}`;
  }
}

function holderText({ of }: Of<"key.certified">): string {
  return of.kind === "root" ? "the project's root" : of.kind === "writer" ? `writer ${of.writer}` : of.name;
}

const textLines = (text: string | null): readonly string[] => (text === null || text === "" ? [] : escapeHiddenLines(text).split("\n"));

const CHANGED: Readonly<Record<Change["kind"], string>> = {
  input: "what was said",
  request: "the request",
  reply: "the reply",
  arguments: "the arguments",
  block: "the fate (blocked)",
  observation: "the result as shown",
};

const allotmentText = (a: Reservation): string =>
  `${countNoun(a.iterations, "iteration")}, ${countNoun(a.tokens, "token")}, ${countNoun(a.calls, "call")}${a.micros === null ? "" : `, ${(a.micros / MICROS_PER_CENT).toFixed(2)} cents`}`;

export function recoveryText(e: Extract<JournalEvent, { kind: "recovery.applied" }>): string {
  switch (e.strategy) {
    case "reconcile":
      return `the tool was asked what became of it: ${e.found}`;
    case "retry":
      return `it is run again (retry ${e.tries})`;
    case "fallback":
      return `${escapeHidden(e.tool ?? "another tool")} stands in`;
    case "cached":
      return `the result of entry ${e.from} stands in`;
    case "ask-model":
      return "the model is told of the error";
    case "escalate":
      return "a person is asked";
    case "dead-letter":
      return "set aside for an operator";
    case "stop":
      return "the turn ends";
  }
}

const cleanedText = ({ invisible, hidden }: Readonly<{ invisible: number; hidden: number }>): string =>
  [
    ...(invisible > 0 ? [countNoun(invisible, "invisible character")] : []),
    ...(hidden > 0 ? [countNoun(hidden, "hidden passage")] : []),
  ].join(" and ");
