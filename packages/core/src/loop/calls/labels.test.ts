import { expect, test } from "vitest";
import { reply } from "../../testing/index.ts";
import type { Effect } from "../../vocab/index.ts";
import { call, REST, stage, toolOf } from "../fixtures/stage.ts";

const EFFECTS: readonly Effect[] = ["read", "write", "execute", "network", "spend"];

test.each(EFFECTS)(
  "G-34 the output of a tool that %ss is untrusted unless its definition says otherwise, and so is its failure",
  async (effect) => {
    const own = toolOf("own", () => "mine", { effects: [effect] });
    const says = toolOf("says", () => "theirs", { effects: [effect], labels: undefined as never });
    const fails = toolOf("fails", () => Promise.reject(new Error("theirs")), { effects: [effect], labels: undefined as never });
    for (const [tool, labels] of [
      [own, []],
      [says, ["untrusted"]],
      [fails, ["untrusted"]],
    ] as const) {
      const { w } = stage([reply.calls([call(tool.name)]), reply.text("done")], REST, { tools: [tool] });
      await w.run("go");
      expect([...w.state().labels]).toEqual(labels);
      const kinds = w.entries().map(({ event: e }) => e.kind);
      if (labels.length > 0) expect(kinds.indexOf("labels.added")).toBeLessThan(kinds.indexOf("act.ended")); // nothing is decided in between
    }
  },
);

test("G-34 what a lost call may still say labels the session when it is given up", async () => {
  const lost = toolOf("lost", () => "theirs", { labels: undefined as never });
  const { w } = stage([reply.calls([call("lost")]), reply.text("done")], REST, {
    tools: [lost],
    crashes: [{ of: "effect", when: "after", nth: 0 }],
  });
  await w.run("go");
  expect(w.events("act.ended")[0]?.outcome.kind).toBe("unknown");
  expect([...w.state().labels]).toEqual(["untrusted"]);
});

test("G-33 a label that was taken off is off for the next decision, also for whoever takes the session up", async () => {
  const says = toolOf("says", () => "theirs", { labels: undefined as never });
  const rows = [
    { id: "clean", action: "tool:pay", labels: ["untrusted"], verdict: "deny" as const },
    { id: "unlabel", action: "remove-label", verdict: "allow" as const },
    ...REST,
  ];
  const steps = [
    reply.calls([call("says")]),
    reply.calls([call("pay")]),
    reply.text("one"),
    reply.calls([call("pay", "2")]),
    reply.text("two"),
  ];
  const { w, ran } = stage(steps, rows, { tools: [says] });
  await w.run("go");
  expect(ran).toEqual([]);
  await w.wish({ kind: "unlabel", labels: [...w.state().labels], why: "I have read it" });
  await w.go();
  expect(w.events("labels.removed")).toMatchObject([{ labels: ["untrusted"], by: { kind: "user", id: "ann" }, why: "I have read it" }]);
  await w.say("again");
  expect(ran).toEqual(["2"]);
});
