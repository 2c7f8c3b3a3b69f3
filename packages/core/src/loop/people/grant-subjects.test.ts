/** Grants and approvals are for whom the session served when it asked: what was allowed for one customer is allowed for no other. */
import { expect, test } from "vitest";
import type { Row } from "../../gate/table.ts";
import { reply, type Step } from "../../testing/index.ts";
import { type Answer, label, millis } from "../../vocab/index.ts";
import { fold } from "../evolve.ts";
import { APPROVE, call, open, REST, say, stage, toolOf } from "../fixtures/stage.ts";

const note = (id: string) => call("note", "1", id);
const signIn = (whom: string, id: string) => call("sign_in", whom, id);
const until = (when: "session" | number): Answer => ({
  kind: "grant",
  grant: { scope: "tool", until: typeof when === "number" ? millis(when) : when },
});

/** `note` needs a person; `sign_in` says whom the session serves from then on. */
function serving(steps: readonly Step[], grant = "tool session") {
  const noted: string[] = [];
  const tools = [
    toolOf("note", () => String(noted.push("noted"))),
    toolOf("sign_in", ({ x }) => ({ id: x }), {
      effects: ["read"],
      repeat: "read",
      records: [{ type: "customer", key: "id", establishes: "subject" }],
    }),
    toolOf("fetch", () => "read", { effects: ["read"], repeat: "read", labels: ["untrusted"] }),
  ];
  const rows: readonly Row[] = [{ id: "ask-note", action: "tool:note", verdict: "ask", terms: { grant } }, ...REST];
  return { ...stage(steps, rows, { tools }), noted };
}
const calls = (...each: readonly ReturnType<typeof call>[]): Step => reply.calls([...each]);

test("Q-9 a grant for the session covers nothing once the session serves somebody else, and the request says why and shows whom it serves", async () => {
  const steps = [
    calls(signIn("C-1", "a")),
    calls(note("b")),
    calls(note("c")),
    calls(signIn("C-2", "d")),
    calls(note("e")),
    calls(signIn("C-1", "f")),
    calls(note("g")),
    reply.text("ok"),
  ];
  const { w, noted } = serving(steps);
  await w.run("go");
  expect(w.events("approval.asked")).toMatchObject([{ subject: "C-1" }]);
  await say(w, until("session"));
  await w.go();
  expect([noted.length, open(w)]).toMatchObject([2, [{ subject: "C-2" }]]);
  expect(w.events("approval.asked")[1]).toMatchObject({
    subject: "C-2",
    again: expect.stringMatching(/^grant g_\S+ was given for another subject than the session serves$/),
  });
  expect(await w.grants()).toMatchObject([{ subject: "C-1" }]);
  await say(w, APPROVE);
  await w.go();
  expect([noted.length, w.events("grant.used").length, open(w)]).toEqual([4, 2, []]); // serving C-1 again it covers again
});

test("Q-9 a grant with a time covers only sessions that serve the same; one given for nobody covers none that serve somebody, nor the reverse", async () => {
  const session = (whom: string | null): readonly Step[] => [
    ...(whom === null ? [] : [calls(signIn(whom, "a"))]),
    calls(note("b")),
    reply.text("ok"),
  ];
  const given = async (first: string | null, others: readonly (string | null)[]): Promise<readonly boolean[]> => {
    const { w, noted } = serving([...session(first), ...others.flatMap(session)], "tool 1h");
    await w.run("go");
    await say(w, until(w.clock.now() + 3_000_000));
    await w.go();
    const covered: boolean[] = [];
    for (const _ of others) {
      const before = noted.length;
      await w.run("go");
      covered.push(noted.length > before);
      for (const _ of open(w)) await say(w, { kind: "deny", reason: "not now" });
      await w.go();
    }
    return covered;
  };
  expect(await given("C-1", ["C-2", "C-1", null])).toEqual([false, true, false]);
  expect(await given(null, ["C-1", null])).toEqual([false, true]);
});

test("Q-1 Q-9 an answer is for whom the session served when it asked: another subject by the time of the answer, and a person is asked again; a grant of that answer is for the one that was shown", async () => {
  for (const [answer, grants] of [
    [APPROVE, []],
    [until("session"), [{ subject: "C-1" }]],
  ] as const) {
    const { w, noted } = serving([calls(signIn("C-1", "a")), calls(note("b"), signIn("C-2", "c")), reply.text("ok")]);
    await w.run("go");
    expect([open(w).map(({ subject }) => subject), w.state().subject?.id]).toEqual([["C-1"], "C-2"]);
    await say(w, answer);
    await w.go();
    expect([noted, open(w).map(({ subject }) => subject)]).toEqual([[], ["C-2"]]);
    expect(w.events("approval.asked")[1]?.again).toBe("the session serves another subject by now");
    expect(await w.grants()).toMatchObject(grants);
    await say(w, APPROVE);
    await w.go();
    expect(noted.length).toBe(1);
  }
});

test("Q-9 a request carries the labels and the subject that were shown with it; of one from before they were kept, the entries before it say them", async () => {
  const { w } = serving([calls(signIn("C-1", "a"), call("fetch", "x")), calls(note("b")), reply.text("ok")]);
  await w.run("go");
  expect(w.events("approval.asked")).toMatchObject([{ subject: "C-1", labels: [label("untrusted")] }]);
  const older = w.entries().map((entry) => {
    if (entry.event.kind !== "approval.asked") return entry;
    const { subject: _s, labels: _l, ...event } = entry.event;
    return { ...entry, event };
  });
  expect([...(fold(older)?.turn?.questions.values() ?? [])]).toEqual([...(w.state().turn?.questions.values() ?? [])]);
});
