/**
 * One table for everybody who shows sessions: a journal, and what is to be seen of it. The folds are checked against it, console and shell render it.
 * `items` are lines of `itemLine`, `spans` of `spanLine`; `shown` are texts that a reader must find without opening anything, `hidden` such as
 * may be nowhere.
 */

import { callId, type Entry, intentId, sessionId } from "@orgate/core/vocab";
import type { CallItem, Span, ViewItem } from "../view/index.ts";
import * as j from "./view-journals.ts";

export type ViewCase = Readonly<{
  name: string;
  entries: readonly Entry[];
  state: "idle" | "running" | "waiting" | "closed";
  items: readonly string[];
  spans: readonly string[];
  folds: readonly string[];
  marks: readonly string[];
  labels: readonly string[];
  shown: readonly string[];
  hidden: readonly string[];
}>;

/** An item in one line. */
export function itemLine(item: ViewItem): string {
  switch (item.kind) {
    case "said":
      return `said ${item.how} ${item.by}: ${item.text}`;
    case "reply":
      return item.withheld ? "reply withheld" : `reply: ${item.text}`;
    case "thinking":
      return `thinking: ${item.text}`;
    case "call":
      return callLine(item);
    case "question":
      return `question ${item.approval} ${item.state} ${item.tool}(${item.summary}) ${item.asks.map(({ policy, question }) => `${policy.file}: ${question}`).join("; ")}${item.answers.map(({ by, answer, reason }) => ` | ${by} ${answer}${reason === null ? "" : ` ${reason}`}`).join("")}`;
    case "notice":
      return `notice ${item.tone}: ${item.text}`;
    case "ended":
      return `ended ${item.ending} ${item.sentence}${item.output === null ? "" : ` | ${item.output}`}`;
  }
}

