/** A long conversation in one process: what its last turns cost against its early ones. The model's own context is bounded. */
import { createRuntime, sha256, tableGate } from "orgate";
import { type Spread, spread } from "../measure.ts";
import { inFolder, USER } from "../places.ts";
import { digits, type Line, type Report } from "../report.ts";
import { agent, countingModel, PERMIT_ALL } from "../workload.ts";

const EARLY = 100;
const SPAN = 25;
const AIM = 1.2;

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
    const runtime = await open();
    const limits = { contextTokens: 4_000 };
    const { session } = await runtime.run("bench", "go", { limits }).result;
    const [cpu, wall]: [number[], number[]] = [[], []];
    const turn = async (on: Awaited<ReturnType<typeof open>>): Promise<readonly [number, number]> => {
      const [before, began] = [process.cpuUsage(), performance.now()];
      const { ending } = await on.run("bench", "go", { session, limits }).result;
      if (ending !== "completed") throw new Error(`a turn ended ${ending}`);
      const used = process.cpuUsage(before);
      return [used.user + used.system, (performance.now() - began) * 1_000];
    };
    for (let n = 2; n <= many; n += 1) {
      const [ofCpu, ofWall] = await turn(runtime);
      cpu.push(ofCpu);
      wall.push(ofWall);
    }
    await runtime.close();
    const cold = await open(); // another process finds no fold, and folds the whole stream
    const [coldCpu, coldWall] = await turn(cold);
    await cold.close();
    const around = (all: readonly number[], at: number): Spread => spread(all.slice(Math.max(0, at - 1 - SPAN), at - 1));
    const line = (label: string, at: number): Line => ({ label, cpu: around(cpu, at), wall: around(wall, at), ratio: null, more: "" });
    const [early, late] = [line(`turns up to ${EARLY}`, EARLY), line(`turns up to ${many}`, many)];
    const ratio = (late.cpu?.median ?? 0) / (early.cpu?.median ?? 1);
    const first: Line = {
      label: "the next one, in a new process",
      cpu: spread([coldCpu]),
      wall: spread([coldWall]),
      ratio: null,
      more: "folded from its first entry",
    };
    return {
      name: "turns",
      title: `A conversation of ${many} turns`,
      unit: "µs per turn",
      by: "cpu",
      lines: [early, { ...late, ratio }, first],
      aims: [{ what: `turn ${many} against turn ${EARLY}, CPU`, want: `at most ${AIM}×`, got: `${digits(ratio)}×`, met: ratio <= AIM }],
      notes: [],
    };
  });
