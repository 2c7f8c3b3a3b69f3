/** The process that takes an answer is killed at every point of taking it, whether it answered or holds the session. */
import { isEffect, readEntries, type Violation, withOpenProject } from "../checks.ts";
import { APPROVER, approveArgs, type Desk, makeDesk, type OpenQuestion, parked, runArgs, standingOf } from "../stand/desk.ts";
import type { Stand } from "../stand/stand.ts";
import { type Broken, isSealAlone, type Line } from "../stand/wire.ts";
import { inLanes, type Suite } from "../suite.ts";
import { approve, deskFindings, ended, holding, onlyOne, resume } from "./answers.ts";
import { killed } from "./kill-points.ts";

type Point = Extract<Line, { kind: "mark" | "effect" }>;
/** Each once; without seals that come by themselves, which are no part of every run. */
const pointsIn = (lines: readonly Line[]): readonly Point[] =>
  lines
    .filter((l): l is Point => (l.kind === "mark" && !isSealAlone(l)) || l.kind === "effect")
    .filter((l, i, all) => all.findIndex(({ point }) => point === l.point) === i);
const writes = (line: Line, kind: string): boolean => line.kind === "mark" && line.written.some((e) => e.kind === kind);

/** Approves every request until the turn has ended. A lost call makes similar calls ask. */
async function toTheEnd(desk: Desk): Promise<readonly Line[]> {
  const lines: Line[] = [];
  for (let rounds = 0; rounds < 6; rounds += 1) {
    const { session, state, questions } = await standingOf(desk);
    if (state === "idle") return lines;
    const [question] = questions;
    const process = question === undefined ? await resume(desk, session) : await approve(desk, question);
    lines.push(...(await ended(process, 0, 3)).lines);
  }
  throw new Error("the turn does not end");
}

/** An effect that had begun when its process died may be lost; none comes twice, and none that was not begun is missing. */
async function unlessOnce(desk: Desk, lines: readonly Line[], what: string): Promise<readonly Violation[]> {
  const times = lines.filter(isEffect).filter((e) => `${e.tool} ${e.n}` === what).length;
  const { session } = await standingOf(desk);
  const entries = await withOpenProject(desk.directory, (store) => readEntries(store, session));
  const unknown = entries.some(({ event }) => event.kind === "act.ended" && event.outcome.kind === "unknown");
  return times === 1 || (times === 0 && unknown) ? [] : [`Q-3 ${what} took effect ${times} times${unknown ? ", and is unknown" : ""}`];
}

/** Nobody holds it: who answers takes the session, and dies. Once the answer is durable nobody has to give it again. */
async function killedAnswering(desk: Desk, question: OpenQuestion, at: Point, durable: boolean): Promise<readonly Violation[]> {
  const approver = await desk.cli([...approveArgs(question.approval, APPROVER), "--json"], {
    stop: { kind: "at", point: at.point },
  });
  await approver.until("reached");
  approver.signal("SIGKILL");
  await killed(approver);
  const lines = [...approver.lines];
  if (durable) lines.push(...(await ended(await resume(desk, question.session), 0)).lines);
  else lines.push(...(await toTheEnd(desk)));
  return [...(await deskFindings(desk, lines, null)), ...(await unlessOnce(desk, lines, "fire 1"))];
}

async function everyPointOfAnswering(stand: Stand, judge: Judge): Promise<number> {
  const desk = await makeDesk(stand);
  const question = onlyOne(await parked(desk, "one"));
  const reference = await ended(await approve(desk.copy(), question), 0);
  const points = pointsIn(reference.lines);
  const put = points.findIndex((p) => p.kind === "mark" && p.step === "committed");
  await inLanes([...points.entries()], ([i, at]) =>
    judge(`Q-3 I-2 who answers is killed at ${at.point}: the answer counts once, the call runs once at most`, () =>
      killedAnswering(desk.copy(), question, at, i >= put),
    ),
  );
  return points.length;
}

