/** A project that is served by real processes: schedules, webhooks, and what the journal says of both. */
import { createHmac } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type Entry, type JournalEvent, seq } from "@orgate/core";
import { scheduleStream } from "@orgate/core/journal";
import { withOpenProject } from "../checks.ts";
import type { Desk } from "./desk.ts";
import { PERSON } from "./script.ts";
import type { Plan, Victim } from "./stand.ts";
import { decode } from "./wire.ts";

export const SECRET_VARIABLE = "ORGATE_E2E_HOOK";
const SECRET = "shh";
process.env[SECRET_VARIABLE] = SECRET; // victims inherit it

export const CLERK = `name = "clerk"
model = "offline/echo"
instructions = "Say it back."
[modelOptions]
log = "requests.log"
`;
export const WEBHOOK = `[webhooks.in]
agent = "clerk"
path = "/hooks/in"
provider = "github"
secret = "$${SECRET_VARIABLE}"
`;

/** With an agent that echoes its input, and these settings. */
export function furnish(desk: Desk, settings: string): void {
  writeFileSync(join(desk.root, "agents", "clerk.toml"), CLERK);
  writeFileSync(join(desk.root, "orgate.toml"), `[project]\nname = "desk"\n${settings}`);
}

export type Up = Readonly<{ victim: Victim; url: string }>;

/** `orgate up`, from its first moment. */
export const serve = (desk: Desk, plan: Omit<Plan, "directory" | "jobs"> = {}, as = PERSON): Promise<Victim> =>
  desk.cli(["up", "--port", "0", "--json", "--as", as], plan);

/** Once it answers. */
export async function up(desk: Desk, plan: Omit<Plan, "directory" | "jobs"> = {}, as = PERSON): Promise<Up> {
  const victim = await serve(desk, plan, as);
  let gone: string | null = null;
  victim.gone.then(
    (how) => {
      gone = how;
    },
    () => {
      gone = "killed";
    },
  );
  for (;;) {
    const [line, rest] = victim.output().split("\n");
    if (rest !== undefined) return { victim, url: decode<{ url: string }>(line ?? "").url };
    if (gone !== null) throw new Error(`the server ended (${gone}): ${victim.complaint()}`);
    await sleep(20);
  }
}

/** Sends a delivery signed as GitHub does; returns status and text, or null if no server answers. */
export async function deliver(url: string, body: string, id: string): Promise<Readonly<{ status: number; said: string }> | null> {
  const signature = createHmac("sha256", SECRET).update(body).digest("hex");
  try {
    const answer = await fetch(`${url}/hooks/in`, {
      method: "POST",
      headers: { "content-type": "application/json", "x-github-delivery": id, "x-hub-signature-256": `sha256=${signature}` },
      body,
    });
    return { status: answer.status, said: decode<{ status: string }>(await answer.text()).status };
  } catch {
    return null;
  }
}

export const pastOf = (desk: Desk, schedule: string): Promise<readonly Entry[]> =>
  withOpenProject(desk.directory, ({ journal }) => journal.read(scheduleStream(schedule), seq(0), 100_000));
export const eventsOf = <K extends JournalEvent["kind"]>(
  entries: readonly Entry[],
  kind: K,
): readonly Extract<JournalEvent, { kind: K }>[] => entries.flatMap(({ event }) => (isKind(event, kind) ? [event] : []));
const isKind = <K extends JournalEvent["kind"]>(event: JournalEvent, kind: K): event is Extract<JournalEvent, { kind: K }> =>
  event.kind === kind;

/** Needs no limit of its own: a victim lives a minute at most. */
export async function until<T>(look: () => Promise<T | null>): Promise<T> {
  for (let looks = 0; looks < 1_000; looks += 1) {
    const found = await look();
    if (found !== null) return found;
    await sleep(30);
  }
  throw new Error("it did not happen");
}

/** Every session that no person opened, with its first entry. */
export const openedByThemselves = (
  desk: Desk,
): Promise<readonly Readonly<{ session: string; turns: number; state: string; entry: Entry }>[]> =>
  withOpenProject(desk.directory, async ({ journal }) => {
    const found = [];
    for (const { session, turns, state, surface } of await journal.sessions({ state: null, agent: null, before: null, most: 500 })) {
      if (surface !== "schedule" && surface !== "webhook") continue;
      const [entry] = await journal.read(session, seq(0), 1);
      if (entry !== undefined) found.push({ session, turns, state, entry });
    }
    return found;
  });
