/**
 * Several agents at one task, from the command line: the plan is said to the conductor, whose delegations are decided, reserved and journalled like any.
 * S-17 it exits 0 when the whole completed; 1 also where a member of a parallel did not, or was not let.
 */
import {
  type Agent,
  DEFAULT_DEBATE_ROUNDS,
  FaultError,
  ORCHESTRATOR,
  type Orchestration,
  type OrchestrationBudget,
  type OrchestrationKind,
  orchestrationText,
  type Principal,
  readBudget,
  refuseOrchestration,
} from "@orgate/core";
import { tokenCountText } from "@orgate/protocol/view";
import { EXIT, type Given, type RunCommand, table } from "@orgate/shell/terminal";
import { listSubAgentRuns, type SubAgentRun } from "../../../runtime/sub-agent-runs.ts";
import { causeText, certifyIfNeeded, findCaller, loadCommandProject, openGivenProject } from "../project/project.ts";
import { driven, printResult, requireRunnable, toExitCode, withRuntime } from "./run.ts";

export const orchestrating =
  (kind: OrchestrationKind): RunCommand =>
  async (given, screen) => {
    const desk = await loadCommandProject(openGivenProject(given), given.env, ORCHESTRATOR);
    const conductor = desk.agents.find(({ name }) => name === ORCHESTRATOR);
    if (conductor === undefined) throw noConductor();
    const said = given.text("input");
    if (said === null) throw usage("--input is missing", `orgate ${kind} A B --input "…"`);
    const plan = planOf(kind, given, await causeText(said, "the task", screen));
    for (const member of new Set(plan.members)) {
      await requireRunnable(desk, given.env, { name: member });
      mustBeConducted(conductor, member);
    }
    const person = findCaller(given, screen);
    const principal: Principal = { kind: "user", id: person.name };
    return withRuntime(given, screen, { project: desk, by: principal }, async (runtime) => {
      await certifyIfNeeded(given, screen, runtime.place, person);
      if (!given.json)
        screen.line(`${screen.paint("strong", kind)} ${plan.members.join(", ")} ${screen.paint("dim", "for")} ${person.name}`);
      const result = await driven(given, screen, (options) => runtime.run(ORCHESTRATOR, orchestrationText(plan), options));
      const members = await listSubAgentRuns(runtime.place.store.journal, result.session);
      if (given.json) screen.line(JSON.stringify({ ...result, members }));
      else {
        for (const line of memberTable(members, screen.paint)) screen.line(line);
        printResult(given, screen, { head: await runtime.inspect.head(), result });
      }
      const exit = toExitCode(result);
      return exit === EXIT.success && kind === "parallel" && members.some(({ ending }) => ending !== "completed") ? EXIT.failure : exit;
    });
  };

function planOf(kind: OrchestrationKind, given: Given, task: string): Orchestration {
  const rounds = given.text("rounds");
  const budget: OrchestrationBudget | string = given.text("budget") === null ? {} : readBudget(given.text("budget") ?? "");
  if (typeof budget === "string") throw usage(budget, "--budget is for all members together");
  const plan: Orchestration = {
    kind,
    members: given.args,
    task,
    rounds: kind !== "debate" ? 1 : rounds === null ? DEFAULT_DEBATE_ROUNDS : Number(rounds),
    budget,
  };
  const why = refuseOrchestration(plan);
  if (why !== null) throw usage(why, `\`orgate ${kind} --help\` shows how`);
  return plan;
}

/** Said before anything runs, where the gate would only refuse it. */
function mustBeConducted({ delegates }: Pick<Agent, "delegates">, member: string): void {
  if (delegates.includes(member)) return;
  throw usage(
    `\`${member}\` is not among those that the conductor may have work`,
    `agents/conductor.toml names: ${delegates.join(", ") || "nobody"}`,
  );
}

const noConductor = (): FaultError =>
  usage(
    `this project has no agent \`${ORCHESTRATOR}\``,
    "`orgate init` writes one in a new project: copy agents/conductor.toml and policies/conductor.cedar from there",
  );

const usage = (detail: string, hint: string): FaultError => new FaultError({ kind: "usage", detail, hint });

function memberTable(members: readonly SubAgentRun[], paint: Parameters<typeof table>[2]): readonly string[] {
  if (members.length === 0) return [];
  const costs = members.map(({ cost }) => cost);
  const together = costs.includes(null) ? null : costs.reduce<number>((n, one) => n + (one ?? 0), 0);
  const sum = (of: "tokens" | "lost"): number => members.reduce((n, one) => n + one[of], 0);
  return table(
    ["member", "session", "ending", "used", "cost"],
    [
      ...members.map(({ agent, session, ending, tokens, lost, cost }) => [
        agent,
        session ?? "-",
        { text: ending ?? "open", tone: ending === "completed" ? "good" : ending === "cancelled" ? "dim" : "warn" } as const,
        tokenCountText({ tokens, lost }),
        money(cost),
      ]),
      ["together", "", "", tokenCountText({ tokens: sum("tokens"), lost: sum("lost") }), money(together)],
    ],
    paint,
  );
}
const money = (cost: number | null): string => (cost === null ? "-" : cost.toFixed(cost === 0 || cost >= 0.01 ? 2 : 4));
