/** Edges of identity that nothing else comes near: found by changing the code and seeing no test fail. */
import { join } from "node:path";
import { millis, type StreamId, sessionId } from "@orgate/core";
import { afterEach, expect, test } from "vitest";
import { act } from "../../operations/access.ts";
import { makeVisibility } from "../../operations/visibility.ts";
import { ALLOW, asking, type Door, HERE, openDoor, withKey } from "../fixtures/door.ts";
import { findCrossSite } from "../http/auth-site.ts";
import { openIdentity } from "./auth.ts";
import { isProblem } from "./authentication.ts";

const open: Door[] = [];
afterEach(async () => {
  for (const one of open.splice(0)) await one.close();
});
async function door(): Promise<Door> {
  const one = await openDoor();
  open.push(one);
  return one;
}

test("W-15 a token of one kind is none of another, whatever it is called: a link is no key, a key no sign-in", async () => {
  const { give, identity, clock } = await door();
  const [link, key] = [await give({ means: "link", until: clock.now + 60_000 }), await give()];
  const asKey = await identity.authenticate(withKey(link.token.replace("ogl_", "ogk_")));
  const cookie = `orgate-4680=${key.token.replace("ogk_", "ogs_")}`;
  const asSignIn = await identity.authenticate(asking({ headers: { host: "127.0.0.1:4680", cookie } }));
  expect([asKey, asSignIn].map((one) => isProblem(one) && one.status)).toEqual([401, 401]);
  const asLink = await identity.signIn(key.token.replace("ogk_", "ogl_"));
  expect("status" in asLink && asLink.status).toBe(401);
});

test("W-14 a change that says it was typed into the address bar is refused", () => {
  const headers = { host: "127.0.0.1:4680", origin: HERE, "sec-fetch-site": "none" };
  expect(findCrossSite({ via: "http", method: "POST", headers }, [HERE])).not.toBeNull();
  expect(findCrossSite({ via: "http", method: "GET", headers }, [HERE])).toBeNull();
});

test("W-24 of a session that is not there nobody is told anything", async () => {
  const { identity, give } = await door();
  const caller = await identity.authenticate(withKey((await give()).token));
  if (isProblem(caller)) throw new Error(caller.detail);
  const stream: StreamId = sessionId("s_0mwhzo39iaaaaaaaaaaaaaaaa");
  expect(await makeVisibility({ mayDo: () => null }, caller, async () => null)(stream)).toBe(false);
});

test("W-12 what another server has just revoked opens nothing here, though nobody has told of it yet", async () => {
  const { stand, give } = await door();
  const { token, access } = await give();
  const { place } = stand.runtime;
  const options = {
    place,
    directory: join(stand.folder, ".orgate"),
    gate: ALLOW,
    now: () => millis(Date.now()),
    origins: () => [HERE],
    coordinators: [],
  };
  const [here, there] = [await openIdentity(options), await openIdentity(options)]; // a process is not told of what it writes itself
  const callers = await Promise.all([here, there].map((one) => one.authenticate(withKey(token))));
  expect(callers.map(isProblem)).toEqual([false, false]);
  await here.accesses.revoke(access, { kind: "user", id: "ann" }, "gone");
  expect(await there.authenticate(withKey(token))).toMatchObject({ status: 401, kind: "unauthenticated" });
  for (const one of [here, there]) one.close();
});

test("W-6 while it cannot be told whether access still counts, nothing is done", async () => {
  const { stand, give } = await door();
  const { token } = await give();
  const { place } = stand.runtime;
  let isBroken = false;
  let changed = (): void => {};
  const read: typeof place.store.journal.read = (...of) =>
    isBroken ? Promise.reject(new Error("the disk has gone")) : place.store.journal.read(...of);
  const watchChanges = (told: () => void): (() => void) => {
    changed = told;
    return () => {};
  };
  const store = { ...place.store, journal: { ...place.store.journal, read }, inbox: { ...place.store.inbox, watchChanges } };
  const identity = await openIdentity({
    place: { store, keyring: place.keyring, keys: place.keys },
    directory: join(stand.folder, ".orgate"),
    gate: ALLOW,
    now: () => millis(Date.now()),
    origins: () => [HERE],
    coordinators: [],
  });
  const caller = await identity.authenticate(withKey(token));
  if (isProblem(caller)) throw new Error(caller.detail);
  expect(identity.mayDo(caller, act("run", "agent", { agent: "clerk" }))).toBeNull();
  const ended = new Promise<string>((resolve) => identity.watch(caller, resolve));
  isBroken = true;
  changed();
  expect(await ended).toContain("it is unknown whether");
  expect(identity.mayDo(caller, act("run", "agent", { agent: "clerk" }))).toContain("it is unknown whether");
  expect(await identity.authenticate(withKey(token))).toMatchObject({ status: 503, kind: "unavailable" });
  isBroken = false; // it is back, and nobody has written anything
  const again = await identity.authenticate(withKey(token));
  if (isProblem(again)) throw new Error(again.detail);
  expect(identity.mayDo(again, act("run", "agent", { agent: "clerk" }))).toBeNull();
  identity.close();
});
