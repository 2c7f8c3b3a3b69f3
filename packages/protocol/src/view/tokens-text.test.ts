import { NO_USAGE } from "@orgate/core/vocab";
import { expect, test } from "vitest";
import { tokensText } from "./index.ts";

test("V-5 used tokens stand apart from those reserved for a call that was cut off", () => {
  const lost = { ...NO_USAGE, input: 119, output: 16_384 };
  expect(tokensText({ usage: NO_USAGE, lost })).toBe("0 tokens, and up to 16503 reserved for a call that was cut off");
  expect(tokensText({ usage: { ...NO_USAGE, output: 1 }, lost: NO_USAGE })).toBe("1 token");
  expect(tokensText({ usage: NO_USAGE, lost }, (n) => `~${n}`)).toContain("~0 tokens, and up to ~16503 ");
});
