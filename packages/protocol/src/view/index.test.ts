import { foldPendingApprovals, NO_PENDING_APPROVALS } from "@orgate/core/journal";
import {
  actionText,
  approvalId,
  callId,
  decisionsIn,
  digest,
  type Entry,
  type JournalEvent,
  millis,
  POLICY,
  policyId,
  seq,
  sessionId,
} from "@orgate/core/vocab";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { itemLine, spanLine, VIEW_CASES } from "../testing/view-cases.ts";
import * as j from "../testing/view-journals.ts";
import { answeredText, findSettledApproval } from "./approvals.ts";
import { listFacets } from "./facets.ts";
import {
  buildSessionView,
  buildTimeline,
  callSummary,
  countSet,
  createFleetFold,
  createNarrator,
  createSessionFold,
  createTimelineFold,
  createTimeScale,
  listUsage,
  policyRef,
  setText,
  sumUsage,
  timeLeft,
  toApprovalRow,
} from "./index.ts";
import { findQuorum, type QuestionItem, quorumText } from "./items.ts";

/** The same stories as a journal has them: leave is part of what begins with it. */
const STORED_CASES = VIEW_CASES.map((one) => ({ ...one, name: `${one.name}, as stored`, entries: j.asStored(one.entries) }));

test("V-3 the stories as stored have decisions inside of what begins with them", () => {
  const inner = STORED_CASES.flatMap(({ entries }) => entries).filter(
    ({ event }) => event.kind !== "gate.decided" && decisionsIn(event).length > 0,
  );
  expect(inner.map(({ event }) => event.kind)).toContain("act.started");
});

describe.each([...VIEW_CASES, ...STORED_CASES])("$name", ({ entries, state, items, spans, folds, marks, labels, shown, hidden }) => {
  test("V-3 the conversation is told as the table says", () => {
    const view = buildSessionView(j.VIEWED, entries);
    expect(view.items.map(itemLine)).toEqual(items);
    expect(view.state).toBe(state);
    const text = JSON.stringify(view);
    for (const one of shown) expect(text).toContain(JSON.stringify(one).slice(1, -1));
    for (const one of hidden) expect(view.items.map((item) => JSON.stringify({ ...item, args: "" })).join()).not.toContain(one);
  });

  test("the timeline is told as the table says", () => {
    const view = buildTimeline(entries);
    expect(view.spans.map(spanLine)).toEqual(spans);
    expect(view.folds.map(({ why, from, to }) => `${why} ${from - j.START}-${to - j.START}`)).toEqual(folds);
    expect(view.marks.map(({ kind, at, text }) => `${kind} ${at - j.START} ${text}`)).toEqual(marks);
    expect(view.labels.map((step) => `${step.at - j.START} ${step.labels.join(", ")}`)).toEqual(labels);
  });

  test("V-3 the view at an entry is the fold of those up to it, and is plain JSON", () => {
    const fold = createSessionFold(j.VIEWED);
    for (const [i, entry] of entries.entries()) {
      fold.add(entry);
      const again = buildSessionView(j.VIEWED, entries.slice(0, i + 1));
      expect(JSON.parse(JSON.stringify(fold.view))).toEqual(again);
    }
  });
});

test("V-3 what a person denied, or nobody answered, is denied on its card, with the reason", () => {
  const pay = { tool: "pay", args: { to: "ben" }, file: "a.txt" };
  const ask = j.askFor("base/pays", "Pay?");
  const start = [
    [0, j.opened()],
    [1, j.held(1)],
    [2, j.turn(1, "pay")],
    [3, j.replies(1, j.wants("1.0", "pay", pay.args))],
    [4, j.decides("1.0", pay, j.asking(ask))],
    [5, j.question("a_1", "1.0", ask)],
  ] as const;
  const cardAfter = (event: JournalEvent) => {
    const { items, openQuestions } = buildSessionView(j.VIEWED, j.journalOf(...start, [6, event], [7, j.over(1, "cancelled", null)]));
    const card = items.find(({ kind }) => kind === "call");
    return [openQuestions, card?.kind === "call" ? [card.status, card.result] : null];
  };
  expect(cardAfter(j.answers("a_1", "ben", { kind: "deny", reason: "not\u202e now" }))).toEqual([
    [],
    ["denied", "user:ben: not\\u{202e} now"],
  ]);
  expect(cardAfter({ kind: "approval.expired", approval: approvalId("a_1"), result: "deny" })).toEqual([
    [],
    ["denied", "nobody answered in time"],
  ]);
});

