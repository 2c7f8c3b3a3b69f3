/** Checks of a session after crashes, based on the counter's log and on the journal as another process reads it. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { decisionsIn, type Entry, type EventKind, fold, type JournalEvent, seq, sessionId } from "@orgate/core";
import { readExport, type Verification, verify } from "@orgate/core/proof";
import { checkSignature, ed25519, nameKey, openReadStore, type SqliteReadStore, sha256 } from "orgate";
import { readRows } from "./rows.ts";
import { TOOLS } from "./stand/script.ts";
import type { Line } from "./stand/wire.ts";

/** A rule that was broken, in words that begin with its id. */
export type Violation = string;
type Effect = Extract<Line, { kind: "effect" }>;
type Asked = Extract<Line, { kind: "model" }>;

export const isEffect = (line: Line): line is Effect => line.kind === "effect";
export const isAsked = (line: Line): line is Asked => line.kind === "model";
const of = <K extends EventKind>(entries: readonly Entry[], kind: K): readonly Extract<JournalEvent, { kind: K }>[] =>
  entries.flatMap(({ event }) => (isKind(event, kind) ? [event] : []));
const isKind = <K extends EventKind>(event: JournalEvent, kind: K): event is Extract<JournalEvent, { kind: K }> => event.kind === kind;

const REPEATABLE: readonly string[] = [TOOLS.read, TOOLS.idempotent];
/** `once` and `reconcile`. */
const isUnrepeatable = ({ tool }: Effect): boolean => !REPEATABLE.includes(tool);

/** Opens a project read-only, and closes it again. */
export async function withOpenProject<T>(directory: string, look: (store: SqliteReadStore) => Promise<T>): Promise<T> {
  const store = openReadStore({ directory });
  try {
    return await look(store);
  } finally {
    await store.close();
  }
}

export const readEntries = (store: SqliteReadStore, session: string): Promise<readonly Entry[]> =>
  store.journal.read(sessionId(session), seq(0), 100_000);

/** Verifies the whole journal as an auditor would: stored form and root key. */
export const verifyJournal = (store: SqliteReadStore, directory: string): readonly Violation[] => problemsIn(prove(store, directory));

const prove = ({ records }: SqliteReadStore, directory: string): Verification =>
  verify({ records, root: rootOf(directory), ports, head: null, progress: () => {}, torn: null });
const problemsIn = ({ problems }: Verification): readonly Violation[] =>
  problems.map((p) => `J-11 the journal does not verify: ${JSON.stringify(p)}`);

/** Tables beside the entries, the index of streams among them, are what the entries make of them, whoever died. */
const wrongRowsIn = (store: SqliteReadStore): readonly Violation[] => store.wrongRows(Date.now()).map((row) => `J-23 J-32 ${row} is wrong`);

/** The journal verifies, and says so many entries are unsealed and so many seals recovered what a dead process had left. */
export function verifyTail(directory: string, expected: Readonly<{ unsealed: number; recovered: number }>): Promise<readonly Violation[]> {
  return withOpenProject(directory, async (store) => {
    const proof = prove(store, directory);
    const { unsealed, recovered } = proof.counts;
    return [
      ...problemsIn(proof),
      ...wrongRowsIn(store),
      ...(unsealed === expected.unsealed ? [] : [`J-31 ${unsealed} entries are unsealed, not ${expected.unsealed}`]),
      ...(recovered === expected.recovered ? [] : [`J-31 ${recovered} seals are marked as recovered, not ${expected.recovered}`]),
    ];
  });
}

/** After everybody has ended or was resumed, a seal covers every entry. */
export function verifySealed(store: SqliteReadStore, directory: string): readonly Violation[] {
  const proof = prove(store, directory);
  const { unsealed } = proof.counts;
  return [...problemsIn(proof), ...wrongRowsIn(store), ...(unsealed === 0 ? [] : [`J-31 ${unsealed} entries are still unsealed`])];
}

/** How many entries a process that died there had written since its last seal, by what it said. */
export function countTail(lines: readonly Line[]): number {
  const durable = lines.filter((l) => l.kind === "mark" && l.step === "committed");
  const sealed = durable.findLastIndex((l) => l.kind === "mark" && l.seal !== null);
  return durable.slice(sealed + 1).reduce((n, l) => n + (l.kind === "mark" ? l.written.length : 0), 0);
}
const ports = { hash: sha256, checkSignature, nameKey };
const rootOf = (directory: string): string => ed25519.read(readFileSync(join(directory, "keys", "root.key"), "utf8"))?.publicKey ?? "";

/** Verifies an exported file as `orgate journal verify FILE` does. */
export function verifyExport(text: string, directory: string): readonly Violation[] {
  const { problems, torn, what } = readExport(text, rootOf(directory), ports);
  const found = problems.map((p) => `O-9 the export does not verify: ${JSON.stringify(p)}`);
  return torn || what !== "journal" ? [...found, `O-9 the export is ${torn ? "torn" : `a ${what}`}`] : found;
}

