/** Messages to Restate: the id of a session, or the time of a schedule, and nothing else. What does not arrive is found by a sweep. */
import type { SessionId } from "@orgate/core";
import { errorMessage } from "@orgate/core/vocab";
import type { ClusterConfig } from "../../../config/cluster-schema.ts";

/** One for each project of a cluster: its schema is its name. */
export const serviceName = (schema: string): string => `orgate-${schema}`;
export const schedulesName = (schema: string): string => `orgate-${schema}-schedules`;
/** Schedules of a project are one object. */
export const SCHEDULES_KEY = "all";

export type Summons = Readonly<{
  /** Asks for somebody who drives the session; one message at a time. */
  summon(session: SessionId): void;
  /** Asks for somebody who fires schedules at that time. Any number of processes may ask for the same time: one message is delivered. */
  fireAt(time: number): void;
}>;

const REQUEST_MS = 10_000;

type Failed = (session: SessionId | null, error: unknown) => void;

/** Null where the project has no Restate. */
export function openSummons(cluster: Pick<ClusterConfig, "restate" | "schema"> | null, failed: Failed): Summons | null {
  if (cluster === null || cluster.restate === null) return null;
  const { schema, restate } = cluster;
  const sending = new Set<SessionId>();
  let last = 0;
  const send = async (path: string, headers: Readonly<Record<string, string>>): Promise<void> => {
    const answer = await fetch(`${restate.ingress}/${path}`, { method: "POST", headers, signal: AbortSignal.timeout(REQUEST_MS) });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`Restate at ${restate.ingress} answered ${answer.status}: ${text.slice(0, 300)}`);
  };
  const explained = (error: unknown): Error =>
    new Error(
      `Restate was not asked, and the next sweep does it: ${errorMessage(error instanceof Error && error.cause !== undefined ? error.cause : error)}`,
    );
  return {
    summon(session) {
      if (sending.has(session)) return; // it has not been looked at yet
      sending.add(session);
      void send(`${serviceName(schema)}/${session}/wake/send`, {})
        .catch((error: unknown) => failed(session, explained(error)))
        .finally(() => sending.delete(session));
    },
    fireAt(time) {
      if (time === last) return;
      last = time;
      const delay = Math.max(0, time - Date.now());
      void send(`${schedulesName(schema)}/${SCHEDULES_KEY}/fire/send?delay=${delay}ms`, { "idempotency-key": `due-${time}` }).catch(
        (error: unknown) => failed(null, explained(error)),
      );
    },
  };
}
