/**
 * Which sessions want driving, and from when on: one row for each, with an index by due time, so that a worker asks for those that are due and gets them alone.
 *
 * The rows are a cache, and say who looks, never who may write: the lease and the conditional append do. What is true lies beside them (the inbox, running
 * turns, expiring questions), is looked at again before a session is handed out, and makes missing rows anew (`fill_claims`).
 * A row is there from when a session wants something until its holder lets go of it and nothing is left:
 *   - an intent, or a turn that begins, makes it; while somebody holds the session it is due when that lease ends, for nobody tells of a process that sleeps;
 *   - letting go of the session says anew when it is due. Whoever puts an intent, and whoever lets go, locks the row before it looks at what the other has
 *     done: one of the two sees it;
 *   - a claim makes it due again later, and an intent does not shorten that: whoever has the claim reads the inbox.
 * `told`: a time that only a driver knows (a deferred decision, a retry). `tries`: claims since anything happened; halted, deferred and resting turns stay running without a holder,
 * and are looked at ever more seldom. `seen`: how long the session was when it was handed out.
 */
import { NOTIFY } from "./functions.ts";

/** What a driver writes that finds nothing to do: that it took the session, and that its agent has changed. */
const IDLE_ENTRIES = 2;
/** A look comes this often in any case: what is due sooner is told of. */
export const LOOK_MS = 10_000;
const SOON = `interval '${LOOK_MS} milliseconds'`;
/** `fill_claims` comes more often than this. */
const AHEAD = "interval '15 minutes'";
/** Plans do not depend on what is known of the size of tables. */
const BY_INDEX = "SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off";

/** In the order of their due times; whoever asks meanwhile gets others. */
export const DUE_CLAIMS = "SELECT * FROM claims WHERE due <= t ORDER BY due LIMIT most FOR UPDATE SKIP LOCKED";

/**
 * When a request expires, read from the text that is proved, so that no column can say otherwise. Not as JSON: what a model names may hold U+0000, which
 * PostgreSQL's own JSON refuses, and with it the whole append. Within a string the quotation marks of this pattern would be escaped; the keys are sorted.
 */
export const EXPIRES_AT = `nullif(substring(question from '"expiresAt" ?: ?([0-9]+|null)'), 'null')::bigint`;
const QUESTIONS_BY_DUE = `DROP INDEX questions_by_due;\nCREATE INDEX questions_by_due ON questions ((${EXPIRES_AT}), arrival);\n`;

const CLAIMS_TABLE = `
CREATE TABLE claims (
  session text COLLATE "C" PRIMARY KEY, due timestamptz NOT NULL, claimed timestamptz, told timestamptz, held boolean NOT NULL DEFAULT false,
  tries int NOT NULL DEFAULT 0, seen bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
CREATE INDEX claims_due ON claims (due);
CREATE INDEX claims_next ON claims (due) WHERE NOT held;
`;

/** None of these is STABLE: after a row was waited for, they see what its holder has done. */
const LOOKS = `
CREATE FUNCTION claim_pause(tries int) RETURNS interval LANGUAGE sql AS $f$ SELECT least(300000, 250 * 2 ^ least(tries, 20)) * interval '1 millisecond' $f$;

CREATE FUNCTION held_until(name text) RETURNS timestamptz LANGUAGE sql ${BY_INDEX} AS $f$
  SELECT w.lease_until FROM streams AS s JOIN writers AS w ON w.writer = s.holder AND w.incarnation = s.incarnation
    WHERE s.stream = name AND w.lease_until > clock_timestamp()
$f$;

-- A parent that waits for its sub-agents wants nothing: an intent tells it of their end. What its line says of them may be older than their own lines.
CREATE FUNCTION wants_driving(name text, OUT why text, OUT since timestamptz) LANGUAGE plpgsql ${BY_INDEX} AS $f$
DECLARE line record; expires bigint;
BEGIN
  IF EXISTS (SELECT 1 FROM inbox WHERE session = name AND intent IS NOT NULL) THEN why := 'intent'; RETURN; END IF;
  SELECT state, summary::json->'children' AS children INTO line FROM sessions WHERE session = name;
  IF line.state = 'running' AND NOT EXISTS (SELECT 1 FROM json_array_elements_text(line.children) AS child JOIN sessions AS s ON s.session = child
    WHERE s.state IN ('running', 'waiting')) THEN why := 'running'; RETURN; END IF;
  SELECT min(${EXPIRES_AT}) INTO expires FROM questions WHERE session = name;
  IF expires IS NOT NULL THEN why := 'expiry'; since := to_timestamp(expires / 1000.0); END IF;
END $f$;

-- The session that a sub-agent works for in the end: driving it drives all below it. From its second turn on, a sub-agent is driven for itself.
CREATE FUNCTION top_of(name text) RETURNS text LANGUAGE plpgsql ${BY_INDEX} AS $f$
DECLARE line record; above text;
BEGIN
  FOR depth IN 1..100 LOOP
    SELECT (summary::json->'turns')::text::int AS turns, trim('"' FROM (summary::json->'parent')::text) AS parent INTO line FROM sessions WHERE session = name;
    EXIT WHEN line.turns > 1;
    SELECT session INTO above FROM sessions WHERE session = line.parent AND state = 'running';
    EXIT WHEN NOT FOUND;
    name := above;
  END LOOP;
  RETURN name;
END $f$;

-- A new row is due at the end of days until its caller says when.
CREATE FUNCTION lock_claim(name text) RETURNS claims LANGUAGE plpgsql AS $f$
DECLARE c claims;
BEGIN
  LOOP
    INSERT INTO claims (session, due) VALUES (name, 'infinity') ON CONFLICT DO NOTHING;
    SELECT * INTO c FROM claims WHERE session = name FOR UPDATE;
    IF FOUND THEN RETURN c; END IF;
  END LOOP;
END $f$;
`;

