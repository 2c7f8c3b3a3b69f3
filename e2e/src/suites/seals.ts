/**
 * Kills around seals that come by themselves, in the process that writes and in the one that recovers; and what somebody who can write the file, but has no
 * keys, can do to the unsealed tail of a process that died.
 */
import { createHash } from "node:crypto";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { countTail, isAsked, isEffect, type Violation, verifyTail } from "../checks.ts";
import type { Stand, Victim } from "../stand/stand.ts";
import type { Line, Stop } from "../stand/wire.ts";
import { type Bench, inLanes, type Suite } from "../suite.ts";
import { findings, type KillPoint, killAt, killed, pointName, pointsOf, resumeAll, runUndisturbed } from "./kill-points.ts";

type Mark = Extract<Line, { kind: "mark" }>;
/** The next seal after this transaction comes by itself, because the run waits for what the counter holds. */
type SealPoint = Readonly<{ after: string; hold: readonly string[]; step: "commit" | "committed" }>;

/** One for each append of the run that is not sealed with its own transaction, before and after the seal that follows it. */
function sealPoints(reference: readonly Line[]): readonly SealPoint[] {
  const unsealed = reference.filter(
    (l): l is Mark => l.kind === "mark" && l.step === "committed" && l.seal === null && l.written.length > 0,
  );
  return unsealed.flatMap((mark) => {
    const after = mark.point.replace(/committed$/, "begin");
    const hold = held(mark, reference);
    return (["commit", "committed"] as const).map((step) => ({ after, hold, step }));
  });
}

/** What must stay unanswered so that nothing else is written after this append. */
function held({ written }: Mark, reference: readonly Line[]): readonly string[] {
  const asked = written.find((e) => e.kind === "model.asked");
  if (asked !== undefined) {
    const all = reference.flatMap((l) =>
      l.kind === "mark" && l.step === "committed" ? l.written.filter((e) => e.kind === "model.asked") : [],
    );
    return [`model ${1 + all.findIndex((e) => e.seq === asked.seq)}`];
  }
  const started = written.flatMap((e) => (e.kind === "act.started" && e.call !== null ? [`call ${e.call}`] : []));
  if (started.length > 0) return started;
  const [ended] = written.flatMap((e) => (e.kind === "act.ended" && e.call !== null ? [e.call] : []));
  const [iteration, place] = (ended ?? "").split(".");
  return [`call ${iteration}.${place === "0" ? 1 : 0}`];
}

type Stopped = Readonly<{ job: "run" | "resume-all"; stop: Stop; hold?: readonly string[] }>;

async function stoppedAt(stand: Stand, directory: string, { job, stop, hold = [] }: Stopped): Promise<Victim> {
  const victim = await stand.start({ directory, jobs: [{ kind: job }], stop, hold });
  await victim.until("reached");
  victim.signal("SIGKILL");
  await killed(victim);
  return victim;
}

/** On a machine with much else to do an append may come so late that it is sealed with its own transaction: no seal follows it then, and the scene is set again. */
async function killedAfterAppend(stand: Stand, { after, hold, step }: SealPoint): Promise<Readonly<{ directory: string; victim: Victim }>> {
  const itself = after.replace(/begin$/, "committed");
  for (let attempt = 0; attempt < 5; attempt += 1) {
    const directory = stand.project();
    const victim = await stand.start({ directory, jobs: [{ kind: "run" }], stop: { kind: "seals", after, step }, hold });
    const isReached = victim.until("reached").then(() => true);
    const isSealedAlready = victim.until("mark", (l) => l.point === itself && l.seal !== null).then(() => false);
    isSealedAlready.catch(() => {}); // it was killed where it should be
    const isThere = await Promise.race([isReached, isSealedAlready]);
    isReached.catch(() => {});
    victim.signal("SIGKILL");
    await killed(victim);
    if (isThere) return { directory, victim };
  }
  throw new Error(`five times ${after} was sealed with its own transaction`);
}

async function aroundSeal(stand: Stand, at: SealPoint): Promise<readonly Violation[]> {
  const { step } = at;
  const { directory, victim } = await killedAfterAppend(stand, at);
  const left = countTail(victim.lines);
  const before = await verifyTail(directory, { unsealed: left, recovered: 0 });
  const fresh = await resumeAll(stand, directory);
  return [
    ...(left > 0 === (step === "commit") ? [] : [`J-31 the kill left ${left} unsealed entries`]),
    ...before,
    ...(await verifyTail(directory, { unsealed: 0, recovered: left > 0 ? 1 : 0 })),
    ...(await findings(directory, [...victim.lines, ...fresh.lines])),
  ];
}

/** On a machine with much else to do the seal may come before the kill: then there is no tail, and the scene is set again. */
async function killedWithTail(stand: Stand, at: KillPoint): Promise<Readonly<{ directory: string; victim: Victim; left: number }>> {
  for (let attempt = 0; attempt < 5; attempt += 1) {
    const directory = stand.project();
    const victim = await killAt(stand, directory, at);
    const left = countTail(victim.lines);
    if (left > 0) return { directory, victim, left };
  }
  throw new Error(`five times no tail was left at ${pointName(at)}`);
}

/** The process that seals what another left is killed while it does, and so is the next. */
async function whileRecovering(stand: Stand, point: string, step: "commit" | "committed"): Promise<readonly Violation[]> {
  const { directory, victim, left } = await killedWithTail(stand, { kind: "frozen", point });
  const lines: Line[] = [...victim.lines];
  const found: Violation[] = [];
  for (let times = 0; times < (step === "commit" ? 2 : 1); times += 1) {
    const resumer = await stoppedAt(stand, directory, { job: "resume-all", stop: { kind: "seals", after: null, step } });
    lines.push(...resumer.lines);
    found.push(...(await verifyTail(directory, step === "commit" ? { unsealed: left, recovered: 0 } : { unsealed: 0, recovered: 1 })));
  }
  lines.push(...(await resumeAll(stand, directory)).lines);
  return [...found, ...(await verifyTail(directory, { unsealed: 0, recovered: 1 })), ...(await findings(directory, lines))];
}

