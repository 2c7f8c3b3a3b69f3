// @module-tag openssl
import { execFileSync } from "node:child_process";
import { type Json, type SessionId, seq } from "@orgate/core";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import type { Log } from "../../operations/logs.ts";
import { hook } from "../fixtures/hooks.ts";
import { raw, type Serving, serving } from "../fixtures/serving.ts";
import { holds } from "./webhooks.ts";

const SECRET = "a secret of the project";
const SMALL = { maxBytes: 2_000, contentTypes: ["application/json"] };
const HOOKS = [
  hook("all", SMALL),
  hook("opened", {
    ...SMALL,
    filter: [
      { path: ["action"], equals: "opened" },
      { path: ["labels", "0"], contains: "bug" },
    ],
  }),
  hook("slack", { ...SMALL, provider: "slack", contentTypes: ["application/json", "application/x-www-form-urlencoded"] }),
  hook("waits", { ...SMALL, input: "wait" }),
];
const macs = new Map<string, string>();
/** By another program than the one that checks it; each once, so that what is sent several times goes out at the same time. */
function mac(text: string): string {
  const made =
    macs.get(text) ?? execFileSync("openssl", ["dgst", "-sha256", "-hmac", SECRET, "-r"], { input: text }).toString().slice(0, 64);
  macs.set(text, made);
  return made;
}

let at: Serving;
const logged: string[] = [];
const log: Log = (level, what, about) => void logged.push(JSON.stringify([level, what, about]));
beforeAll(async () => {
  const declares = {
    schedules: [],
    webhooks: HOOKS,
    secrets: new Map(HOOKS.map(({ name }) => [name, [SECRET]])),
    by: { kind: "user", id: "ann" } as const,
  };
  at = await serving({ serve: { declares, log, bounds: { strangersBurst: 1_000, strangersPerSecond: 100 } } });
});
afterAll(() => at.stop());

const send = (name: string, body: string, more: Readonly<Record<string, string>> = {}): Promise<Response> =>
  fetch(`${at.at.url}/hooks/${name}`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      "x-hub-signature-256": `sha256=${mac(body)}`,
      "x-github-delivery": crypto.randomUUID(),
      ...more,
    },
    body,
  });
const told = async (answer: Response): Promise<readonly [number, string]> => [
  answer.status,
  ((await answer.json()) as { status: string }).status,
];
const ofHook = async (name: string) => {
  const all = await at.runtime.sessions.list({ most: 500 });
  const found: SessionId[] = [];
  for (const { session } of all) {
    const [first] = await at.runtime.place.store.journal.read(session, seq(0), 1);
    if (first?.event.kind === "session.opened" && first.event.origin?.kind === "webhook" && first.event.origin.webhook === name)
      found.push(session);
  }
  return found;
};

