/** Content for the screens, made over the API by real turns. */
import { spawnSync } from "node:child_process";
import { createHmac } from "node:crypto";
import { join } from "node:path";
import * as z from "zod";
import type { Person } from "./kit.ts";
import { type ConsoleServer, WEBHOOK_SECRET } from "./server.ts";

export type Seed = Readonly<{
  /** Words, calls, a diff, a denial. */
  session: string;
  /** Waits for an answer. */
  waiting: string;
  approval: string;
  hostile: string;
  /** A session of more than 10,000 entries; null until it is made. */
  many: string | null;
}>;

const ran = z.object({ session: z.string(), state: z.string(), questions: z.array(z.string()) });
type Ran = z.infer<typeof ran>;

/** The headers that the console's own pages send. */
async function headersOf({ context }: Person, server: ConsoleServer): Promise<Readonly<Record<string, string>>> {
  const cookies = await context.cookies();
  return { origin: server.url(), "x-orgate-csrf": cookies.find(({ name }) => name.startsWith("orgate-csrf-"))?.value ?? "" };
}

/** Signs out outside the page, so that the sign-in ends there unexpectedly. */
export async function signOut(person: Person, server: ConsoleServer): Promise<void> {
  const answer = await person.context.request.post(`${server.url()}/sign-out`, { headers: await headersOf(person, server) });
  if (!answer.ok()) throw new Error(`signing out: ${await answer.text()}`);
}

/** Sets a breaker over the API. */
export async function setBreaker(person: Person, server: ConsoleServer, breaker: string, to: "open" | "closed"): Promise<void> {
  const answer = await person.context.request.post(`${server.url()}/api/v1/breakers`, {
    headers: { ...(await headersOf(person, server)), "idempotency-key": crypto.randomUUID() },
    data: { breaker, to, reason: "a drill" },
  });
  if (!answer.ok()) throw new Error(`setting ${breaker}: ${await answer.text()}`);
}

/** Runs a turn with the person's own sign-in. */
type Turn = Readonly<{ agent: string; input: string; session?: string }>;
export async function execute(person: Person, server: ConsoleServer, { agent, input, session }: Turn): Promise<Ran> {
  const answer = await person.context.request.post(`${server.url()}/api/v1/agents/${agent}/execute`, {
    headers: { ...(await headersOf(person, server)), "idempotency-key": crypto.randomUUID() },
    data: { input, waitMs: 300_000, ...(session === undefined ? {} : { session }) },
    timeout: 300_000,
  });
  if (!answer.ok()) throw new Error(`seeding ${agent}: ${await answer.text()}`);
  return ran.parse(await answer.json());
}

/** Sends a webhook delivery as the build server would; returns the status. */
export async function deliver(server: ConsoleServer, content: Readonly<Record<string, unknown>>, secret = WEBHOOK_SECRET): Promise<number> {
  const body = JSON.stringify(content);
  const signature = createHmac("sha256", secret).update(body).digest("hex");
  const headers = {
    "content-type": "application/json",
    "x-hub-signature-256": `sha256=${signature}`,
    "x-github-delivery": String(content.id),
  };
  return (await fetch(`${server.url()}/hooks/builds`, { method: "POST", headers, body })).status;
}

export async function seedProject(person: Person, server: ConsoleServer): Promise<Seed> {
  await deliver(server, { id: "build-7101", state: "failed" });
  await deliver(server, { id: "build-7102", state: "passed" });
  await deliver(server, { id: "build-7103", state: "failed" }, "another secret");
  const { session } = await execute(person, server, { agent: "stage", input: "what do you know?" });
  await execute(person, server, { agent: "stage", input: "edit the note", session });
  await execute(person, server, { agent: "billing", input: "What became of ch_8812?" });
  await execute(person, server, { agent: "billing", input: "refund ch_8813" });
  await execute(person, server, { agent: "reporter", input: "write the report" });
  await execute(person, server, { agent: "coordinator", input: "which agents are there?" });
  const hostile = (await execute(person, server, { agent: "stage", input: "show me something hostile" })).session;
  await execute(person, server, { agent: "ops", input: "payments is slow since two o'clock: find out why and mend it" });
  await execute(person, server, { agent: "stage", input: "pay ivan" });
  const waiting = await execute(person, server, { agent: "billing", input: "refund ch_8811" });
  return { session, hostile, waiting: waiting.session, approval: waiting.questions[0] ?? "", many: null };
}

export async function seedLongSession(person: Person, server: ConsoleServer, so: Seed): Promise<Seed> {
  const { session } = await execute(person, server, { agent: "stage", input: "look at everything" });
  return { ...so, many: session };
}

const past = z.object({ session: z.string() });
/** Fills the journal with a past, in another process. Returns its long session. */
export function makePast(server: ConsoleServer, entries: number, schedules = 0): string {
  const made = spawnSync(
    process.execPath,
    [join(import.meta.dirname, "past.ts"), join(server.root, ".orgate"), String(entries), String(schedules)],
    {
      encoding: "utf8",
    },
  );
  if (made.status !== 0) throw new Error(made.stderr);
  return past.parse(JSON.parse(made.stdout)).session;
}
