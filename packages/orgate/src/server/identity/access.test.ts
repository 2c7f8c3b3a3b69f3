import { wireProblem } from "@orgate/protocol";
import { expect, test } from "vitest";
import { act, type Caller } from "../../operations/access.ts";
import { openStand } from "../fixtures/stand.ts";
import { type Access, DENY_EVERYBODY, type IncomingRequest, isProblem, refuseOnError } from "./authentication.ts";

const asking: IncomingRequest = {
  via: "http",
  method: "GET",
  path: "/api/v1/agents",
  query: new URLSearchParams(),
  headers: {},
  remote: "127.0.0.1",
};

test("W-6 without identities nobody is known and nothing is allowed", async () => {
  const stand = await openStand();
  const caller: Caller = {
    principal: { kind: "user", id: "ann" },
    person: stand.ann,
    scope: { agents: null, actions: null, expiresAt: null },
  };
  const found = await DENY_EVERYBODY.authenticate(asking);
  expect(isProblem(found) && found.status).toBe(401);
  expect(DENY_EVERYBODY.mayDo(caller, act("list", "listing"))).not.toBeNull();
  const throwing: Access = refuseOnError({
    authenticate: () => Promise.reject(new Error("the key store is gone")),
    watch: DENY_EVERYBODY.watch,
    mayDo: () => {
      throw new Error("the policies are gone");
    },
  });
  expect(await throwing.authenticate(asking)).toMatchObject({ status: 401, kind: "unauthenticated" });
  expect(JSON.stringify(await throwing.authenticate(asking))).not.toContain("key store");
  expect(throwing.mayDo(caller, act("run", "agent", { agent: "clerk" }))).toContain("could not be decided");
  expect(isProblem(wireProblem("forbidden", "no", ""))).toBe(true);
  await stand.close();
});
