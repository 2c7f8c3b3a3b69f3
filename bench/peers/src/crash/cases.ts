/**
 * What is done in each case, and where it is cut off.
 *
 * Every script is a fixed conversation. What the model says next follows from how many tool results it is shown, so that a framework which
 * lost one, or shows a call without its result, does not get an answer (a real provider refuses such a request as well).
 */

import type { CrashRow } from "../crash-row.ts";

/** `step` runs at once; `pay` only after a person has said yes. */
export type ToolName = "step" | "pay";
export type Call = Readonly<{ tool: ToolName; n: number }>;

/** One thing the model says: after so many results. */
type Beat = Readonly<{ after: number; calls: readonly Call[] }>;

export const INPUT = "do the work";
export const FINAL = "all of it is done";

const step = (n: number): Call => ({ tool: "step", n });
const pay = (n: number): Call => ({ tool: "pay", n });

export const effectKey = ({ tool, n }: Call): string => `${tool} ${n}`;
export const resultOf = (key: string): string => `${key} was done`;

/** The last beat, after every result, is the final text. */
const IN_A_ROW: readonly Beat[] = [
  { after: 0, calls: [step(1)] },
  { after: 1, calls: [step(2)] },
  { after: 2, calls: [] },
];
const SIDE_BY_SIDE: readonly Beat[] = [
  { after: 0, calls: [step(1), step(2)] },
  { after: 2, calls: [] },
];
const APPROVED: readonly Beat[] = [
  { after: 0, calls: [pay(1)] },
  { after: 1, calls: [] },
];

/** What a process is told to do with the run, one after the other. */
export type Move =
  /** Sends the input. */
  | "start"
  /** The documented way to take a run up after a crash, with nothing new to say to it. */
  | "resume"
  /** Finds the open question in the store, says yes, and goes on; left out where nothing is asked. */
  | "answer";

export type Case = Readonly<{
  /** On the command line. */
  name: string;
  /** In the row. */
  point: CrashRow["case"];
  workload: CrashRow["workload"];
  title: string;
  beats: readonly Beat[];
  /** What the counter never answers, the first time: there the kill comes. Null: once the run is parked. */
  hold: string | null;
  before: readonly Move[];
  after: readonly Move[];
  /** Without a kill, in one process. */
  control: readonly Move[];
}>;

export const CASES: readonly Case[] = [
  {
    name: "model",
    point: "model",
    workload: "W5",
    title: "during model call 3",
    beats: IN_A_ROW,
    hold: "model 3",
    before: ["start"],
    after: ["resume"],
    control: ["start"],
  },
  {
    name: "tool",
    point: "tool",
    workload: "W5",
    title: "inside tool 2, after its effect",
    beats: IN_A_ROW,
    hold: "effect step 2",
    before: ["start"],
    after: ["resume"],
    control: ["start"],
  },
  {
    name: "parallel",
    point: "parallel",
    workload: "W5",
    title: "two parallel tools, A done, B running after its effect",
    beats: SIDE_BY_SIDE,
    hold: "effect step 2",
    before: ["start"],
    after: ["resume"],
    control: ["start"],
  },
  {
    name: "parked",
    point: "parked",
    workload: "W5",
    title: "parked on an approval, taken up again, then answered",
    beats: APPROVED,
    hold: null,
    before: ["start"],
    after: ["resume", "answer"],
    control: ["start", "answer"],
  },
  {
    name: "approved",
    point: "approved",
    workload: "W5",
    title: "inside an approved tool, after its effect",
    beats: APPROVED,
    hold: "effect pay 1",
    before: ["start", "answer"],
    after: ["resume", "answer"],
    control: ["start", "answer"],
  },
  {
    name: "elsewhere",
    point: "parked",
    workload: "W6",
    title: "approval parked, process killed, answered by another process",
    beats: APPROVED,
    hold: null,
    before: ["start"],
    after: ["answer"],
    control: ["start", "answer"],
  },
];

export const effectsOf = ({ beats }: Case): readonly string[] => beats.flatMap(({ calls }) => calls.map(effectKey));