test("V-3 every key is there once", () => {
  for (const { entries } of VIEW_CASES) {
    const keys = buildSessionView(j.VIEWED, entries).items.map(({ key }) => key);
    expect(new Set(keys).size).toBe(keys.length);
  }
});

test("V-3 what does not change stays the same object; what changes is another one in its place", () => {
  const [, second] = VIEW_CASES;
  const fold = createSessionFold(j.VIEWED);
  const entries = second?.entries ?? [];
  for (const entry of entries.slice(0, 12)) fold.add(entry);
  const before = [...fold.view.items];
  const [entry] = entries.slice(12, 13);
  if (entry !== undefined) fold.add(entry); // a note of the first call
  expect(fold.view.items.map((item, i) => item === before[i])).toEqual([true, false, true, true, true]);
});

test("V-1 whatever models, tools and people write, no control and no bidirectional character is in a view", () => {
  const nasty = fc.string({
    unit: fc.constantFrom("a", " ", "\n", "\r", "\t", "<", "\u001b", "\u0000", "\u0085", "\u202e", "\u2066", "\u200b", "\ud800", "😀"),
    maxLength: 20,
  });
  fc.assert(
    fc.property(nasty, nasty, nasty, (said, output, tool) => {
      const entries = j.journalOf(
        [0, j.opened()],
        [0, j.held(1)],
        [1, j.turn(1, said)],
        [1, j.mayTell(1)],
        [1, j.asks(1)],
        [2, j.replies(1, j.says(said), j.thinks(output), j.wants("1.1", tool, { path: output }))],
        [2, j.decides("1.1", { tool, args: { path: output }, file: said }, j.asking(j.askFor("a/b", said)))],
        [2, j.question("a_1", "1.1", j.askFor("a/b", said))],
        [3, j.answers("a_1", said, { kind: "deny", reason: output })],
        [4, j.starts("1.1", tool)],
        [4, j.notes("1.1", said, output)],
        [5, j.ends("1.1", j.done(output))],
        [6, j.over(1, "completed", output)],
      );
      const texts = textsIn([buildSessionView(j.VIEWED, entries), buildTimeline(entries)]).join("");
      expect(texts).not.toMatch(/(?![\n\t])[\p{Cc}\u061c\u200b\u200e\u200f\u202a-\u202e\u2066-\u2069]/u);
    }),
    { numRuns: 60 },
  );
});
function textsIn(value: unknown): readonly string[] {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null ? Object.entries(value).flatMap(([, one]) => textsIn(one)) : [];
}

test("V-3 words of a reply in progress grow where they belong, and the reply takes their place", () => {
  const fold = createSessionFold(j.VIEWED);
  for (const entry of VIEW_CASES[0]?.entries.slice(0, 6) ?? []) fold.add(entry);
  const piece = (offset: number, text: string) => fold.preview({ iteration: 1, attempt: 1, preview: { part: "text", offset, text } });
  piece(0, "Go");
  piece(2, "od \u001b");
  piece(2, "od ");
  piece(9, "lost");
  expect(fold.view.streaming?.text).toBe("Good ");
  fold.preview({ iteration: 1, attempt: 1, preview: { part: "call", call: 0, tool: "look_up", offset: 0, text: '{"pa' } });
  expect(fold.view.streaming?.calls).toEqual([{ tool: "look_up", text: '{"pa' }]);
  for (const entry of VIEW_CASES[0]?.entries.slice(6, 7) ?? []) fold.add(entry);
  expect(fold.view.streaming).toBeNull();
});

test("V-3 an entry that is erased, or of a kind from a newer version, is named in its place", () => {
  const fold = createSessionFold(j.VIEWED);
  fold.add(j.journalOf([0, j.opened()])[0] as Entry);
  fold.miss({ seq: seq(2), at: millis(j.START) }, "erased on request");
  fold.add({ stream: j.VIEWED, seq: seq(3), at: millis(j.START), event: { kind: "cheese.made" } as unknown as Entry["event"] });
  expect(fold.view.unread).toBe(2);
  expect(fold.view.items.map(itemLine)).toEqual([
    "notice warn: erased on request",
    "notice warn: an entry of a kind that this version does not know: cheese.made",
  ]);
});

const UNKNOWN_EVENTS: readonly unknown[] = [
  { kind: "cheese.made", by: null, agent: null, parts: null, labels: null },
  { kind: "act.started-by-hand", call: 7 },
  { kind: "constructor" },
  { kind: "__proto__" },
  {},
];

