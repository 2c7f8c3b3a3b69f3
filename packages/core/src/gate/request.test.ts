import fc from "fast-check";
import { expect, test } from "vitest";
import { type Action, callId, digest, freezeOwn, type ProposedCall, type Tool } from "../vocab/index.ts";
import { applyContract, computeActionDigest, createActionDigester } from "./request.ts";

const hash = (text: string) => digest(`<${text}>`);
const name = fc.constantFrom("a", "b", "a:b", "");
const action: fc.Arbitrary<Action> = fc.oneof(
  fc.record({ kind: fc.constant("model" as const), model: name }),
  fc.record({
    kind: fc.constant("respond" as const),
    to: fc.record({ kind: fc.constantFrom("user" as const, "agent" as const), id: name }),
  }),
);

test("P-2 a digest that is remembered is the one that would be made: nobody and nothing else has it", () =>
  fc.assert(
    fc.property(fc.array(fc.tuple(action, fc.record({ agent: name, onBehalfOf: name })), { maxLength: 20 }), (asked) => {
      const remembering = createActionDigester(hash);
      for (const [what, who] of asked) expect(remembering(what, who)).toBe(computeActionDigest(what, who, hash));
    }),
  ));

test("P-2 the digest of a call is remembered for the very same frozen call, and made anew for any other, whatever its id", () =>
  fc.assert(
    fc.property(
      fc.array(fc.record({ path: name, isFrozen: fc.boolean(), id: fc.constantFrom("1.0", "1.1"), agent: name }), { maxLength: 20 }),
      (calls) => {
        let hashed = 0;
        const counting = (text: string) => {
          hashed += 1;
          return hash(text);
        };
        const remembering = createActionDigester(counting);
        for (const { path, isFrozen, id, agent } of calls) {
          const args: { path: string } = { path };
          const plain = { args, call: callId(id), effects: [], inexact: [], kind: "call", resource: { id: "x", type: "File" } } as const;
          const made = { ...plain, tool: "t", toolDigest: digest("d") };
          const call: Action = isFrozen ? freezeOwn(made) : made;
          const who = { agent, onBehalfOf: "u" };
          expect(remembering(call, who)).toBe(computeActionDigest(call, who, hash));
          const before = hashed;
          if (!isFrozen) args.path = `${path}, changed since`; // nobody has promised that it stays as it was
          expect(remembering(call, who)).toBe(computeActionDigest(call, who, hash));
          expect(hashed - before).toBe(isFrozen ? 0 : 1);
          const other = { ...who, onBehalfOf: "somebody else" };
          expect(remembering(call, other)).toBe(computeActionDigest(call, other, hash));
        }
      },
    ),
  ));

test("T-2 a tool whose own code throws while a call is checked refuses that call, in words", () => {
  const call: ProposedCall = { id: callId("1.0"), tool: "t", text: "{}" } as ProposedCall;
  const boom = (): never => {
    throw new Error("the link was exchanged");
  };
  const tool = (own: object): Tool =>
    ({ name: "t", effects: [], check: (args: object) => ({ kind: "valid", args }), ...own }) as unknown as Tool;
  for (const own of [{ check: boom }, { resource: boom }])
    expect(applyContract(call, tool(own), null)).toMatchObject({
      kind: "refused",
      verdict: { kind: "deny", by: "contract", reason: "the arguments cannot be checked: the link was exchanged" },
    });
});