function callLine({ tool, summary, status, verdict, result, edit, live, recovery, labels, child }: CallItem): string {
  return [
    `call ${tool}(${summary}) ${status}`,
    ...(verdict === null ? [] : [`${verdict.kind} by ${verdict.policies.map(({ id, file }) => `${file}#${id}`).join(", ")}`]),
    ...(live === "" ? [] : [`live ${live}`]),
    ...(result === null ? [] : [`result ${result}`]),
    ...(edit === null ? [] : [`edit ${edit.path} +${edit.added} -${edit.removed}`]),
    ...(child === null ? [] : [`child ${child.session} ${child.ending}`]),
    ...recovery,
    ...(labels.length === 0 ? [] : [`labels ${labels.join(", ")}`]),
  ].join(" | ");
}

/** Phase, lane, from and to in milliseconds after the start, what, how it ended. */
export const spanLine = ({ phase, lane, at, endAt, text, status }: Span): string =>
  `${phase} ${lane} ${at - j.START}-${endAt === null ? "" : endAt - j.START} ${text} ${status}`;

const look = { tool: "look_up", args: { path: "notes.txt" }, file: "notes.txt" };
const write = { tool: "write_file", args: { path: "a.txt", content: "one\ntwo\n" }, file: "a.txt" };
const sending = { tool: "send", args: { to: "ben", n: 2, urgent: true, more: "left out" }, file: "outbox" };
const ask = j.askFor("api/mail/send", "Send it?", { approvers: ["ops"], expiresMs: 900_000, grant: "session" });

const answered: ViewCase = {
  name: "an answer",
  entries: j.journalOf(
    [0, j.opened()],
    [0, j.held(1)],
    [10, j.turn(1, "hello")],
    [10, j.mayAsk(1)],
    [10, j.mayTell(1)],
    [20, j.asks(1)],
    [520, j.replies(1, j.thinks("a greeting"), j.says("Good day."))],
    [520, j.over(1, "completed", "Good day.")],
  ),
  state: "idle",
  items: ["said turn user:ana: hello", "thinking: a greeting", "reply: Good day.", "ended completed The agent answered."],
  spans: [
    "observe 0 10-10 what was said done",
    "gate 0 10-10 model: allow done",
    "gate 0 10-10 respond: allow done",
    "reason 0 20-520 offline/clerk done",
  ],
  folds: [],
  marks: ["turn 10 turn 1: hello", "ended 520 completed"],
  labels: [],
  shown: ["hello", "Good day.", "completed"],
  hidden: [],
};

const decided: ViewCase = {
  name: "an allow, a denial and an approval",
  entries: j.journalOf(
    [0, j.opened()],
    [0, j.held(1)],
    [10, j.turn(1, "look it up and send it")],
    [10, j.mayAsk(1)],
    [10, j.mayTell(1)],
    [10, j.asks(1)],
    [200, j.replies(1, j.wants("1.1", "look_up", look.args), j.wants("1.2", "wipe", { path: "/" }), j.wants("1.3", "send", sending.args))],
    [200, j.decides("1.1", look, j.allow("base/read"))],
    [200, j.decides("1.2", { ...look, tool: "wipe", args: { path: "/" }, file: "/" }, j.deny("nothing is wiped", "base/no-wipe"))],
    [200, j.decides("1.3", sending, j.asking(ask))],
    [200, j.question("a_1", "1.3", ask, 900_200)],
    [200, j.starts("1.1", "look_up")],
    [220, j.notes("1.1", "output", "half of it\n")],
    [240, j.ends("1.1", j.done("all of it"))],
    [240, j.labels(callId("1.1"), "untrusted")],
    [60_240, j.answers("a_1", "ben", { kind: "approve" }, ["api/mail/send"])],
    [60_241, j.held(2)],
    [60_241, j.decides("1.3", sending, { ...j.allow("api/mail/send"), kind: "allow", approval: null })],
    [60_241, j.uses("a_1", "1.3")],
    [60_241, j.starts("1.3", "send")],
    [60_300, j.ends("1.3", j.done({ sent: true }))],
    [60_300, j.asks(2)],
    [60_400, j.replies(2, j.says("Sent."))],
    [60_400, j.over(1, "completed", "Sent.", { calls: 2 })],
  ),
  state: "idle",
  items: [
    "said turn user:ana: look it up and send it",
    "call look_up(notes.txt) done | allow by policies/base.cedar#base/read | result all of it | labels untrusted",
    "call wipe(/) denied | deny by policies/base.cedar#base/no-wipe | result nothing is wiped (base/no-wipe)",
    'call send(to=ben n=2 urgent=true) done | allow by policies/api/mail.cedar#api/mail/send | result {"sent":true}',
    "question a_1 approved send(to=ben n=2 urgent=true) policies/api/mail.cedar: Send it? | user:ben approved",
    "notice dim: labels from here on: untrusted",
    "reply: Sent.",
    "ended completed The agent answered.",
  ],
  spans: [
    "observe 0 10-10 what was said done",
    "gate 0 10-10 model: allow done",
    "gate 0 10-10 respond: allow done",
    "reason 0 10-200 offline/clerk done",
    "gate 0 200-200 look_up: allow done",
    "gate 0 200-200 wipe: deny denied",
    "gate 0 200-200 send: ask asks",
    "act 0 200-240 look_up done",
    "observe 0 240-60241 what came of it done",
    "gate 0 60241-60241 send: allow done",
    "act 0 60241-60300 send done",
    "observe 0 60300-60300 what came of it done",
    "reason 0 60300-60400 offline/clerk done",
  ],
  folds: ["waiting 240-60240"],
  marks: ["turn 10 turn 1: look it up and send it", "question 200 Send it?", "answer 60240 ben: approve", "ended 60400 completed"],
  labels: ["240 untrusted"],
  shown: ["look_up", "notes.txt", "denied", "nothing is wiped", "Send it?", "Sent.", "untrusted"],
  hidden: ["left out"],
};

const edited: ViewCase = {
  name: "an edit, waiting for a person",
  entries: j.journalOf(
    [0, j.opened()],
    [0, j.held(1)],
    [10, j.turn(1, "write it down")],
    [10, j.mayTell(1)],
    [10, j.asks(1)],
    [
      50,
      j.replies(
        1,
        j.wants("1.1", "edit_file", { path: "a.txt", old_string: "one\n", new_string: "uno\n" }),
        j.wants("1.2", "write_file", write.args),
      ),
    ],
    [
      50,
      j.decides(
        "1.1",
        { ...write, tool: "edit_file", args: { path: "a.txt", old_string: "one\n", new_string: "uno\n" } },
        j.allow("base/write"),
      ),
    ],
    [50, j.decides("1.2", write, j.asking(j.askFor("base/ask-write", "Write it?", { quorum: 2 })))],
    [50, j.question("a_2", "1.2", j.askFor("base/ask-write", "Write it?", { quorum: 2 }))],
    [50, j.starts("1.1", "edit_file")],
    [60, j.ends("1.1", j.done("ok"), { proof: { edit: { path: "a.txt", before: "one\ntwo\n", after: "uno\ntwo\n", whole: true } } })],
    [70, j.answers("a_2", "ben", { kind: "approve" }, ["base/ask-write"])],
  ),
  state: "waiting",
  items: [
    "said turn user:ana: write it down",
    "call edit_file(a.txt) done | allow by policies/base.cedar#base/write | result ok | edit a.txt +1 -1",
    "call write_file(a.txt) asking | ask by policies/base.cedar#base/ask-write | edit a.txt +2 -0",
    "question a_2 open write_file(a.txt) policies/base.cedar: Write it? | user:ben approved",
  ],
  spans: [
    "observe 0 10-10 what was said done",
    "gate 0 10-10 respond: allow done",
    "reason 0 10-50 offline/clerk done",
    "gate 0 50-50 edit_file: allow done",
    "gate 0 50-50 write_file: ask asks",
    "act 0 50-60 edit_file done",
    "observe 0 60- what came of it open",
  ],
  folds: [],
  marks: ["turn 10 turn 1: write it down", "question 50 Write it?", "answer 70 ben: approve"],
  labels: [],
  shown: ["a.txt", "uno", "write_file"],
  hidden: [],
};

const crashed: ViewCase = {
  name: "a crash with two calls at once, and its resume",
  entries: j.journalOf(
    [0, j.opened()],
    [0, j.held(1)],
    [10, j.turn(1, "both")],
    [10, j.mayTell(1)],
    [10, j.asks(1)],
    [100, j.replies(1, j.wants("1.1", "look_up", look.args), j.wants("1.2", "look_up", { path: "b.txt" }))],
    [100, j.decides("1.1", look, j.allow("base/read"))],
    [100, j.decides("1.2", { ...look, args: { path: "b.txt" }, file: "b.txt" }, j.allow("base/read"))],
    [100, j.starts("1.1", "look_up")],
    [100, j.starts("1.2", "look_up")],
    [150, j.ends("1.1", j.done("one"), { ms: 50 })],
    [30_150, j.held(2)],
    [30_150, j.starts("1.2", "look_up", 2)],
    [30_200, j.ends("1.2", j.done("two"), { ms: 50 })],
    [30_210, j.asks(2)],
  ),
  state: "running",
  items: [
    "said turn user:ana: both",
    "call look_up(notes.txt) done | allow by policies/base.cedar#base/read | result one",
    "call look_up(b.txt) done | allow by policies/base.cedar#base/read | result two",
    "notice accent: taken up by w2 (hold 2) in the middle of the turn: the process before it is gone",
  ],
  spans: [
    "observe 0 10-10 what was said done",
    "gate 0 10-10 respond: allow done",
    "reason 0 10-100 offline/clerk done",
    "gate 0 100-100 look_up: allow done",
    "gate 0 100-100 look_up: allow done",
    "act 0 100-150 look_up done",
    "act 1 100-150 look_up lost",
    "observe 0 150-150 what came of it lost",
    "act 0 30150-30200 look_up done",
    "observe 0 30200-30210 what came of it done",
    "reason 0 30210- offline/clerk open",
  ],
  folds: ["crash 150-30150"],
  marks: ["turn 10 turn 1: both", "crash 150 the process that held it is gone", "resume 30150 taken up again"],
  labels: [],
  shown: ["taken up by w2"],
  hidden: [],
};

const HOSTILE = '\u001b[31mred\u202e<img src=x onerror="alert(1)">';
const withheld: ViewCase = {
  name: "an answer that is withheld, hostile output, a cancel",
  entries: j.journalOf(
    [0, j.opened({ labels: [] })],
    [0, j.held(1)],
    [10, j.turn(1, "tell me")],
    [10, j.mayTell(1)],
    [10, j.asks(1)],
    [20, j.replies(1, j.says("I look."), j.wants("1.1", "look_up", look.args))],
    [20, j.decides("1.1", look, j.allow("base/read"))],
    [20, j.starts("1.1", "look_up")],
    [30, j.ends("1.1", j.done(HOSTILE))],
    [30, j.labels(callId("1.1"), "secret")],
    [30, j.mayTell(2, j.deny("secrets stay here", "base/no-secrets"))],
    [30, j.asks(2)],
    [40, j.replies(2, j.thinks("the secret is 42"), j.says("The secret is 42."), j.wants("2.1", "look_up", look.args))],
    [
      40,
      {
        kind: "turn.cancel-asked",
        by: j.ana,
        reason: "enough",
        all: false,
        intent: intentId("i_9"),
      },
    ],
    [50, j.over(1, "cancelled", null)],
  ),
  state: "idle",
  items: [
    "said turn user:ana: tell me",
    "reply: I look.",
    'call look_up(notes.txt) done | allow by policies/base.cedar#base/read | result \\e[31mred\\u{202e}<img src=x onerror="alert(1)"> | labels secret',
    "notice dim: labels from here on: secret",
    "thinking: ",
    "reply withheld",
    "call look_up(notes.txt) dropped",
    "notice warn: cancel, by user:ana: enough",
    "ended cancelled The turn was cancelled.",
  ],
  spans: [
    "observe 0 10-10 what was said done",
    "gate 0 10-10 respond: allow done",
    "reason 0 10-20 offline/clerk done",
    "gate 0 20-20 look_up: allow done",
    "act 0 20-30 look_up done",
    "observe 0 30-30 what came of it done",
    "gate 0 30-30 respond: deny denied",
    "reason 0 30-40 offline/clerk done",
  ],
  folds: [],
  marks: ["turn 10 turn 1: tell me", "cancel 40 enough", "ended 50 cancelled"],
  labels: ["30 secret"],
  shown: ["look_up", "I look.", "The turn was cancelled."],
  hidden: ["secret is 42", "\u202e"],
};

const child = sessionId("s_viewed00002");
const allotment = { iterations: 5, tokens: 10_000, micros: null, calls: 10, ms: 60_000 };
const recovered: ViewCase = {
  name: "a delegate, a failure that is tried again, an unknown that is resolved",
  entries: j.journalOf(
    [
      0,
      j.opened({
        history: [
          { role: "user", text: "before" },
          { role: "assistant", text: "", calls: [{ id: "c0", tool: "look_up", text: '{"path":"old.txt"}' }] },
          { role: "tool", id: "c0", text: "was there", isError: false },
        ],
      }),
    ],
    [0, j.held(1)],
    [10, j.turn(1, "have it read")],
    [10, j.mayTell(1)],
    [10, j.asks(1)],
    [15, j.breaks(1)],
    [20, j.asks(1, 2)],
    [
      30,
      {
        ...j.replies(1, j.wants("1.1", "delegate", { agent: "reader", task: "read it" }), j.wants("1.2", "send", sending.args)),
        attempt: 2,
      } as Entry["event"],
    ],
    [30, j.delegates("1.1", "reader", j.allow("base/delegate"))],
    [30, j.decides("1.2", sending, j.allow("base/send"))],
    [30, { kind: "child.opened", call: callId("1.1"), child, agent: "reader", allotment }],
    [30, j.starts("1.2", "send")],
    [40, j.ends("1.2", { kind: "failed", error: "busy" }, { recovering: true })],
    [
      40,
      {
        kind: "recovery.applied",
        call: callId("1.2"),
        strategy: "retry",
        found: null,
        detail: "",
        plan: [],
        step: 0,
        tries: 1,
        dueAt: null,
        tool: null,
        output: null,
        from: null,
      },
    ],
    [50, j.starts("1.2", "send", 2)],
    [60, j.ends("1.2", { kind: "unknown", cause: "timed-out", detail: "" })],
    [
      70,
      {
        kind: "child.ended",
        call: callId("1.1"),
        child,
        ending: "completed",
        output: "it says so",
        detail: null,
        used: allotment,
        lost: 0,
        intent: intentId("i_c"),
      },
    ],
    [80, { kind: "unknown.resolved", call: callId("1.2"), as: "happened", by: j.ana, note: "looked", intent: intentId("i_u") }],
    [90, j.over(1, "failed", null)],
    [90, { kind: "session.closed", by: j.ana, reason: "done" }],
  ),
  state: "closed",
  items: [
    "said earlier user: before",
    'call look_up({"path":"old.txt"}) done | result was there',
    "said turn user:ana: have it read",
    "notice bad: the model call failed: the stream broke",
    `call delegate(agent=reader task=read it) done | allow by policies/base.cedar#base/delegate | result it says so | child ${child} completed`,
    "call send(to=ben n=2 urgent=true) done | allow by policies/base.cedar#base/send | result nobody can tell whether this took effect (timed-out) | it is run again (retry 1)",
    "notice accent: user:ana resolved send 1.2: happened, looked",
    "ended failed The turn failed.",
    "notice dim: closed by user:ana: done",
  ],
  spans: [
    "observe 0 10-10 what was said done",
    "gate 0 10-10 respond: allow done",
    "reason 0 10-15 offline/clerk failed",
    "reason 0 20-30 offline/clerk done",
    "gate 0 30-30 delegate to reader: allow done",
    "gate 0 30-30 send: allow done",
    "act 0 30-70 reader, delegated done",
    "act 1 30-40 send failed",
    "observe 0 40-50 what came of it done",
    "act 1 50-60 send unknown",
    "observe 0 60-90 what came of it done",
  ],
  folds: [],
  marks: ["turn 10 turn 1: have it read", "ended 90 failed"],
  labels: [],
  shown: ["reader", "it is run again (retry 1)", "The turn failed."],
  hidden: [],
};

export const VIEW_CASES: readonly ViewCase[] = [answered, decided, edited, crashed, withheld, recovered];
