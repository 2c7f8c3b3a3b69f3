/** Y-3 for `schedule` and `webhook` blocks: what the real scheduler fires, and what a real server answers and starts, changes with each key. */
import { createHmac } from "node:crypto";
import { millis, type SessionId, seq } from "@orgate/core";
import { BLOCK_KEYS, readSymbi, type SymbiFile } from "@orgate/symbi";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openCalendar } from "../../schedules/calendar.ts";
import { readSchedules, readWebhooks } from "../../schedules/declaring.ts";
import { MINUTE, SERVER, START, stage } from "../../schedules/fixtures/stage.ts";
import { type Serving, serving } from "../../server/fixtures/serving.ts";

type Table<Block extends keyof typeof BLOCK_KEYS> = Readonly<Record<keyof (typeof BLOCK_KEYS)[Block], readonly [string, string]>>;
const fileOf = (text: string): SymbiFile => {
  const read = readSymbi(text, "agents/x.symbi");
  if (read.kind === "problems") throw new Error(`${JSON.stringify(read.problems)}\n${text}`);
  return read.symbi;
};
const sourcesOf = (text: string) => ({
  config: { root: "/", file: "/orgate.toml", schedules: {}, webhooks: {} },
  agents: [],
  files: [fileOf(text)],
  owner: "ann",
  isAgent: () => true,
});
/** The keys that a block cannot be without, the one that is looked at, and what goes with it. */
function body(base: Readonly<Record<string, string>>, key: string, value: string, more: Readonly<Record<string, string>> = {}): string {
  const without = { at: "cron", contains: "equals" }[key];
  const all = Object.entries({ ...base, ...more, [key]: value }).filter(([name]) => name !== without);
  return all.map(([name, one]) => `${name}: ${one}`).join("\n");
}

// ── schedules ──

const SCHEDULE: Table<"schedule"> = {
  agent: ["clerk", "other"],
  input: ['"look"', '"listen"'],
  cron: ['"* * * * *"', '"*/3 * * * *"'],
  at: ['"2026-01-01T00:01:00Z"', '"2026-01-01T00:02:00Z"'],
  timezone: ['"UTC"', '"Asia/Kolkata"'],
  one_shot: ["true", "false"],
  jitter: ["0s", "50s"],
  overlap: ["skip", "queue"],
  missed: ["skip", "all"],
  session: ["fresh", "shared"],
  retries: ["0", "2"],
  enabled: ["true", "false"],
};
const EACH = { agent: "clerk", input: '"look"', cron: '"* * * * *"' };
/** In a zone with half an hour more, only these minutes are due. */
const MORE: Readonly<Record<string, Readonly<Record<string, string>>>> = { timezone: { cron: '"1 0 * * *"' }, at: { missed: "once" } };

/** A day at the scheduler: a turn that takes longer than a minute and fails, its repetition, one that is over in time, an hour in which nobody is there. */
async function firings(text: string): Promise<unknown> {
  const s = stage();
  s.agents.add("other");
  const declared = readSchedules(sourcesOf(text), openCalendar());
  const first = await s.start("a");
  await first.book.declare(declared, SERVER);
  await first.scheduler.start();
  const at = async (minutes: number, process = first): Promise<void> => {
    s.clock.now = millis(START + minutes * MINUTE);
    await process.scheduler.settle();
  };
  await at(1);
  await at(2);
  await s.finish("failed");
  await at(2.2);
  await at(2.8);
  await s.finish();
  await at(2.9);
  await s.finish();
  first.scheduler.stop();
  s.clock.now = millis(START + 62.5 * MINUTE);
  const second = await s.start("b");
  await second.scheduler.start();
  await s.finish();
  await second.scheduler.settle();
  const opened = new Map<SessionId, unknown>();
  for (const session of s.sessions()) {
    const [open, started] = await second.journal.read(session, seq(0), 2);
    opened.set(session, [
      open?.event.kind === "session.opened" && open.event.agent.name,
      started?.event.kind === "turn.started" && started.event.input,
    ]);
  }
  const [only] = declared;
  const entries = await s.entries(only?.name ?? "");
  return entries.flatMap(({ at: when, event }) =>
    event.kind === "schedule.fired"
      ? [
          [
            (when - START) / MINUTE,
            (event.dueAt - START) / MINUTE,
            event.why,
            [...opened.keys()].indexOf(event.session),
            opened.get(event.session),
          ],
        ]
      : event.kind === "schedule.declared"
        ? []
        : [[(when - START) / MINUTE, event.kind]],
  );
}

test.each(Object.keys(BLOCK_KEYS.schedule))("Y-3 schedule %s: what is fired changes with its value", async (key) => {
  const values = Reflect.get(SCHEDULE, key) as readonly [string, string] | undefined;
  if (values === undefined) throw new Error(`there is no row for \`${key}\``);
  const [a, b] = await Promise.all(values.map((value) => firings(`schedule nightly {\n${body(EACH, key, value, MORE[key])}\n}`)));
  expect(a).not.toEqual(b);
  expect([a, b].some((fired) => JSON.stringify(fired).includes('"due"') || JSON.stringify(fired).includes('"missed"'))).toBe(true);
});

// ── webhooks ──

