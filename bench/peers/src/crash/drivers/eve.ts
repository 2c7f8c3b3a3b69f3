/**
 * eve: `eve build`, `eve start` and its session routes, https://eve.dev/docs/channels/eve (in the package: docs/channels/eve.mdx); approval by
 * `always()`, answered with `inputResponses`, docs/tools/human-in-the-loop.md. The local world goes on by itself once the server is up again,
 * docs/concepts/execution-model-and-durability.mdx, after the lease of the interrupted step: 860 s by default, here
 * WORKFLOW_INLINE_OWNERSHIP_LEASE_SECONDS=2.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import * as z from "zod";
import { INPUT } from "../cases.ts";
import { type Driver, ended, lost, parked, type World } from "../driver.ts";
import { fileStore } from "../file-store.ts";
import type { Outcome } from "../wire.ts";
import { copyApp, EVE_BIN } from "./eve-app.ts";

const LEASE_S = 2;
const START_MS = 20_000;

/** The server of this process; it dies with its group. */
let running: Promise<string> | null = null;

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  if (address === null || typeof address === "string") throw new Error("there is no free port");
  return address.port;
}

async function serve(world: World): Promise<string> {
  const app = copyApp(world.folder);
  const port = await freePort();
  spawn(process.execPath, [EVE_BIN, "start", "--host", "127.0.0.1", "--port", String(port)], {
    cwd: app,
    stdio: ["ignore", 2, 2],
    env: { ...process.env, CRASH_COUNTER: world.counter, WORKFLOW_INLINE_OWNERSHIP_LEASE_SECONDS: String(LEASE_S) },
  });
  const url = `http://127.0.0.1:${port}/eve/v1`;
  for (const deadline = performance.now() + START_MS; performance.now() < deadline; await sleep(100)) {
    const up = await fetch(`${url}/health`).catch(() => null);
    if (up?.ok) return url;
  }
  throw new Error("the server did not come up");
}
function server(world: World): Promise<string> {
  running ??= serve(world);
  return running;
}

const Event = z.object({
  type: z.string(),
  data: z.object({
    message: z.unknown().optional(),
    on: z.string().optional(),
    requests: z.array(z.object({ requestId: z.string() })).optional(),
  }),
});
type Event = z.infer<typeof Event>;

/** From the session's first event on; ends at the last one on record unless told to follow. */
async function* events(url: string, session: string, follow: boolean): AsyncGenerator<Event> {
  const response = await fetch(`${url}/session/${session}/stream${follow ? "" : "?follow=false"}`);
  if (!response.ok || response.body === null) throw new Error(`the stream says ${response.status}`);
  let rest = "";
  for await (const text of response.body.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) if (line.trim() !== "") yield Event.parse(JSON.parse(line));
  }
}

/** What the session stands at after an event; null: it goes on. */
function outcomeAt({ type, data }: Event, text: string): Outcome | null {
  if (type === "turn.waiting" && data.on === "input") return parked;
  if (type === "session.waiting" || type === "session.completed") return ended(text);
  if (type === "turn.failed" || type === "session.failed") return lost(`${type}: ${JSON.stringify(data.message)}`);
  return null;
}

async function history(url: string, session: string): Promise<readonly Event[]> {
  const all: Event[] = [];
  for await (const event of events(url, session, false)) all.push(event);
  return all;
}

/** Reads on until the session stands still at an event later than `after`. */
async function follow(url: string, session: string, after: number): Promise<Outcome> {
  let [text, count] = ["", 0];
  for await (const event of events(url, session, true)) {
    count += 1;
    if (event.type === "message.completed") text = String(event.data.message);
    const outcome = outcomeAt(event, text);
    if (outcome !== null && count > after) return outcome;
  }
  return lost("the stream ended");
}

async function post(url: string, body: unknown): Promise<unknown> {
  const response = await fetch(url, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });
  if (!response.ok) throw new Error(`${response.status} ${await response.text()}`);
  return response.json();
}

const sessionOf = ({ folder }: World) => fileStore<string>(folder, "session.json");

export const driver: Driver = {
  async start(world) {
    const url = await server(world);
    const { sessionId } = z.object({ sessionId: z.string() }).parse(await post(`${url}/session`, { message: INPUT }));
    sessionOf(world).write(sessionId);
    return follow(url, sessionId, 0);
  },
  async resume(world) {
    const url = await server(world);
    const session = sessionOf(world).read();
    if (session === null) return lost("there is no session");
    const past = await history(url, session);
    const last = past.findLast(
      (event) => outcomeAt(event, "") !== null || event.type === "input.resolved" || event.type === "step.started",
    );
    if (last !== undefined && outcomeAt(last, "")?.kind === "parked") return parked;
    return follow(url, session, last !== undefined && outcomeAt(last, "")?.kind === "ended" ? 0 : past.length);
  },
  async answer(world) {
    const url = await server(world);
    const session = sessionOf(world).read();
    if (session === null) return lost("there is no session");
    const past = await history(url, session);
    const request = past.findLast(({ type }) => type === "input.requested")?.data.requests?.[0];
    if (request === undefined) return lost("the session has no open request");
    await post(`${url}/session/${session}`, { inputResponses: [{ requestId: request.requestId, optionId: "approve" }] });
    return follow(url, session, past.length);
  },
};
