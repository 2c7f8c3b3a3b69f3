/**
 * Checks that everybody whose words an orchestration follows may run its agents.
 * S-18 a conductor has an agent work only where everybody whose words its turn follows may run that agent, by the policies. At the machine itself (`orgate chain`,
 *      the library) the person who opened the session needs no such permission, as `orgate run` needs none; anybody else who speaks in it does.
 */
import {
  type Agent,
  DELEGATE,
  defineMiddleware,
  type Gate,
  type Journal,
  type Middleware,
  ORCHESTRATOR_MODEL,
  type Surface,
  seq,
} from "@orgate/core";
import { findSpeakers } from "../speakers.ts";
import { createRunCheck } from "./may-run.ts";

const AT_THE_MACHINE: ReadonlySet<Surface> = new Set(["cli", "library"]);

/** The middleware before an orchestrator's delegations; none for other agents. */
export function orchestrationCheck(
  agent: Agent,
  gate: Pick<Gate, "decideFor">,
  journal: () => Pick<Journal, "session" | "read">,
): readonly Middleware[] {
  if (agent.model !== ORCHESTRATOR_MODEL) return [];
  const mayNotRun = createRunCheck(gate);
  const conducted = defineMiddleware({
    name: "leave-to-conduct",
    async beforeTool({ tool, args }, { session }) {
      if (tool !== DELEGATE) return undefined;
      const [opened] = await journal().read(session, seq(0), 1);
      const trusted = opened?.event.kind === "session.opened" && AT_THE_MACHINE.has(opened.event.surface) ? opened.event.principal : null;
      const to = typeof args === "object" && args !== null && "agent" in args ? String(args["agent"]) : "";
      const { people } = await findSpeakers(journal(), session);
      for (const { kind, id } of people) {
        if (trusted?.kind === kind && trusted.id === id) continue;
        const reason = kind === "user" ? mayNotRun(id, to) : "it is no person";
        if (reason !== null) return { kind: "block", reason: `\`${id}\` may not run \`${to}\`: ${reason}` };
      }
      return undefined;
    },
  });
  return [conducted];
}
