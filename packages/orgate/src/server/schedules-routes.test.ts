import { millis, seq, sessionId } from "@orgate/core";
import { API } from "@orgate/protocol";
import { afterAll, beforeAll, expect, test } from "vitest";
import { projectScheduleSchema } from "../config/schedule-schema.ts";
import { openCalendar } from "../schedules/calendar.ts";
import { toScheduleSpec } from "../schedules/declaring.ts";
import { getScheduleStore } from "../schedules/index.ts";
import { type Serving, serving } from "./fixtures/serving.ts";

let at: Serving;
const declared = (name: string, agent: string, more: object = {}) => ({
  name,
  from: "orgate.toml",
  spec: toScheduleSpec(
    projectScheduleSchema().parse({ agent, cron: "0 2 * * *", input: "look", jitter: "30s", ...more }),
    "ann",
    openCalendar(),
  ),
});
beforeAll(async () => {
  const by = { kind: "user", id: "ann" } as const;
  at = await serving({
    serve: {
      declares: {
        schedules: [declared("nightly", "clerk"), declared("other", "other"), declared("shared", "clerk", { session: "shared" })],
        webhooks: [],
        secrets: new Map(),
        by,
      },
    },
  });
});
afterAll(() => at.stop());

const get = async (path: string, token = "full") => {
  const answer = await at.get(`${API}${path}`, token);
  return { status: answer.status, value: (await answer.json()) as Record<string, unknown> & { items: Record<string, unknown>[] } };
};
const post = async (path: string, body: unknown, headers: Record<string, string> = {}, token = "full") => {
  const answer = await at.post(`${API}${path}`, body, headers, token);
  return { status: answer.status, value: (await answer.json()) as Record<string, unknown> };
};