test("Z-10 Z-11 a delivery is durable before it is answered, opens one session that knows where it comes from, and its turn runs", async () => {
  const body = JSON.stringify({ action: "opened", title: "look\u202e here" });
  const answer = await send("all", body, { "x-github-delivery": "d-1" });
  expect([answer.status, await answer.json()]).toEqual([202, { status: "accepted", delivery: "d-1" }]);
  const [session] = await ofHook("all");
  if (session === undefined) throw new Error("no session");
  const [opened, , started] = await at.runtime.place.store.journal.read(session, seq(0), 3);
  expect(opened?.event).toMatchObject({
    surface: "webhook",
    labels: ["untrusted"],
    principal: { id: "ann" },
    origin: { kind: "webhook", webhook: "all", provider: "github", delivery: "d-1" },
  });
  expect(started?.event).toMatchObject({
    kind: "turn.started",
    input: expect.stringMatching(/^Look into this:\n\n\{\n {2}"action": "opened",\n {2}"title": "look\\u\{202e\} here"/),
  });
  const ended = await at.runtime.resume(session).result.catch(() => null);
  expect(ended?.ending ?? "completed").toBe("completed");
});

test("Z-10 a delivery that comes again does nothing: the same, at the same time, under another name, or another body under its name", async () => {
  const body = JSON.stringify({ n: 7 });
  const before = (await ofHook("all")).length;
  const same = { "x-github-delivery": "d-7" };
  const answers = await Promise.all([1, 2, 3, 4, 5].map(async () => told(await send("all", body, same))));
  expect(answers.filter(([status]) => status === 202)).toHaveLength(1);
  expect(answers.filter(([status, what]) => status === 200 && what === "known")).toHaveLength(4);
  expect(await told(await send("all", body, same))).toEqual([200, "known"]);
  expect(await told(await send("all", body, { "x-github-delivery": "d-8" }))).toEqual([200, "known"]); // what was signed is what counts
  expect(await told(await send("all", JSON.stringify({ n: 8 }), same))).toEqual([200, "known"]);
  expect(await told(await send("waits", body, same))).toEqual([202, "accepted"]); // another webhook's is another's
  expect((await ofHook("all")).length).toBe(before + 1);
});

test("Z-10 a delivery that another server takes between the look and the commit opens no second session", async () => {
  const body = JSON.stringify({ n: 9 });
  expect(await told(await send("all", body))).toEqual([202, "accepted"]);
  const before = (await ofHook("all")).length;
  const looked = vi.spyOn(at.runtime.place.store.journal, "find").mockResolvedValue(null); // as it was a moment ago
  try {
    expect(await told(await send("all", body))).toEqual([200, "known"]);
    expect(looked).toHaveBeenCalled();
  } finally {
    looked.mockRestore();
  }
  expect((await ofHook("all")).length).toBe(before);
});

test("Z-10 what the filter does not let through is answered and does nothing, a field that is not there included", async () => {
  const tell = async (value: Json) => told(await send("opened", JSON.stringify(value)));
  expect(await tell({ action: "closed", labels: ["bug"] })).toEqual([200, "ignored"]);
  expect(await tell({ labels: ["bug"] })).toEqual([200, "ignored"]);
  expect(await tell({ action: "opened" })).toEqual([200, "ignored"]);
  expect(await tell(["opened"])).toEqual([200, "ignored"]);
  expect(await tell(null)).toEqual([200, "ignored"]);
  expect(await ofHook("opened")).toEqual([]);
  expect(await tell({ action: "opened", labels: ["a bug"] })).toEqual([202, "accepted"]);
  const isIn = (path: string, value: Json) => holds({ path: path.split("."), equals: "x" }, value);
  expect([
    isIn("a.b", { a: { b: "x" } }),
    isIn("__proto__.a", { a: "x" }),
    isIn("toString.name", {}),
    isIn("a.length", { a: "x" }),
  ]).toEqual([true, false, false, false]);
});

describe("who cannot sign", () => {
  test("Z-9 is told one thing, and learns nothing of the webhook", async () => {
    const body = '{"a":1}';
    const refused = await Promise.all([
      send("all", body, { "x-hub-signature-256": "sha256=00" }),
      send("all", "not json", { "x-hub-signature-256": `sha256=${mac(body)}` }),
      send("all", body, { "x-hub-signature-256": "", "content-type": "text/plain" }),
      send("slack", body, {}),
    ]);
    const texts = await Promise.all(refused.map(async (answer) => [answer.status, ((await answer.json()) as { detail: string }).detail]));
    expect(new Set(texts.map(String)).size).toBe(1);
    expect(texts[0]).toEqual([401, "this delivery is not signed as it has to be"]);
    const nowhere = await fetch(`${at.at.url}/hooks/nothing`, { method: "POST", body });
    const looked = await fetch(`${at.at.url}/hooks/all`);
    const beyond = await raw(at.at.port, [
      `POST /hooks/../hooks/all HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`,
    ]);
    expect([nowhere.status, looked.status, beyond.split(" ")[1]]).toEqual([404, 404, "404"]);
  });

  test("Z-9 a body that is too long is not read, told by its length or in pieces; what is not of its type is refused once it is genuine", async () => {
    const long = JSON.stringify({ a: "x".repeat(3_000) });
    expect((await send("all", long)).status).toBe(413);
    const pieces = await raw(at.at.port, [
      `POST /hooks/all HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\nx-hub-signature-256: sha256=${"0".repeat(64)}\r\ntransfer-encoding: chunked\r\n\r\n`,
      `${(2_500).toString(16)}\r\n${"y".repeat(2_500)}\r\n`,
    ]);
    expect(pieces).toContain(" 413 ");
    expect((await send("all", "{not json")).status).toBe(400);
    expect((await send("all", '{"a":1,"a":2}')).status).toBe(400);
    expect((await send("all", "{}", { "content-type": "text/xml" })).status).toBe(400);
    expect((await send("all", "{}", { "content-encoding": "gzip" })).status).toBe(400);
    expect((await send("all", "{}", { "content-type": "Application/JSON; charset=utf-8" })).status).toBe(202);
    expect((await send("all", "")).status).toBe(400);
  });

  test("Z-12 is limited by address; and nothing of bodies, secrets or signatures is in the log", async () => {
    const limited = await serving({
      serve: {
        declares: { schedules: [], webhooks: HOOKS, secrets: new Map([["all", [SECRET]]]), by: { kind: "user", id: "ann" } },
        bounds: { strangersBurst: 3, strangersPerSecond: 0.001 },
      },
    });
    const statuses: number[] = [];
    for (let n = 0; n < 5; n += 1) statuses.push((await fetch(`${limited.at.url}/hooks/all`, { method: "POST", body: "{}" })).status);
    await limited.stop();
    expect(statuses).toEqual([401, 401, 401, 429, 429]);
    await send("all", '{"marker":"tell-nobody"}');
    const log = logged.join("\n");
    expect(log).toContain('"webhook":"all"');
    expect([log.includes("tell-nobody"), log.includes(SECRET), log.includes(mac('{"marker":"tell-nobody"}'))]).toEqual([
      false,
      false,
      false,
    ]);
  });
});

test("Z-11 Slack's challenge is answered, its forms are read, its events are once; GitHub's ping starts nothing", async () => {
  const slack = (body: string, type = "application/json") => {
    const sent = String(Math.floor(Date.now() / 1_000));
    return fetch(`${at.at.url}/hooks/slack`, {
      method: "POST",
      headers: { "content-type": type, "X-Slack-Request-Timestamp": sent, "X-SLACK-SIGNATURE": `v0=${mac(`v0:${sent}:${body}`)}` },
      body,
    });
  };
  const challenge = await slack('{"type":"url_verification","challenge":"3eZbrw1aB"}');
  expect([challenge.status, await challenge.json()]).toEqual([200, { challenge: "3eZbrw1aB" }]);
  expect(await told(await slack('{"type":"event_callback","event_id":"Ev1"}'))).toEqual([202, "accepted"]);
  expect(await told(await slack('{"type":"event_callback","event_id":"Ev1","again":true}'))).toEqual([200, "known"]);
  expect(await told(await slack("command=%2Fdeploy&text=now", "application/x-www-form-urlencoded"))).toEqual([202, "accepted"]);
  expect(await told(await send("all", '{"zen":"x"}', { "x-github-event": "ping" }))).toEqual([200, "ignored"]);
});

test("Z-10 after a restart a delivery is still known", async () => {
  const body = '{"restart":true}';
  expect(await told(await send("all", body, { "x-github-delivery": "r-1" }))).toEqual([202, "accepted"]);
  const declares = { schedules: [], webhooks: HOOKS, secrets: new Map([["all", [SECRET]]]), by: { kind: "user", id: "ann" } as const };
  const next = await serving({ folder: at.folder, keep: true, serve: { declares } });
  const again = await fetch(`${next.at.url}/hooks/all`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-hub-signature-256": `sha256=${mac(body)}`, "x-github-delivery": "r-1" },
    body,
  });
  expect(await told(again)).toEqual([200, "known"]);
  await next.stop();
});

