import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  BUDGET_OF,
  ORCHESTRATIONS,
  type Orchestration,
  orchestrationText,
  readOrchestration,
  refuseOrchestration,
} from "./orchestration.ts";

const plans: fc.Arbitrary<Orchestration> = fc
  .record({
    kind: fc.constantFrom(...ORCHESTRATIONS),
    members: fc.array(fc.constantFrom("ann", "b-2", "c.d", "E_e"), { minLength: 2, maxLength: 12 }),
    task: fc.string({ unit: "grapheme", minLength: 1, maxLength: 60 }).filter((text) => text.trim() !== ""),
    rounds: fc.integer({ min: 1, max: 10 }),
    budget: fc.dictionary(fc.constantFrom(...BUDGET_OF), fc.integer({ min: 24, max: 1_000_000 })),
  })
  .map((plan) => (plan.kind === "debate" ? { ...plan, members: plan.members.slice(0, 2) } : { ...plan, rounds: 1 }));

const typed = (line: string) => readOrchestration(line, "typed");

describe("a plan as a line", () => {
  test("S-16 what is written of a plan is read back as the same plan, whatever its task says", () => {
    fc.assert(
      fc.property(plans, (plan) => {
        expect(readOrchestration(orchestrationText(plan), "written")).toEqual({
          kind: "plan",
          plan: { ...plan, task: plan.task.toWellFormed() },
        });
        expect(orchestrationText(plan)).not.toContain("\n");
      }),
      { numRuns: 200 },
    );
  });

  test("S-16 a typed line: quotes, quotes within, a task after dashes, an @ before a name, rounds and a budget anywhere before the task", () => {
    const plan = { kind: "chain", members: ["a", "b"], task: 'say "hi" now', rounds: 1, budget: {} };
    expect(typed('/chain a b "say \\"hi\\" now"')).toEqual({ kind: "plan", plan });
    expect(typed('/chain @a @b "say "hi" now"')).toEqual({ kind: "plan", plan });
    expect(typed('/chain a b -- say "hi" now')).toEqual({ kind: "plan", plan });
    expect(typed('/chain a b "C:\\new"')).toMatchObject({ plan: { task: "C:\\new" } });
    expect(typed('/debate a b 3 --budget 9000 "tea?"')).toMatchObject({ plan: { rounds: 3, budget: { tokens: 9000 } } });
    expect(typed('/debate --budget tokens=9000,cents=5 a b "tea?"')).toMatchObject({
      plan: { rounds: 2, budget: { tokens: 9000, cents: 5 } },
    });
    expect(typed("/chains a b")).toEqual({ kind: "none" });
    expect(typed("hello")).toEqual({ kind: "none" });
  });

  test.each([
    ["/chain a b", "the task is missing: put it in quotes at the end"],
    ['/chain a b ""', "the task is missing: put it in quotes at the end"],
    ['/chain a "t"', "chain takes at least two agents, and 1 is named"],
    ['/debate a b c "t"', "a debate is between two agents, and 3 are named"],
    ['/debate a b 11 "t"', "a debate has 1 to 10 rounds, not 11"],
    ['/race a b! "t"', "`b!` is no name of an agent"],
    ['/race a b --fast "t"', "`--fast` is no option: there is --budget"],
    ['/race a b --budget lots "t"', "`lots` is no budget: write 20000 (tokens), or tokens=20000,iterations=12,calls=30,cents=50"],
    [
      '/parallel a b c --budget iterations=2 "t"',
      "the budget is 2 iterations, and there are 3 steps to share it: each needs at least 1 of them",
    ],
  ])("S-16 what cannot be is refused with the reason: %s", (line, detail) => {
    expect(typed(line)).toEqual({ kind: "wrong", detail });
  });

  test("S-16 twelve members are the most", () => {
    expect(refuseOrchestration({ kind: "parallel", members: Array(13).fill("a"), task: "t", rounds: 1, budget: {} })).toContain(
      "at most 12",
    );
  });
});
