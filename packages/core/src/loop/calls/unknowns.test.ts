import { expect, test } from "vitest";
import { reply } from "../../testing/index.ts";
import { callId, millis, sessionId } from "../../vocab/index.ts";
import { APPROVE, open, pay, REST, say, sha256, stage, toolOf } from "../fixtures/stage.ts";
import type { Ports } from "../ports.ts";

const there = sessionId("s_elsewhere001");
const lostOnce = { crashes: [{ of: "effect", when: "after", nth: 0 } as const] };

test("G-4 an unknown of one session makes a look-alike in another ask, and names both; another resource does not", async () => {
  const steps = [
    ...[reply.calls([pay("a")]), reply.text("lost")],
    ...[reply.calls([pay("b"), pay("a", "again")]), reply.text("done")],
    ...[reply.calls([pay("a")]), reply.text("done")],
  ];
  const { w, ran, model } = stage(steps, REST, lostOnce);
  const first = await w.run("go");
  expect([...first.unknowns.keys()]).toEqual(["1.0"]);
  await w.run("go");
  expect(w.session()).not.toBe(first.session);
  expect(ran).toEqual(["a", "b"]);
  const name = `${first.session}/1.0`;
  expect(open(w)).toMatchObject([
    { action: "1.1", asks: [{ policy: `orgate:unknown-open/${name}`, question: expect.stringContaining(`pay (${name})`) }] },
  ]);
  await say(w, APPROVE);
  await w.go();
  expect(ran).toEqual(["a", "b", "a"]); // a person may want it all the same
  expect(w.disk.unknowns.map((u) => u.session)).toEqual([first.session]); // and has said nothing of the first

  w.turnTo(first.session);
  await w.wish({ kind: "resolve", call: callId("1.0"), as: "did-not-happen", note: "" });
  await w.go();
  expect(w.disk.unknowns).toEqual([]);
  expect((await w.run("go")).last).toMatchObject({ ending: "completed" });
  expect(w.events("approval.asked")).toEqual([]);
  expect(ran).toEqual(["a", "b", "a", "a"]);
  model.done();
});

test("G-4 a call that waited for its place asks when another session has left one like it unknown meanwhile", async () => {
  const slow = toolOf("slow", () => {
    const at = { tool: "pay", resource: { type: "Account", id: "a" }, digest: sha256("other"), at: millis(0) };
    w.disk.unknowns.push({ session: there, call: callId("7.0"), cause: "timed-out", ...at });
    return "done";
  });
  const steps = [reply.calls([{ tool: "slow", args: { x: "1" }, id: "s" }, pay("a"), pay("b")]), reply.text("done")];
  const { w, ran } = stage(steps, REST, { tools: [slow], limits: { toolsAtOnce: 1 } });
  await w.run("go");
  expect(ran).toEqual(["b"]);
  expect(open(w)).toMatchObject([{ action: "1.1", asks: [{ policy: `orgate:unknown-open/${there}/7.0` }] }]);
});

test("G-4 what another session leaves unknown between the decision and the start is seen before the start", async () => {
  const resource = { type: "Account", id: "a" };
  const found = {
    session: there,
    call: callId("7.0"),
    cause: "timed-out",
    tool: "pay",
    resource,
    digest: sha256("other"),
    at: millis(0),
  } as const;
  let looks = 0;
  const spoil = (p: Ports): Ports => ({ ...p, journal: { ...p.journal, unknownsLike: () => (looks++ === 0 ? [] : [found]) } });
  const { w, ran } = stage([reply.calls([pay("a")]), reply.text("done")], REST, { spoil });
  await w.run("go");
  expect(ran).toEqual([]);
  expect(w.events("gate.decided").flatMap((e) => (e.id === "1.0" ? [e.verdict.kind] : []))).toEqual(["allow", "ask"]);
});
