import { approvalId, digest, type SessionId } from "@orgate/core";
import { IDEMPOTENCY_KEY, OPERATIONS, type Operation, type OperationName } from "@orgate/protocol";
import { afterEach, expect, test } from "vitest";
import { type Serving, type ServingOptions, serving } from "./fixtures/serving.ts";
import { latch } from "./fixtures/stand.ts";

const open: Serving[] = [];
afterEach(async () => {
  for (const one of open.splice(0)) await one.stop();
});
async function serve(options: ServingOptions = {}): Promise<Serving> {
  const one = await serving(options);
  open.push(one);
  return one;
}

/** An answer is what its route's own decoder takes. */
async function read(name: OperationName, response: Response): Promise<unknown> {
  const route: Operation = OPERATIONS[name];
  const { answers, status } = route;
  const value: unknown = await response.json();
  expect([name, response.status, response.status === status ? null : value]).toEqual([name, status, null]);
  if (answers.kind !== "json") throw new Error("not JSON");
  const decoded = answers.schema.safeParse(value);
  expect([name, decoded.error?.issues ?? []]).toEqual([name, []]);
  return value;
}

/** Until it rests, told by the journal. */
async function idle({ runtime }: Serving, session: string): Promise<void> {
  for await (const live of runtime.subscribe({ session: session as SessionId }))
    if (live.kind === "entry" && live.entry.event.kind === "turn.ended") return;
}
/** Until so many turns have been counted: the count follows the journal. */
async function counted(at: Serving, turns: number): Promise<void> {
  for (;;) {
    const text = await (await at.get("/api/v1/metrics/prometheus")).text();
    const all = [...text.matchAll(/^orgate_turns_ended_total\{.*\} (\d+)$/gm)].reduce((sum, [, value]) => sum + Number(value), 0);
    if (all >= turns) return;
  }
}

test("W-5 the same key is done once: at the same time, later, and after the server was started again; with another request it is refused", async () => {
  const first = await serving({ keep: true });
  const run = (at: Serving, input: string, key: string) => at.post("/api/v1/agents/clerk/execute", { input }, { [IDEMPOTENCY_KEY]: key });
  const [a, b] = await Promise.all([run(first, "look", "k1"), run(first, "look", "k1")]);
  const [one, two] = [await read("execute", a), await read("execute", b)];
  expect(one).toEqual(two);
  expect(await read("execute", await run(first, "look", "k1"))).toEqual(one);
  expect(first.runs.look).toBe(1);
  expect((await run(first, "other", "k1")).status).toBe(422);
  expect((await first.post("/api/v1/agents/clerk/execute", { input: "x" }, { [IDEMPOTENCY_KEY]: "" })).status).toBe(400);
  await first.stop();

  const second = await serve({ folder: first.folder });
  expect(await read("execute", await run(second, "look", "k1"))).toEqual(one);
  expect(second.runs.look).toBe(0);
});

test("W-5 a request whose answer was lost with the server is not done again: its ids are the key's", async () => {
  const at = await serve({});
  const forgets = { find: async () => null, begin: async (_: string, digest: string) => digest, keep: async () => {} }; // as if the answer had never been kept
  Object.assign(at.runtime.place.store.requests, forgets);
  const run = () => at.post("/api/v1/agents/clerk/execute", { input: "look" }, { [IDEMPOTENCY_KEY]: "k1" });
  const one = await read("execute", await run());
  expect(await read("execute", await run())).toEqual(one);
  expect(at.runs.look).toBe(1);
});

test("W-5 an answer that was given before the turn was over is not the last word: the same key tells how it ended", async () => {
  const hold = latch();
  const at = await serve({ hold });
  const run = () => at.post("/api/v1/agents/clerk/execute", { input: "wait", waitMs: 50 }, { [IDEMPOTENCY_KEY]: "k1" });
  expect(await read("execute", await run())).toMatchObject({ state: "waiting", sentence: "The turn goes on." });
  hold.open();
  for (;;) {
    const told = await read("execute", await run());
    if ((told as { state: string }).state === "ended") return expect(told).toMatchObject({ ending: "completed" });
  }
});

