import { expect, test } from "vitest";
import { openLog } from "../operations/logs.ts";
import { openGuarded, until } from "./fixtures/guarded.ts";
import { type Serving, serving } from "./fixtures/serving.ts";
import { CSRF_HEADER, csrfToken } from "./http/auth-site.ts";

const lines = (texts: readonly string[]): readonly Record<string, unknown>[] => texts.map((text) => JSON.parse(text));

test("W-22 a line is one JSON object with time, level and what it is about; a text is cut, and a reader that has gone harms nobody", () => {
  const told: string[] = [];
  const log = openLog({ write: (line) => told.push(line), now: () => 0, least: "info" });
  log("debug", "nothing");
  log("info", "turn.started", { session: "s_1", note: `a\nb${"x".repeat(1_000)}` });
  expect(told).toHaveLength(1);
  expect(told[0]?.indexOf("\n")).toBe((told[0]?.length ?? 0) - 1);
  expect(lines(told)[0]).toMatchObject({ at: "1970-01-01T00:00:00.000Z", level: "info", what: "turn.started", session: "s_1" });
  expect(String(lines(told)[0]?.note).length).toBeLessThan(600);
  const broken = openLog({
    write: () => {
      throw new Error("EPIPE");
    },
    now: () => 0,
  });
  expect(() => broken("error", "anything")).not.toThrow();
});

test("W-22 requests and turns are told with their ids, iterations and tokens, and no key, query or body is in any line", async () => {
  const told: string[] = [];
  const at: Serving = await serving({ serve: { log: openLog({ write: (line) => told.push(line), now: Date.now, least: "debug" }) } });
  await at.post("/api/v1/agents/clerk/execute", { input: "look at my-secret-words" }, { "idempotency-key": "my-secret-key" });
  await at.get("/api/v1/sessions?agent=my-secret-query");
  await at.get("/api/v1/agents", "my-secret-token");
  while (!told.some((line) => line.includes('"turn.ended"'))) await new Promise((resolve) => setImmediate(resolve));
  await at.stop();
  const all = lines(told);
  const ended = all.find(({ what }) => what === "turn.ended");
  expect(ended).toMatchObject({ agent: "clerk", turn: 1, ending: "completed", iterations: 2 });
  expect([ended?.session, ended?.tokens]).toEqual([expect.stringMatching(/^s_/), expect.any(Number)]);
  expect(all.filter(({ what }) => what === "request").map(({ route, status }) => [route, status])).toEqual([
    ["execute", 200],
    ["sessions", 200],
    ["none", 401],
  ]);
  expect(told.join("")).not.toMatch(/secret|Bearer/);
});

test("W-22 no key, ticket, cookie, link, word or text of a whole run is in any line of the log, whatever is done with it", async () => {
  const told: string[] = [];
  const one = await openGuarded({ log: openLog({ write: (line) => told.push(line), now: Date.now, least: "debug" }) });
  const [key, signIn, link] = [await one.give(), await one.give({ means: "sign-in" }), await one.give({ means: "link" })];
  const canaries = new Set<string>([
    csrfToken(signIn),
    ...[key, signIn, link].map((token) => token.slice(-43)),
    "canary-key",
    "canary-text",
    "canary-query",
  ]);
  const cookie = { cookie: `orgate-${one.at.port}=${signIn}`, origin: one.at.url, [CSRF_HEADER]: csrfToken(signIn) };
  const ticketOf = async () => ((await (await one.post("/api/v1/tickets", undefined, null, cookie)).json()) as { ticket: string }).ticket;
  const [first, second] = [await ticketOf(), await ticketOf()];
  for (const ticket of [first, second]) canaries.add(ticket.slice(-43));
  await one.post("/api/v1/agents/clerk/execute", { input: "canary-text" }, key, { "idempotency-key": "canary-key" });
  await one.get(`/api/v1/sessions?token=${key}&x=canary-query`, key); // where it does not belong
  await one.get(`/api/v1/${key}`, `${key}x`);
  await one.get(`/${first}?${link}`, null);
  await one.post("/api/v1/sessions", `{"agent":"canary-text`, key);
  await fetch(`${one.at.url}/sign-in`, { method: "POST", body: link, headers: { origin: one.at.url } });
  await fetch(`${one.at.url}/sign-in`, { method: "POST", body: link, headers: { origin: one.at.url } });
  for (const path of [`/ws/chat?token=${first}`, `/ws/v1?token=${first}`, `/ws/${second}`, `/ws/v1?token=${second}&canary-query`]) {
    const ends = one.dial(path, { origin: one.at.url });
    if ((await Promise.race([ends.opened.then(() => 101), ends.closed])) === 101) {
      ends.socket.send("canary-text");
      ends.socket.send(JSON.stringify({ type: "ChatSend", id: "canary-key", content: "canary-text" }));
      await until(() => ends.heard.at(-1));
    }
    ends.socket.terminate();
    await ends.closed;
  }
  await one.post("/sign-out", undefined, null, cookie);
  await until(() => told.find((line) => line.includes('"turn.ended"')));
  await one.stop();
  expect(told.length).toBeGreaterThan(15);
  const all = told.join("");
  expect([...canaries].filter((canary) => all.includes(canary))).toEqual([]);
});
