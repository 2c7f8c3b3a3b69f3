/** Operations that read files of the project and nothing else: neither a runtime nor a key is made for them. */
import type { OperationName } from "@orgate/protocol/words";
import type { Given, Screen } from "@orgate/shell/terminal";
import type { CallOperation } from "./through-server.ts";

/** Opens what it reads, lets `work` call the operation, and closes. */
export type LocalRead = <T>(given: Given, screen: Screen, work: (call: CallOperation) => Promise<T>) => Promise<T>;

const readSchedules: LocalRead = async (given, screen, work) =>
  (await import("./read-schedules.ts")).withScheduleReads(given, screen, work);

const readStore: LocalRead = async (given, screen, work) => (await import("./read-store.ts")).readStore(given, screen, work);

export const LOCAL_READS: Readonly<Partial<Record<OperationName, LocalRead>>> = {
  schedules: readSchedules,
  schedule: readSchedules,
  scheduleHistory: readSchedules,
  scheduleNext: readSchedules,
  breakers: readStore,
  halts: readStore,
  approvals: readStore,
  grants: readStore,
  deadLetters: readStore,
};