const CHANGES = `
CREATE FUNCTION want_session() RETURNS trigger LANGUAGE plpgsql AS $f$
DECLARE c claims := lock_claim(NEW.session); until timestamptz := held_until(NEW.session); t timestamptz := clock_timestamp();
BEGIN
  IF until IS NOT NULL THEN
    UPDATE claims SET tries = 0, held = held OR due = 'infinity', due = least(due, until) WHERE session = c.session;
  ELSIF c.claimed > t THEN
    UPDATE claims SET tries = 0 WHERE session = c.session;
  ELSE
    UPDATE claims SET tries = 0, due = t, claimed = NULL, held = false WHERE session = c.session;
    PERFORM ${NOTIFY} 'due');
  END IF;
  RETURN NULL;
END $f$;
CREATE TRIGGER intent_came AFTER INSERT ON inbox FOR EACH ROW WHEN (NEW.intent IS NOT NULL) EXECUTE FUNCTION want_session();
CREATE TRIGGER turn_began AFTER INSERT ON sessions FOR EACH ROW WHEN (NEW.state = 'running') EXECUTE FUNCTION want_session();
CREATE TRIGGER turn_goes_on AFTER UPDATE OF state ON sessions FOR EACH ROW WHEN (NEW.state = 'running' AND OLD.state <> 'running') EXECUTE FUNCTION want_session();

CREATE FUNCTION let_go() RETURNS trigger LANGUAGE plpgsql AS $f$
DECLARE c claims := lock_claim(NEW.stream); w record; t timestamptz := clock_timestamp(); next timestamptz;
BEGIN
  SELECT * INTO w FROM wants_driving(NEW.stream);
  IF w.why IS NULL THEN
    DELETE FROM claims WHERE session = c.session;
    RETURN NULL;
  END IF;
  IF NEW.seq > c.seen + ${IDLE_ENTRIES} THEN c.tries := 0; END IF;
  next := CASE WHEN w.why = 'intent' AND c.tries = 0 THEN t ELSE greatest(w.since, t + claim_pause(c.tries)) END;
  UPDATE claims SET due = next, claimed = NULL, told = NULL, held = false, tries = c.tries WHERE session = c.session;
  IF next < t + ${SOON} THEN PERFORM ${NOTIFY} 'due'); END IF;
  RETURN NULL;
END $f$;
CREATE TRIGGER let_go AFTER UPDATE OF holder ON streams FOR EACH ROW WHEN (OLD.holder IS NOT NULL AND NEW.holder IS NULL) EXECUTE FUNCTION let_go();

CREATE FUNCTION lease_ended() RETURNS trigger LANGUAGE plpgsql ${BY_INDEX} AS $f$
BEGIN
  UPDATE claims SET due = clock_timestamp(), claimed = NULL, held = false WHERE session IN (SELECT c.session FROM streams AS s JOIN claims AS c ON c.session = s.stream
    WHERE s.holder = NEW.writer AND s.incarnation = NEW.incarnation ORDER BY c.session FOR UPDATE OF c);
  IF FOUND THEN PERFORM ${NOTIFY} 'due'); END IF;
  RETURN NULL;
END $f$;
CREATE TRIGGER lease_ended AFTER UPDATE OF lease_until ON writers FOR EACH ROW WHEN (NEW.lease_until < OLD.lease_until) EXECUTE FUNCTION lease_ended();
`;