/** Another process holds it, takes the answer, and dies; who answered sees to it that it is taken up. */
async function holderKilled(desk: Desk, point: string): Promise<readonly Violation[]> {
  const holder = await holding(desk, point);
  const approver = await approve(desk, onlyOne((await standingOf(desk)).questions));
  await holder.until("reached");
  holder.signal("SIGKILL");
  await killed(holder);
  const lines = [...holder.lines, ...(await ended(approver, 0, 3)).lines, ...(await toTheEnd(desk))];
  return [...(await deskFindings(desk, lines, null)), ...(await unlessOnce(desk, lines, "fire 2"))];
}

async function everyPointOfHolding(stand: Stand, judge: Judge): Promise<number> {
  const desk = await makeDesk(stand);
  const calm = desk.copy();
  const holder = await holding(calm);
  await ended(await approve(calm, onlyOne((await standingOf(calm)).questions)), 0);
  await holder.until("mark", (m) => m.step === "committed" && m.written.some((e) => e.kind === "act.ended" && e.call === "1.1"));
  const before = holder.lines.findLastIndex((l) => l.kind === "effect" && l.call === "1.0");
  const points = pointsIn(holder.lines.slice(before + 1));
  holder.answer("call 1.0");
  await ended(holder, 0);
  await inLanes(points, ({ point }) =>
    judge(`Q-3 W-2 the holder that takes an answer is killed at ${point}: it counts once, the call runs once at most`, () =>
      holderKilled(desk.copy(), point),
    ),
  );
  return points.length;
}

type Judge = (name: string, find: () => Promise<readonly Violation[]>) => Promise<void>;

// remembered answers

const rememberArgs = ({ approval }: OpenQuestion): readonly string[] => [
  ...approveArgs(approval, APPROVER),
  ...["--grant", "tool", "--for", "1h", "--json"],
];

const grantsIn = (desk: Desk): Promise<readonly string[]> =>
  withOpenProject(desk.directory, async ({ records }) =>
    [...records.streams()].flatMap((s) => (s === "grants" ? [...records.entries(s)].map((e) => e.kind) : [])),
  );

const unlessGiven = async (desk: Desk): Promise<readonly Violation[]> => {
  const given = (await grantsIn(desk)).filter((kind) => kind === "grant.given").length;
  return given === 1 ? [] : [`Q-9 the grant was given ${given} times`];
};

/** The answer is durable, the grant may not be yet: the next process gives it, once. */
async function killedGranting(desk: Desk, question: OpenQuestion, point: string): Promise<readonly Violation[]> {
  const taker = await desk.cli(rememberArgs(question), { stop: { kind: "at", point } });
  await taker.until("reached");
  taker.signal("SIGKILL");
  await killed(taker);
  const fresh = await ended(await resume(desk, question.session), 0, 3); // the answer lies there already
  const lines = [...taker.lines, ...fresh.lines, ...(await toTheEnd(desk))];
  const found = [...(await deskFindings(desk, lines, null)), ...(await unlessGiven(desk))];
  await resolved(desk, lines); // an open unknown makes calls like it ask, also elsewhere, whatever is remembered
  const another = await desk.cli(runArgs("one")); // a session of its own, of the same agent for the same person
  const how = await another.gone;
  const uses = another.lines.filter((l) => writes(l, "grant.used") && l.kind === "mark" && l.step === "committed").length;
  return [...found, ...(how === "0" && uses === 1 ? [] : [`Q-9 the grant does not count elsewhere (${how}, used ${uses} times)`])];
}

/** A person says of each call that was lost what the counter knows of it. */
async function resolved(desk: Desk, lines: readonly Line[]): Promise<void> {
  const { session, unknowns } = await standingOf(desk);
  for (const call of unknowns) {
    const what = lines.filter(isEffect).some((e) => e.call === call) ? "happened" : "did-not-happen";
    await ended(await desk.cli(["sessions", "resolve", `${session}/${call}`, what, "--as", APPROVER]), 0);
  }
}

