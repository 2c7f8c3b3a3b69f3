/**
 * Tests for presence (`X has a`) in a policy. Cedar types `has` on an attribute that does not exist as false and says nothing, so `unless { context.args has
 * attachmnts }` would load and never hold. Each test becomes a policy that can apply only if the test can be true; the official validator is asked about it.
 */
import type { PolicyJson } from "./engine.ts";
import { type Chain, toChain } from "./slice.ts";

export type HasTest = Readonly<{
  /** Null where the left side is no plain attribute chain. */
  base: Chain | null;
  attrs: readonly string[];
  /** Of the tests of the policy with these attributes, in the order of its text. */
  nth: number;
  /** Applies where evaluation comes to this test and it is true. */
  holds: PolicyJson;
  /** Applies where evaluation comes to this test. */
  reached: PolicyJson;
}>;

/** Chains that are read, not only tested for. */
export type PresenceTests = Readonly<{ tests: readonly HasTest[]; reads: readonly Chain[] }>;

const not = (arg: unknown): unknown => ({ "!": { arg } });
const OPERANDS = ["left", "right", "arg", "in"] as const;

export function findPresenceTests(policy: PolicyJson): PresenceTests {
  const tests: HasTest[] = [];
  const reads: Chain[] = [];
  const seen = new Map<string, number>();
  const only = (conditions: readonly unknown[]): PolicyJson => ({
    ...policy,
    conditions: conditions.map((body) => ({ kind: "when", body })),
  });

  function found(
    expr: unknown,
    { left, attr }: { readonly left: unknown; readonly attr: string | readonly string[] },
    before: readonly unknown[],
  ): void {
    const attrs = typeof attr === "string" ? [attr] : attr;
    const key = JSON.stringify(attrs);
    const nth = seen.get(key) ?? 0;
    seen.set(key, nth + 1);
    tests.push({ base: toChain(left), attrs, nth, holds: only([...before, expr]), reached: only(before) });
  }

  /** `before`: what is true when evaluation comes here. In the order of the text. */
  function visit(expr: unknown, before: readonly unknown[]): void {
    const chain = toChain(expr);
    if (chain !== null) {
      reads.push(chain);
      return;
    }
    const [[op, body] = ["", null]] = Object.entries(typeof expr === "object" && expr !== null ? expr : {}) as [string, unknown][];
    if (op === "Value" || typeof body !== "object" || body === null) return;
    const { left, right, if: test, then, else: otherwise } = body as Record<string, unknown>;
    if (op === "has") {
      if (toChain(left) === null) visit(left, before);
      found(expr, body as { left: unknown; attr: string | readonly string[] }, before);
    } else if (op === "&&" || op === "||") {
      visit(left, before);
      visit(right, [...before, op === "&&" ? left : not(left)]);
    } else if (op === "if-then-else") {
      visit(test, before);
      visit(then, [...before, test]);
      visit(otherwise, [...before, not(test)]);
    } else if (op === "Record" || Array.isArray(body)) for (const inner of Object.values(body)) visit(inner, before);
    else for (const name of OPERANDS) if (Object.hasOwn(body, name)) visit((body as Record<string, unknown>)[name], before);
  }

  const before: unknown[] = [];
  for (const { kind, body } of policy.conditions) {
    visit(body, [...before]);
    before.push(kind === "unless" ? not(body) : body);
  }
  return { tests, reads };
}