/** Each webhook has its own name for what signs all deliveries here; `TWO` is another. */
const secretOf = ({ name }: Readonly<{ name: string }>): string => (name === "TWO" ? "the second secret" : "the first secret");
const HOOK = { agent: "clerk", path: "", provider: "github", secret: "vault://one" };
const WEBHOOK: Table<"webhook"> = {
  agent: ["clerk", "other"],
  path: ['"/hooks/path_a"', '"/hooks/elsewhere"'],
  provider: ["github", "slack"],
  secret: ["vault://one", '"$TWO"'],
  input: ['"Look:"', '"Listen:"'],
  replay_window: ["1m", "3m"],
  max_bytes: ["10", "1000"],
};
const FILTER: Table<"webhook filter"> = {
  json_path: ['"$.a"', '"$.b"'],
  equals: ["1", "2"],
  contains: ['"tex"', '"other"'],
};
/** Results of one delivery to the first path, signed with the first secret. */
const COMES: Readonly<Record<string, readonly [string, string]>> = {
  agent: ["202 clerk", "202 other"],
  path: ["202 clerk", "404"],
  provider: ["202 clerk", "401"],
  secret: ["202 clerk", "401"],
  input: ["202 clerk Look:", "202 clerk Listen:"],
  replay_window: ["401", "202 clerk"],
  max_bytes: ["413", "202 clerk"],
  json_path: ["202 clerk", "200"],
  equals: ["202 clerk", "200"],
  contains: ["202 clerk", "200"],
};
const BODY = { a: 1, b: 2, c: "a text" };

const rows = [
  ...Object.entries(WEBHOOK).map(([key, values]) => ["webhook", key, values] as const),
  ...Object.entries(FILTER).map(([key, values]) => ["webhook filter", key, values] as const),
];
const nameOf = (key: string, i: number): string => `${key}_${"ab"[i] ?? ""}`;
const pathOf = (key: string, i: number): string => (key === "path" ? "/hooks/path_a" : `/hooks/${nameOf(key, i)}`);
const hooksOf = rows.flatMap(([block, key, values]) =>
  values.map((value, i) => {
    const base = {
      ...HOOK,
      path: `"${pathOf(key, i)}"`,
      secret: `vault://${nameOf(key, i)}`,
      ...(key === "replay_window" ? { provider: "slack" } : {}),
    };
    const filter = body({ json_path: key === "contains" ? '"$.c"' : '"$.a"', equals: "1" }, key, value);
    const text = block === "webhook" ? body(base, key, value) : `${body(base, "agent", "clerk")}\nfilter {\n${filter}\n}`;
    return { key, i, text: `webhook ${nameOf(key, i)} {\n${text}\n}` };
  }),
);

let at: Serving;
beforeAll(async () => {
  const webhooks = readWebhooks(sourcesOf(hooksOf.map(({ text }) => text).join("\n")));
  const secrets = new Map(webhooks.map(({ name, secrets: own }) => [name, own.map(secretOf)]));
  const declares = { schedules: [], webhooks, secrets, by: { kind: "user", id: "ann" } as const };
  at = await serving({ serve: { declares, bounds: { strangersBurst: 1_000, strangersPerSecond: 100 } } });
});
afterAll(() => at.stop());

async function delivered(key: string, i: number): Promise<string> {
  const name = nameOf(key, i);
  const text = JSON.stringify({ ...BODY, from: name });
  const sent = String(Math.floor(Date.now() / 1_000) - 120);
  const mac = (prefix: string): string => createHmac("sha256", "the first secret").update(`${prefix}${text}`).digest("hex");
  const answer = await fetch(`${at.at.url}${key === "path" && i === 1 ? "/hooks/path_b" : pathOf(key, i)}`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      "x-github-delivery": name,
      ...(key === "replay_window"
        ? { "x-slack-signature": `v0=${mac(`v0:${sent}:`)}`, "x-slack-request-timestamp": sent }
        : { "x-hub-signature-256": `sha256=${mac("")}` }),
    },
    body: text,
  });
  await answer.text();
  const found = (await at.runtime.sessions.list({ most: 500 })).map(({ session }) => session);
  for (const session of found) {
    const entries = await at.runtime.place.store.journal.read(session, seq(0), 3);
    const [opened] = entries;
    if (opened?.event.kind !== "session.opened" || opened.event.origin?.kind !== "webhook" || opened.event.origin.webhook !== name)
      continue;
    const said = entries.flatMap(({ event }) => (event.kind === "turn.started" ? [event.input] : []));
    return `${answer.status} ${opened.event.agent.name}${key === "input" ? ` ${said[0]?.split("\n")[0] ?? ""}` : ""}`;
  }
  return String(answer.status);
}

test("Y-3 every key of a webhook and of its filter has a row", () => {
  expect(Object.keys(WEBHOOK).sort()).toEqual(Object.keys(BLOCK_KEYS.webhook).sort());
  expect(Object.keys(FILTER).sort()).toEqual(Object.keys(BLOCK_KEYS["webhook filter"]).sort());
});

test.each(rows)("Y-3 %s %s: what comes of a delivery changes with its value", async (_, key) => {
  expect([await delivered(key, 0), await delivered(key, 1)]).toEqual(COMES[key]);
});