type Granting = Readonly<{ desk: Desk; question: OpenQuestion; points: readonly Point[] }>;

/** A question to be answered with a grant, and where whoever does so can die between the two. */
async function granting(stand: Stand): Promise<Granting> {
  const desk = await makeDesk(stand);
  const question = onlyOne(await parked(desk, "thrice"));
  const reference = await ended(await desk.copy().cli(rememberArgs(question)), 0);
  const first = reference.lines.findIndex((l) => writes(l, "approval.answered"));
  const last = reference.lines.findLastIndex((l) => writes(l, "grant.given"));
  return { desk, question, points: pointsIn(reference.lines.slice(first - 1, last + 2)) };
}

async function everyPointOfGranting(stand: Stand, judge: Judge): Promise<number> {
  const { desk, question, points } = await granting(stand);
  await inLanes(points, ({ point }) =>
    judge(`Q-9 killed at ${point}, around the answer and its grant: the grant is given once, by whoever comes next`, () =>
      killedGranting(desk.copy(), question, point),
    ),
  );
  return points.length;
}

/** Right after the commit with the answer. */
export async function killedBeforeGrant(stand: Stand, broken: Broken): Promise<readonly Violation[]> {
  const { desk, question, points } = await granting(stand);
  const answered = points.find((p) => p.kind === "mark" && p.step === "committed" && writes(p, "approval.answered"));
  return killedGranting(desk.copy(broken), question, answered?.point ?? "");
}

/**
 * Another process takes it back while a call that it covered is under way: the next one asks again. A holder looks whether anything has
 * changed every so often; a wish that it has refused since proves that it has looked.
 */
async function revoked(desk: Desk): Promise<readonly Violation[]> {
  const question = onlyOne(await parked(desk, "one"));
  const giver = await ended(await desk.cli(rememberArgs(question)), 0);
  const holder = await desk.cli(runArgs("thrice"), { hold: ["call 1.0"] });
  await holder.until("effect", (e) => e.call === "1.0");
  const grant = onlyOne(await desk.json<readonly { grant: string }[]>(["approvals", "grants"])).grant;
  const revoker = await ended(await desk.cli(["approvals", "revoke", grant, "--reason", "enough", "--as", APPROVER]), 0);
  const { session } = await standingOf(desk);
  await ended(await desk.program("clerk.ts", [APPROVER, session, JSON.stringify({ kind: "say", text: "are you there?" })]), 0);
  await holder.until("mark", (m) => m.step === "committed" && writes(m, "intent.refused"));
  holder.answer("call 1.0");
  await ended(holder, 3);
  const effects = holder.lines.filter(isEffect).map((e) => `${e.tool} ${e.n}`);
  const asked = onlyOne((await standingOf(desk)).questions);
  const lines = [...giver.lines, ...revoker.lines, ...holder.lines];
  lines.push(...(await ended(await approve(desk, asked), 3)).lines); // and once more for the third
  lines.push(...(await ended(await approve(desk, onlyOne((await standingOf(desk)).questions)), 0)).lines);
  const found = await deskFindings(desk, lines, null);
  return [...found, ...(effects.join() === "fire 1" ? [] : [`Q-9 after the grant was revoked: ${effects.join()}`])];
}

export const answerCrashes: Suite = {
  name: "kill -9 of whoever takes an answer, at every point of it",
  async run({ stand, judge, say }) {
    const answering = await everyPointOfAnswering(stand, judge);
    const held = await everyPointOfHolding(stand, judge);
    const granting = await everyPointOfGranting(stand, judge);
    say(`${answering} points of a process that answers and takes the session, ${held} of one that holds it, ${granting} around a grant`);
    await judge("Q-9 a grant that is revoked while another process runs covers nothing that starts once that one has looked", async () =>
      revoked(await makeDesk(stand)),
    );
  },
};
