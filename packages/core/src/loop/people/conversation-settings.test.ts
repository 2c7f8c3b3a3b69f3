/** People clear or compact a conversation, or change its model, between turns. */
import { expect, test } from "vitest";
import type { Message, ModelRequest } from "../../reason/port.ts";
import { SUMMARY_SYSTEM } from "../../reason/summary.ts";
import { failure, reply, scriptedModel, world } from "../../testing/index.ts";
import { call, sha256, toolOf } from "../fixtures/stage.ts";
import { toHistory } from "../model/history.ts";

const textOf = (m: Message): string => ("text" in m ? m.text : m.parts.map((p) => p.text).join(" "));
const said = (r: ModelRequest | undefined): readonly string[] => (r?.messages ?? []).map(textOf);
const LONG = "a sentence that takes its room. ".repeat(40);

test("J-30 after a clear the model is shown nothing of before, labels stay, and a fork begins after it; whoever takes it up folds the same", async () => {
  const model = scriptedModel([reply.calls([call("look")]), reply.text("seen"), reply.text("hello"), reply.text("again")]);
  const w = world({ hash: sha256, model, tools: [toolOf("look", () => "theirs", { labels: undefined as never })] });
  await w.run("remember the heron");
  const labels = [...w.state().labels];
  expect(labels).not.toEqual([]);
  const before = w.state().window.tokens;
  await w.wish({ kind: "clear" });
  await w.go();
  expect(w.events("context.cleared")).toMatchObject([{ before, by: { kind: "user", id: "ann" } }]);
  expect([w.state().window.tokens, [...w.state().labels]]).toEqual([0, labels]);
  expect(toHistory(w.state()).history).toEqual([]);
  await w.say("what do you remember?");
  expect(said(model.asked[2])).toEqual(["what do you remember?"]);
  await w.say("and now?");
  expect(said(model.asked[3])).toEqual(["what do you remember?", "hello", "and now?"]);
  expect(JSON.stringify(w.entries())).toContain("remember the heron"); // the journal keeps it
  expect(w.state().window).toEqual({
    ...w.state().window,
    tokens: (model.asked[3]?.messages ?? []).reduce((n, m) => n + m.tokens, 0) + lastTokens(w.state().messages),
  });
});
const lastTokens = (messages: readonly Message[]): number => messages.at(-1)?.tokens ?? 0;

test("J-30 not while a turn is in progress, and twice is no harm", async () => {
  const model = scriptedModel([reply.text("one"), reply.text("two")]);
  const w = world({ hash: sha256, model });
  await w.run("first");
  await w.wish({ kind: "clear" });
  await w.wish({ kind: "clear" });
  await w.wish({ kind: "say", text: "second" });
  await w.wish({ kind: "clear" });
  await w.go();
  expect(w.events("context.cleared").map((e) => e.before > 0)).toEqual([true, false]);
  expect(w.events("intent.refused")).toMatchObject([{ wish: "clear", reason: expect.stringContaining("in progress") }]);
  expect(said(model.asked[1])).toEqual(["second"]);
});

test("J-30 compacting lets the oldest go at once, down to so many tokens and never below the newest; what it came to is on record", async () => {
  const model = scriptedModel([reply.text(LONG), reply.text(LONG), reply.text("short"), reply.text("last")]);
  const w = world({ hash: sha256, model, limits: { contextTokens: 4_000 } });
  await w.run("first");
  await w.say("second");
  await w.say("third");
  const before = w.state().window.tokens;
  await w.wish({ kind: "compact", tokens: 400 });
  await w.go();
  expect(w.events("context.compact-asked")).toMatchObject([{ tokens: 400 }]);
  const [done] = w.events("context.compacted");
  expect(done).toMatchObject({ how: "window", before });
  expect(done?.after).toBeLessThanOrEqual(400);
  expect(w.state().window.tokens).toBe(done?.after);
  await w.wish({ kind: "compact", tokens: 0 });
  await w.wish({ kind: "compact", tokens: null }); // half of what may be: there is less
  await w.go();
  expect(w.events("context.compact-asked").at(-1)?.tokens).toBe(2_000);
  expect(w.state().window.tokens).toBeGreaterThan(0);
  await w.say("fourth");
  expect(said(model.asked[3])).toContain("fourth");
  expect(said(model.asked[3])).not.toContain("first");
});

