/** Approval requests that outlive their process, answered once by the command line of another process. */
import type { Entry } from "@orgate/core";
import { checkAnswers, checkSession, isEffect, readEntries, type Violation, verifyJournal, withOpenProject } from "../checks.ts";
import {
  APPROVER,
  approveArgs,
  type Desk,
  makeDesk,
  type OpenQuestion,
  openQuestions,
  parked,
  runArgs,
  standingOf,
} from "../stand/desk.ts";
import { HURRY_MS } from "../stand/desk-policies.ts";
import { PERSON } from "../stand/script.ts";
import type { Victim } from "../stand/stand.ts";
import { isSealAlone, type Line } from "../stand/wire.ts";
import type { Suite } from "../suite.ts";
import { killed } from "./kill-points.ts";

type Expected = Readonly<{
  /** The effects, in order: `fire 1`. */
  effects: readonly string[];
  ending?: string;
}>;

/** Everything that must hold of the one session of a desk. */
export function deskFindings(desk: Desk, lines: readonly Line[], expected: Expected | null): Promise<readonly Violation[]> {
  return withOpenProject(desk.directory, async (store) => {
    const page = await store.journal.sessions({ state: null, agent: null, before: null, most: 100 });
    const found: Violation[] = [...verifyJournal(store, desk.directory)];
    let asked = 0;
    for (const { session } of page) {
      const entries = await readEntries(store, session);
      asked += entries.filter(({ event }) => event.kind === "model.asked").length;
      found.push(...checkSession(session, entries, lines), ...checkAnswers(desk.directory, session, entries));
    }
    if (desk.requests() > asked) found.push(`M-4 the model was called ${desk.requests()} times, and ${asked} calls of it are on record`);
    const [first] = page;
    if (expected === null || first === undefined) return found;
    const effects = lines.filter(isEffect).map((e) => `${e.tool} ${e.n}`);
    if (effects.join() !== expected.effects.join())
      found.push(`Q-3 took effect: ${effects.join() || "nothing"}; not ${expected.effects.join()}`);
    const { ending = "completed" } = expected;
    if (first.ending !== ending) found.push(`L-4 the turn ended \`${first.ending}\`, not \`${ending}\``);
    return found;
  });
}

export async function ended(process: Victim, ...codes: readonly number[]): Promise<Victim> {
  const how = await process.gone;
  if (!codes.map(String).includes(how)) throw new Error(`${process.name} ended (${how}): ${process.complaint()} ${process.output()}`);
  return process;
}

export const approve = (desk: Desk, { approval }: Pick<OpenQuestion, "approval">, by = APPROVER): Promise<Victim> =>
  desk.cli([...approveArgs(approval, by), "--json"]);
export const resume = (desk: Desk, session: string): Promise<Victim> => desk.cli(["sessions", "resume", session, "--json"]);

export const asksIn = (line: Line): boolean => line.kind === "mark" && line.written.some((e) => e.kind === "approval.asked");
export const onlyOne = <T>(all: readonly T[]): T => {
  const [one, ...others] = all;
  if (one === undefined || others.length > 0) throw new Error(`there are ${all.length} questions, not one`);
  return one;
};

/** Parked, and killed at that very point: right before, right after the commit that asks, and after the hold was given back. */
async function parkedAndKilled(desk: Desk, point: string): Promise<readonly Violation[]> {
  const asker = await desk.cli(runArgs("one"), { stop: { kind: "at", point } });
  await asker.until("reached");
  asker.signal("SIGKILL");
  await killed(asker);
  const lines = [...asker.lines];
  const left = await standingOf(desk);
  if (left.state === "running") lines.push(...(await ended(await resume(desk, left.session), 3)).lines);
  lines.push(...(await ended(await approve(desk, onlyOne(await openQuestions(desk))), 0)).lines);
  return deskFindings(desk, lines, { effects: ["fire 1"] });
}

/** A holder in the midst of one call, with a question open about the call beside it. */
export async function holding(desk: Desk, stop: string | null = null): Promise<Victim> {
  const holder = await desk.cli(runArgs("beside"), { hold: ["call 1.0"], ...(stop === null ? {} : { stop: { kind: "at", point: stop } }) });
  await holder.until("mark", (m) => m.step === "committed" && asksIn(m));
  await holder.until("effect", (e) => e.call === "1.0");
  return holder;
}

