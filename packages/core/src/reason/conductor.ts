/**
 * The conductor's model: which delegation comes next, from the conversation alone. It is no language model; what it says follows from the plan and from what
 * its delegates brought, so a process that takes the session up after a crash says what the one before it would have said.
 *
 * S-16 the same conversation gets the same reply, always; every delegation has an id that says which step of which plan it is, so what has been done is seen
 *      from the last step alone.
 * S-17 chain: the next member is given the task and what the one before it came to. Parallel: all at once. Race: all at once, and the first that completes
 *      is enough. Debate: by turns, each with what the other said last.
 * S-17 a member of a chain or a debate that does not complete ends the whole `failed`, naming it and why; a parallel or a race fails when nobody completes.
 */
import {
  argumentsOf,
  countDelegations,
  DELEGATE,
  FaultError,
  type JsonObject,
  ORCHESTRATOR_MODEL,
  type Orchestration,
  readOrchestration,
} from "../vocab/index.ts";
import type { Message, Model, ModelReply, ModelRequest } from "./port.ts";

/** The budget of all members of a plan that names none. */
export const USUAL_BUDGET = Object.freeze({ tokens: 200_000, iterations: 100 });

export const conductorModel: Model = Object.freeze({
  id: ORCHESTRATOR_MODEL,
  ask: ({ messages }: ModelRequest): Promise<ModelReply> => Promise.resolve().then(() => nextReply(messages)),
});

type Given = Readonly<{ agent: string; task: string }>;
type Came = Readonly<{ agent: string; text: string; isError: boolean }>;
/** The plan of this turn, which message said it, and what its delegations came to. */
type Standing = Readonly<{ plan: Orchestration; of: number; step: number; came(step: number): readonly Came[] }>;

export function nextReply(messages: readonly Message[]): ModelReply {
  const standing = standingIn(messages);
  if (standing === null) return saying(USAGE);
  const { plan, step, came } = standing;
  const last = step === 0 ? [] : came(step);
  switch (plan.kind) {
    case "chain": {
      const [before] = stopUnlessDone(plan, step, last);
      return step === countDelegations(plan) ? saying(before?.text ?? "") : asking(standing, [chained(plan, step + 1, before ?? null)]);
    }
    case "debate": {
      stopUnlessDone(plan, step, last);
      return step === countDelegations(plan) ? saying(closing(standing)) : asking(standing, [debated(standing, step + 1)]);
    }
    case "parallel":
    case "race":
      if (step === 0)
        return asking(
          standing,
          plan.members.map((agent) => ({ agent, task: plan.task })),
        );
      return plan.kind === "race" ? saying(winning(last)) : saying(sections(plan, last));
  }
}

// ── where it stands ──

/** Messages in between are no plan, and change none. */
function standingIn(messages: readonly Message[]): Standing | null {
  const at = messages.findLastIndex(({ role }, i) => role === "user" && planIn(messages[i]) !== null);
  const said = messages[at];
  const plan = planIn(said);
  if (said === undefined || plan === null) return null;
  const since = messages.slice(at + 1);
  const id = new RegExp(`^o${said.entry}\\.(\\d+)\\.`);
  const calls = since.flatMap((m) =>
    m.role === "assistant" ? m.parts.flatMap((p) => (p.kind === "call" && id.test(p.wireId) ? [p] : [])) : [],
  );
  const step = Number(id.exec(calls.at(-1)?.wireId ?? "")?.[1] ?? 0);
  const came = (wanted: number): readonly Came[] =>
    calls
      .filter(({ wireId }) => Number(id.exec(wireId)?.[1]) === wanted)
      .map((call) => {
        const result = since.find((m) => m.role === "tool" && m.wireId === call.wireId);
        const args = argumentsOf(call);
        const agent = agentIn(args.kind === "json" ? args.value : null);
        return result?.role === "tool"
          ? { agent, text: result.text, isError: result.isError }
          : { agent, text: "it is not known", isError: true };
      });
  return { plan, of: said.entry, step, came };
}

function planIn(message: Message | undefined): Orchestration | null {
  if (message?.role !== "user") return null;
  const read = readOrchestration(message.text, "written");
  return read.kind === "plan" ? read.plan : null;
}

