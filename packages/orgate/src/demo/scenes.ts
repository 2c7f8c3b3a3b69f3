/** The scenes of the demo. Each does something real, says what to look at, and returns what it measured. */
import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { decisionsIn, type JournalEvent, type SessionId } from "@orgate/core";
import { decodePayload, type StoredEntry } from "@orgate/core/journal";
import { count, EXIT } from "@orgate/shell/terminal";
import type { SqliteReadStore } from "../store/journal.ts";
import { openSnapshot } from "../store/open-read-only.ts";
import type { Ended, Stage } from "./stage.ts";

const REQUEST = "payments is slow since two o'clock: find out why and mend it";
/** On call, and no operator; and an operator. */
const ON_CALL = "ben";
const OPERATOR = "ana";
const KILLED_IN = "retry_charge";
const PATIENCE_MS = 20_000;

/** An agent works: one call is allowed, one is denied and it adapts, and the third has to wait for a person. */
export async function workScene(stage: Stage): Promise<{ readonly session: SessionId; readonly approval: string }> {
  for (const person of [ON_CALL, OPERATOR]) stage.enter(person);
  await stage.scene("1. An agent works. Policy decides about each step before it is taken, and the journal keeps why.");
  const ended = await stage.orgate(["run", "ops", "--input", REQUEST, "--as", ON_CALL], true).ended;
  if (ended.code !== EXIT.waiting) throw failed("the run", ended);
  return looking(stage, (look) => {
    const session = [...look.records.streams()].find((s): s is SessionId => s.startsWith("s_"));
    const asked = session === undefined ? undefined : eventsOf(look, session).find((event) => event.kind === "approval.asked");
    if (session === undefined || asked === undefined) throw new Error("the run left no approval request");
    return { session, approval: asked.approval };
  });
}

/** A person answers, with her own key and by the command that everybody has; in the middle of what she approved, the process is killed. */
export async function killScene(stage: Stage, session: SessionId, approval: string): Promise<{ readonly approvedBy: string | null }> {
  await stage.scene(`2. ${capital(OPERATOR)}, an operator, says yes with her own key. The agent goes on, and is killed while charging.`);
  const child = stage.orgate(["approvals", "approve", approval, "--as", OPERATOR], true);
  const isRunning = () => stage.lines("effects.jsonl").some(({ tool }) => tool === KILLED_IN);
  const early = await Promise.race([child.ended, until(isRunning)]);
  if (early !== undefined) throw failed("the answer", early);
  child.kill();
  const { signal } = await child.ended;
  if (signal !== "SIGKILL") throw new Error(`${KILLED_IN} was over before it could be killed`);
  await stage.say("bad", `  ☠ kill -9 of process ${child.pid}, in the middle of ${KILLED_IN}`);
  const answered = looking(stage, (look) => eventsOf(look, session)).find((event) => event.kind === "approval.answered");
  return { approvedBy: answered?.answer.kind === "approve" ? answered.by.id : null };
}

export async function resumeScene(stage: Stage, session: SessionId): Promise<{ readonly resumed: boolean }> {
  await stage.scene("3. A new process takes it up, and asks the bank what became of the charge. Nothing is guessed.");
  const ended = await stage.orgate(["sessions", "resume", session], true).ended;
  if (ended.code !== EXIT.success) throw failed("the resume", ended);
  return { resumed: wasResumed(looking(stage, (look) => eventsOf(look, session))) };
}

/** Started under one hold, ended under a later one, and the turn came to its end. */
function wasResumed(events: readonly JournalEvent[]): boolean {
  const decided = events.flatMap((e) => decisionsIn(e)).find(({ action }) => action.kind === "call" && action.tool === KILLED_IN);
  const call = decided?.action.kind === "call" ? decided.action.call : null;
  const started = events.findIndex((e) => e.kind === "act.started" && e.call === call);
  const ended = events.findIndex((e) => e.kind === "act.ended" && e.call === call);
  const taken = events.findIndex((e, i) => i > started && e.kind === "hold.taken");
  const completed = events.some((e) => e.kind === "turn.ended" && e.ending === "completed");
  return started !== -1 && taken !== -1 && taken < ended && completed;
}

export type Counted = Readonly<{
  allowed: number;
  denied: number;
  asked: number;
  toolRunsTwice: number;
  modelCallsRepeated: number;
  modelCalls: number;
  effects: number;
}>;

