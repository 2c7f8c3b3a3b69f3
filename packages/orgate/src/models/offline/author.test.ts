import { formatSymbi } from "@orgate/symbi";
import { expect, test } from "vitest";
import * as z from "zod";
import { writeAgentDraft } from "./author.ts";

const saved = z.object({ content: z.string() });
const TOOLS = JSON.stringify({
  tools: ["read_note", "save_note"].map((name) => ({ name, description: "", effects: ["read"] })),
});
/** Its text and proposals after its calls returned what `validated` says. */
const asked = (input: string, validated?: string) =>
  writeAgentDraft({
    input,
    results: [
      { tool: "list_tools", text: TOOLS, isError: false },
      ...(validated === undefined ? [] : [{ tool: "validate_dsl", text: validated, isError: false }]),
    ],
  });

test.each([
  "How would you write an agent keeper that reads notes?",
  "show me an agent keeper that reads notes",
  "sketch an agent keeper that reads notes",
])("S-21 `%s` is answered with the file, validated, and no call that saves", (question) => {
  const [validation] = asked(question).calls;
  expect(validation).toMatchObject({ tool: "validate_dsl", args: { path: "agents/keeper.symbi" } });
  const { say, calls } = asked(question, "valid: agents/keeper.symbi");
  expect(calls).toEqual([]);
  expect(say).toMatch(/^I would write agents\/keeper\.symbi, and have saved nothing:[\s\S]*capabilities = \[read_note\]/);
});

test("S-21 the same words as a request are saved, in the language's one layout", () => {
  for (const request of ["write an agent keeper that reads notes", "author a behavior summary(text) that sums up a text"]) {
    const [call] = asked(request, "valid: it").calls;
    expect(call?.tool).toBe("save_artifact");
    const { content } = saved.parse(call?.args);
    expect(formatSymbi(content, "x.symbi")).toEqual({ kind: "text", text: content });
  }
});