test.each(UNKNOWN_EVENTS)("every view of an entry of an unknown kind goes on, and the narrator names it: %j", (event) => {
  const [opening] = j.journalOf([0, j.opened()]);
  const strange = { stream: j.VIEWED, seq: seq(2), at: millis(j.START), event: event as JournalEvent } satisfies Entry;
  const narrate = createNarrator();
  const fleet = createFleetFold([], [], []);
  const timeline = createTimelineFold();
  const session = createSessionFold(j.VIEWED);
  for (const entry of [opening as Entry, strange]) {
    fleet.add(entry);
    timeline.add(entry);
    session.add(entry);
  }
  const text = `an entry of a kind that this version does not know: ${String(Object(event).kind)}`;
  expect(narrate(strange)).toEqual([{ mark: "?", tone: "warn", text, more: [], live: false }]);
  expect(session.view.items.map(itemLine)).toEqual([`notice warn: ${text}`]);
  expect(fleet.view(millis(j.START), []).agents).toEqual([]);
  expect(timeline.view.seq).toBe(2);
  expect(listUsage(strange, () => null)).toBeNull();
  expect(listFacets(strange, "ada")).toEqual([`kind:${String(Object(event).kind)}`, "agent:ada"]);
});

test("a kind inside an event that only a newer version knows stops no view", () => {
  const withNewerKinds = (value: unknown, isTop: boolean): readonly unknown[] => {
    if (typeof value !== "object" || value === null) return [];
    const fields = Object.entries(value);
    const own = !isTop && Object.hasOwn(value, "kind") ? [{ ...value, kind: "newer" }] : [];
    const inner = fields.flatMap(([key, field]) => withNewerKinds(field, false).map((one) => withField(value, key, one)));
    return [...own, ...inner];
  };
  const withField = (value: object, key: string, field: unknown): unknown =>
    Array.isArray(value) ? value.with(Number(key), field) : { ...value, [key]: field };
  let count = 0;
  for (const { entries } of [...VIEW_CASES, ...STORED_CASES])
    for (const [i, entry] of entries.entries())
      for (const event of withNewerKinds(entry.event, true)) {
        const changed = entries.with(i, { ...entry, event: event as JournalEvent });
        const narrate = createNarrator();
        const fleet = createFleetFold([], [], []);
        for (const one of changed) {
          for (const { text } of narrate(one)) expect(typeof text).toBe("string");
          fleet.add(one);
        }
        expect(buildSessionView(j.VIEWED, changed).seq).toBe(changed.at(-1)?.seq);
        expect(buildTimeline(changed).seq).toBe(changed.at(-1)?.seq);
        count += 1;
      }
  expect(count).toBeGreaterThan(150);
});

test("V-3 folding costs as much per entry late as early", () => {
  const steps = (n: number): number => {
    let reads = 0;
    const fold = createSessionFold(j.VIEWED);
    const counting = new Proxy(fold.view.items, {
      get(items, name) {
        if (typeof name === "string" && /^\d+$/.test(name)) reads += 1;
        return Reflect.get(items, name);
      },
    });
    fold.view.items = counting;
    const events = Array.from({ length: n }, (_, i): j.TimedFact[] => [
      [i, j.replies(i, j.wants(`${i}.1`, "look_up", { path: "x" }))],
      [i, j.starts(`${i}.1`, "look_up")],
      [i, j.ends(`${i}.1`, j.done("x"))],
    ]).flat();
    for (const entry of j.journalOf([0, j.opened()], [0, j.turn(1, "go")], ...events)) fold.add(entry);
    return reads / n;
  };
  expect(steps(400)).toBeLessThanOrEqual(steps(40) + 1);
});

test("V-6 a call in one line", () => {
  const of = (args: unknown) => callSummary(JSON.parse(JSON.stringify(args)), "raw");
  expect(of({ path: "a", command: "ls -l\n| wc" })).toBe("ls -l | wc");
  expect(of({ n: 1, file_path: "b" })).toBe("b");
  expect(of({ filename: "c" })).toBe("c");
  expect(of({ artifact_path: "d" })).toBe("d");
  expect(of({ a: "x".repeat(31), b: [1], c: null, d: 4 })).toBe(`a=${"x".repeat(29)}… b=[1] c=null`);
  expect(callSummary(null, '{"half')).toBe('{"half');
  expect(callSummary([1, 2], "[1,\n2]")).toBe("[1, 2]");
  expect(of({ command: "é".repeat(100) })).toBe(`${"é".repeat(79)}…`);
  expect([...of({ command: "🧨".repeat(100) })]).toHaveLength(80);
  expect(of({ command: "a\u202eb" })).toBe("a\\u{202e}b");
  expect(of({ path: "" })).toBe("path=");
  expect(callSummary(JSON.parse('{"__proto__": {"command": "no"}, "k": 1}'), "")).toContain("k=1");
});