/** Decisions from the journal; effects and model calls from what the tools and the model wrote themselves. */
export function countScene(stage: Stage, session: SessionId): Counted {
  const verdicts = looking(stage, (look) => eventsOf(look, session)).flatMap((event) =>
    decisionsIn(event).flatMap(({ id, action, verdict }) => (action.kind === "call" ? [{ id, kind: verdict.kind }] : [])),
  );
  const calls = (kind: string): number => new Set(verdicts.filter((v) => v.kind === kind).map(({ id }) => id)).size;
  const effects = stage.lines("effects.jsonl").map(({ key }) => String(key));
  const requests = stage.lines("model-calls.jsonl").map(({ request }) => String(request));
  return {
    allowed: calls("allow"),
    denied: calls("deny"),
    asked: calls("ask"),
    toolRunsTwice: effects.length - new Set(effects).size,
    modelCallsRepeated: requests.length - new Set(requests).size,
    modelCalls: requests.length,
    effects: effects.length,
  };
}

export async function verifyScene(stage: Stage, counted: Counted): Promise<{ readonly verified: boolean }> {
  const { effects, toolRunsTwice, modelCalls, modelCallsRepeated } = counted;
  await stage.scene("4. Did anything happen twice? Is the journal what was written?");
  await stage.say("plain", `counted by the tools themselves: ${count(effects, "effect")}, ${toolRunsTwice} of them twice`);
  await stage.say("plain", `counted by the model itself: ${count(modelCalls, "request")}, ${modelCallsRepeated} of them repeated`);
  const ended = await stage.orgate(["journal", "verify"], true).ended;
  return { verified: ended.code === EXIT.success };
}

/** One byte of a copy: the word that says a call was denied. */
export async function tamperScene(
  stage: Stage,
  session: SessionId,
): Promise<{ readonly tamperedAt: string; readonly tamperFoundAt: string | null }> {
  const denied = looking(stage, (look) =>
    [...look.records.entries(session)].find(({ payload }) => payload?.includes('"kind":"deny"') === true),
  );
  if (denied === undefined) throw new Error("the journal holds no denial");
  await stage.scene(`5. Somebody changes one byte in a copy of it: entry ${denied.seq}, which says that a call was denied.`);
  const copy = join(stage.folder, "copy");
  cpSync(stage.project, copy, { recursive: true, verbatimSymlinks: true });
  flipByte(join(copy, ".orgate", "journal.db"), denied);
  await stage.orgate(["journal", "verify", "--project", copy], true).ended;
  const found = await stage.orgate(["journal", "verify", "--json", "--project", copy], false).ended;
  const firstBad: unknown = JSON.parse(found.stdout).firstBad;
  const at =
    typeof firstBad === "object" && firstBad !== null && "stream" in firstBad && "seq" in firstBad
      ? `${firstBad.stream}#${firstBad.seq}`
      : null;
  return { tamperedAt: `${session}#${denied.seq}`, tamperFoundAt: found.code === EXIT.failure ? at : null };
}

/** A row holds its salt and, right behind it, its payload: the salt is random, so it stands in the file once. */
function flipByte(file: string, { salt, payload }: StoredEntry): void {
  const bytes = readFileSync(file);
  const start = bytes.indexOf(salt ?? "") + (salt ?? "").length;
  const at = bytes.indexOf('"kind":"deny"', start) + '"kind":"'.length;
  if (salt === null || payload === null || at < start || at > start + payload.length)
    throw new Error("the denial is not where it was expected");
  bytes[at] = (bytes[at] ?? 0) ^ 1; // `deny` becomes `eeny`
  writeFileSync(file, bytes);
}

function eventsOf(look: SqliteReadStore, session: SessionId): readonly JournalEvent[] {
  return [...look.records.entries(session)].flatMap(({ kind, payload }) => {
    const read = payload === null ? null : decodePayload(kind, payload, look.records.blob);
    return read?.kind === "event" ? [read.event] : [];
  });
}

function looking<T>({ project }: Stage, work: (look: SqliteReadStore) => T): T {
  const look = openSnapshot(join(project, ".orgate"));
  try {
    return work(look);
  } finally {
    void look.close();
  }
}

async function until(isSo: () => boolean): Promise<undefined> {
  const end = performance.now() + PATIENCE_MS;
  while (!isSo()) {
    if (performance.now() > end) throw new Error(`nothing happened in ${PATIENCE_MS} ms`);
    await pause(10);
  }
}

const capital = (name: string): string => name.charAt(0).toUpperCase() + name.slice(1);

const failed = (what: string, { code, stderr, stdout }: Ended): Error =>
  new Error(`${what} did not end as it should (${code}): ${stderr || stdout}`);
