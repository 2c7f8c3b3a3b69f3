/** Two processes on one project, each with a session of its own; one is killed, also while it has the database's only write lock. */
import { isEffect, type Violation } from "../checks.ts";
import type { Stand } from "../stand/stand.ts";
import type { Suite } from "../suite.ts";
import { findings, type KillPoint, killAt, pointName, resumeAll } from "./kill-points.ts";

const POINTS: readonly KillPoint[] = [
  { kind: "frozen", point: "tx 3 commit" }, // inside a transaction: the neighbour cannot write until this one is dead
  { kind: "frozen", point: "tx 6 begin" },
  { kind: "frozen", point: "call 2.1#1 sent" },
  { kind: "held", call: "3.1", beside: "3.0" },
];

/** The neighbour is in the middle of its turn when the other dies: it wants to write while that one stands at its point. */
async function beside(stand: Stand, at: KillPoint): Promise<readonly Violation[]> {
  const directory = stand.project();
  const neighbour = await stand.start({ directory, jobs: [{ kind: "run" }], hold: ["model 2"] });
  await neighbour.until("model", (m) => m.iteration === 2);
  const said = neighbour.lines.length;
  const victim = await killAt(stand, directory, at, {
    async before() {
      neighbour.answer("model 2");
      await neighbour.until("mark", (m) => m.step === "begin" && neighbour.lines.indexOf(m) >= said);
    },
  });
  const how = await neighbour.gone;
  const fresh = await resumeAll(stand, directory);
  const keys = neighbour.lines.filter(isEffect).map((e) => e.key);
  const did = neighbour.lines.flatMap((l) => (l.kind === "did" ? [l.outcome] : []));
  const isCalm = how === "0" && did.every((d) => d.kind === "result" && d.ending === "completed");
  return [
    ...(isCalm ? [] : [`L-7 the neighbour was disturbed (${how}): ${JSON.stringify(did)} ${neighbour.complaint()}`]),
    ...(keys.length === 6 && new Set(keys).size === 6 ? [] : [`L-7 the neighbour's six calls took effect ${keys.length} times`]),
    ...(await findings(directory, [...neighbour.lines, ...victim.lines, ...fresh.lines])),
  ];
}

export const neighbours: Suite = {
  name: "two processes on one project, one of them killed",
  async run({ stand, judge }) {
    for (const at of POINTS)
      await judge(`J-4 a process killed at ${pointName(at)} does not disturb its neighbour`, () => beside(stand, at));
  },
};
