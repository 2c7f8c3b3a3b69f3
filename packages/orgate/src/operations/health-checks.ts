/**
 * Whether the server lives, and whether it is of use.
 *
 * W-23 live: the process answers, and its journal can be read. Ready: beside that, the journal takes what is written and the disk has room, the policies are loaded, and the server
 *     is not about to go. Both are for anybody, and tell no more than which check failed.
 */
import { type Gate, isFault } from "@orgate/core";
import { programWarnings } from "@orgate/toolclad/running";
import { isPolicies } from "../policies/policies.ts";
import type { Runtime } from "../runtime/api.ts";
import type { Store } from "../store/store.ts";
import { errorText, type Log } from "./logs.ts";

export type Check = Readonly<{ name: string; ok: boolean; detail: string }>;
export type HealthChecks = Readonly<{
  live(): Promise<readonly Check[]>;
  ready(): Promise<readonly Check[]>;
  /** W-23 Something failed: what the last check of writing said counts no more. */
  lookAgain(): void;
  /** T-31 What cannot be done on this machine although the server is well, with what to do about it. W-28 Also that nobody is there who drives. */
  warnings(): Promise<readonly string[]>;
}>;

export type ProbesNeed = Readonly<{
  runtime: Runtime;
  isLeaving(): boolean;
  log: Log;
  /** How long a check may take. */
  patienceMs?: number;
  /** How long what a check of writing said is believed: it costs a transaction. */
  freshMs?: number;
}>;

export function openHealthChecks({ runtime, isLeaving, log, patienceMs = 2_000, freshMs = 5_000 }: ProbesNeed): HealthChecks {
  const { store } = runtime.place;
  let wrote: { readonly at: number; readonly check: Promise<Check> } | null = null;

  const check = async (name: string, look: () => Promise<unknown>): Promise<Check> => {
    const late = Promise.withResolvers<never>();
    const timer = setTimeout(() => late.reject(new Error("it takes too long")), patienceMs);
    try {
      await Promise.race([look(), late.promise]);
      return { name, ok: true, detail: "" };
    } catch (error) {
      log("error", "check.failed", { check: name, error: errorText(error) });
      return { name, ok: false, detail: isFault(error) ? error.fault.kind : "failed" }; // a message could name a file
    } finally {
      clearTimeout(timer);
    }
  };
  const reading = () => check("journal-read", () => store.journal.position());
  function writing(): Promise<Check> {
    const now = performance.now();
    if (wrote === null || now - wrote.at > freshMs) wrote = { at: now, check: check("journal-write", () => store.checkWritable()) };
    return wrote.check;
  }
  return {
    warnings: async () => [...(await programWarnings(runtime.inspect.agents)), ...(await findIdleness(store))],
    lookAgain() {
      wrote = null;
    },
    live: async () => [await reading()],
    ready: async () => [
      await reading(),
      await writing(),
      await check("policies", async () => mustDecide(runtime.inspect.gate)),
      { name: "taking-turns", ok: !isLeaving(), detail: isLeaving() ? "the server is about to go" : "" },
    ],
  };
}

/** A coordinator drives nothing. Where processes do not tell their roles (one machine), nothing is known. */
async function findIdleness(store: Pick<Store, "processes" | "slot">): Promise<readonly string[]> {
  const living = await store.processes();
  const isCoordinator = living.some(({ writer, role }) => writer === store.slot.writer && role === "coordinator");
  if (!isCoordinator || living.some(({ role }) => role === "worker" || role === "server")) return [];
  return ["no worker is alive: what is sent to sessions waits until one begins (`orgate worker`)"];
}

/** A server whose applied policies are not in force denies everything: it is of no use until that is mended (G-15). */
function mustDecide(gate: Gate): void {
  const closed = isPolicies(gate) ? gate.current().closed : undefined;
  if (closed !== undefined) throw new Error(closed);
}