test("Z-12 whether a webhook was reached is told to whom may see its agent: what was taken as the journal has it, and what else came; nothing of who cannot sign", async () => {
  type Told = Readonly<{ status: number; items: readonly Readonly<Record<string, unknown>>[] }>;
  const get = async (path: string, token = "full"): Promise<Told> => {
    const answer = await at.get(`/api/v1${path}`, token);
    return { status: answer.status, items: ((await answer.json()) as { items?: Told["items"] }).items ?? [] };
  };
  const body = JSON.stringify({ action: "opened", labels: ["bug"], n: "o66" });
  const named = { "x-github-delivery": "d-o66" };
  expect(await told(await send("opened", body, named))).toEqual([202, "accepted"]);
  expect(await told(await send("opened", body, named))).toEqual([200, "known"]);
  expect(await told(await send("opened", JSON.stringify({ n: "o66" }), { "x-github-delivery": "d-o66-2" }))).toEqual([200, "ignored"]);
  expect((await send("opened", body, { "content-type": "text/html" })).status).toBe(400);
  expect((await send("opened", body, { "x-hub-signature-256": "sha256=0" })).status).toBe(401);
  const hooks = (await get("/webhooks")).items;
  const opened = hooks.find(({ webhook }) => webhook === "opened");
  expect(opened).toMatchObject({
    path: "/hooks/opened",
    provider: "github",
    agent: "clerk",
    filter: ['action = "opened"', 'labels.0 contains "bug"'],
  });
  expect(opened?.told).toMatchObject({ unsignedAt: expect.any(Number) });
  expect(JSON.stringify(hooks)).not.toContain(SECRET);
  const last = (await get("/agents/clerk/webhooks/opened/deliveries?limit=4")).items;
  expect(last.map(({ what, delivery, detail }) => [what, delivery, detail])).toEqual([
    ["refused", expect.any(String), "this kind of content is not taken"],
    ["ignored", "d-o66-2", ""],
    ["known", "d-o66", ""],
    ["accepted", "d-o66", ""],
  ]);
  expect((await ofHook("opened")).includes(last[3]?.session as SessionId)).toBe(true);
  expect(await get("/webhooks", "blind")).toEqual({ status: 200, items: [] });
  expect((await get("/agents/clerk/webhooks/opened/deliveries", "blind")).status).toBe(403);
  expect((await get("/agents/other/webhooks/opened/deliveries")).status).toBe(404);
});
