import { type Agent, breakerSubject, listAgentTools, type Principal, principalName } from "@orgate/core";
import { wireProblem } from "@orgate/protocol";
import type { OperationGroups } from "@orgate/protocol/words";
import type { Runtime } from "../../runtime/api.ts";
import { unknownBreaker } from "../../runtime/people/breakers.ts";
import { refuseUnknownScope } from "../../runtime/people/halt-scope.ts";
import { act, type Caller } from "../access.ts";
import type { OperationContext } from "../context.ts";
import type { OperationCall, OperationHandlers } from "../execute.ts";
import { type Cursors, toPage } from "../paging.ts";
import { refusal } from "../refusal.ts";
import { json } from "../result.ts";

type Group = OperationGroups["work"];

/** The parts of a runtime that lists of work are read from. */
export type WorkReads = Readonly<{
  agents: readonly Agent[];
  breakers: Pick<Runtime["breakers"], "list">;
  halts: Runtime["halts"];
  cursors: Cursors;
}>;
type Asking = Pick<OperationCall<"breakers">, "sees" | "may">;

/** True for what one of the caller's agents uses; the rest is for callers who may observe the project. */
const concernOf =
  (agents: readonly Agent[]) =>
  ({ sees, may }: Asking, name: string): boolean => {
    if (name === "all" || may(act("observe", "project"))) return true;
    const mine = agents.filter((agent) => sees(agent.name));
    return mine.some(
      (agent) =>
        name === `agent:${agent.name}` ||
        name === `model:${agent.model}` ||
        listAgentTools(agent).some((tool) => name === `tool:${tool.name}`),
    );
  };

export function workReaders({ agents, breakers, halts, cursors }: WorkReads): Required<Pick<OperationHandlers, "breakers" | "halts">> {
  const concerns = concernOf(agents);
  return {
    breakers: async (call) =>
      json(await toPage(cursors, call.query, await breakers.list(), ({ breaker }) => concerns(call, breakerSubject(breaker)))),
    halts: async (call) => json(await toPage(cursors, call.query, await halts(), ({ scope }) => concerns(call, scope))),
  };
}

export function workHandlers({ runtime, cursors }: OperationContext): Required<Pick<OperationHandlers, Group>> {
  const { agents } = runtime.inspect;
  const concerns = concernOf(agents);
  return {
    ...workReaders({ agents, breakers: runtime.breakers, halts: runtime.halts, cursors }),
    setBreaker: async ({ body, caller, key, sees }) => {
      const { breaker, to, forMs, reason, anyway } = body;
      const listed = await runtime.breakers.list();
      const before = key.again ? listed.find((one) => one.breaker === breaker) : undefined;
      if (before?.state === to && isFrom(before, caller, reason)) return json(before);
      const mine = runtime.inspect.agents.filter((agent) => sees(agent.name));
      const unknown = anyway ? null : unknownBreaker(mine, listed, breaker, "`anyway: true`");
      if (unknown !== null) throw unknown;
      await runtime.breakers.set(breaker, { to, reason, anyway, ...(forMs === undefined ? {} : { forMs }) }, caller.person);
      return json((await runtime.breakers.list()).find((one) => one.breaker === breaker));
    },
    halt: async ({ body, caller, key, sees }) => {
      const standing = async () => (await runtime.halts()).find(({ scope }) => scope === body.scope);
      const before = key.again ? await standing() : undefined;
      if (before !== undefined && isFrom(before, caller, body.reason)) return json(before);
      const mine = runtime.inspect.agents.filter((agent) => sees(agent.name)); // an agent that the caller may not see reads as none
      const unknown = body.anyway ? null : refuseUnknownScope(mine, body.scope, "`anyway: true`");
      if (unknown !== null) throw unknown;
      await runtime.halt(body.scope, body.reason, caller.person, { anyway: body.anyway });
      const found = await standing();
      if (found === undefined)
        throw refusal(wireProblem("conflict", "somebody let it go on at the same moment", "look, and halt it again"));
      return json(found);
    },
    resumeWork: async (call) => {
      const { body, caller, key } = call;
      const isDone = key.again && !(await runtime.halts()).some(({ scope }) => scope === body.scope);
      if (!isDone) await runtime.resumeWork(body.scope, body.reason, caller.person);
      return json(await toPage(cursors, { limit: 500 }, await runtime.halts(), ({ scope }) => concerns(call, scope)));
    },
  };
}

/** W-5. It was done under this very key, as far as is known, and only the answer was lost. */
const isFrom = (standing: Readonly<{ by: Principal; reason: string }>, { principal }: Caller, reason: string): boolean =>
  standing.reason === reason && principalName(standing.by) === principalName(principal);
