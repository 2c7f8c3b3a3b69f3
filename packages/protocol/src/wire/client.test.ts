import { expect, expectTypeOf, test } from "vitest";
import { type ClientRequest, createClient, type HttpResponse } from "./client.ts";
import { wireProblem } from "./problem.ts";

function answering(status: number, body: unknown, mediaType = "application/json") {
  const asked: ClientRequest[] = [];
  let keys = 0;
  const client = createClient(
    async (request): Promise<HttpResponse> => {
      asked.push(request);
      return { status, mediaType, text: async () => (typeof body === "string" ? body : JSON.stringify(body)) };
    },
    () => {
      keys += 1;
      return `key-${keys}`;
    },
  );
  return { client, asked };
}
const session = "s_aaaaaaaaaa";

test("W-4 a call is written by its route: path, query, body; and its answer is read by it", async () => {
  const { client, asked } = answering(200, { entries: [], next: null });
  const got = await client.call("events", { params: { session: session as never }, query: { after: 3, limit: 10 } });
  expect(asked).toMatchObject([{ method: "GET", path: `/api/v1/sessions/${session}/events?after=3&limit=10`, body: null }]);
  expect(got).toEqual({ kind: "ok", value: { entries: [], next: null } });
  if (got.kind === "ok") expectTypeOf(got.value.next).toEqualTypeOf<number | null>();
  const odd = answering(200, { items: [], next: null });
  await odd.client.call("agentHistory", { params: { agent: "a/b c" } });
  expect(odd.asked[0]?.path).toBe("/api/v1/agents/a%2Fb%20c/history");
});

test("W-4 what the server refuses is a value, and so is what is no answer of this API", async () => {
  const problem = wireProblem("forbidden", "not yours", "ask");
  expect(await answering(403, problem, "application/problem+json").client.call("whoami", {})).toEqual({ kind: "problem", problem });
  for (const strange of [
    answering(200, "<html>", "text/html"),
    answering(502, "bad gateway", "text/plain"),
    answering(200, { some: "thing" }),
  ])
    expect(await strange.client.call("whoami", {})).toMatchObject({ kind: "problem", problem: { kind: "internal" } });
});

test("W-4 what its own decoders do not take is not sent", async () => {
  const { client, asked } = answering(200, {});
  expect(await client.call("say", { params: { session: session as never }, body: { text: "" } })).toMatchObject({
    kind: "problem",
    problem: { kind: "bad-request", issues: [{ path: "text" }] },
  });
  expect(asked).toEqual([]);
});

test("W-5 what changes something is sent with a key, the caller's own or a fresh one; what only reads is not", async () => {
  const { client, asked } = answering(202, { session, entry: null, halted: null });
  const input = { params: { session: session as never }, body: { reason: "enough" } };
  await client.call("cancel", input);
  await client.call("cancel", input);
  await client.call("cancel", input, { key: "mine" });
  await client.call("session", { params: { session: session as never } });
  expect(asked.map(({ headers }) => headers["idempotency-key"])).toEqual(["key-1", "key-2", "mine", undefined]);
});
