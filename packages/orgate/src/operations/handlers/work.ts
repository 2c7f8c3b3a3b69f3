import { breakerSubject, listAgentTools, type Principal, principalName } from "@orgate/core";
import { wireProblem } from "@orgate/protocol";
import { unknownBreaker } from "../../runtime/people/breakers.ts";
import { refuseUnknownScope } from "../../runtime/people/halt-scope.ts";
import { act, type Caller } from "../access.ts";
import type { OperationContext } from "../context.ts";
import type { OperationCall, OperationHandlers } from "../execute.ts";
import { pageOf } from "../paging.ts";
import { refusal } from "../refusal.ts";
import { json } from "../result.ts";

type Names = "breakers" | "setBreaker" | "halts" | "halt" | "resumeWork";

/** Work as a whole: breakers and halts. */
export function workHandlers({ runtime, cursors }: OperationContext): Pick<OperationHandlers, Names> {
  /** Of something that one of the caller's agents uses; the rest is for those who see the project. */
  const concerns = ({ sees, may }: Pick<OperationCall<"breakers">, "sees" | "may">, name: string): boolean => {
    if (name === "all" || may(act("observe", "project"))) return true;
    const mine = runtime.inspect.agents.filter((agent) => sees(agent.name));
    return mine.some(
      (agent) =>
        name === `agent:${agent.name}` ||
        name === `model:${agent.model}` ||
        listAgentTools(agent).some((tool) => name === `tool:${tool.name}`),
    );
  };
  return {
    breakers: async (call) =>
      json(await pageOf(cursors, call.query, await runtime.breakers.list(), ({ breaker }) => concerns(call, breakerSubject(breaker)))),
    setBreaker: async ({ body, caller, once, sees }) => {
      const { breaker, to, forMs, reason, anyway } = body;
      const listed = await runtime.breakers.list();
      const before = once.again ? listed.find((one) => one.breaker === breaker) : undefined;
      if (before?.state === to && isFrom(before, caller, reason)) return json(before);
      const mine = runtime.inspect.agents.filter((agent) => sees(agent.name));
      const unknown = anyway ? null : unknownBreaker(mine, listed, breaker, "`anyway: true`");
      if (unknown !== null) throw unknown;
      await runtime.breakers.set(breaker, { to, reason, anyway, ...(forMs === undefined ? {} : { forMs }) }, caller.person);
      return json((await runtime.breakers.list()).find((one) => one.breaker === breaker));
    },
    halts: async (call) => json(await pageOf(cursors, call.query, await runtime.halts(), ({ scope }) => concerns(call, scope))),
    halt: async ({ body, caller, once, sees }) => {
      const standing = async () => (await runtime.halts()).find(({ scope }) => scope === body.scope);
      const before = once.again ? await standing() : undefined;
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
      const { body, caller, once } = call;
      const isDone = once.again && !(await runtime.halts()).some(({ scope }) => scope === body.scope);
      if (!isDone) await runtime.resumeWork(body.scope, body.reason, caller.person);
      return json(await pageOf(cursors, { limit: 500 }, await runtime.halts(), ({ scope }) => concerns(call, scope)));
    },
  };
}

/** W-5. It was done under this very key, as far as is known, and only the answer was lost. */
const isFrom = (standing: Readonly<{ by: Principal; reason: string }>, { principal }: Caller, reason: string): boolean =>
  standing.reason === reason && principalName(standing.by) === principalName(principal);
