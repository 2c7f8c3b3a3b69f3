import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, expect, test } from "vitest";
import { checkNotice, SIGNATURE_HEADER, signNotice, webhook } from "./notice-webhook.ts";
import type { Notice } from "./notices.ts";

const servers: Server[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    await new Promise((done) => server.close(done));
  }
});

type Got = Readonly<{ body: string; signature: string | undefined; id: string | undefined; path: string | undefined }>;

/** Answers with these, one after the other, then with 204; null: never. */
async function receiver(answers: readonly (number | null)[] = []): Promise<{ url: string; got: Got[] }> {
  const got: Got[] = [];
  const server = createServer((request, response) => {
    void bodyOf(request).then((body) => {
      const answer = answers[got.length] ?? (got.length < answers.length ? null : 204);
      const { headers } = request;
      got.push({ body, signature: String(headers[SIGNATURE_HEADER]), id: String(headers["orgate-notice"]), path: request.url });
      if (answer !== null) response.writeHead(answer, { location: "/elsewhere" }).end();
    });
  });
  servers.push(server);
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`, got };
}
async function bodyOf(request: IncomingMessage): Promise<string> {
  let body = "";
  for await (const piece of request.setEncoding("utf8")) body += String(piece);
  return body;
}

const notice: Notice = {
  version: 1,
  kind: "approval.asked",
  project: "till",
  session: "s_1",
  parent: null,
  agent: "clerk",
  tool: "pay",
  resource: { type: "Account", id: "ben" },
  arguments: ["to", "cents"],
  approval: "a_1",
  digest: "0".repeat(64),
  questions: [],
  again: null,
  askedAt: 0 as Notice["askedAt"],
  expiresAt: null,
};
const SECRET = "kept between the two";
const lost: string[] = [];
const hook = (url: string, more: Partial<Parameters<typeof webhook>[0]> = {}) => {
  lost.length = 0;
  return webhook({ url, secret: SECRET, backoffMs: 1, timeoutMs: 5_000, onLost: (n, why) => lost.push(`${n.approval}: ${why}`), ...more });
};

test("Q-26 a notice arrives once, signed over its time and body; another secret, body or time does not check", async () => {
  const { url, got } = await receiver();
  const out = hook(url, { now: () => 1_700_000_000_500 });
  out.tell(notice);
  await out.close();
  const [one] = got;
  if (one === undefined) throw new Error("nothing arrived");
  expect(got).toHaveLength(1);
  expect([one.id, JSON.parse(one.body)]).toEqual(["a_1", notice]);
  const at = 1_700_000_000_000;
  const checks = (secret: string, header: string | undefined, body: string, now = at) => checkNotice(secret, header, body, { nowMs: now });
  expect(checks(SECRET, one.signature, one.body)).toBe(true);
  expect([
    checks("another", one.signature, one.body),
    checks(SECRET, one.signature, `${one.body} `),
    checks(SECRET, one.signature?.replace("t=17", "t=18"), one.body),
    checks(SECRET, one.signature?.replace("t=1700000000", "t=1700000001"), one.body),
    checks(SECRET, one.signature?.replace("t=", "t=0"), one.body),
    checks(SECRET, one.signature, one.body, at + 301_000),
    checks(SECRET, undefined, one.body),
    checks(SECRET, "t=1,v1=x", one.body),
    checks(SECRET, signNotice(SECRET, 1_700_000_000, one.body).toUpperCase(), one.body),
  ]).toEqual(new Array(9).fill(false));
  expect(lost).toEqual([]);
});

test("Q-26 it is sent again after errors, with the same id and body, until it is taken", async () => {
  const { url, got } = await receiver([500, 503, 429, 408]);
  const out = hook(url);
  out.tell(notice);
  await out.close();
  expect(got.map(({ id, body }) => [id, body])).toEqual(new Array(5).fill(["a_1", JSON.stringify(notice)]));
  expect(lost).toEqual([]);
});

test("Q-26 it is given up after a bounded number of tries, and that is said", async () => {
  const { url, got } = await receiver([500, 500, 500, 500]);
  const out = hook(url, { tries: 3 });
  out.tell(notice);
  await out.close();
  expect([got.length, lost]).toEqual([3, ["a_1: it answered 500"]]);
});

test("Q-26 what the receiver refuses is not sent again, and no redirection is followed", async () => {
  for (const status of [400, 401, 404, 302, 307]) {
    const { url, got } = await receiver([status]);
    const out = hook(url);
    out.tell(notice);
    await out.close();
    expect([got.map((g) => g.path), lost]).toEqual([["/hook"], [`a_1: it answered ${status}`]]);
  }
});

test("Q-26 no answer in time is an error like others; nobody there too", async () => {
  const { url, got } = await receiver([null]);
  const slow = hook(url, { timeoutMs: 400 });
  slow.tell(notice);
  await slow.close();
  expect([got.length, lost]).toEqual([2, []]);
  const nobody = hook("http://127.0.0.1:1/", { tries: 2 });
  nobody.tell(notice);
  await nobody.close();
  expect(lost).toEqual([expect.stringMatching(/^a_1: fetch failed/)]);
});

test("Q-26 closing waits a bounded time; telling holds up nobody, however many there are", async () => {
  const { url, got } = await receiver([null, null]);
  const out = hook(url, { graceMs: 50, most: 2 });
  for (const approval of ["a_1", "a_2", "a_3"]) out.tell({ ...notice, approval });
  expect(lost).toEqual(["a_3: 2 others are under way"]);
  await out.close();
  expect(got.length).toBeLessThanOrEqual(2);
  expect(lost.slice(1).map((l) => l.slice(0, 3))).toEqual(["a_1", "a_2"]);
});

test("Q-26 only http and https, and never without a secret", () => {
  expect(() => hook("file:///etc/passwd")).toThrow("http or https");
  expect(() => hook("http://127.0.0.1/", { secret: "" })).toThrow("`options.secret` must be a text, and is an empty text");
});
