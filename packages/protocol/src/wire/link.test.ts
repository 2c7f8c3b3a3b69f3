import { expect, test } from "vitest";
import type { Called } from "./client.ts";
import { type Link, openLink, type WireEvents } from "./link.ts";
import { wireProblem } from "./problem.ts";
import { frameText, type ServerFrame } from "./v1.ts";

/** A link whose server says only what the test makes it say. */
function connect(): Readonly<{ link: Link; hear(frame: ServerFrame): void }> {
  let events: WireEvents | null = null;
  let ids = 0;
  const link = openLink({
    dial(mine) {
      events = mine;
      return { send: () => {}, close: () => {} };
    },
    makeId() {
      ids += 1;
      return `id-${ids}`;
    },
    later: () => () => {},
  });
  return { link, hear: (frame) => events?.heard(frameText(frame)) };
}

const kindOf = async (called: Promise<Called<unknown>>): Promise<string> => {
  const answer = await called;
  return answer.kind === "problem" ? answer.problem.kind : answer.kind;
};

test("W-5 a call that waits when the link is closed is answered, and so is one that is made after that", async () => {
  const { link } = connect();
  const waiting = link.call("whoami", {});
  link.close();
  expect(await kindOf(waiting)).toBe("unavailable");
  expect(await kindOf(link.call("whoami", {}))).toBe("unavailable");
});

test("W-5 a server that closes the link for good is the answer to every call", async () => {
  const { link, hear } = connect();
  const waiting = link.call("whoami", {});
  hear({ kind: "closing", again: false, problem: wireProblem("unauthenticated", "the key was revoked", "sign in again") });
  expect(await kindOf(waiting)).toBe("unauthenticated");
  expect(await kindOf(link.call("whoami", {}))).toBe("unauthenticated");
});
