import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import type { Hash } from "../vocab/index.ts";
import { withChosenModel, withDefaultModel } from "./agent-model.ts";
import { defineAgent, equipAgent } from "./define-agent.ts";
import { NO_RESOURCES } from "./skills/agent-skills.ts";

const sha: Hash = (text) => createHash("sha256").update(text).digest("hex") as ReturnType<Hash>;
const plain = (more: object = {}) => defineAgent({ name: "a", instructions: "x", ...more });

describe("M-19 the default of a project", () => {
  test("M-19 is the model of an agent that names none, with its price and tokenizer, and of no other", () => {
    const agent = withDefaultModel(plain(), "openai/gpt-4.1");
    expect(agent).toMatchObject({
      model: "openai/gpt-4.1",
      modelSource: "project",
      prices: { input: 2, output: 8 },
      tokenizer: "o200k_base",
      warnings: [],
    });
    const own = plain({ model: "offline/own" });
    expect(withDefaultModel(own, "openai/gpt-4.1")).toBe(own);
    expect(withDefaultModel(plain(), null)).toMatchObject({
      model: "offline/echo",
      modelSource: "built-in",
      warnings: [expect.stringContaining("[models] default")],
    });
  });

  test("M-19 leaves out what only the offline model reads, and keeps the rest", () => {
    const agent = plain({ modelOptions: { rules: [{ say: "hi" }], delayMs: 1, idleMs: 5 } });
    expect(withDefaultModel(agent, "openai/gpt-4.1").modelOptions).toEqual({ idleMs: 5 });
    expect(withDefaultModel(agent, "offline/other").modelOptions).toEqual({ rules: [{ say: "hi" }], delayMs: 1 });
  });

  test("M-19 costs what the project says, and a limit on money needs a price", () => {
    const priced = equipAgent(plain({ limits: { cents: 5 } }), { ...NO_RESOURCES, prices: { "p/m": { input: 1, output: 2 } } });
    expect(withDefaultModel(priced, "p/m").prices).toEqual({ input: 1, output: 2 });
    expect(() => withDefaultModel(priced, "p/other")).toThrow("the price of the model is not known: `p/other`");
    expect(() => withDefaultModel(plain(), "gpt")).toThrow('`model` is "gpt"');
  });
});

describe("M-19 a model chosen for a session", () => {
  test("M-19 wins, without the options of another provider; fallbacks still stand in; what is named already is asked as it is", () => {
    const agent = plain({ model: "anthropic/x", fallbacks: ["p/y", "p/z"], modelOptions: { idleMs: 5 } });
    expect(withChosenModel(agent, "p/new")).toMatchObject({
      model: "p/new",
      modelSource: "session",
      modelOptions: {},
      fallbacks: [{ model: "p/y" }, { model: "p/z" }],
    });
    expect(withChosenModel(agent, "anthropic/new").modelOptions).toEqual({ idleMs: 5 });
    for (const named of [null, "anthropic/x", "p/z"]) expect(withChosenModel(agent, named)).toBe(agent);
  });

  test("M-19 an agent that names no model has its rules on the offline model, also where the project has a live default", () => {
    const agent = withDefaultModel(plain({ modelOptions: { rules: [{ say: "hi" }], idleMs: 5 } }), "openai/gpt-4.1");
    expect(withChosenModel(agent, "offline/echo").modelOptions).toEqual({ rules: [{ say: "hi" }] });
    expect(withChosenModel(agent, "p/new").modelOptions).toEqual({ idleMs: 5 });
  });

  test("M-19 is another digest, the same for the same model, and the agent's own is as it was", () => {
    const agent = plain({ model: "anthropic/x" });
    const [one, two] = [withChosenModel(agent, "p/new"), withChosenModel(agent, "p/new")];
    expect(one.digest(sha)).toBe(two.digest(sha));
    expect(new Set([agent, one, withChosenModel(agent, "p/other")].map((a) => a.digest(sha))).size).toBe(3);
  });
});

test("M-2 the offline model is free", () => {
  expect(plain().prices).toEqual({ input: 0, output: 0 });
  expect(plain({ model: "offline/clerk", limits: { cents: 1 } }).prices).toEqual({ input: 0, output: 0 });
  expect(plain({ model: "offline/clerk", prices: { input: 1, output: 2 } }).prices).toEqual({ input: 1, output: 2 });
});
