/**
 * `orgate demo`: the whole promise in one run, on the example project, with real processes. Every number in it is measured: effects and
 * model calls are counted in files that the tools and the model write themselves, outside the journal of the process that is killed.
 * Rule: A-17.
 */
import { cpSync, existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { EXIT, type RunCommand } from "@orgate/shell/terminal";
import { countScene, killScene, resumeScene, tamperScene, verifyScene, workScene } from "./scenes.ts";
import { type Stage, setStage } from "./stage.ts";

export type DemoResult = Readonly<{
  allowed: number;
  denied: number;
  asked: number;
  /** Who the journal says approved it; null when nobody did. */
  approvedBy: string | null;
  /** The killed call was started under one hold and ended under a later one. */
  resumed: boolean;
  toolRunsTwice: number;
  modelCallsRepeated: number;
  verified: boolean;
  /** `STREAM#SEQ` of the entry that verify named after one byte was flipped; null when it found none. */
  tamperFoundAt: string | null;
  /** Which one it was. */
  tamperedAt: string;
  modelCalls: number;
  effects: number;
  session: string;
  durationMs: number;
}>;

export const demo: RunCommand = async (given, screen) => {
  const began = performance.now();
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "orgate-demo-")));
  const stage = setStage(folder, screen, given);
  const away = (): void => {
    stage.clear();
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  };
  const interrupted = (): never => {
    away();
    process.exit(EXIT.interrupted);
  };
  for (const signal of SIGNALS) process.once(signal, interrupted);
  try {
    prepare(stage);
    const told = await play(stage, began);
    if (given.json) screen.line(JSON.stringify(told));
    return holds(told) ? EXIT.success : EXIT.failure;
  } finally {
    for (const signal of SIGNALS) process.off(signal, interrupted);
    away();
  }
};

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** One scene after the other. Each returns what it measured; what a later step adds to the story goes between these lines. */
async function play(stage: Stage, began: number): Promise<DemoResult> {
  const { session, approval } = await workScene(stage);
  const { approvedBy } = await killScene(stage, session, approval);
  const { resumed } = await resumeScene(stage, session);
  const counted = countScene(stage, session);
  const { verified } = await verifyScene(stage, counted);
  const { tamperedAt, tamperFoundAt } = await tamperScene(stage, session);
  const told: DemoResult = {
    ...counted,
    approvedBy,
    resumed,
    verified,
    tamperFoundAt,
    tamperedAt,
    session,
    durationMs: Math.round(performance.now() - began),
  };
  const all = holds(told);
  await stage.scene(all ? "Nothing without a permit, nothing twice, everything proved." : "Something did not hold: see above.");
  if (all) await stage.say("dim", "next: `orgate init DIR` makes your own project (policies of this one: examples/ops-desk/policies)");
  return told;
}

const holds = (t: DemoResult): boolean =>
  t.allowed > 0 &&
  t.denied > 0 &&
  t.asked > 0 &&
  t.approvedBy !== null &&
  t.resumed &&
  t.toolRunsTwice === 0 &&
  t.modelCallsRepeated === 0 &&
  t.verified &&
  t.tamperFoundAt === t.tamperedAt;

function prepare({ project }: Stage): void {
  const left = new Set([".orgate", "effects.jsonl", "model-calls.jsonl", "reports", ".home"]); // by a server that runs on it
  cpSync(exampleFolder(), project, { recursive: true, filter: (path) => !left.has(basename(path)) });
  // the agent's module says `from "orgate"`: in the copy, that is the program that runs this
  mkdirSync(join(project, "node_modules"), { recursive: true });
  symlinkSync(packageFolder(), join(project, "node_modules", "orgate"), "junction");
}

const isSource = import.meta.url.endsWith(".ts");
/** Shipped beside the compiled files; in a checkout it lies with the other examples. */
function exampleFolder(): string {
  const folder = fileURLToPath(new URL(isSource ? "../../../../examples/ops-desk" : "./ops-desk", import.meta.url));
  if (!existsSync(folder)) throw new Error(`the example project is missing: ${folder}`);
  return folder;
}
const packageFolder = (): string => fileURLToPath(new URL(isSource ? "../.." : "..", import.meta.url));
