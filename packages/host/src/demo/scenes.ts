/** The scenes of the demo. Each does something real, says what to look at, and returns what it measured. */
import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type { SessionId } from "@orgate/core";
import { decodePayload, type StoredEntry } from "@orgate/core/journal";
import { type Look, openLook } from "../compose.ts";
import type { Ended, Stage } from "./stage.ts";

const REQUEST = "payments is slow since two o'clock: find out why and mend it";
const KILLED_IN = "restart_service";
const PATIENCE_MS = 20_000;

/** An agent works: one call is allowed, one is denied and it adapts, and in the third its process is killed. */
export async function killScene(stage: Stage): Promise<{ readonly session: SessionId }> {
  await stage.say("strong", "1. An operations agent works. Every call is decided by policy first, and the journal keeps why.");
  const child = stage.orgate(["run", "ops", "--input", REQUEST], true);
  const isRunning = () => stage.lines("effects.jsonl").some(({ tool }) => tool === KILLED_IN);
  const gone = await Promise.race([child.ended, until(isRunning)]);
  if (gone !== undefined) throw failed("the run", gone);
  child.kill();
  await child.ended;
  const session = looking(stage, (look) => [...look.records.streams()].find((s): s is SessionId => s.startsWith("s_")));
  if (session === undefined) throw new Error("the killed run left no session");
  await stage.say("bad", `   kill -9 of process ${child.pid}, in the middle of ${KILLED_IN}.`);
  return { session };
}

export async function resumeScene(stage: Stage, session: SessionId): Promise<{ readonly resumed: boolean }> {
  await stage.say("strong", "2. A new process takes the session up. The tool is asked what became of the restart; it is not run again.");
  const ended = await stage.orgate(["sessions", "resume", session], true).ended;
  const events = looking(stage, (look) => eventsOf(look, session));
  const holds = events.filter((event) => event.kind === "hold.taken").length;
  const completed = events.some((event) => event.kind === "turn.ended" && event.ending === "completed");
  if (ended.code !== 0) throw failed("the resume", ended);
  return { resumed: holds === 2 && completed };
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
    event.kind === "gate.decided" && event.action.kind === "call" ? [{ id: event.id, kind: event.verdict.kind }] : [],
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
  const outside = `${effects} effects, ${toolRunsTwice} of them twice; ${modelCalls} model calls, ${modelCallsRepeated} repeated`;
  await stage.say("strong", `3. Counted outside the journal: ${outside}. Is the journal what was written?`);
  const ended = await stage.orgate(["journal", "verify"], true).ended;
  return { verified: ended.code === 0 };
}

/** One byte of a copy: the word that says a call was denied. */
export async function tamperScene(
  stage: Stage,
  session: SessionId,
): Promise<{ readonly tamperedAt: string; readonly tamperFoundAt: string | null }> {
  await stage.say("strong", "4. Somebody changes one byte in a copy of the journal, where it says that a call was denied.");
  const denied = looking(stage, (look) =>
    [...look.records.entries(session)].find(({ payload }) => payload?.includes('"kind":"deny"') === true),
  );
  if (denied === undefined) throw new Error("the journal holds no denial");
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
  return { tamperedAt: `${session}#${denied.seq}`, tamperFoundAt: found.code === 1 ? at : null };
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

function eventsOf(look: Look, session: SessionId) {
  return [...look.records.entries(session)].flatMap(({ kind, payload }) => {
    const read = payload === null ? null : decodePayload(kind, payload, look.records.blob);
    return read?.kind === "event" ? [read.event] : [];
  });
}

function looking<T>({ project }: Stage, work: (look: Look) => T): T {
  const look = openLook(join(project, ".orgate"));
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

const failed = (what: string, { code, stderr, stdout }: Ended): Error =>
  new Error(`${what} ended too early (${code}): ${stderr || stdout}`);
