/**
 * Executes operations in this process, by the handlers of the server, as the person who runs the command.
 *
 * A person who holds the project's files can read them, so a command that only reads is not decided; a command that changes something is decided as
 * at the server, before anything is recorded: also before the person's key is certified.
 */
import { openApi } from "@orgate/protocol";
import { OPERATION_WORDS } from "@orgate/protocol/words";
import type { Given, Screen } from "@orgate/shell/terminal";
import { version } from "../../node/version.ts";
import type { Act, Caller } from "../../operations/access.ts";
import { policyRefusal } from "../../operations/access-limits.ts";
import { decodeParts } from "../../operations/call-operation.ts";
import { OperationExecutor } from "../../operations/execute.ts";
import { NO_LOG } from "../../operations/logs.ts";
import { openOperations } from "../../operations/open.ts";
import { loadRunnableProject } from "../../project/load.ts";
import type { Runtime } from "../../runtime/api.ts";
import { openCalendar } from "../../schedules/calendar.ts";
import { readSchedules } from "../../schedules/declaring.ts";
import { certifyIfNeeded, findCaller, openGivenProject } from "../commands/project/project.ts";
import { openProjectRuntime } from "../commands/project/serving.ts";
import { fromLocalError, readKey } from "./input.ts";
import type { CallOperation } from "./through-server.ts";

/** `settle` resolves when nothing that was begun here is driven any more. */
export type LocalOperations = Readonly<{ call: CallOperation; runtime: Runtime; settle(): Promise<void> }>;
/** Acts of a person that are decided here: all, or those that change something. */
export type Decides = "all" | "changes";

export async function withLocalOperations<T>(
  given: Given,
  screen: Screen,
  decides: Decides,
  work: (operations: LocalOperations) => Promise<T>,
): Promise<T> {
  const person = findCaller(given, screen);
  const loaded = await loadRunnableProject(openGivenProject(given), { env: given.env, surface: "cli" });
  const { config, project, gate } = loaded;
  const declared = readSchedules({ config, agents: project.agents, files: project.sources, owner: person.name }, openCalendar());
  const runtime = await openProjectRuntime(given, screen, loaded, person);
  const operations = openOperations({ runtime, version: version(), describe: () => openApi(version()), config, log: NO_LOG });
  operations.schedules.store.expect(declared);
  operations.context.sessionDriver.stop(); // sessions that others left are for a server to drive
  const executor = new OperationExecutor({
    runtime,
    access: { mayDo: (_, act) => (decides === "changes" && isRead(act) ? null : policyRefusal(gate, person.name, act)) },
    handlers: operations.handlers,
    checks: operations.checks,
    once: operations.context.once,
    beforeChange: () => certifyIfNeeded(given, screen, runtime.place, person),
  });
  const caller: Caller = {
    principal: { kind: "user", id: person.name },
    person,
    scope: { agents: null, actions: null, expiresAt: null },
  };
  const call: CallOperation = async (name, fields) => {
    const idempotencyKey = OPERATION_WORDS[name].idempotencyKey ? readKey(given) : undefined;
    try {
      const request = decodeParts(name, fields);
      return (await executor.execute({ name, caller, request, gone: new AbortController().signal, idempotencyKey })).result;
    } catch (error) {
      throw fromLocalError(error, { name, fields });
    }
  };
  const settle = (): Promise<void> => operations.context.sessionDriver.settle();
  try {
    const result = await work({ call, runtime, settle });
    await settle(); // nobody else may drive what was begun here
    return result;
  } finally {
    operations.close();
    await runtime.close();
    await project.mcp?.hub.close();
  }
}

const isRead = ({ kind }: Act): boolean => kind === "list" || kind === "observe" || kind === "read-journal";