/** `lines`: those of every process that drove the session. */
export function checkSession(session: string, entries: readonly Entry[], lines: readonly Line[]): readonly Violation[] {
  const effects = lines.filter(isEffect).filter((e) => e.session === session);
  const asked = lines.filter(isAsked).filter((a) => a.session === session);
  const found: Violation[] = [];
  const must = (holds: boolean, violation: Violation): void => void (holds || found.push(violation));

  if (entries.length === 0) {
    must(effects.length === 0 && asked.length === 0, "L-5 something was done for a session that is not in the journal");
    return found;
  }
  for (const e of effects) must(e.durable, `L-5 ${e.key} took effect without a durable allow and act.started (start ${e.start})`);
  for (const a of asked) must(a.asked, `L-5 the model was called for iteration ${a.iteration} ahead of its model.asked`);
  for (const [what, same] of Map.groupBy(effects.filter(isUnrepeatable), (e) => `${e.tool} ${e.n}`))
    must(same.length === 1, `L-7 ${what} took effect ${same.length} times`);
  for (const same of Map.groupBy(effects, (e) => e.n).values())
    must(new Set(same.map((e) => e.key)).size === 1, `L-7 ${same[0]?.tool} ${same[0]?.n} was repeated under another key`);
  for (const a of asked) must(a.attempt <= MOST_ATTEMPTS, `M-4 the model was called ${a.attempt} times for iteration ${a.iteration}`);
  for (const a of asked) must(!a.recorded, `M-4 the recorded reply ${a.iteration} was requested again`);
  must(of(entries, "turn.ended").length === 1, `L-4 the turn ended ${of(entries, "turn.ended").length} times`);
  must(
    entries.every((e, i) => e.seq === i + 1),
    "J-4 the session's sequence has a gap",
  );
  const calls = of(entries, "model.replied").flatMap((e) => e.parts.flatMap((p) => (p.kind === "call" ? [p.wireId] : [])));
  const results = fold(entries)?.messages.flatMap((m) => (m.role === "tool" ? [m.wireId] : [])) ?? [];
  must(results.join() === calls.join(), `L-10 calls ${calls.join()} have observations ${results.join()}`);
  const delegated = of(entries, "child.opened").map((e) => e.call);
  for (const { call, outcome } of of(entries, "act.ended").filter((e) => !delegated.includes(e.call)))
    must(outcome.kind !== "done" || effects.some((e) => e.call === call), `L-7 call ${call} is said to be done and never took effect`);
  return found;
}

/** Rule 5: a model call that was lost is repeated at most twice. */
const MOST_ATTEMPTS = 3;

/** The script ran to its end, or one model call was lost in every attempt that it may have. */
export function checkCompleted(entries: readonly Entry[]): readonly Violation[] {
  const last = of(entries, "turn.ended").at(-1);
  if (entries.length === 0 || (last?.ending === "completed" && last.output === "done" && last.iterations === 4)) return [];
  const attempts = of(entries, "model.asked").filter((e) => e.iteration === (last?.iterations ?? 0) + 1).length;
  if (last?.ending === "failed" && attempts === MOST_ATTEMPTS) return [];
  return [`L-4 the turn ended ${JSON.stringify(last ?? null)}`];
}

/** Each approval request is answered once and used once, in the very append that starts its call. */
export function checkAnswers(directory: string, session: string, entries: readonly Entry[]): readonly Violation[] {
  const found: Violation[] = [];
  const appends = appendsOf(directory, session);
  for (const { approval } of of(entries, "approval.asked")) {
    const answers = of(entries, "approval.answered").filter((e) => e.approval === approval).length;
    const uses = of(entries, "approval.consumed").filter((e) => e.approval === approval).length;
    if (answers > 1) found.push(`Q-5 question ${approval} was answered ${answers} times`);
    if (uses > answers) found.push(`Q-3 the answer to ${approval} was used ${uses} times`);
  }
  const leaveOf = (call: string): boolean =>
    entries.some(({ event }) =>
      decisionsIn(event).some((e) => String(e.id) === call && e.verdict.kind === "allow" && e.verdict.approval !== null),
    );
  for (const { seq: at, event: e } of entries) {
    if (e.kind !== "act.started" || e.start > 1 || !leaveOf(e.call)) continue;
    const beside = entries.filter((o) => appends.get(o.seq) === appends.get(at)).map((o) => o.event);
    const uses = beside.filter((o) => (o.kind === "approval.consumed" || o.kind === "grant.used") && String(o.action) === String(e.call));
    if (uses.length !== 1) found.push(`Q-3 call ${e.call} was started in an append that uses ${uses.length} answers`);
  }
  return found;
}

/** The append of each entry of a stream: written as one. */
const appendsOf = (directory: string, stream: string): ReadonlyMap<number, number> =>
  new Map(readRows(directory, stream).map(({ seq: at, append }) => [at, append]));