test("J-30 an agent that masks shows old results as a line before anything goes", async () => {
  const model = scriptedModel([reply.calls([call("look", "1")]), reply.calls([call("look", "2")]), reply.text("done")]);
  const w = world({ hash: sha256, model, context: { kind: "mask", keep: 1 }, tools: [toolOf("look", () => LONG, { repeat: "read" })] });
  await w.run("go");
  const { tokens } = w.state().window;
  await w.wish({ kind: "compact", tokens: tokens - 50 });
  await w.go();
  expect(w.events("context.compacted").map(({ how, before }) => [how, before])).toEqual([["mask", tokens]]);
});

test.each([
  ["sums up before the next request", reply.text("They spoke of herons."), ["summarise"]],
  ["lets the oldest go where there is no summary", failure("no", { again: false }), ["window"]],
])("J-30 an agent that sums up %s", async (_, step, how) => {
  const model = scriptedModel([reply.text(LONG), reply.text(LONG), step, reply.text("last")]);
  const w = world({
    hash: sha256,
    model,
    limits: { contextTokens: 8_000, outputTokens: 400 },
    context: { kind: "summarise", keep: 1, model: null },
  });
  await w.run("first");
  await w.say("second");
  await w.wish({ kind: "compact", tokens: 400 });
  await w.go();
  expect(w.events("context.compacted")).toEqual([]);
  expect(w.state().compactTo).toBe(400);
  await w.say("third");
  expect(model.asked[2]?.system).toBe(SUMMARY_SYSTEM);
  expect(w.events("context.compacted").map((e) => e.how)).toEqual(how);
  expect(w.state()).toMatchObject({ compactTo: null, last: { ending: "completed" } });
  expect(said(model.asked[3])).toContain("third");
});

test("J-30 the turns after a choice begin with the model that was chosen, decided on like any; what follows it stands in for it", async () => {
  const own = scriptedModel([reply.text("own"), reply.text("own again")], { id: "own/model" });
  const first = scriptedModel([reply.text("first"), failure("broke", { again: false })], { id: "other/1" });
  const second = scriptedModel([reply.text("second")], { id: "other/2" });
  const w = world({ hash: sha256, model: own, fallbacks: [{ model: first }, { model: second }] });
  await w.run("one");
  await w.wish({ kind: "choose-model", model: "other/1" });
  await w.wish({ kind: "choose-model", model: "nobody/knows" });
  await w.go();
  await w.say("two");
  await w.say("three");
  await w.wish({ kind: "choose-model", model: "own/model" });
  await w.go();
  await w.say("four");
  expect(w.events("model.replied").map((e) => e.model)).toEqual(["own/model", "other/1", "other/2", "own/model"]);
  expect(w.events("intent.refused")).toMatchObject([
    { wish: "choose-model", reason: expect.stringContaining("own/model, other/1, other/2") },
  ]);
  const decided = w.events("gate.decided").flatMap((e) => (e.action.kind === "model" ? [e.action.model] : []));
  expect(decided).toEqual(["own/model", "other/1", "other/1", "other/2", "own/model"]);
});

test("J-30 a crash around any commit neither loses such a wish nor does it twice", async () => {
  for (const when of ["before", "after"] as const)
    for (let nth = 0; nth < 8; nth += 1) {
      const model = scriptedModel(
        [...Array(4)].map(() => reply.text(LONG)),
        { id: "own/model" },
      );
      const w = world({ hash: sha256, model, crashes: [{ of: "append", when, nth }] });
      await w.run("first");
      await w.wish({ kind: "compact", tokens: 1 });
      await w.wish({ kind: "choose-model", model: "own/model" });
      await w.wish({ kind: "clear" });
      await w.go();
      const at = `${when} ${nth}`;
      expect([at, w.events("context.compact-asked").length, w.events("model.chosen").length, w.events("context.cleared").length]).toEqual([
        at,
        1,
        1,
        1,
      ]);
      expect([at, w.state().window.tokens]).toEqual([at, 0]);
    }
});
