// @module-tag postgres
/** Words of a reply in progress, wherever it is driven: two coordinators and workers as real processes, and a model that says what the test says. */
import { randomBytes } from "node:crypto";
import type { Entry, SessionId } from "@orgate/core";
import { type Following, openLink } from "@orgate/protocol";
import pg from "pg";
import { afterEach, expect, test } from "vitest";
import { WebSocket } from "ws";
import { testUrl } from "../../../store/postgres/fixtures/schemas.ts";
import { until } from "../fixtures/desk.ts";
import { SLOW_AGENT, startSpokenModel } from "../fixtures/spoken-model.ts";
import { openCluster } from "../fixtures/worker-cases.ts";

const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

/** Withheld in a session with this label. */
const SECRET = `@id("nothing-secret")
forbid(principal, action == Action::"respond", resource) when { context.labels.contains("secret") };
`;

/** What a client of `/ws/v1` has: the words so far of the reply in progress, and what it received, in order. */
function follow(url: string, token: string, to: Following) {
  const seen: string[] = [];
  let [place, words] = ["", ""];
  const link = openLink({
    dial(events) {
      const socket = new WebSocket(`${url.replace("http", "ws")}/ws/v1`, { headers: { authorization: `Bearer ${token}` } });
      socket.on("open", () => events.opened());
      socket.on("message", (text) => events.heard(String(text)));
      socket.on("error", () => {});
      socket.on("close", () => events.closed());
      return { send: (text) => socket.send(text), close: () => socket.close() };
    },
    makeId: () => randomBytes(8).toString("hex"),
    later(ms, run) {
      const timer = setTimeout(run, ms);
      return () => clearTimeout(timer);
    },
  });
  ends.push(() => link.close());
  const take = ({ event }: Entry): void => {
    seen.push(event.kind);
    if (event.kind === "model.replied" || event.kind === "model.failed" || event.kind === "hold.taken") words = "";
  };
  link.follow(
    to,
    { after: 0 },
    {
      entries: (items) => {
        for (const item of items) if (item.kind === "entry") take(item.entry);
      },
      preview({ session, iteration, attempt, preview }) {
        const now = `${session} ${iteration}.${attempt}`;
        if (now !== place) [place, words] = [now, ""];
        if (preview.offset > words.length) seen.push("GAP");
        words = words.slice(0, preview.offset) + preview.text;
        seen.push("words");
      },
    },
  );
  return { seen, words: () => words, has: (text: string) => until(() => (words === text ? true : null)) };
}

/** What a role that has no right to the project hears on the channel. */
async function eavesdrop(schema: string) {
  const role = `other_${randomBytes(6).toString("hex")}`;
  const admin = new pg.Client({ connectionString: testUrl() });
  await admin.connect();
  await admin.query(`CREATE ROLE "${role}" LOGIN PASSWORD 'other'`);
  const url = new URL(testUrl());
  [url.username, url.password] = [role, "other"];
  const ear = new pg.Client({ connectionString: url.href });
  await ear.connect();
  const heard: string[] = [];
  ear.on("notification", ({ payload = "" }) => heard.push(payload));
  const { rows } = await ear.query("SELECT 'orgate_signals_' || md5($1) AS channel", [schema]);
  await ear.query(`LISTEN "${rows[0].channel}"`);
  ends.push(async () => {
    await ear.end();
    await admin.query(`DROP ROLE "${role}"`);
    await admin.end();
  });
  return heard;
}

const openStory = async () => {
  const model = await startSpokenModel();
  ends.push(() => model.close());
  const schema = `p_${randomBytes(6).toString("hex")}`;
  const settings = `[cluster]\ndatabase = { env = "TEST_DATABASE" }\nschema = "${schema}"\nlease_seconds = 2\n`;
  const cluster = await openCluster(
    { settings, env: { TEST_DATABASE: testUrl(), OLLAMA_BASE_URL: model.url } },
    (policies) => policies + SECRET,
    (desk) => desk.write("agents/slow.ts", SLOW_AGENT),
  );
  const { ask, servers, token } = cluster;
  const begin = async (input: string, more: object = {}): Promise<SessionId> => {
    const answer = await ask(0, "POST", "/api/v1/agents/slow/execute", { body: { input, waitMs: 0, ...more } });
    return ((await answer.json()) as { session: SessionId }).session;
  };
  const at = (server: number, session: SessionId) => follow(String(servers[server]?.told.url), token, { kind: "session", session });
  return { ...cluster, model, schema, begin, at };
};

test("W-38 clients of every coordinator see the same words, one that comes late the text so far, and nothing of them is in clear on the channel", async () => {
  const { model, schema, begin, at, worker, servers, server, token, verify } = await openStory();
  const heard = await eavesdrop(schema);
  const first = await worker();
  const session = await begin("tell");
  const near = at(0, session);
  const all = follow(String(servers[0]?.told.url), token, { kind: "all" });
  const reply = await model.asked(1);
  reply.say("Once upon");
  await near.has("Once upon");
  reply.say(" a time ");
  await near.has("Once upon a time ");
  const far = at(1, session); // nothing is said while it comes
  await far.has("Once upon a time ");
  const long = `${'"ünï\\códe" 語 '.repeat(2_000)}.`;
  reply.say(long);
  for (const one of [near, far, all]) await one.has(`Once upon a time ${long}`);
  servers[1]?.kill("SIGKILL");
  const again = await server();
  const back = follow(String(again.told.url), token, { kind: "session", session });
  await back.has(`Once upon a time ${long}`);

  first.kill("SIGKILL"); // its reply is lost, and asked for again by another
  await worker();
  const second = await model.asked(2);
  second.say("Once more");
  for (const one of [near, all, back]) await one.has("Once more");
  second.finish();
  for (const one of [near, all, back]) {
    await until(() => (one.seen.includes("turn.ended") ? true : null));
    expect(one.words()).toBe("");
    expect(one.seen.slice(one.seen.indexOf("model.replied"))).not.toContain("words");
    expect(one.seen).not.toContain("GAP");
  }

  const before = all.seen.length;
  const secret = await begin("whisper", { labels: ["secret"] });
  const [here, there] = [at(0, secret), follow(String(again.told.url), token, { kind: "session", session: secret })];
  const withheld = await model.asked(3);
  withheld.say("not for you");
  withheld.say(" at all");
  withheld.finish();
  (await model.asked(4)).say("nor this"); // it is told that its answer was refused
  for (const one of [here, there]) await until(() => (one.seen.filter((kind) => kind === "model.asked").length === 2 ? true : null));
  expect([...here.seen, ...there.seen, ...all.seen.slice(before)]).not.toContain("words");

  expect(heard.length).toBeGreaterThan(5);
  for (const payload of heard) {
    const clear = payload + Buffer.from(payload, "base64url").toString("latin1") + Buffer.from(payload, "base64").toString("utf8");
    for (const word of ["Once", "time", "códe", "more", session, "not for you"]) expect(clear).not.toContain(word);
  }
  expect(await verify()).toMatchObject({ verified: true });
}, 300_000);
