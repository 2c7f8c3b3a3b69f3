/** Helpers for read-only commands: the project, its journal, a session by name. They load nothing that can drive a session; `project.ts` does, and is far more to load. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { eachSession, type Journal, type SessionSummary } from "@orgate/core/journal";
import { FaultError, isSessionId, type SessionId } from "@orgate/core/vocab";
import type { Given, Screen } from "@orgate/shell/terminal";
import type { Config } from "../../../config/config.ts";
import { openProject } from "../../../config/project-toml.ts";
import { hasJournal } from "../../../store/journal.ts";
import { openReadOnlyStore, type ReadOnlyStore } from "../../../store/open-read-only.ts";
import type { StorePlace } from "../../../store/store.ts";

export const openGivenProject = (given: Given): Config => openProject(given.project, given.cwd);

/** Reads, and closes whatever happens. */
export async function withReadOnlyStore<T>(given: Given, work: (look: ReadOnlyStore, config: Config) => Promise<T>): Promise<T> {
  const config = openGivenProject(given);
  const look = await openReadOnlyStore(config.journal);
  try {
    return await work(look, config);
  } finally {
    await look.close();
  }
}

/**
 * The same where there may be nothing to look at yet: a project's journal begins with its first run. A journal that is gone while its keys are
 * there is no empty one: `withReadOnlyStore` then fails and says so.
 */
export const withReadOnlyStoreIfAny = <T>(
  given: Given,
  work: (look: ReadOnlyStore, config: Config) => Promise<T>,
  none: () => T,
): Promise<T> | T => {
  return hasRun(openGivenProject(given).journal) ? withReadOnlyStore(given, work) : none();
};

/** Whether this project ever signed anything: then its journal is there, or it is missing. A database is asked when it is opened. */
export const hasRun = ({ directory, cluster = null }: StorePlace): boolean =>
  cluster !== null || hasJournal(directory) || existsSync(join(directory, "keys"));

/** Beside the result: on stderr, as JSON where JSON was asked for. */
export function tell(given: Given, screen: Screen, text: string): void {
  screen.aside(given.json ? JSON.stringify({ note: text }) : screen.paintAside("dim", text));
}

const SHORTEST = 4;

/** A-9 an id may be shortened to its beginning or its end, as long as it means one session; one's own id is written whole. */
export async function findSessionByText(journal: Pick<Journal, "session" | "find" | "sessions">, text: string): Promise<SessionSummary> {
  const exact = isSessionId(text) ? await journal.session(text) : await journal.find(text);
  if (exact !== null) return exact;
  const found: SessionSummary[] = [];
  const part = text.replace(/^s_/, "");
  const isMeant = (id: SessionId): boolean => id.startsWith(`s_${part}`) || (!text.startsWith("s_") && id.endsWith(part));
  if (part.length >= SHORTEST) for await (const one of eachSession(journal)) if (isMeant(one.session)) found.push(one);
  const [one, ...others] = found;
  if (one === undefined) throw new FaultError({ kind: "session-unknown", session: text });
  if (others.length === 0) return one;
  const some = found.slice(0, 3).map(({ session }) => session);
  throw new FaultError({
    kind: "usage",
    detail: `\`${text}\` is the beginning or end of ${found.length} sessions`,
    hint: `write more of it: ${some.join(", ")}${found.length > some.length ? ", …" : ""}`,
  });
}

export function positive(text: string, what: string): number {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
  throw new FaultError({ kind: "usage", detail: `${what} is \`${text}\``, hint: "use a whole number of at least 1" });
}