test("V-6 the cases of the reference shell: at most 80 characters, the last of a cut one an ellipsis, strings of fields at most 30", () => {
  const of = (args: unknown) => callSummary(JSON.parse(JSON.stringify(args)), "raw");
  expect(of({ content: "x", path: "agents/a.symbi" })).toBe("agents/a.symbi");
  expect(of({ command: "x".repeat(80) })).toBe("x".repeat(80));
  expect(of({ command: "x".repeat(81) })).toBe(`${"x".repeat(79)}…`);
  expect(of({ a: "y".repeat(30), b: "line\nbreak" })).toBe(`a=${"y".repeat(30)} b=line break`);
  expect([...of({ a: "z".repeat(40), b: "z".repeat(40), c: "z".repeat(40) })]).toHaveLength(80);
  expect(callSummary("text", '"text"')).toBe('"text"');
});

test("V-3 a policy's file is told by its id", () => {
  const file = (id: string) => policyRef(policyId(id)).file;
  expect(file("base/write")).toBe("policies/base.cedar");
  expect(file("api/mail/send")).toBe("policies/api/mail.cedar");
  expect(file("shadow/cli/x/12")).toBe("policies/shadow/cli/x.cedar");
  expect(file("base/some/name")).toBe("policies/base.cedar");
  expect(file("api/7")).toBe("policies/api.cedar");
  expect(file("orgate:escalated")).toBeNull();
  expect(file("agents/payer.symbi/10")).toBe("agents/payer.symbi"); // Y-11
  expect(file("agents/deep/payer.dsl/10.4-pay-payer")).toBe("agents/deep/payer.dsl");
});

test("folds are taken out of time, and what is left is to scale", () => {
  const folds = [
    { from: millis(1_000), to: millis(11_000), why: "waiting", seq: seq(1) },
    { from: millis(12_000), to: millis(112_000), why: "idle", seq: seq(2) },
  ] as const;
  const { place, whole } = createTimeScale({ from: millis(0), to: millis(113_000), folds: [...folds] }, 100);
  expect([0, 500, 1_000, 6_000, 11_000, 11_500, 12_000, 112_000, 113_000].map(place)).toEqual([
    0, 500, 1_000, 1_050, 1_100, 1_600, 2_100, 2_200, 3_200,
  ]);
  expect(whole).toBe(3_200);
});

test.each([[VIEW_CASES], [STORED_CASES]])("V-5 what was used is counted in its own hour, a lost reply at what was set aside", (cases) => {
  const all = cases.flatMap(({ entries }) => entries);
  const rows = all.flatMap((entry) => {
    const asked = () => j.asks(1) as Extract<Entry["event"], { kind: "model.asked" }>;
    const used = listUsage(entry, asked);
    return used === null ? [] : [{ ...zero, ...used.counts, hour: used.hour, model: used.model, agent: "clerk" }];
  });
  const [sum] = sumUsage(rows, () => "all");
  const replied = all.filter(({ event }) => event.kind === "model.replied").length;
  expect(sum).toMatchObject({
    turns: 4,
    completed: 2,
    failed: 1,
    denied: 0,
    replies: replied,
    micros: replied * 210 + 1_050,
    decisions: 11,
    denials: 1,
    asks: 2,
  });
});
const zero = {
  turns: 0,
  completed: 0,
  denied: 0,
  failed: 0,
  activeMs: 0,
  replies: 0,
  tokens: 0,
  micros: 0,
  unpriced: 0,
  calls: 0,
  callsFailed: 0,
  callMs: 0,
  decisions: 0,
  denials: 0,
  asks: 0,
};