// the file in a stranger's hands

type Tail = Readonly<{ id: number; stream: string; first: number; previous: string; hash: string; body: string }>;
const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex");

/** The append with the run's first outcome; a process that died right after it has not sealed it. */
function findOutcome(db: DatabaseSync): Tail {
  const row = db
    .prepare(
      `SELECT a.id, s.stream, a.first, a.hash, a.body, (SELECT b.hash FROM appends AS b WHERE b.stream = a.stream AND b.id < a.id ORDER BY b.id DESC) AS previous
       FROM appends AS a JOIN streams AS s ON s.no = a.stream WHERE a.body LIKE 'act.ended%' OR a.body LIKE '%' || char(10) || 'act.ended%' ORDER BY a.id`,
    )
    .get();
  if (row === undefined) throw new Error("there is no outcome");
  return { ...(row as Omit<Tail, "id" | "first">), id: Number(row.id), first: Number(row.first) };
}

/** Another outcome under the same salt, hashed and chained as a writer would; what a writer has and a stranger has not is the project's key. */
function withOtherOutcome(tail: Tail): Pick<Tail, "body" | "hash"> {
  let { previous } = tail;
  const lines = tail.body.split("\n").slice(0, -1);
  const forged = lines.map((line, i) => {
    const [kind = "", at = "", , salt = "", ...rest] = line.split(" ");
    const payload = rest.join(" ").replace("was done", "was undone");
    const payloadHash = sha256(["orgate-payload-1", salt, payload].join("\n"));
    previous = sha256(["orgate-entry-1", previous, tail.stream, tail.first + i, at, kind, payloadHash].join("\n"));
    return `${[kind, at, payloadHash, salt, payload].join(" ")}\n`;
  });
  if (forged.join("") === tail.body) throw new Error("nothing was changed");
  return { body: forged.join(""), hash: previous };
}

type Tampering = Readonly<{ words: string; change(db: DatabaseSync): void }>;
const TAMPERINGS: readonly Tampering[] = [
  {
    words: "an outcome in it is changed, its hashes computed anew",
    change(db) {
      const tail = findOutcome(db);
      const { body, hash } = withOtherOutcome(tail);
      db.prepare("UPDATE appends SET body = ?, hash = ? WHERE id = ?").run(body, hash, tail.id);
    },
  },
  {
    words: "an outcome in it is changed, its hashes left as they were",
    change(db) {
      const { id, body } = findOutcome(db);
      db.prepare("UPDATE appends SET body = ? WHERE id = ?").run(body.replace("was done", "was undone"), id);
    },
  },
  {
    words: "its keyed hash is changed",
    change: (db) => void db.prepare("UPDATE appends SET mac = ? WHERE id = ?").run("0".repeat(32), findOutcome(db).id),
  },
  {
    words: "an append in the middle of it is removed",
    change(db) {
      const { id } = findOutcome(db);
      db.prepare("DELETE FROM appends WHERE id = (SELECT max(id) FROM appends WHERE id < ?)").run(id);
    },
  },
];

/** Nobody acts on a tail that is not the project's own: the process that finds it stops, before it does or asks anything. */
async function tamperedTail(stand: Stand, { change }: Tampering): Promise<readonly Violation[]> {
  const { directory } = await killedWithTail(stand, { kind: "held", call: "1.1", beside: "1.0" });
  const db = new DatabaseSync(join(directory, "journal.db"));
  change(db);
  db.close();
  const fresh = await stand.start({ directory, jobs: [{ kind: "resume-all" }] });
  const how = await fresh.gone;
  const done = fresh.lines.filter((l) => isEffect(l) || isAsked(l));
  const faults = fresh.lines.flatMap((l) => (l.kind === "did" && l.outcome.kind === "fault" ? [l.outcome.fault.kind] : []));
  const isRefused = how !== "0" || faults.length > 0;
  return [
    ...(isRefused ? [] : ["J-31 it was taken for the project's own"]),
    ...done.map((l) => `J-31 something was done on it: ${JSON.stringify(l)}`),
  ];
}

export const seals: Suite = {
  name: "kill -9 around seals, and the tail that it leaves",
  async run({ stand, say, judge }: Bench) {
    const reference = await runUndisturbed(stand, stand.project());
    const points = sealPoints(reference);
    await inLanes(points, (at) =>
      judge(`J-31 L-7 killed at the ${at.step} of the seal after ${at.after} (${at.hold.join()} unanswered)`, () => aroundSeal(stand, at)),
    );
    const calls = pointsOf(reference).flatMap((p) => (p.kind === "frozen" && /^call \d\.0#1 sent$/.test(p.point) ? [p.point] : []));
    const recovering = calls.flatMap((point) => (["commit", "committed"] as const).map((step) => ({ point, step })));
    await inLanes(recovering, ({ point, step }) =>
      judge(`J-31 L-7 killed at ${point}, and then at the ${step} of the seal that recovers`, () => whileRecovering(stand, point, step)),
    );
    await inLanes([...TAMPERINGS], (one) =>
      judge(`J-31 the tail of a dead process: ${one.words}; the next process refuses it and does nothing`, () => tamperedTail(stand, one)),
    );
    say(`${points.length} points around seals, ${recovering.length} around recovering ones, ${TAMPERINGS.length} tails tampered with`);
    await judge("J-31 there are seals to be killed around", async () => (points.length >= 12 && recovering.length >= 6 ? [] : ["too few"]));
  },
};