const agentIn = (args: unknown): string =>
  typeof args === "object" && args !== null && "agent" in args && typeof args.agent === "string" ? args.agent : "a delegate";

// ── what is asked of whom ──

const chained = ({ members, task }: Orchestration, step: number, before: Came | null): Given => ({
  agent: members[step - 1] ?? "",
  task: before === null ? task : `${task}\n\nWhat \`${before.agent}\` came to, one step before you:\n\n${before.text}`,
});

function debated({ plan: { members, task, rounds }, came }: Standing, step: number): Given {
  const [agent = "", other = ""] = step % 2 === 1 ? members : members.toReversed();
  const round = `This is a debate between \`${members[0]}\` and \`${members[1]}\`, round ${Math.ceil(step / 2)} of ${rounds}. You are \`${agent}\`.`;
  const theirs = came(step - 1)[0];
  const own = came(step - 2)[0];
  return {
    agent,
    task: [
      task,
      round,
      ...(own === undefined ? [] : [`What you said last:\n\n${own.text}`]),
      ...(theirs === undefined ? [`You speak first, then \`${other}\`.`] : [`What \`${other}\` said last:\n\n${theirs.text}`]),
    ].join("\n\n"),
  };
}

function asking({ plan, of, step }: Standing, given: readonly Given[]): ModelReply {
  const budget = shareOf(plan);
  const first: JsonObject = plan.kind === "race" ? { first: true } : {};
  return reply(
    given.map(({ agent, task }, i) => {
      const args: JsonObject = { agent, task, budget, ...first };
      return { kind: "call", id: `o${of}.${step + 1}.${i}`, tool: DELEGATE, text: JSON.stringify(args), meta: null };
    }),
    "calls",
  );
}

/** S-16 every step has the same part of the whole, so that no member can use what another is to have. */
function shareOf(plan: Orchestration): JsonObject {
  const steps = countDelegations(plan);
  return Object.fromEntries(
    Object.entries({ ...USUAL_BUDGET, ...plan.budget }).map(([of, all]) => [of, Math.max(1, Math.floor(all / steps))]),
  );
}

// ── results ──

function stopUnlessDone(plan: Orchestration, step: number, came: readonly Came[]): readonly Came[] {
  const stuck = came.find(({ isError }) => isError);
  if (stuck === undefined) return came;
  throw failed(`step ${step} of ${countDelegations(plan)} did not complete: ${told(stuck)}`);
}

function winning(came: readonly Came[]): string {
  const first = came.find(({ isError }) => !isError);
  if (first === undefined) throw failed(`none of ${came.length} completed: ${came.map(told).join("; ")}`);
  return `${first.agent} was first.\n\n${first.text}`;
}

function sections({ members }: Orchestration, came: readonly Came[]): string {
  if (came.every(({ isError }) => isError)) throw failed(`none of ${members.length} completed: ${came.map(told).join("; ")}`);
  return came.map(({ agent, text, isError }) => `## ${agent}${isError ? " did not complete" : ""}\n\n${text}`).join("\n\n");
}

function closing({ plan, came }: Standing): string {
  const steps = countDelegations(plan);
  return sections(plan, [...came(steps - 1), ...came(steps)]);
}

const told = ({ agent, text }: Came): string => `\`${agent}\` ${text.replace(/^(\[[^\]]*\]) delegate:? ?/, "$1 ")}`;

const failed = (detail: string): FaultError =>
  new FaultError({ kind: "model-failed", detail, again: false, broke: false, transient: false });
const saying = (text: string): ModelReply => reply([{ kind: "text", text, meta: null }], "stop");
const reply = (parts: ModelReply["parts"], finish: ModelReply["finish"]): ModelReply => ({
  parts,
  finish,
  usage: { input: 0, output: 0 },
  model: ORCHESTRATOR_MODEL,
  meta: null,
});

const USAGE = [
  "I have other agents work on one task, and decide nothing myself. Say one of:",
  '/chain A B "task"          one after the other, each with what the one before it came to',
  '/parallel A B "task"       all at once',
  '/race A B "task"           all at once; the first that completes is enough',
  '/debate A B 2 "topic"      by turns, in rounds',
  "With `--budget 20000` (tokens; or tokens=…,iterations=…,calls=…,cents=…) for all of them together.",
].join("\n");
