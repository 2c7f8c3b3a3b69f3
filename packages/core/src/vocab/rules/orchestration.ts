/**
 * Several agents at one task, in a way that a person chose. A plan is said to the conductor as one line of text, which is all that it goes by: the same line
 * is what people read in the journal, and what a process that takes the session up goes on from.
 *
 * S-16 what is written of a plan is read back as the same plan, whatever its task says.
 */

export const ORCHESTRATIONS = ["chain", "parallel", "race", "debate"] as const;
export type OrchestrationKind = (typeof ORCHESTRATIONS)[number];

/** Budget of all members together. An absent part is bounded by the orchestrator's own limits. */
export type OrchestrationBudget = Readonly<Partial<Record<BudgetOf, number>>>;
export const BUDGET_OF = ["tokens", "iterations", "calls", "cents"] as const;
export type BudgetOf = (typeof BUDGET_OF)[number];

export type Orchestration = Readonly<{
  kind: OrchestrationKind;
  /** Agents, in order; one may be named more than once. */
  members: readonly string[];
  task: string;
  /** Of a debate; 1 otherwise. */
  rounds: number;
  budget: OrchestrationBudget;
}>;

export type ReadOrchestration =
  | Readonly<{ kind: "plan"; plan: Orchestration }>
  /** Not a plan at all, or a plan with a mistake. */
  | Readonly<{ kind: "none" }>
  | Readonly<{ kind: "wrong"; detail: string }>;

export const MAX_MEMBERS = 12;
export const MAX_DEBATE_ROUNDS = 10;
export const DEFAULT_DEBATE_ROUNDS = 2;
/** The name of the agent that conducts, and the model that it has: no language model, and no chance. */
export const ORCHESTRATOR = "conductor";
export const ORCHESTRATOR_MODEL = "conductor/plan";

/** How many delegations a plan is, if nothing ends it before. */
export const countDelegations = ({ kind, members, rounds }: Pick<Orchestration, "kind" | "members" | "rounds">): number =>
  kind === "debate" ? members.length * rounds : members.length;

/** Why it cannot be; null when it can. */
export function refuseOrchestration(plan: Orchestration): string | null {
  const { kind, members, task, rounds, budget } = plan;
  if (kind === "debate" && members.length !== 2) return `a debate is between two agents, and ${counted(members.length)} named`;
  if (members.length < 2) return `${kind} takes at least two agents, and ${counted(members.length)} named`;
  if (members.length > MAX_MEMBERS) return `${kind} takes at most ${MAX_MEMBERS} agents, and ${members.length} are named`;
  const odd = members.find((name) => !NAME.test(name));
  if (odd !== undefined) return `\`${odd}\` is no name of an agent`;
  if (task.trim() === "") return "the task is missing: put it in quotes at the end";
  if (!Number.isInteger(rounds) || rounds < 1 || rounds > MAX_DEBATE_ROUNDS)
    return `a debate has 1 to ${MAX_DEBATE_ROUNDS} rounds, not ${rounds}`;
  const steps = countDelegations(plan);
  const small = BUDGET_OF.find((of) => budget[of] !== undefined && (budget[of] ?? 0) < steps);
  return small === undefined
    ? null
    : `the budget is ${budget[small]} ${small}, and there are ${steps} steps to share it: each needs at least 1 of them`;
}
const counted = (n: number): string => (n === 1 ? "1 is" : `${n} are`);
const NAME = /^[A-Za-z0-9][\w.-]*$/;

/** One line, with the task in JSON's own quotes. */
export function orchestrationText({ kind, members, task, rounds, budget }: Orchestration): string {
  const shares = BUDGET_OF.flatMap((of) => (budget[of] === undefined ? [] : [`${of}=${budget[of]}`]));
  return [
    `/${kind}`,
    ...members,
    ...(kind === "debate" ? [String(rounds)] : []),
    ...(shares.length === 0 ? [] : ["--budget", shares.join(",")]),
    JSON.stringify(task.toWellFormed()),
  ].join(" ");
}

/**
 * `written` is what the function above wrote; `typed` is a person's line: what stands between the quotes is taken as it is, but for `\"`, and ` -- ` begins a
 * task without quotes.
 */
export function readOrchestration(text: string, how: "typed" | "written"): ReadOrchestration {
  const [, kind, rest = ""] = /^\/?(chain|parallel|race|debate)(?=\s|$)([\s\S]*)$/.exec(text.trim()) ?? [];
  const found = ORCHESTRATIONS.find((one) => one === kind);
  if (found === undefined) return { kind: "none" };
  const parts = taskIn(rest, how);
  if (parts === null) return wrong("the task is missing: put it in quotes at the end");
  const words = parts.head.split(/\s+/).filter((word) => word !== "");
  const budget = budgetIn(words);
  if (typeof budget === "string") return wrong(budget);
  const last = words.at(-1) ?? "";
  const rounds = found === "debate" && /^\d+$/.test(last) ? Number(words.pop()) : null;
  const plan: Orchestration = {
    kind: found,
    members: words.map((word) => word.replace(/^@/, "")),
    task: parts.task,
    rounds: found === "debate" ? (rounds ?? DEFAULT_DEBATE_ROUNDS) : 1,
    budget,
  };
  const why = refuseOrchestration(plan);
  return why === null ? { kind: "plan", plan } : wrong(why);
}

const wrong = (detail: string): ReadOrchestration => ({ kind: "wrong", detail });

function taskIn(rest: string, how: "typed" | "written"): Readonly<{ head: string; task: string }> | null {
  const quote = rest.indexOf('"');
  const dashes = how === "typed" ? rest.search(/\s--\s/) : -1;
  if (dashes >= 0 && (quote < 0 || dashes < quote)) return { head: rest.slice(0, dashes), task: rest.slice(dashes + 3).trim() };
  if (quote < 0 || !/"\s*$/.test(rest.slice(quote + 1))) return null;
  const quoted = rest.slice(quote).trim();
  const task = how === "typed" ? quoted.slice(1, -1).replaceAll('\\"', '"') : fromJson(quoted);
  return task === null ? null : { head: rest.slice(0, quote), task };
}

function fromJson(quoted: string): string | null {
  try {
    const read: unknown = JSON.parse(quoted);
    return typeof read === "string" ? read : null;
  } catch {
    return null;
  }
}

/** Takes it out of the words; a text says what is wrong with it. */
function budgetIn(words: string[]): OrchestrationBudget | string {
  const at = words.indexOf("--budget");
  if (at < 0)
    return words.find((word) => word.startsWith("-")) === undefined
      ? {}
      : `\`${words.find((w) => w.startsWith("-"))}\` is no option: there is --budget`;
  const [, given] = words.splice(at, 2);
  return readBudget(given ?? "");
}

/** `20000` is tokens; `tokens=20000,cents=50`. */
export function readBudget(text: string): OrchestrationBudget | string {
  const shares = (/^\d/.test(text) ? `tokens=${text}` : text).split(",");
  const budget: Partial<Record<BudgetOf, number>> = {};
  for (const share of shares) {
    const [, name, amount] = /^([a-z]+)=(\d{1,12})$/.exec(share) ?? [];
    const of = BUDGET_OF.find((one) => one === name);
    if (of === undefined || Number(amount) < 1)
      return `\`${text}\` is no budget: write 20000 (tokens), or tokens=20000,iterations=12,calls=30,cents=50`;
    budget[of] = Number(amount);
  }
  return budget;
}
