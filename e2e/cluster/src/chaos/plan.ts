/** What the sessions of a chaos run do, by seed: the same seed and job number give the same script, whoever asks and how often. */
import { type Random, seeded } from "@orgate/e2e/seeded";

/** A tool of each repeat class; `wire` may run once and asks a person first. */
export const TOOLS = { look: "read", put: "idempotent", send: "reconcile", fire: "once", wire: "once" } as const;
export type ToolName = keyof typeof TOOLS;
const NAMES = Object.keys(TOOLS).filter((name): name is ToolName => name in TOOLS);

/** Takes effect twice at no time. */
export const isUnrepeatable = (tool: string): boolean => tool === "send" || tool === "fire" || tool === "wire";

export type PlannedCall = Readonly<{ kind: "tool"; tool: ToolName; n: number } | { kind: "delegate"; job: string }>;
/** Calls of each reply; after the last the model answers. */
export type Script = readonly (readonly PlannedCall[])[];

/** Every effect of a run has a number of its own: job 17's are 17000 to 17999. */
const ROOM = 1_000;
/** Jobs of a schedule have no number: nobody says it to them. */
export const TICK = "tick";

export function scriptOf(seed: number, job: string): Script {
  if (job === TICK) return [[{ kind: "tool", tool: "put", n: 0 }]];
  const [number = "", sub] = job.split(".");
  const random = seeded((seed ^ (Number(number) * 0x9e37_79b1) ^ (Number(sub ?? 0) * 0x85eb_ca6b)) >>> 0);
  const first = Number(number) * ROOM + Number(sub ?? 0) * 50;
  let next = first;
  const call = (): PlannedCall => ({ kind: "tool", tool: random.pick(NAMES), n: next++ });
  if (sub !== undefined) return [[call(), call()]];
  const replies = 2 + random.below(3);
  const script = Array.from({ length: replies }, () => Array.from({ length: 1 + random.below(3) }, call));
  return [...script.slice(0, 1), ...delegations(random, number), ...script.slice(1)];
}

/** A third of the jobs give work to one or two sub-agents. */
function delegations(random: Random, number: string): Script {
  if (random.below(3) > 0) return [];
  return [Array.from({ length: 1 + random.below(2) }, (_, i) => ({ kind: "delegate", job: `${number}.${i + 1}` }))];
}

export const inputOf = (job: string): string => `job ${job}`;
/** Null where a text names no job. */
export const jobIn = (text: string): string | null => /\bjob (tick|\d+(?:\.\d+)?)\b/.exec(text)?.[1] ?? null;
