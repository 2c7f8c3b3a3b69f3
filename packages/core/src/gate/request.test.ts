import fc from "fast-check";
import { expect, test } from "vitest";
import { type Action, digest } from "../vocab/index.ts";
import { actionDigest, actionDigests } from "./request.ts";

const hash = (text: string) => digest(`<${text}>`);
const name = fc.constantFrom("a", "b", "a:b", "");
const action: fc.Arbitrary<Action> = fc.oneof(
  fc.record({ kind: fc.constant("model" as const), model: name }),
  fc.record({
    kind: fc.constant("respond" as const),
    to: fc.record({ kind: fc.constantFrom("user" as const, "agent" as const), id: name }),
  }),
);

test("P2 a digest that is remembered is the one that would be made: nobody and nothing else has it", () =>
  fc.assert(
    fc.property(fc.array(fc.tuple(action, fc.record({ agent: name, onBehalfOf: name })), { maxLength: 20 }), (asked) => {
      const remembering = actionDigests(hash);
      for (const [what, who] of asked) expect(remembering(what, who)).toBe(actionDigest(what, who, hash));
    }),
  ));