test("W-6 a scoped key sees its agents' things alone, in every list; a full one sees all", async () => {
  const at = await serve();
  for (const agent of ["clerk", "other"])
    await read("execute", await at.post(`/api/v1/agents/${agent}/execute`, { input: "pay", waitMs: 5_000 }));
  const agentsIn = async (route: OperationName, path: string, token: string, of: (row: never) => string) => {
    const value = (await read(route, await at.get(path, token))) as { items: never[] };
    return value.items.map(of).sort();
  };
  const lists: readonly (readonly [OperationName, string])[] = [
    ["sessions", "/api/v1/sessions"],
    ["approvals", "/api/v1/approvals"],
  ];
  for (const [route, path] of lists) {
    const of = ({ agent }: { agent: string }) => agent;
    expect([route, await agentsIn(route, path, "full", of)]).toEqual([route, ["clerk", "other"]]);
    expect([route, await agentsIn(route, path, "scoped", of)]).toEqual([route, ["clerk"]]);
    expect([route, await agentsIn(route, path, "blind", of)]).toEqual([route, []]);
  }
  expect(await agentsIn("agents", "/api/v1/agents", "scoped", ({ name }: { name: string }) => name)).toEqual(["clerk"]);
  expect((await at.get("/api/v1/agents/other", "scoped")).status).toBe(403);
  expect((await at.post("/api/v1/agents/other/execute", { input: "look" }, {}, "scoped")).status).toBe(403);
  const theirs = (await (await at.get("/api/v1/sessions?agent=other")).json()) as { items: { session: string }[] };
  const session = theirs.items[0]?.session ?? "";
  for (const path of ["", "/events", "/turns"]) expect((await at.get(`/api/v1/sessions/${session}${path}`, "scoped")).status).toBe(404);
  expect((await at.post(`/api/v1/sessions/${session}/cancel`, {}, {}, "scoped")).status).toBe(404);
});

test("W-6 sessions, turns and events come in pages, each once, also when most of them may not be seen", async () => {
  const at = await serve();
  for (let i = 0; i < 7; i += 1)
    await read("openSession", await at.post("/api/v1/sessions", { agent: i % 2 === 0 ? "clerk" : "other", id: `n${i}` }));
  const seen: string[] = [];
  for (let next: string | null = ""; next !== null; ) {
    const page = (await read("sessions", await at.get(`/api/v1/sessions?limit=2${next === "" ? "" : `&cursor=${next}`}`, "scoped"))) as {
      items: { external: string }[];
      next: string | null;
    };
    seen.push(...page.items.map(({ external }) => external));
    next = page.next;
  }
  expect(seen).toEqual(["n6", "n4", "n2", "n0"]);
  expect((await at.get("/api/v1/sessions?cursor=nonsense!")).status).toBe(400);
  expect((await at.get("/api/v1/sessions?limit=0")).status).toBe(400);
  expect((await at.get("/api/v1/sessions?limit=2&limit=3")).status).toBe(400);
});

test("W-6 a turn is run, asks, is answered, and is read back, by every route that tells of it", async () => {
  const at = await serve();
  const result = (await read("execute", await at.post("/api/v1/agents/clerk/execute", { input: "pay" }))) as {
    session: string;
    state: string;
    questions: string[];
  };
  expect(result.state).toBe("waiting");
  const [approval] = result.questions;
  const view = (await read("approval", await at.get(`/api/v1/approvals/${approval}`))) as { digest: string };
  await read("answer", await at.post(`/api/v1/approvals/${approval}/answer`, { digest: view.digest, answer: { kind: "approve" } }));
  await idle(at, result.session);
  const turns = (await read("turns", await at.get(`/api/v1/sessions/${result.session}/turns`))) as { items: { ending: string }[] };
  expect(turns.items.map(({ ending }) => ending)).toEqual(["completed"]);
  await read("say", await at.post(`/api/v1/sessions/${result.session}/turns`, { text: "again" }));
  for (const [route, path] of [
    ["session", `/api/v1/sessions/${result.session}`],
    ["events", `/api/v1/sessions/${result.session}/events?limit=3`],
    ["agent", "/api/v1/agents/clerk"],
    ["agentStatus", "/api/v1/agents/clerk/status"],
    ["agentHistory", "/api/v1/agents/clerk/history?limit=1"],
    ["grants", "/api/v1/grants"],
    ["unknowns", "/api/v1/unknowns"],
    ["deadLetters", "/api/v1/dead-letters"],
    ["breakers", "/api/v1/breakers"],
    ["halts", "/api/v1/halts"],
    ["health", "/api/v1/health"],
    ["whoami", "/api/v1/me"],
    ["metrics", "/api/v1/metrics"],
    ["verify", "/api/v1/journal/verify"],
  ] as const)
    await read(route, await at.get(path));
  const fork = (await read("fork", await at.post(`/api/v1/sessions/${result.session}/fork`, {}))) as { session: string };
  await read("close", await at.post(`/api/v1/sessions/${fork.session}/close`, { reason: "done" }));
  await read("halt", await at.post("/api/v1/halt", { scope: "tool:pay", reason: "look" }));
  await read("resumeWork", await at.post("/api/v1/resume-work", { scope: "tool:pay", reason: "looked" }));
  await read("setBreaker", await at.post("/api/v1/breakers", { breaker: "tool:pay", to: "open", reason: "look" }));
  const exported = await (await at.get(`/api/v1/journal/export?session=${result.session}`)).text();
  expect(exported.trim().split("\n").length).toBeGreaterThan(5);
});

