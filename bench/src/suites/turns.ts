/**
 * A long conversation: what its last turns cost against its early ones, in the process that goes on with it and in one that has to take it up first.
 * The model's own context is bounded. Who takes a session up folds its entries from the first on: that is in proportion to the conversation.
 */
import { createRuntime, sha256, tableGate } from "orgate";
import { type Sample, type Spread, spread } from "../measure.ts";
import { inFolder, USER } from "../places.ts";
import { type Aim, digits, type Line, type Report } from "../report.ts";
import { agent, countingModel, PERMIT_ALL } from "../workload.ts";

const EARLY = 100;
const SPAN = 25;
const TAKEN_UP = 5;
const AIM = 1.1;

export const turns = ({ turns: many }: { readonly turns: number }): Promise<Report> =>
  inFolder(async (folder) => {
    const open = () =>
      createRuntime({
        directory: folder,
        agents: [agent],
        gate: tableGate(PERMIT_ALL, sha256),
        principal: USER,
        model: () => countingModel(1),
        powerCut: "lose-last-moments",
        thread: "main",
      });
    let runtime = await open();
    const limits = { contextTokens: 4_000 };
    const { session } = await runtime.run("bench", "go", { limits }).result;
    const turn = async (): Promise<Sample> => {
      const [before, began] = [process.cpuUsage(), performance.now()];
      const { ending } = await runtime.run("bench", "go", { session, limits }).result;
      if (ending !== "completed") throw new Error(`a turn ended ${ending}`);
      const used = process.cpuUsage(before);
      return { cpuUs: used.user + used.system, wallUs: (performance.now() - began) * 1_000 };
    };
    /** A runtime that was just opened has no fold. */
    const takeUp = async (): Promise<Sample> => {
      await runtime.close();
      runtime = await open();
      return turn();
    };
    const [kept, taken]: [Sample[][], Sample[][]] = [[], []];
    for (const [from, to] of [
      [2, EARLY],
      [EARLY + 1, many],
    ] as const) {
      const all: Sample[] = [];
      for (let n = from; n <= to; n += 1) all.push(await turn());
      kept.push(all.slice(-SPAN));
      const again: Sample[] = [];
      for (let i = 0; i < TAKEN_UP; i += 1) again.push(await takeUp());
      taken.push(again);
    }
    await runtime.close();
    const [inOne, anew] = [linesOf("in one process", kept, many), linesOf("taken up first", taken, many)];
    return {
      name: "turns",
      title: `A conversation of ${many} turns`,
      unit: "µs per turn",
      by: "cpu",
      lines: [...inOne, ...anew],
      aims: [aimOf("in one process", inOne), aimOf("taken up first", anew)],
      notes: ["taken up first: in a runtime that was just opened; a process keeps the folds of 64 sessions for five minutes"],
    };
  });

function linesOf(how: string, samples: readonly (readonly Sample[])[], many: number): readonly Line[] {
  const of = (i: number, what: keyof Sample): Spread => spread((samples[i] ?? []).map((s) => s[what]));
  const line = (i: number, at: number, ratio: number | null): Line => ({
    label: `turn ${at}, ${how}`,
    cpu: of(i, "cpuUs"),
    wall: of(i, "wallUs"),
    ratio,
    more: "",
  });
  return [line(0, EARLY, null), line(1, many, of(1, "cpuUs").median / of(0, "cpuUs").median)];
}

function aimOf(how: string, lines: readonly Line[]): Aim {
  const ratio = lines.at(-1)?.ratio ?? Number.NaN;
  return { what: `the last against turn ${EARLY}, CPU, ${how}`, want: `at most ${AIM}×`, got: `${digits(ratio)}×`, met: ratio <= AIM };
}
