import { type ClientRequest, createClient, type Link } from "@orgate/protocol";
import { expect, test } from "vitest";
import { createHub, type HubPorts } from "./hub.ts";

const LINK: Link = { follow: () => () => {}, call: () => new Promise(() => {}), history: () => new Promise(() => {}), close: () => {} };
const ME = { principal: { kind: "user", id: "ana" }, agents: null, actions: null, expiresAt: null };

/** A server that loses so many requests, and then answers with `body`. */
function losing(times: number, body: unknown): HubPorts & Readonly<{ asked: ClientRequest[]; waits: number[] }> {
  const [asked, waits]: [ClientRequest[], number[]] = [[], []];
  const client = createClient(
    async (request) => {
      asked.push(request);
      if (asked.length <= times) throw new TypeError("failed to fetch");
      return { status: 200, mediaType: "application/json", text: async () => JSON.stringify(body) };
    },
    () => "a key for each",
  );
  const later = (ms: number, run: () => void): (() => void) => {
    waits.push(ms);
    queueMicrotask(run);
    return () => {};
  };
  return { client, open: () => LINK, later, asked, waits };
}

test("O-7 a request that changes something is sent again under one key when no answer comes; after three attempts it fails", async () => {
  const twice = losing(2, { halted: true });
  await createHub(twice).call("halt", { body: { scope: "all", reason: "a drill" } });
  const keys = new Set(twice.asked.map(({ headers }) => headers["idempotency-key"]));
  expect([twice.asked.length, keys.size, twice.waits]).toEqual([3, 1, [1_000, 2_000]]);
  const away = losing(99, null);
  const came = await createHub(away).call("halt", { body: { scope: "all", reason: "a drill" } });
  expect([away.asked.length, came]).toMatchObject([3, { kind: "problem", problem: { detail: "the server cannot be reached" } }]);
});

test("O-7 the hub asks who is signed in until an answer comes, and unsent text belongs to that person before anything is shown", async () => {
  const away = losing(4, ME);
  const told: string[] = [];
  const hub = createHub(away, ({ principal }) => told.push(`${principal.id} while ${hub.who.get().kind}`));
  const isIn = new Promise<void>((done) => {
    hub.who.watch(() => {
      if (hub.who.get().kind === "in") done();
    });
  });
  await hub.begin();
  expect(hub.who.get()).toMatchObject({ kind: "out", problem: { detail: "the server cannot be reached" }, wasIn: false });
  await isIn;
  expect([away.asked.length, told]).toEqual([5, ["ana while out"]]);
});