test("the fleet shows turns while they run, with what they do, and rates of what was counted", () => {
  const entries = [...(VIEW_CASES[1]?.entries ?? [])];
  const fold = createFleetFold(["clerk", "idler"], [], []);
  const now = millis(j.START + 61_000);
  const at = (n: number) => {
    for (const entry of entries.splice(0, n)) fold.add(entry);
    const [clerk] = fold.view(now, []).agents;
    return { doing: clerk?.running.map(({ doing }) => doing), waiting: clerk?.waiting };
  };
  expect(at(6)).toEqual({ doing: ["asks offline/clerk"], waiting: 0 });
  expect(at(6)).toEqual({ doing: ["runs look_up"], waiting: 0 });
  expect(at(100)).toEqual({ doing: [], waiting: 0 });
  const { agents } = fold.view(now, []);
  expect(agents.map(({ agent, success, denial, turnMs }) => ({ agent, success, denial, turnMs }))).toEqual([
    { agent: "clerk", success: 1, denial: 0.25, turnMs: 900 },
    { agent: "idler", success: null, denial: null, turnMs: null },
  ]);
  expect(agents[0]?.series.turns.at(-1)).toBe(1);
});

test("Q-17 a turn under a halt is not at work: it is counted as halted, and as running again once the halt is lifted", () => {
  const one = { turns: 1, lastAt: millis(j.START), openQuestions: 0, state: "running" } as const;
  const fold = createFleetFold(
    ["clerk", "other"],
    [
      { ...one, session: sessionId("s_00000001"), agent: "clerk" },
      { ...one, session: sessionId("s_00000002"), agent: "other" },
      { ...one, session: sessionId("s_00000003"), agent: "clerk", state: "waiting", openQuestions: 1 },
    ],
    [],
  );
  const seen = (...scopes: readonly string[]) => {
    const { running, waiting, halted, agents } = fold.view(
      millis(j.START),
      scopes.map((scope) => ({ scope })),
    );
    return [running, waiting, halted, agents.map((row) => [row.running.length, row.waiting, row.halted])];
  };
  expect(seen("agent:clerk")).toEqual([
    1,
    1,
    1,
    [
      [0, 1, 1],
      [1, 0, 0],
    ],
  ]);
  expect(seen("all")).toEqual([
    0,
    1,
    2,
    [
      [0, 1, 1],
      [0, 0, 1],
    ],
  ]);
  expect(seen("tool:pay")).toEqual([
    2,
    1,
    0,
    [
      [1, 1, 0],
      [1, 0, 0],
    ],
  ]);
});

test("Q-8 votes are counted by policy and person, and told in words where one yes is not enough", () => {
  const ask = (id: string, quorum: number) => ({ policy: policyId(id), terms: { quorum } }) as Parameters<typeof findQuorum>[0][number];
  const vote = (by: string, ...counts: readonly string[]) => ({ by, counts: counts.map(policyId), grant: null });
  const told = (...votes: readonly ReturnType<typeof vote>[]) => quorumText(findQuorum([ask("a", 1), ask("b", 3)], votes));
  expect(told()).toBe("0 of 3 have said yes; 3 more are needed");
  expect(told(vote("user:ana", "a", "b"), vote("user:ana", "b"))).toBe("1 of 3 have said yes (user:ana); 2 more are needed");
  expect(told(vote("user:ana", "b"), vote("user:bo", "b"), vote("user:cy", "a"))).toBe(
    "2 of 3 have said yes (user:ana, user:bo); one more is needed",
  );
  expect(quorumText(findQuorum([ask("a", 1)], []))).toBeNull();
});

test("V-3 what waits is told with who may answer, and how many more have to", () => {
  const [, , third] = VIEW_CASES;
  const [waiting] = foldPendingApprovals(NO_PENDING_APPROVALS, j.VIEWED, "clerk", third?.entries ?? []).values();
  if (waiting === undefined) throw new Error("nothing waits");
  expect(toApprovalRow(waiting)).toMatchObject({
    tool: "write_file",
    touches: 'File::"a.txt"',
    missing: 1,
    quorum: { needed: 2, given: ["user:ben"] },
    votes: ["user:ben"],
    approvers: "anybody whom the policies let approve",
  });
  expect([timeLeft(null, 0), timeLeft(millis(5_000), 1_000), timeLeft(millis(5_000), 5_000)]).toEqual([null, "4 s left", "its time is up"]);
});

test("V-6 a set of policies is counted alike wherever it is told, and what is counted is said", () => {
  const paths = ["base.cedar", "base.cases.json", "cli/more.cedar", "agents/clerk.symbi#clerk", "agents/clerk.symbi#clerk#audit"];
  expect(setText(countSet(paths))).toBe("2 policy files, 1 decision table, rules of 1 agent");
  expect(setText(countSet(["base.cedar"]))).toBe("1 policy file");
  const files = paths.map((path) => ({ path, digest: digest("0".repeat(64)) }));
  const event = { kind: "policy.loaded", digest: digest("b".repeat(64)), files, texts: true, by: { kind: "system", id: "w" } } as const;
  const [line] = createNarrator()({ stream: POLICY, seq: seq(1), at: millis(0), event });
  expect(line?.text).toBe("policies bbbbbbbbbbbb in force: 2 policy files, 1 decision table, rules of 1 agent");
});