async function whileHeld(desk: Desk): Promise<readonly Violation[]> {
  const holder = await holding(desk);
  const approver = await ended(await approve(desk, onlyOne(await openQuestions(desk))), 0);
  await holder.until("effect", (e) => e.tool === "fire");
  holder.answer("call 1.0");
  await ended(holder, 0);
  const strangers = approver.lines.filter(isEffect).map((e) => `Q-3 ${e.key} was run by the process that only answered`);
  const found = await deskFindings(desk, [...holder.lines, ...approver.lines], { effects: ["look 1", "fire 2"] });
  return [...strangers, ...found];
}

/** The holder is stopped when the answer comes, and never wakes up: whoever answered takes the session up itself. */
async function whileStopped(desk: Desk): Promise<readonly Violation[]> {
  const holder = await holding(desk);
  const question = onlyOne(await openQuestions(desk));
  holder.signal("SIGSTOP");
  const approver = await approve(desk, question);
  await approver.until("mark", (m) => m.step === "committed"); // the answer is a row
  holder.signal("SIGKILL");
  await killed(holder);
  await ended(approver, 0);
  return deskFindings(desk, [...holder.lines, ...approver.lines], { effects: ["look 1", "look 1", "fire 2"] });
}

export async function otherWayRound(desk: Desk): Promise<readonly Violation[]> {
  const questions = await parked(desk, "two");
  const lines: Line[] = [];
  for (const [tool, code] of [
    ["ring", 3],
    ["fire", 0],
  ] as const)
    lines.push(...(await ended(await approve(desk, onlyOne(questions.filter((q) => q.tool === tool))), code)).lines);
  return deskFindings(desk, lines, { effects: ["ring 2", "fire 1"] });
}

/** Two people at two terminals, at the same moment, each about a question of their own. */
async function bothAtOnce(desk: Desk): Promise<readonly Violation[]> {
  const [one, two] = await parked(desk, "two");
  if (one === undefined || two === undefined) throw new Error("there are not two questions");
  const both = await Promise.all([approve(desk, one, PERSON), approve(desk, two, APPROVER)]);
  const lines = (await Promise.all(both.map((process) => ended(process, 0, 3)))).flatMap((process) => process.lines);
  const found = await deskFindings(desk, lines, null);
  const effects = lines.filter(isEffect).map((e) => `${e.tool} ${e.n}`);
  return [...found, ...(effects.toSorted().join() === "fire 1,ring 2" ? [] : [`Q-3 took effect: ${effects.join()}`])];
}

/** Two people, one request: one answer counts, and the other person sees that. */
async function sameQuestion(desk: Desk): Promise<readonly Violation[]> {
  const question = onlyOne(await parked(desk, "one"));
  const both = await Promise.all([approve(desk, question, PERSON), approve(desk, question, APPROVER)]);
  const codes = await Promise.all(both.map((process) => process.gone));
  const found = await deskFindings(
    desk,
    both.flatMap((process) => process.lines),
    { effects: ["fire 1"] },
  );
  return [...found, ...(codes.includes("0") ? [] : [`Q-5 neither answer was taken: ${both.map((p) => p.complaint()).join("; ")}`])];
}

// time

async function dueOf(desk: Desk, session: string): Promise<number> {
  const entries = await withOpenProject(desk.directory, (store) => readEntries(store, session));
  return entries.flatMap(({ event }) => (event.kind === "approval.asked" ? [event.expiresAt ?? 0] : [])).at(-1) ?? 0;
}

/** Until the hour that the question names has passed, by the clock that everybody here has. */
async function pastDue(desk: Desk, session: string): Promise<void> {
  const due = await dueOf(desk, session);
  while (Date.now() <= due) await new Promise((resume) => setTimeout(resume, due + 1 - Date.now()));
}

/** Asked, and killed before anything else happened. */
async function hurrying(desk: Desk): Promise<OpenQuestion & Readonly<{ lines: readonly Line[] }>> {
  const asker = await desk.cli(runArgs("hurry"), { stop: { kind: "writes", event: "approval.asked", step: "committed" } });
  await asker.until("reached");
  if (!asker.lines.some((l) => asksIn(l) && l.kind === "mark" && l.step === "committed")) throw new Error("it stands elsewhere");
  asker.signal("SIGKILL");
  await killed(asker);
  return { ...onlyOne(await openQuestions(desk)), lines: asker.lines };
}

