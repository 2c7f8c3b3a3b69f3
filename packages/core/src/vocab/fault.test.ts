import { expect, test } from "vitest";
import { describeFault, type Fault, FaultError, isFaultKind } from "./fault.ts";

const odd = (kind: unknown): Fault => ({ kind }) as unknown as Fault;

test.each(["cheese-lost", "constructor", "__proto__", "toString", "", 7, null, undefined])(
  "a fault of the unknown kind %j has a readable line, and is an error like any other",
  (kind) => {
    const message = `a fault of a kind that this version does not know: \`${kind}\``;
    expect(describeFault(odd(kind))).toEqual({ message, hint: "update Orgate, or look into the log of what sent it" });
    expect(new FaultError(odd(kind)).message).toBe(message);
    expect(isFaultKind(String(kind))).toBe(false);
  },
);