const CLAIMING = `
-- \`more\`: as many were looked at as were asked for. \`next_ms\`: until another is due by itself.
CREATE FUNCTION claim_sessions(most int, ms bigint) RETURNS json LANGUAGE plpgsql ${BY_INDEX} AS $f$
DECLARE c claims; w record; t timestamptz := clock_timestamp(); until timestamptz; top text; given text[] := '{}'; looked int := 0; pause interval;
BEGIN
  FOR c IN ${DUE_CLAIMS} LOOP
    looked := looked + 1;
    CONTINUE WHEN c.session = ANY(given);
    until := held_until(c.session);
    SELECT * INTO w FROM wants_driving(c.session);
    top := CASE WHEN w.why = 'running' THEN top_of(c.session) ELSE c.session END;
    IF until IS NULL AND top <> c.session THEN until := held_until(top); END IF;
    pause := CASE WHEN c.tries = 0 THEN ms * interval '1 millisecond' ELSE greatest(5 * ms * interval '1 millisecond', claim_pause(c.tries)) END;
    IF until IS NOT NULL THEN
      UPDATE claims SET due = until, claimed = NULL, held = true WHERE session = c.session;
      CONTINUE;
    ELSIF w.why IS NULL AND (c.told IS NULL OR c.told > t) THEN
      DELETE FROM claims WHERE session = c.session;
      CONTINUE;
    ELSIF w.since > t AND (c.told IS NULL OR c.told > t) THEN
      UPDATE claims SET due = w.since, claimed = NULL, held = false WHERE session = c.session;
      CONTINUE;
    ELSIF top <> c.session THEN
      UPDATE claims SET due = t + pause, claimed = NULL, held = false, tries = tries + 1,
        seen = coalesce((SELECT seq FROM streams WHERE stream = c.session), 0) WHERE session = c.session;
      CONTINUE WHEN top = ANY(given);
      INSERT INTO claims (session, due) VALUES (top, t) ON CONFLICT DO NOTHING;
      PERFORM 1 FROM claims WHERE session = top AND (claimed IS NULL OR claimed <= t) FOR UPDATE SKIP LOCKED;
      CONTINUE WHEN NOT FOUND; -- another has it, through another of its sub-agents
    END IF;
    UPDATE claims SET due = t + pause, claimed = t + pause, held = false, tries = tries + 1,
      seen = coalesce((SELECT seq FROM streams WHERE stream = top), 0) WHERE session = top;
    given := given || top;
  END LOOP;
  RETURN json_build_object('sessions', to_json(given), 'more', looked >= most,
    'next_ms', (SELECT ceil(extract(epoch FROM min(due) - clock_timestamp()) * 1000) FROM claims WHERE NOT held AND due < 'infinity'));
END $f$;

-- What a driver knows that has left a session, or has not taken one that was handed to it (\`mine\`): there is nothing to do before this time.
CREATE FUNCTION leave_session(name text, at_ms bigint, mine boolean) RETURNS void LANGUAGE plpgsql ${BY_INDEX} AS $f$
DECLARE c claims; w record; t timestamptz := clock_timestamp(); said timestamptz := to_timestamp(at_ms / 1000.0); next timestamptz := said;
BEGIN
  SELECT * INTO c FROM claims WHERE session = name FOR UPDATE;
  IF NOT FOUND THEN
    next := greatest(said, t + claim_pause(2)); -- a driver whose clock is behind would get it again at once, until that one has caught up
    INSERT INTO claims (session, due, told) SELECT name, next, said WHERE said IS NOT NULL ON CONFLICT DO NOTHING;
  ELSE
    SELECT * INTO w FROM wants_driving(name);
    IF held_until(name) IS NOT NULL OR (c.claimed > t AND NOT mine) OR (w.why = 'intent' AND c.tries = 0) THEN RETURN; END IF;
    IF said IS NULL OR said < t THEN next := t + claim_pause(c.tries); END IF;
    UPDATE claims SET due = next, told = said, claimed = NULL, held = false WHERE session = name;
  END IF;
  IF next < t + ${SOON} THEN PERFORM ${NOTIFY} 'due'); END IF;
END $f$;

-- Rows that should be there and are not, or are due at no time at which they could be.
CREATE FUNCTION fill_claims() RETURNS void LANGUAGE plpgsql ${BY_INDEX} AS $f$
DECLARE t timestamptz := clock_timestamp();
BEGIN
  INSERT INTO claims (session, due) SELECT DISTINCT w.session, t FROM (
      SELECT i.session FROM inbox AS i WHERE i.intent IS NOT NULL
      UNION ALL SELECT s.session FROM sessions AS s WHERE s.state = 'running'
      UNION ALL SELECT q.session FROM questions AS q WHERE ${EXPIRES_AT} < extract(epoch FROM t + ${AHEAD})::bigint * 1000
    ) AS w WHERE NOT EXISTS (SELECT 1 FROM claims AS c WHERE c.session = w.session AND (c.due <= t + 2 * ${AHEAD} OR c.told IS NOT NULL)) ORDER BY w.session
    ON CONFLICT (session) DO UPDATE SET due = excluded.due, claimed = NULL, held = false;
  IF FOUND THEN PERFORM ${NOTIFY} 'due'); END IF;
END $f$;
`;

/**
 * Under the lock of all batches: no commit is under way that has locked one of these tables and waits for another. Tables are locked in the order in which
 * those who take sessions, and those who copy everything, do; `writers` as much as the next migration needs it: a renewal that waits for this one would stop that one for good.
 */
const LOCKS = "LOCK TABLE inbox, sessions, streams IN SHARE ROW EXCLUSIVE MODE; LOCK TABLE writers, questions IN ACCESS EXCLUSIVE MODE;";

export const CLAIMS: string = `SELECT begin_change();\n${LOCKS}\n${QUESTIONS_BY_DUE}${CLAIMS_TABLE}${LOOKS}${CHANGES}${CLAIMING}\nSELECT fill_claims();`;
