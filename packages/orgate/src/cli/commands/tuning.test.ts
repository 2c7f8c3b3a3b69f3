// The command line's words for what a person changes of a conversation between turns.
import { afterAll, expect, test } from "vitest";
import { expectRefusals, makeDesk } from "./fixtures/desk.ts";

const desk = makeDesk();
afterAll(desk.remove);

test("J-30 clear, compact and another model from the command line: signed, journalled, and told what became of it", async () => {
  await desk.orgate("run", "desk", "--input", "remember the heron", "--id", "mine");
  const kinds = async (): Promise<readonly string[]> => {
    const { stdout } = await desk.orgate("sessions", "show", "mine", "--json");
    return [...stdout.matchAll(/"kind":"(context\.[a-z-]+|model\.chosen)"/g)].flatMap(([, kind]) => (kind === undefined ? [] : [kind]));
  };
  const compacted = await desk.orgate("sessions", "compact", "mine", "--tokens", "1");
  expect([compacted.code, compacted.stdout]).toEqual([0, expect.stringContaining("wants no more than 1 tokens")]);
  expect((await desk.orgate("sessions", "model", "mine", "offline/desk")).stdout).toContain("chose the model offline/desk");
  const cleared = await desk.json("sessions", "clear", "mine");
  expect(cleared).toMatchObject({ state: "taken", event: { kind: "context.cleared" } });
  expect(await kinds()).toEqual(["context.compact-asked", "context.compacted", "model.chosen", "context.cleared"]);
  await expectRefusals(desk, [
    [["sessions", "model", "mine", "nobody/knows"], 1, "its agent has no model `nobody/knows`: it has offline/desk"],
    [["sessions", "compact", "mine", "--tokens", "some"], 2, "--tokens is `some`"],
    [["sessions", "clear", "no-such"], 1, "no-such"],
  ]);
});