/** Its turns, once so many are over. */
async function over(session: string, turns: number): Promise<void> {
  for (let n = 0; n < 500; n += 1) {
    const { value } = await get(`/sessions/${session}`);
    if (value.state === "idle" && value.turns === turns) return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error(`${session} does not end`);
}

test("Z-8 what a project declares is listed and shown to whom may see it, with when it is due", async () => {
  expect((await get("/schedules")).value.items).toMatchObject([
    { schedule: "nightly", state: "active", from: "orgate.toml", spec: { agent: "clerk", owner: "ann", jitterMs: 30_000 } },
    { schedule: "other" },
    { schedule: "shared" },
  ]);
  const two = (await get("/schedules?limit=2")).value;
  expect((await get(`/schedules?limit=2&cursor=${String(two.next)}`)).value).toMatchObject({
    items: [{ schedule: "shared" }],
    next: null,
  });
  expect((await get("/schedules/nightly")).value).toMatchObject({ schedule: "nightly", fired: 0, last: null });
  const { value } = await get("/schedules/nightly/next?limit=3");
  const [first = 0, second = 0] = value.next as number[];
  expect([(value.next as number[]).length, Math.abs(second - first - 86_400_000) <= 30_000]).toEqual([3, true]);
  expect((await get("/schedules/nothing")).status).toBe(404);
});

test("Z-8 W-9 access to one agent's sees and changes its schedules alone; another's is as if it were not there", async () => {
  expect((await get("/schedules/nightly", "scoped")).status).toBe(200);
  const hidden = await get("/schedules/other", "scoped");
  const missing = await get("/schedules/nothing", "scoped");
  expect([hidden.status, missing.status]).toEqual([404, 404]);
  expect((await post("/schedules/other/pause", {}, {}, "scoped")).status).toBe(404);
  expect((await post("/schedules/other/run", undefined, {}, "scoped")).status).toBe(404);
  expect((await post("/schedules", { schedule: "mine", agent: "other", cron: "* * * * *" }, {}, "scoped")).status).toBeGreaterThanOrEqual(
    403,
  );
  expect((await get("/schedules/other")).value).toMatchObject({ state: "active" });
});

test("schedules are told with their next three times and what the caller may do; what needs somebody comes first, in pages, by agent, state and name", async () => {
  const [nightly] = (await get("/schedules")).value.items;
  expect(nightly).toMatchObject({ may: { edit: true, run: true }, upcoming: [expect.any(Number), expect.any(Number), expect.any(Number)] });
  expect([nightly?.nextAt]).toEqual((nightly?.upcoming as number[] | undefined)?.slice(0, 1));
  expect((await get("/schedules/nightly", "looking")).value).toMatchObject({ may: { edit: false, run: false } });
  const names = async (query: string) => (await get(`/schedules?${query}`)).value.items.map(({ schedule }) => schedule);
  expect(await names("agent=other")).toEqual(["other"]);
  expect(await names("text=NIGHT")).toEqual(["nightly"]);
  const stopped = { kind: "schedule.stopped", schedule: "other", failures: 5, session: null, reason: "it fails" } as const;
  await getScheduleStore(at.runtime.place).change("other", () => ({ events: [stopped] }));
  expect(await names("order=need")).toEqual(["other", "nightly", "shared"]);
  expect(await names("state=stopped")).toEqual(["other"]);
  expect(await names("state=active")).toEqual(["nightly", "shared"]);
  const first = (await get("/schedules?order=need&limit=1")).value;
  expect(await names(`order=need&limit=1&cursor=${first.next as string}`)).toEqual(["nightly"]);
  expect((await post("/schedules/other/resume", {})).value).toMatchObject({ state: "active", may: { edit: true } });
});

test("Z-8 one is added, paused, resumed and removed; what is wrong with it is told", async () => {
  const added = await post("/schedules", { schedule: "mine", agent: "clerk", cron: "0 3 * * *", timezone: "Europe/Berlin", input: "look" });
  expect([added.status, added.value]).toMatchObject([201, { schedule: "mine", from: null, spec: { owner: "ann" } }]);
  expect((await post("/schedules/mine/pause", { reason: "a holiday" })).value).toMatchObject({ state: "paused", nextAt: null });
  expect((await post("/schedules/mine/resume", {})).value).toMatchObject({ state: "active" });
  expect((await post("/schedules/mine/remove", {})).value).toMatchObject({ state: "removed" });
  expect((await get("/schedules/mine")).status).toBe(404);
  expect((await post("/schedules/nightly/remove", {})).value).toMatchObject({ detail: expect.stringContaining("declared in orgate.toml") });
  for (const [body, message] of [
    [{ schedule: "x", agent: "clerk", cron: "0 0 30 2 *" }, "never comes"],
    [{ schedule: "x", agent: "clerk" }, "has `cron` or `at`"],
    [{ schedule: "x", agent: "nobody", cron: "* * * * *" }, "there is no agent `nobody`"],
    [{ schedule: "nightly", agent: "clerk", cron: "* * * * *" }, "there is a schedule `nightly` already"],
    [{ schedule: "x", agent: "clerk", cron: "* * * * *", timezone: "Mars/Base" }, "there is no time zone"],
  ] as const)
    expect((await post("/schedules", body)).value).toMatchObject({ detail: expect.stringContaining(message) });
});

test("Z-3 Z-8 W-5 run fires it now, once for a key, as a real turn; its past is told in pages", async () => {
  const key = { "idempotency-key": crypto.randomUUID() };
  const first = await post("/schedules/nightly/run", undefined, key);
  const again = await post("/schedules/nightly/run", undefined, key);
  expect([first.status, again.value]).toEqual([202, first.value]);
  await over(String(first.value.session), 1);
  expect(at.runs.look).toBe(1);
  const { value } = await get("/schedules/nightly/history?limit=1");
  expect([value.items.length, typeof value.next]).toEqual([1, "string"]);
  const whole = (await get("/schedules/nightly/history")).value.items.map(({ event }) => (event as { kind: string }).kind);
  expect(whole.filter((kind) => kind === "schedule.fired")).toHaveLength(1);
  expect(whole.at(-1)).toBe("schedule.declared");
});

test("Z-4 every firing in a shared session is a turn of its owner's, in the owner's own words", async () => {
  const first = String((await post("/schedules/shared/run", undefined)).value.session);
  await over(first, 1);
  const second = String((await post("/schedules/shared/run", undefined)).value.session);
  await over(second, 2);
  expect(second).toBe(first);
  const events = (await at.runtime.place.store.journal.read(sessionId(first), seq(0), 500)).map(({ event }) => event);
  const began = events.flatMap((e) =>
    e.kind === "turn.started" ? [[e.turn, e.by, e.input, e.intent?.startsWith("schedule-shared-") ?? null]] : [],
  );
  expect(began).toEqual([
    [1, { kind: "user", id: "ann" }, "look", null],
    [2, { kind: "user", id: "ann" }, "look", true],
  ]);
});

test("Z-6 what was set aside is fired once more, as what it was; what is not set aside is not", async () => {
  expect((await post("/schedules/other/retry", {})).value).toMatchObject({ detail: "nothing of `other` is set aside" });
  const [dueAt, session] = [millis(Date.UTC(2030, 0, 1, 2)), sessionId("s_lost0000001")];
  const by = { kind: "user", id: "ann" } as const;
  await getScheduleStore(at.runtime.place).change("other", () => ({
    events: [
      { kind: "schedule.fired", schedule: "other", dueAt, attempt: 3, session, intent: null, why: "retry", by },
      { kind: "schedule.ended", schedule: "other", dueAt, attempt: 3, session, ending: "failed", result: "set-aside", retryAt: null },
    ],
  }));
  expect((await get("/schedules/other")).value).toMatchObject({ setAside: [{ dueAt, session }] });
  expect((await post("/schedules/other/retry", { dueAt: dueAt + 1 })).value).toMatchObject({
    detail: expect.stringContaining("2030-01-01"),
  });
  const key = { "idempotency-key": crypto.randomUUID() };
  const fired = await post("/schedules/other/retry", { dueAt }, key);
  expect([fired.status, (await post("/schedules/other/retry", { dueAt }, key)).value]).toEqual([202, fired.value]);
  await over(String(fired.value.session), 1);
  const [opened] = await at.runtime.place.store.journal.read(sessionId(String(fired.value.session)), seq(0), 1);
  expect(opened?.event).toMatchObject({ surface: "schedule", origin: { kind: "schedule", schedule: "other", dueAt, attempt: 4 } });
  expect((await get("/schedules/other")).value).toMatchObject({ setAside: [], state: "active" });
});
