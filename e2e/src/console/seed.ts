/** Things for the screens to show, made as an operator would make them: over the API, by real turns. */
import { spawnSync } from "node:child_process";
import { createHmac } from "node:crypto";
import { join } from "node:path";
import * as z from "zod";
import { type ConsoleDesk, WEBHOOK_SECRET } from "./desk.ts";
import type { Person } from "./kit.ts";

export type Seed = Readonly<{
  /** Words, calls, a diff, a denial. */
  session: string;
  /** Waits for an answer. */
  waiting: string;
  approval: string;
  hostile: string;
  /** More than 10,000 entries; null until it was made. */
  many: string | null;
}>;

const ran = z.object({ session: z.string(), state: z.string(), questions: z.array(z.string()) });
type Ran = z.infer<typeof ran>;

/** What this site's own pages send. */
async function headersOf({ context }: Person, desk: ConsoleDesk): Promise<Readonly<Record<string, string>>> {
  const cookies = await context.cookies();
  return { origin: desk.url(), "x-orgate-csrf": cookies.find(({ name }) => name.startsWith("orgate-csrf-"))?.value ?? "" };
}

/** Elsewhere than at the page: there it ends unasked. */
export async function signOut(person: Person, desk: ConsoleDesk): Promise<void> {
  const answer = await person.context.request.post(`${desk.url()}/sign-out`, { headers: await headersOf(person, desk) });
  if (!answer.ok()) throw new Error(`signing out: ${await answer.text()}`);
}

/** As the command sets it, or as too many failures do. */
export async function breakerSet(person: Person, desk: ConsoleDesk, breaker: string, to: "open" | "closed"): Promise<void> {
  const answer = await person.context.request.post(`${desk.url()}/api/v1/breakers`, {
    headers: { ...(await headersOf(person, desk)), "idempotency-key": crypto.randomUUID() },
    data: { breaker, to, reason: "a drill" },
  });
  if (!answer.ok()) throw new Error(`setting ${breaker}: ${await answer.text()}`);
}

/** Runs a turn with the person's own sign-in. */
type Turn = Readonly<{ agent: string; input: string; session?: string }>;
export async function execute(person: Person, desk: ConsoleDesk, { agent, input, session }: Turn): Promise<Ran> {
  const answer = await person.context.request.post(`${desk.url()}/api/v1/agents/${agent}/execute`, {
    headers: { ...(await headersOf(person, desk)), "idempotency-key": crypto.randomUUID() },
    data: { input, waitMs: 300_000, ...(session === undefined ? {} : { session }) },
    timeout: 300_000,
  });
  if (!answer.ok()) throw new Error(`seeding ${agent}: ${await answer.text()}`);
  return ran.parse(await answer.json());
}

/** What the build server sends; returns how it was answered. */
export async function deliver(desk: ConsoleDesk, content: Readonly<Record<string, unknown>>, secret = WEBHOOK_SECRET): Promise<number> {
  const body = JSON.stringify(content);
  const signature = createHmac("sha256", secret).update(body).digest("hex");
  const headers = {
    "content-type": "application/json",
    "x-hub-signature-256": `sha256=${signature}`,
    "x-github-delivery": String(content.id),
  };
  return (await fetch(`${desk.url()}/hooks/builds`, { method: "POST", headers, body })).status;
}

export async function seed(person: Person, desk: ConsoleDesk): Promise<Seed> {
  await deliver(desk, { id: "build-7101", state: "failed" });
  await deliver(desk, { id: "build-7102", state: "passed" });
  await deliver(desk, { id: "build-7103", state: "failed" }, "another secret");
  const { session } = await execute(person, desk, { agent: "stage", input: "what do you know?" });
  await execute(person, desk, { agent: "stage", input: "edit the note", session });
  await execute(person, desk, { agent: "billing", input: "What became of ch_8812?" });
  await execute(person, desk, { agent: "billing", input: "refund ch_8813" });
  await execute(person, desk, { agent: "reporter", input: "write the report" });
  await execute(person, desk, { agent: "coordinator", input: "which agents are there?" });
  const hostile = (await execute(person, desk, { agent: "stage", input: "show me something hostile" })).session;
  await execute(person, desk, { agent: "ops", input: "payments is slow since two o'clock: find out why and mend it" });
  await execute(person, desk, { agent: "stage", input: "pay ivan" });
  const waiting = await execute(person, desk, { agent: "billing", input: "refund ch_8811" });
  return { session, hostile, waiting: waiting.session, approval: waiting.questions[0] ?? "", many: null };
}

export async function seedMany(person: Person, desk: ConsoleDesk, so: Seed): Promise<Seed> {
  const { session } = await execute(person, desk, { agent: "stage", input: "look at everything" });
  return { ...so, many: session };
}

const past = z.object({ session: z.string() });
/** A journal with a past, made by another process. Returns its long session. */
export function makePast(desk: ConsoleDesk, entries: number, schedules = 0): string {
  const made = spawnSync(
    process.execPath,
    [join(import.meta.dirname, "past.ts"), join(desk.root, ".orgate"), String(entries), String(schedules)],
    {
      encoding: "utf8",
    },
  );
  if (made.status !== 0) throw new Error(made.stderr);
  return past.parse(JSON.parse(made.stdout)).session;
}
