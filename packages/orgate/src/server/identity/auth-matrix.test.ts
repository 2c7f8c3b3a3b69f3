/** Who may do what: every route of the table and every frame, by everybody who may come along. A new one without a row fails, here and in the compiler. */
import { tableGate } from "@orgate/core/gate";
import { type ClientFrame, FRAME_ACTS, OPERATION_NAMES, OPERATIONS, type OperationAct } from "@orgate/protocol";
import { afterAll, beforeAll, expect, test } from "vitest";
import { sha256 } from "../../node/crypto.ts";
import { act, type Caller } from "../../operations/access.ts";
import { asking, type Door, HERE, openDoor, withKey } from "../fixtures/door.ts";
import { FRAME_ROWS, ROUTE_ROWS, type Row } from "../fixtures/matrix.ts";
import { CSRF_HEADER, csrfToken } from "../http/auth-site.ts";
import { type IncomingRequest, isProblem } from "./authentication.ts";

type Way = Readonly<{
  name: string;
  via: IncomingRequest["via"];
  method: string;
  path: string;
  on: OperationAct | "self" | "open";
  row: Row | undefined;
}>;
const WAYS: readonly Way[] = [
  ...OPERATION_NAMES.map((name): Way => {
    const { method, path, act: on } = OPERATIONS[name];
    return { name, via: "http", method, path: `/api/v1${path}`, on, row: ROUTE_ROWS[name] };
  }),
  ...Object.entries(FRAME_ACTS).flatMap(([name, on]): readonly Way[] => {
    const row = FRAME_ROWS[name as ClientFrame["kind"]];
    if (on === "operation" || row === "operation") return []; // a call is its operation, whose row is above
    return [{ name: `frame ${name}`, via: "socket", method: "GET", path: "/ws/v1", on, row }];
  }),
];

let door: Door;
let signIn: string;
const callers: Record<string, Caller> = {};

beforeAll(async () => {
  // bob may look, and do nothing
  const gate = tableGate([{ id: "all", action: "*", verdict: "allow" }], sha256);
  const looks = tableGate([{ id: "look", action: "observe", verdict: "allow" }], sha256);
  door = await openDoor({ gate: { decideFor: (user, asked) => (user === "bob" ? looks : gate).decideFor(user, asked) } });
  const enter = async (given: Parameters<Door["give"]>[0]): Promise<Caller> => {
    const found = await door.identity.authenticate(withKey((await door.give(given)).token));
    if (isProblem(found)) throw new Error(found.detail);
    return found;
  };
  callers.full = await enter({});
  callers.scoped = await enter({ agents: ["clerk"] });
  callers.looking = await enter({ actions: ["observe"] });
  callers.watcher = await enter({ person: "bob" });
  signIn = (await door.give({ means: "sign-in", until: door.clock.now + 3_600_000 })).token;
});
afterAll(() => door.close());

/** The same act on a thing of this agent. */
const wanted = ({ kind, on }: OperationAct, agent: string) =>
  act(kind, on, {
    ...(["agent", "session", "approval", "grant", "call", "schedule"].includes(on)
      ? { agent, session: "s_1", tool: "look", requester: "somebody" }
      : {}),
    id: on === "work" ? "all" : on === "breaker" ? "tool:look" : "x_1",
  });
const may = (who: string, on: Way["on"], agent: string): boolean => {
  const caller = callers[who];
  if (caller === undefined) throw new Error(`there is no ${who}`);
  return typeof on === "string" || door.identity.mayDo(caller, wanted(on, agent)) === null;
};
const statusOf = async (asked: IncomingRequest): Promise<number> => {
  const found = await door.identity.authenticate(asked);
  return isProblem(found) ? found.status : 200;
};

test("W-7 every route and every frame has a row, and no row is left over", () => {
  expect(WAYS.filter(({ row }) => row === undefined).map(({ name }) => name)).toEqual([]);
  expect(Object.keys(ROUTE_ROWS).filter((name) => !OPERATION_NAMES.some((known) => known === name))).toEqual([]);
  for (const { name, on, row } of WAYS) {
    const said = typeof on === "string" ? { open: "anybody", self: "self" }[on] : on.on === "listing" ? "listed" : null;
    if (said !== null) expect([name, Array.isArray(row) ? row[0] : row]).toEqual([name, said]);
  }
});

test.each(WAYS.map((way) => [way.name, way] as const))("W-7 %s: none, wrong, expired, cross-site", async (_, { via, method, path }) => {
  const { clock, give } = door;
  const base = { via, method, path };
  expect(await statusOf(asking(base))).toBe(401);
  expect(await statusOf({ ...withKey(`ogk_${"0".repeat(16)}_x`), ...base })).toBe(401);
  const expired = await expiredKey(give, clock.now);
  expect(await statusOf({ ...withKey(expired), ...base })).toBe(401);
  const cookie = `orgate-4680=${signIn}`;
  const own = { host: "127.0.0.1:4680", origin: HERE, cookie, [CSRF_HEADER]: csrfToken(signIn) };
  expect(await statusOf(asking({ ...base, headers: own }))).toBe(200);
  expect(await statusOf(asking({ ...base, headers: { ...own, origin: "http://evil.example" } }))).toBe(403);
  expect(await statusOf(asking({ ...base, headers: { ...own, "sec-fetch-site": "cross-site" } }))).toBe(403);
  expect(await statusOf(asking({ ...base, headers: { ...own, host: "evil.example:4680", origin: "http://evil.example:4680" } }))).toBe(403);
  if (method === "POST") expect(await statusOf(asking({ ...base, headers: { ...own, [CSRF_HEADER]: "" } }))).toBe(403);
});

test.each(WAYS.map((way) => [way.name, way] as const))("W-7 %s: scoped, full, by what the policies say", (_, { on, row = "self" }) => {
  const [reach, action] = Array.isArray(row) ? row : [row, null];
  const isFree = action === null || reach === "listed";
  expect(may("full", on, "clerk")).toBe(true);
  expect(may("scoped", on, "clerk")).toBe(reach !== "all");
  expect(may("scoped", on, "other")).toBe(isFree);
  expect(may("looking", on, "clerk")).toBe(isFree || action === "observe");
  expect(may("watcher", on, "clerk")).toBe(isFree || action === "observe");
  if (action !== null && typeof on === "object") expect(on.kind === "list" ? "observe" : on.kind).toBe(action);
});

let expired: string | null = null;
async function expiredKey(give: Door["give"], now: number): Promise<string> {
  expired ??= (await give({ until: now })).token;
  return expired;
}