const answerRow = (desk: Desk, { session, approval, digest }: OpenQuestion): Promise<Victim> =>
  desk.program("clerk.ts", [APPROVER, session, JSON.stringify({ kind: "answer", approval, digest, answer: { kind: "approve" } })]);

const kindsIn = (entries: readonly Entry[]): readonly string[] => entries.map(({ event }) => event.kind);
const unlessIn = async (desk: Desk, session: string, ...wanted: readonly string[]): Promise<readonly Violation[]> => {
  const kinds = kindsIn(await withOpenProject(desk.directory, (store) => readEntries(store, session)));
  return wanted.filter((kind) => !kinds.includes(kind)).map((kind) => `Q-18 there is no \`${kind}\` in the journal`);
};

async function expiredWhileDown(desk: Desk): Promise<readonly Violation[]> {
  const question = await hurrying(desk);
  await pastDue(desk, question.session);
  const fresh = await ended(await resume(desk, question.session), 0);
  const found = await deskFindings(desk, [...question.lines, ...fresh.lines], { effects: [] });
  return [...found, ...(await unlessIn(desk, question.session, "approval.expired"))];
}

async function tooLate(desk: Desk): Promise<readonly Violation[]> {
  const question = await hurrying(desk);
  await pastDue(desk, question.session);
  await ended(await answerRow(desk, question), 0);
  const fresh = await ended(await resume(desk, question.session), 0);
  const found = await deskFindings(desk, [...question.lines, ...fresh.lines], { effects: [] });
  return [...found, ...(await unlessIn(desk, question.session, "approval.expired", "intent.refused"))];
}

/** On a machine with much else to do a process may start after the question's time: then nothing was put in time, and the scene is set again. */
async function answeredInTime(fresh: () => Desk): Promise<Readonly<{ desk: Desk; question: Awaited<ReturnType<typeof hurrying>> }>> {
  for (let attempt = 0; attempt < 5; attempt += 1) {
    const desk = fresh();
    const question = await hurrying(desk);
    const due = await dueOf(desk, question.session);
    await ended(await answerRow(desk, question), 0);
    if (Date.now() < due) return { desk, question };
  }
  throw new Error(`five times no answer could be put within ${HURRY_MS} ms`);
}

export async function inTime(fresh: () => Desk): Promise<readonly Violation[]> {
  const { desk, question } = await answeredInTime(fresh);
  await pastDue(desk, question.session);
  const after = await ended(await resume(desk, question.session), 0);
  const found = await deskFindings(desk, [...question.lines, ...after.lines], { effects: ["hurry 1"] });
  return [...found, ...(await unlessIn(desk, question.session, "approval.answered", "approval.consumed"))];
}

export const answers: Suite = {
  name: "questions answered by the command line",
  async run({ stand, judge }) {
    const desk = await makeDesk(stand);
    const reference = await ended(await desk.copy().cli(runArgs("one")), 3);
    const points = reference.lines.flatMap((l) => (l.kind === "mark" && !isSealAlone(l) ? [l] : []));
    const asking = points.filter(asksIn).map((m) => m.point);
    const last = points.at(-1)?.point ?? "";
    for (const point of [...asking, last])
      await judge(`Q-2 Q-3 parked, killed at ${point}, approved with nobody holding it: the call runs once`, () =>
        parkedAndKilled(desk.copy(), point),
      );
    await judge("Q-3 W-1 approved while another process holds the session: that one runs the call, once", () => whileHeld(desk.copy()));
    await judge(
      "Q-3 W-2 approved while a stopped process holds the session, which is then killed: whoever answered runs the call, once",
      () => whileStopped(desk.copy()),
    );
    await judge("Q-3 two questions of one reply, answered in the other order", () => otherWayRound(desk.copy()));
    await judge("Q-3 two questions of one reply, answered at the same moment", () => bothAtOnce(desk.copy()));
    await judge("Q-5 one question, answered by two people at the same moment: the call runs once", () => sameQuestion(desk.copy()));
    await Promise.all([
      judge(`Q-18 a question of ${HURRY_MS} ms expires while no process runs: denied on resume`, () => expiredWhileDown(desk.copy())),
      judge("Q-18 an answer put too late is refused, whenever it is read", () => tooLate(desk.copy())),
      judge("Q-18 an answer put in time counts, though nobody reads it before the time is up", () => inTime(() => desk.copy())),
    ]);
  },
};
