/**
 * Tables of a journal in PostgreSQL: the rows of `sqlite/schema.ts`, one schema of the database for each project.
 * Heads of streams are exact here, so there is no index that is filled behind; writers hold leases instead of locks on files.
 * Texts are stored as `text.ts` writes them: PostgreSQL has no U+0000.
 */
export const TABLES = `
CREATE TABLE streams (
  no bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, stream text COLLATE "C" NOT NULL UNIQUE, seq bigint NOT NULL, hash text NOT NULL, at bigint NOT NULL,
  epoch bigint NOT NULL, holder text, incarnation bigint
);
CREATE INDEX streams_held ON streams (holder) WHERE holder IS NOT NULL;
CREATE INDEX streams_latest ON streams (at);
CREATE TABLE appends (
  id bigint PRIMARY KEY, count int NOT NULL, stream bigint NOT NULL, first bigint NOT NULL, writer text NOT NULL, seal bigint NOT NULL,
  hash text NOT NULL, mac text NOT NULL, body text NOT NULL, UNIQUE (stream, first)
);
CREATE TABLE seals (
  writer text COLLATE "C" NOT NULL, number bigint NOT NULL, at bigint NOT NULL, previous text NOT NULL, key text NOT NULL, recovered boolean NOT NULL,
  wrote text NOT NULL, seen text NOT NULL, hash text NOT NULL, signature text NOT NULL, tick bigint NOT NULL, PRIMARY KEY (writer, number)
);
CREATE INDEX seals_newest ON seals (tick);
CREATE TABLE writers (
  writer text COLLATE "C" PRIMARY KEY, incarnation bigint NOT NULL, unsealed bigint, batch bigint NOT NULL, lease_until timestamptz NOT NULL,
  lease_ms bigint NOT NULL, host text NOT NULL, pid int NOT NULL
);
CREATE TABLE sessions (
  session text COLLATE "C" PRIMARY KEY, state text COLLATE "C" NOT NULL, agent text COLLATE "C" NOT NULL, opened_at bigint NOT NULL, seq bigint NOT NULL,
  questions bigint NOT NULL, unknowns bigint NOT NULL, summary text NOT NULL
);
CREATE TABLE session_counts (
  agent text COLLATE "C" NOT NULL, state text COLLATE "C" NOT NULL, sessions bigint NOT NULL, questions bigint NOT NULL, unknowns bigint NOT NULL,
  PRIMARY KEY (agent, state)
);
CREATE INDEX sessions_newest ON sessions (opened_at, session);
CREATE INDEX sessions_by_state ON sessions (state, opened_at, session);
CREATE INDEX sessions_by_agent ON sessions (agent, opened_at, session);
CREATE INDEX sessions_by_both ON sessions (agent, state, opened_at, session);
CREATE TABLE questions (
  arrival bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, session text COLLATE "C" NOT NULL, approval text COLLATE "C" NOT NULL, question text NOT NULL,
  mac text NOT NULL, UNIQUE (session, approval)
);
CREATE INDEX questions_by_id ON questions (approval);
CREATE INDEX questions_by_due ON questions (((question::jsonb->>'expiresAt')::bigint), arrival);
CREATE TABLE unknowns (
  session text COLLATE "C" NOT NULL, call text COLLATE "C" NOT NULL, tool text NOT NULL, resource_type text NOT NULL, resource_id text NOT NULL,
  digest text NOT NULL, cause text NOT NULL, at bigint NOT NULL, PRIMARY KEY (session, call)
);
CREATE TABLE dead_letters (
  arrival bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, session text COLLATE "C" NOT NULL, call text COLLATE "C" NOT NULL, letter text NOT NULL,
  UNIQUE (session, call)
);
CREATE TABLE externals (external text COLLATE "C" PRIMARY KEY, session text NOT NULL);
CREATE TABLE revoked (grant_id text COLLATE "C" PRIMARY KEY);
CREATE TABLE kept_counts (name text COLLATE "C" PRIMARY KEY, since bigint NOT NULL);
CREATE TABLE counts (
  name text COLLATE "C" NOT NULL, agent text COLLATE "C" NOT NULL, value text COLLATE "C" NOT NULL, bucket bigint NOT NULL, owner text COLLATE "C" NOT NULL,
  n bigint NOT NULL, tick bigint NOT NULL, PRIMARY KEY (name, agent, value, bucket, owner)
);
CREATE INDEX counts_newest ON counts (tick);
CREATE TABLE known_values (
  name text COLLATE "C" NOT NULL, value text COLLATE "C" NOT NULL, folded text COLLATE "C" NOT NULL, stream text COLLATE "C" NOT NULL, at bigint NOT NULL,
  place bigint NOT NULL, tick bigint NOT NULL, PRIMARY KEY (name, value)
);
CREATE INDEX known_folded ON known_values (name, folded);
CREATE INDEX known_of_stream ON known_values (stream);
CREATE INDEX known_newest ON known_values (tick);
CREATE TABLE inbox (
  arrival bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, id text COLLATE "C" NOT NULL UNIQUE, session text COLLATE "C" NOT NULL, intent text,
  arrived_at bigint NOT NULL
);
CREATE INDEX inbox_pending ON inbox (session, arrival) WHERE intent IS NOT NULL;
CREATE TABLE halts (scope text COLLATE "C" PRIMARY KEY);
CREATE TABLE blobs (address text COLLATE "C" PRIMARY KEY, refs bigint NOT NULL, text text NOT NULL);
CREATE TABLE alarms (no bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, what text NOT NULL, detail text NOT NULL);
CREATE SEQUENCE ticks;
CREATE TABLE moved (
  latest bigint NOT NULL, unknowns bigint NOT NULL, known bigint NOT NULL, forgot bigint NOT NULL, counts bigint NOT NULL, tightened bigint NOT NULL, swept bigint NOT NULL
);
INSERT INTO moved VALUES (0, 0, 0, 0, 0, 0, 0);
`;