test("Q-23 whoever comes too late to a question is told who answered it, when, and what the call came to; who may not see it is not", async () => {
  const at = await serve();
  const ask = async (agent: string) => {
    const result = await read("execute", await at.post(`/api/v1/agents/${agent}/execute`, { input: "pay" }));
    const { session, questions } = result as { session: string; questions: string[] };
    const approval = questions[0] ?? "";
    const view = (await read("approval", await at.get(`/api/v1/approvals/${approval}`))) as { digest: string };
    const given = (kind: string) => ({ digest: view.digest, answer: kind === "deny" ? { kind, reason: "too much" } : { kind } });
    return {
      session,
      approval,
      answer: (kind: string, token = "full") => at.post(`/api/v1/approvals/${approval}/answer`, given(kind), {}, token),
    };
  };
  const said = async (response: Response) => {
    const { detail, hint } = (await response.json()) as { detail: string; hint: string };
    return [response.status, detail, hint] as const;
  };
  const [one, other] = [await ask("clerk"), await ask("other")];
  await read("answer", await one.answer("deny"));
  await read("answer", await other.answer("approve"));
  for (const { session } of [one, other]) await idle(at, session);
  const when = String.raw`\(20\d\d-\d\d-\d\dT[\d:.]+Z\)`;
  const denied = new RegExp(
    `^approval request \`${one.approval}\` is not open any more ${when}: You denied it: too much\\. The call did not run\\.$`,
  );
  for (const response of [
    await one.answer("approve"),
    await at.get(`/api/v1/approvals/${one.approval}`),
    await one.answer("approve", "scoped"),
  ])
    expect(await said(response)).toEqual([404, expect.stringMatching(denied), expect.stringContaining(one.session)]);
  expect((await said(await other.answer("approve")))[1]).toMatch(/: You approved it\. The call ran\.$/);
  const hidden = await said(await other.answer("approve", "scoped"));
  const madeUp = await said(
    await at.post("/api/v1/approvals/a_aaaaaaaaaaaaaaaa/answer", { digest: "0".repeat(64), answer: { kind: "approve" } }, {}, "scoped"),
  );
  expect(hidden.map((text) => String(text).replaceAll(other.approval, "ID"))).toEqual(
    madeUp.map((text) => String(text).replaceAll("a_aaaaaaaaaaaaaaaa", "ID")),
  );
  const late = at.runtime.approvals.answer(
    { approval: approvalId(one.approval), digest: digest("0".repeat(64)), answer: { kind: "approve" } },
    at.ann,
  );
  await expect(late).rejects.toThrow(denied);
});

test("Q-17 under a halt a turn, a session and an answer say which halt it waits with and how to lift it, and nobody is told to answer", async () => {
  const at = await serve();
  const asked = (await read("execute", await at.post("/api/v1/agents/clerk/execute", { input: "pay" }))) as {
    session: string;
    questions: readonly string[];
  };
  const [approval = ""] = asked.questions;
  await read("halt", await at.post("/api/v1/halt", { scope: "agent:clerk", reason: "look first" }));
  const halted = { scope: "agent:clerk", reason: "look first" };
  const said = await read("execute", await at.post("/api/v1/agents/clerk/execute", { input: "hello" }));
  expect(said).toMatchObject({
    state: "waiting",
    questions: [],
    sentence: "The turn waits until a halt is lifted.",
    next: expect.stringContaining("orgate resume-work agent clerk --reason"),
    detail: expect.stringContaining("agent clerk is halted by"),
  });
  const session = async () => read("session", await at.get(`/api/v1/sessions/${asked.session}`));
  expect(await session()).toMatchObject({ state: "waiting", halted });
  const view = (await read("approval", await at.get(`/api/v1/approvals/${approval}`))) as { digest: string };
  const answer = await at.post(`/api/v1/approvals/${approval}/answer`, { digest: view.digest, answer: { kind: "approve" } });
  expect(await read("answer", answer)).toMatchObject({ entry: { event: { kind: "approval.answered" } }, halted });
  expect(await session()).toMatchObject({ state: "running", halted });
  const listed = (await read("sessions", await at.get("/api/v1/sessions?state=running"))) as { items: readonly unknown[] };
  expect(listed.items).toMatchObject([{ session: asked.session, halted }]);
  const late = await at.get(`/api/v1/approvals/${approval}`);
  expect(((await late.json()) as { detail: string }).detail).toContain("It waits: agent clerk is halted by");
  await read("resumeWork", await at.post("/api/v1/resume-work", { scope: "agent:clerk", reason: "looked" }));
  await idle(at, asked.session);
  expect(await session()).toMatchObject({ state: "idle", halted: null });
});

