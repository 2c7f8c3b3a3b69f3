/** The `policy` stream: which set was in force since when, what was applied, what was refused. */
import {
  type Digest,
  type FileChange,
  isFault,
  type Journal,
  type Millis,
  POLICY,
  type Principal,
  type SystemEvent,
  seq,
} from "@orgate/core";
import { watchFolder } from "./compose.ts";
import type { LoadedFolder, Policies, PolicyProblem, Reloaded } from "./policies.ts";

type Where = Readonly<{ journal: Pick<Journal, "append" | "read" | "writer">; now(): Millis }>;

const MOST_PROBLEMS = 20;
const PAGE = 500;
const TRIES = 100;

/** From now on every change of the set is journalled before it is in force (G33). Returns the way to stop. */
export async function recordPolicies(where: Where, policies: Policies): Promise<() => void> {
  const by: Principal = { kind: "system", id: where.journal.writer };
  await append(where, (last) => (last === policies.digest ? null : loadedEvent(policies.current(), by)));
  return policies.recordedBy(async (change) => {
    await append(where, () => (change.kind === "loaded" ? loadedEvent(change.loaded, by) : refusedEvent("reload", change, by)));
  });
}

/** Reloads when a file changes; `told` hears what came of it, also when the journal could not take it. */
export function watchPolicies(
  policies: Policies,
  told: (reloaded: Reloaded | Readonly<{ kind: "failed"; error: unknown }>) => void,
): () => void {
  const watching = watchFolder(policies.place.folder, () => {
    void policies.reload().then(told, (error: unknown) => told({ kind: "failed", error }));
  });
  return () => watching.close();
}

export const recordApplied = (where: Where, by: Principal, applied: Applied): Promise<void> =>
  append(where, () => ({ kind: "policy.applied", ...applied, by }));
export type Applied = Readonly<{ files: Digest; before: Digest; changes: readonly FileChange[] }>;

export const recordRefused = (where: Where, by: Principal, refused: Refused): Promise<void> =>
  append(where, () => refusedEvent("apply", refused, by));
export type Refused = Readonly<{ problems: readonly PolicyProblem[]; files: Digest | null }>;

const loadedEvent = ({ digest, files }: LoadedFolder, by: Principal): SystemEvent => ({ kind: "policy.loaded", digest, files, by });

/** Small: as many problems as a person reads. */
function refusedEvent(during: "reload" | "apply", { problems, files }: Refused, by: Principal): SystemEvent {
  const lines = problems.slice(0, MOST_PROBLEMS).map((p) => problemLine(p).slice(0, 500));
  const more = problems.length - lines.length;
  return { kind: "policy.refused", during, files, problems: more > 0 ? [...lines, `and ${more} more`] : lines, by };
}

export const problemLine = ({ file, line, column, detail }: PolicyProblem): string => `${file}:${line}:${column}: ${detail}`;

/** `plan` is told the digest that was recorded last; whoever else was first changes it, and the plan is made again. */
async function append({ journal, now }: Where, plan: (last: Digest | null) => SystemEvent | null): Promise<void> {
  let [after, last]: [ReturnType<typeof seq>, Digest | null] = [seq(0), null];
  for (let tries = 1; ; tries += 1) {
    for (;;) {
      const entries = await journal.read(POLICY, after, PAGE);
      for (const { seq: place, event } of entries) {
        after = place;
        if (event.kind === "policy.loaded") last = event.digest;
      }
      if (entries.length < PAGE) break;
    }
    const event = plan(last);
    if (event === null) return;
    try {
      await journal.append({ stream: POLICY, after, hold: null, events: [{ at: now(), event }], consumes: [], unlessHalted: [] });
      return;
    } catch (error) {
      if (!isFault(error, "append-conflict") || tries === TRIES) throw error;
    }
  }
}
