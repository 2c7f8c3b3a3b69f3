/** `runtime.sessions`: opening, finding, forking and closing. None of it runs a turn. */
import {
  type AgentFacts,
  type Clock,
  type Counters,
  checkSubject,
  closeSession,
  createSession,
  FaultError,
  forkSession,
  type Ids,
  type Journal,
  label,
  type Principal,
  readState,
  type SessionId,
  type State,
  type SubjectInput,
  type Surface,
} from "@orgate/core";
import type { SessionPage, SessionSummary } from "@orgate/core/journal";
import { type HistoryInput, toHistory } from "../files/file-input.ts";

export type NewSession = Readonly<{
  agent: string;
  /** The caller's own: 1 to 128 printable characters, unique in the project. The same one again is the same session. */
  id?: string;
  labels?: readonly string[];
  /** The conversation so far, from elsewhere. */
  history?: readonly HistoryInput[];
  principal?: Principal;
  /** Chosen for this session, whatever its agent names: `provider/name`. */
  model?: string;
  /** Whom it serves: `context.subject` for policies. Later only a tool that authenticates changes it. */
  subject?: SubjectInput;
}>;

export type ForkOptions = Readonly<{
  /** The last entry that counts; all of them unless told. */
  at?: number;
  id?: string;
  principal?: Principal;
}>;

export type Sessions = Readonly<{
  /** H-6 the same id again returns the session that has it, if agent and principal are the same; else `external-taken`. */
  create(session: NewSession): Promise<SessionSummary>;
  /** H-7 `create` with a history that is there to be checked: `history-invalid` names the message. */
  import(session: NewSession & Readonly<{ history: readonly HistoryInput[] }>): Promise<SessionSummary>;
  /** Null when there is none; a broken one is a fault, not an absence. */
  get(session: SessionId): Promise<SessionSummary | null>;
  /** By the caller's own id. */
  find(id: string): Promise<SessionSummary | null>;
  /** Its state, folded from its events; `session-unknown` when there is none. Takes no lease. */
  restore(session: SessionId): Promise<State>;
  /** Newest first; 100 unless told. */
  list(page?: Partial<SessionPage>): Promise<readonly SessionSummary[]>;
  /** H-10 what was said there up to an entry, in a session of its own; the origin is only read. */
  fork(session: SessionId, how?: ForkOptions): Promise<SessionSummary>;
  /** H-9 for good. */
  close(session: SessionId, reason: string, by?: Principal): Promise<SessionSummary>;
}>;

export type SessionsParts = Readonly<{
  journal: Journal;
  clock: Clock;
  ids: Ids;
  counters: Counters;
  principal: Principal;
  /** Where a session of this agent is opened. */
  surfaceOf(agent: string): Surface;
  /** As it runs on this model; null: on its own. */
  factsOf(agent: string, model: string | null): AgentFacts;
}>;

export function createSessions({ journal, clock, ids, counters, principal: me, surfaceOf, factsOf }: SessionsParts): Sessions {
  const p = { journal, clock, ids, counters };
  const create: Sessions["create"] = async ({ agent, id = null, labels = [], history = [], principal = me, model = null, subject }) =>
    createSession(
      p,
      {
        agent: factsOf(agent, model),
        principal,
        surface: surfaceOf(agent),
        labels: labels.map(label),
        history: toHistory(history),
        external: id,
        parent: null,
        origin: null,
        ...(subject === undefined ? {} : { subject: checkSubject(subject) }),
      },
      model,
    );
  return {
    create,
    import: create,
    get: journal.session,
    find: journal.find,
    async restore(session) {
      if ((await journal.session(session)) === null) throw new FaultError({ kind: "session-unknown", session });
      return readState({ journal }, session, { counters });
    },
    list: ({ state = null, agent = null, before = null, most = 100 } = {}) => journal.sessions({ state, agent, before, most }),
    async fork(
      session,
      { at = null, id = null, principal = me }: Partial<{ at: number | null; id: string | null; principal: Principal }> = {},
    ) {
      const surface = surfaceOf((await journal.session(session))?.agent ?? "");
      return forkSession(p, session, { at, external: id, principal, surface });
    },
    close: (session, reason, by = me) => closeSession(p, session, by, reason),
  };
}
