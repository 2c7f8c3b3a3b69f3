import { defineTool, type Tool } from "@orgate/core";
import { reply, scriptedModel, world } from "@orgate/core/testing";
import { expect, test } from "vitest";
import * as z from "zod";
import { sha256 } from "../node/crypto.ts";
import { cedarEngine } from "../policies/cedar-engine.ts";

const engine = cedarEngine();
const pay: Tool = defineTool({
  name: "pay",
  description: "Pays.",
  input: z.strictObject({ to: z.string() }),
  effects: ["spend"],
  targets: { to: "account" },
  run: () => "paid",
});
const BASE = 'permit(principal, action in [Action::"model", Action::"respond"], resource);\n';
const script = (...to: readonly string[]) =>
  scriptedModel([...to.map((one) => reply.calls([{ tool: "pay", args: { to: one }, id: `c${one}` }])), reply.text("done")]);
const stage = (text: string, ...to: readonly string[]) =>
  world({ hash: sha256, model: script(...to), tools: [pay], policies: { text: BASE + text, engine }, groups: { ann: ["operators"] } });
const verdicts = (w: ReturnType<typeof stage>) =>
  w.events("gate.decided").flatMap((e) => (e.action.kind === "call" ? [`${e.verdict.kind} ${e.verdict.because.join()}`] : []));

test("G-23 a world is decided by Cedar: counters, facts and people as in a project, and nothing that is not permitted", async () => {
  const limited = stage(
    '@id("few") permit(principal, action == Action::"tool:pay", resource) when { context.facts.to.touched.day < 1 };',
    "bob",
    "bob",
    "eve",
  );
  await limited.run("pay");
  expect(verdicts(limited)).toEqual(["allow world/few", "deny ", "allow world/few"]);

  const asking = stage(
    `@id("ask") @ask("pay?") @approvers("operators") permit(principal, action == Action::"tool:pay", resource);
     permit(principal in UserGroup::"operators", action == Action::"approve", resource);`,
    "bob",
  );
  await asking.run("pay");
  const [question] = [...(asking.state().turn?.questions.values() ?? [])];
  if (question === undefined) throw new Error("nothing was asked");
  await asking.wish({ kind: "answer", approval: question.approval, digest: question.digest, answer: { kind: "approve" } });
  expect((await asking.go()).last?.ending).toBe("completed");
  expect(verdicts(asking)).toEqual(["ask world/ask", "allow world/ask"]);
});

test("G-23 policies that do not load fail the test that brings them, with every place", () => {
  expect(() => stage('permit(principal, action == Action::"tool:pay", resource) when { context.args has too };')).toThrow(
    /world\.cedar:2:79: `context\.args has too` is never true/,
  );
});