test("W-18 Q-15 halting, lifting a halt, setting a breaker and revoking a grant take a reason; a halt takes a name that exists", async () => {
  const at = await serve();
  for (const reason of [undefined, "", "  \n"])
    for (const [path, body] of [
      ["halt", { scope: "all" }],
      ["resume-work", { scope: "all" }],
      ["breakers", { breaker: "tool:pay", to: "open" }],
      ["grants/g_1/revoke", {}],
    ] as const) {
      const refused = await at.post(`/api/v1/${path}`, { ...body, ...(reason === undefined ? {} : { reason }) });
      const { issues } = (await refused.json()) as { issues: { path: string }[] };
      expect([path, refused.status, issues.map((one) => one.path)]).toEqual([path, 400, ["reason"]]);
    }
  await expect(at.runtime.halt("all", " ", at.ann)).rejects.toThrow("to halt all takes a reason");
  await expect(at.runtime.resumeWork("all", "", at.ann)).rejects.toThrow("to let all go on takes a reason");
  const typo = await at.post("/api/v1/halt", { scope: "agent:clrek", reason: "x" });
  expect([typo.status, await typo.json()]).toMatchObject([
    400,
    { detail: "nothing was halted: this project has no agent `clrek`", hint: expect.stringContaining("did you mean `clerk`?") },
  ]);
  expect(await at.runtime.halts()).toEqual([]);
  expect((await at.post("/api/v1/halt", { scope: "agent:clrek", reason: "x", anyway: true })).status).toBe(200);
  expect(await at.runtime.halts()).toMatchObject([{ scope: "agent:clrek", reason: "x" }]);
});

test("F-9 a breaker takes a name that exists, over HTTP and in the library, unless it is said that it is meant all the same", async () => {
  const at = await serve();
  const set = (body: object) => at.post("/api/v1/breakers", { breaker: "tool:pya", to: "open", reason: "x", ...body });
  const typo = await set({});
  expect([typo.status, await typo.json()]).toMatchObject([
    400,
    {
      detail: "nothing was set: this project has no tool `pya`",
      hint: expect.stringMatching(/^did you mean `tool:pay`\? .*`anyway: true`$/),
    },
  ]);
  const change = { to: "open", reason: "x" } as const;
  await expect(at.runtime.breakers.set("tool:pya", change, at.ann)).rejects.toThrow("nothing was set");
  await expect(at.runtime.breakers.reset("tool:pya", "x", at.ann)).rejects.toThrow("nothing was set");
  expect(await at.runtime.breakers.list()).toEqual([]);
  expect((await set({ anyway: true })).status).toBe(200);
  await at.runtime.breakers.reset("tool:pya", "it is there now", at.ann);
  await at.runtime.breakers.set("tool:ypa", { ...change, anyway: true }, at.ann);
  expect(await at.runtime.breakers.list()).toMatchObject([
    { breaker: "tool:pya", state: "closed" },
    { breaker: "tool:ypa", state: "open" },
  ]);
});

test("W-9 figures are those of the agents that a caller may see, alike in JSON and in Prometheus' text", async () => {
  const at = await serve();
  for (const agent of ["clerk", "other"]) await read("execute", await at.post(`/api/v1/agents/${agent}/execute`, { input: "look" }));
  const shown = async (token: string) =>
    (await read("metrics", await at.get("/api/v1/metrics", token))) as {
      metrics: { name: string; samples: { labels: Record<string, string>; value: number }[] }[];
    };
  const agents = async (token: string) =>
    [...new Set((await shown(token)).metrics.flatMap(({ samples }) => samples.flatMap(({ labels }) => labels.agent ?? "(server)")))].sort();
  await counted(at, 2);
  expect(await agents("full")).toEqual(["(server)", "clerk", "other"]);
  expect(await agents("scoped")).toEqual(["clerk"]);
  expect(await agents("blind")).toEqual([]);
  const ended = (await shown("full")).metrics.find(({ name }) => name === "orgate_turns_ended_total");
  expect(ended?.samples.map(({ labels, value }) => [labels.agent, labels.ending, value])).toEqual([
    ["clerk", "completed", 1],
    ["other", "completed", 1],
  ]);
  const text = await (await at.get("/api/v1/metrics/prometheus", "scoped")).text();
  expect(text).toContain('orgate_turns_ended_total{agent="clerk",ending="completed"} 1');
  expect(text).not.toContain("other");
});