test("V-3 G-39 a record that ends because nobody knows what a call did is told, and so is whom a request is for", () => {
  const narrate = createNarrator();
  const told = (event: JournalEvent) =>
    narrate({ stream: sessionId("s_00000001"), seq: seq(1), at: millis(0), event }).map(({ text }) => text);
  const ended = (key: string | null, establishes: "subject" | null = null): JournalEvent => ({
    ...{ kind: "known.recorded", call: callId("1.0"), type: "order", set: "session", maxAgeSeconds: null, establishes, records: [] },
    skipped: [{ key, field: "key", why: "unknown" }],
  });
  expect([...told(ended("O-1\u202e")), ...told(ended(null)), ...told(ended("C-1", "subject"))]).toEqual([
    "order O-1\\u{202e} is on record no more: call 1.0 may have changed it",
    "no order is on record any more: call 1.0 may have changed any of them",
    "order C-1 is on record no more: call 1.0 may have changed it, and the session serves nobody",
  ]);
  const terms = { approvers: [], quorum: 1, expiresMs: null, grant: null, onExpiry: "deny" } as const;
  const ask = { policy: policyId("p"), question: "send it?", terms };
  const request = {
    kind: "approval.asked",
    approval: approvalId("a_1"),
    action: actionText("1.0"),
    digest: digest("0".repeat(64)),
  } as const;
  expect(told({ ...request, asks: [ask], expiresAt: null, again: null, labels: [], subject: "C-1" })).toEqual([
    "a_1: send it?, serving C-1",
  ]);
});

test("Q-23 what became of an approval request is said: who answered it, you or somebody by name, and what the call came to", () => {
  const at = millis(1);
  const answer = (by: string, answer: string, reason: string | null = null) => ({ by, answer, reason, at });
  const said = (state: QuestionItem["state"], ...answers: readonly ReturnType<typeof answer>[]) =>
    answeredText({ state, answers }, "user:ana");
  expect(said("approved", answer("user:ana", "approved"))).toBe("You approved it.");
  expect(said("approved", answer("user:bo", "approved"), answer("user:ana", "approved"))).toBe("Bo and you approved it.");
  expect(said("denied", answer("user:ana", "approved"), answer("user:bo", "denied", "not today"))).toBe("Bo denied it: not today.");
  expect(said("withdrawn", answer("user:ana", "withdrawn", "done by hand"))).toBe("You withdrew it: done by hand.");
  expect(said("edited", answer("user:bo", "edited"))).toBe("Bo approved it with other arguments.");
  expect(said("expired")).toBe("Nobody answered it in time.");
  expect(said("expired", answer("user:bo", "approved"))).toBe("Not enough people answered it in time.");
  expect(said("withdrawn")).toBe("Its turn ended before anybody answered.");
  const approval = approvalId("a_1");
  const question = { kind: "question", approval, call: "1.0", state: "approved", answers: [answer("user:bo", "approved")] };
  const view = (status: string, state = "approved") =>
    ({
      items: [
        { kind: "call", call: "1.0", status },
        { ...question, state },
      ],
    }) as unknown as Parameters<typeof findSettledApproval>[0];
  expect(findSettledApproval(view("done"), approval, null, null)).toEqual({ says: "Bo approved it. The call ran.", at });
  expect(findSettledApproval(view("asking"), approval, "user:bo", null)).toEqual({
    says: "You approved it. The call has not run yet.",
    at,
  });
  const halt = { scope: "agent:clerk", by: { kind: "user", id: "ana" }, reason: "look first", at } as const;
  expect(findSettledApproval(view("asking"), approval, null, halt)?.says).toContain(
    "It waits: agent clerk is halted by user:ana (look first)",
  );
  expect(findSettledApproval(view("done"), approval, null, halt)?.says).toBe("Bo approved it. The call ran.");
  expect(findSettledApproval(view("failed"), approval, null, null)?.says).toContain("The call ran and failed.");
  expect(findSettledApproval(view("asking", "open"), approval, null, null)).toBeNull();
});
