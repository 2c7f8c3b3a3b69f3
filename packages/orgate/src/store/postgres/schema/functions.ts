/**
 * What runs inside the database, so that a batch is one round trip.
 *
 * Order: `commit_batch` takes one advisory lock before it looks at anything, and keeps it until its transaction is durable. Batches are therefore checked and
 * written one after the other, positions have no gaps and are in the order of commits, and what a condition saw is still so when it is written. What waits
 * meanwhile in a process becomes its next batch, so the lock costs a batch, not an append.
 * A tick counts changes of what processes copy (`mirror_since`); ticks are given under the same lock.
 */
const LOCK = "pg_advisory_xact_lock(2023, 'appends'::regclass::oid::int)";
export const NOTIFY = "pg_notify('orgate_' || md5(current_schema()), ";

/** How long a process that has lost its connection may be silent; one that has it is given its whole lease. */
export const SILENT_MS = 1_500;
const IS_SILENT = `writer <> me AND lease_until > at_time AND lease_until < at_time + (lease_ms - ${SILENT_MS}) * interval '1 millisecond'`;

/** Leaves the batch; the fault is data. */
const REFUSE = "RAISE EXCEPTION USING ERRCODE = 'OG001', DETAIL =";

const WRITE_BESIDE = `
CREATE FUNCTION write_beside(name text, at_time bigint, z jsonb, tick bigint) RETURNS void LANGUAGE plpgsql AS $f$
DECLARE one record; taken text; is_tight boolean := z->'unknowns'->'put' <> '[]';
BEGIN
  SELECT u INTO taken FROM jsonb_array_elements_text(z->'uses') AS u JOIN revoked ON grant_id = u LIMIT 1;
  IF FOUND THEN ${REFUSE} jsonb_build_object('kind', 'grant-revoked', 'grant', taken)::text; END IF;
  FOR one IN SELECT e FROM jsonb_array_elements_text(z->'opens') AS e LOOP
    INSERT INTO externals VALUES (one.e, name) ON CONFLICT DO NOTHING;
    IF NOT FOUND THEN
      SELECT session INTO taken FROM externals WHERE external = one.e;
      ${REFUSE} jsonb_build_object('kind', 'external-taken', 'external', one.e, 'session', taken)::text;
    END IF;
  END LOOP;
  INSERT INTO revoked SELECT * FROM jsonb_array_elements_text(z->'revokes') ON CONFLICT DO NOTHING;
  IF z->'counts' <> 'null' THEN PERFORM add_counts(z->'counts', tick); END IF;
  FOR one IN SELECT * FROM jsonb_to_recordset(z->'halts') AS h(scope text, "on" boolean) LOOP
    IF one."on" THEN INSERT INTO halts VALUES (one.scope) ON CONFLICT DO NOTHING;
    ELSE DELETE FROM halts WHERE scope = one.scope OR one.scope = 'all'; END IF;
  END LOOP;
  FOR one IN SELECT id FROM jsonb_array_elements_text(z->'consumes') AS id LOOP
    UPDATE inbox SET intent = NULL WHERE id = one.id AND session = name AND intent IS NOT NULL;
    IF NOT FOUND THEN
      ${REFUSE} jsonb_build_object('kind', 'intent-refused', 'intent', one.id, 'detail', 'intent \`' || one.id || '\` is not pending')::text;
    END IF;
  END LOOP;
  FOR one IN SELECT * FROM jsonb_to_recordset(z->'tells') AS t(id text, session text, intent text) LOOP
    PERFORM put_intent(one.id, one.session, one.intent);
  END LOOP;
  INSERT INTO blobs SELECT address, count(*), min(text) FROM jsonb_to_recordset(z->'blobs') AS n(address text, text text) GROUP BY address
    ON CONFLICT (address) DO UPDATE SET refs = blobs.refs + excluded.refs;
  DELETE FROM unknowns WHERE session IN (SELECT jsonb_array_elements_text(z->'forgets'));
  DELETE FROM questions WHERE session IN (SELECT jsonb_array_elements_text(z->'forgets'));
  FOR one IN SELECT * FROM jsonb_to_recordset(z->'known') AS k("set" text, value text, folded text, place bigint, "on" boolean, "isRecord" boolean) LOOP
    DELETE FROM known_values WHERE known_values.name = one."set" AND CASE WHEN one."on" THEN value = one.value ELSE folded = one.folded END;
    is_tight := is_tight OR NOT one."on" OR (FOUND AND one."isRecord");
    IF one."on" THEN INSERT INTO known_values VALUES (one."set", one.value, one.folded, name, at_time, one.place, tick); END IF;
  END LOOP;
  IF z->'listed' <> 'null' THEN PERFORM list_session(z->'listed'); END IF;
  DELETE FROM questions WHERE session = name AND approval IN (SELECT jsonb_array_elements_text(z->'questions'->'gone'));
  INSERT INTO questions (session, approval, question, mac)
    SELECT name, approval, question, mac FROM jsonb_to_recordset(z->'questions'->'put') AS q(approval text, question text, mac text)
    ON CONFLICT (session, approval) DO UPDATE SET question = excluded.question, mac = excluded.mac;
  DELETE FROM unknowns WHERE session = name AND call IN (SELECT jsonb_array_elements_text(z->'unknowns'->'gone'));
  INSERT INTO unknowns SELECT * FROM jsonb_to_recordset(z->'unknowns'->'put')
    AS u(session text, call text, tool text, resource_type text, resource_id text, digest text, cause text, at bigint)
    ON CONFLICT (session, call) DO UPDATE SET tool = excluded.tool, resource_type = excluded.resource_type, resource_id = excluded.resource_id,
    digest = excluded.digest, cause = excluded.cause, at = excluded.at;
  DELETE FROM dead_letters WHERE session = name AND call IN (SELECT jsonb_array_elements_text(z->'dead'->'gone'));
  INSERT INTO dead_letters (session, call, letter) SELECT name, call, letter FROM jsonb_to_recordset(z->'dead'->'put') AS d(call text, letter text)
    ON CONFLICT (session, call) DO UPDATE SET letter = excluded.letter;
  UPDATE moved SET
    unknowns = CASE WHEN z->'unknowns' <> '{"gone": [], "put": []}' OR z->'forgets' <> '[]' THEN tick ELSE unknowns END,
    known = CASE WHEN z->'known' <> '[]' THEN tick ELSE known END,
    forgot = CASE WHEN z->'known' @> '[{"on": false}]' THEN tick ELSE forgot END,
    tightened = CASE WHEN is_tight THEN tick ELSE tightened END
    WHERE z->'unknowns' <> '{"gone": [], "put": []}' OR z->'forgets' <> '[]' OR z->'known' <> '[]';
END $f$;

CREATE FUNCTION list_session(s jsonb) RETURNS void LANGUAGE sql AS $f$
  UPDATE session_counts AS c SET sessions = c.sessions - 1, questions = c.questions - was.questions, unknowns = c.unknowns - was.unknowns
    FROM sessions AS was WHERE was.session = s->>'session' AND c.agent = was.agent AND c.state = was.state;
  INSERT INTO sessions VALUES (s->>'session', s->>'state', s->>'agent', (s->>'openedAt')::bigint, (s->>'seq')::bigint, (s->>'openQuestions')::bigint,
    (s->>'openUnknowns')::bigint, s->>'summary')
    ON CONFLICT (session) DO UPDATE SET state = excluded.state, agent = excluded.agent, opened_at = excluded.opened_at, seq = excluded.seq,
    questions = excluded.questions, unknowns = excluded.unknowns, summary = excluded.summary;
  INSERT INTO session_counts VALUES (s->>'agent', s->>'state', 1, (s->>'openQuestions')::bigint, (s->>'openUnknowns')::bigint)
    ON CONFLICT (agent, state) DO UPDATE SET sessions = session_counts.sessions + 1, questions = session_counts.questions + excluded.questions,
    unknowns = session_counts.unknowns + excluded.unknowns
$f$;

CREATE FUNCTION end_erased(name text) RETURNS void LANGUAGE sql AS $f$
  SELECT list_session(jsonb_build_object('session', session, 'state', 'closed', 'agent', agent, 'openedAt', opened_at, 'seq', seq, 'openQuestions', 0,
    'openUnknowns', 0, 'summary', (summary::jsonb || '{"title": null, "state": "closed", "openQuestions": 0, "openUnknowns": 0, "children": []}')::text))
    FROM sessions WHERE session = name
$f$;

CREATE FUNCTION put_intent(new_id text, to_session text, content text) RETURNS boolean LANGUAGE plpgsql AS $f$
BEGIN
  INSERT INTO inbox (id, session, intent, arrived_at) VALUES (new_id, to_session, content, extract(epoch FROM clock_timestamp()) * 1000) ON CONFLICT DO NOTHING;
  IF NOT FOUND THEN RETURN false; END IF;
  PERFORM ${NOTIFY} 'inbox ' || to_session);
  RETURN true;
END $f$;

CREATE FUNCTION add_counts(c jsonb, tick bigint) RETURNS void LANGUAGE plpgsql AS $f$
DECLARE read record; before bigint := (c->>'before')::bigint;
BEGIN
  FOR read IN SELECT * FROM jsonb_to_recordset(c->'unless') AS u(name text, agent text, value text, day bigint, "not" text, seen bigint) LOOP
    IF EXISTS (SELECT 1 FROM kept_counts WHERE name = read.name AND since > read.day) OR read.seen IS DISTINCT FROM
       (SELECT coalesce(sum(n), 0)::bigint FROM counts WHERE name = read.name AND agent = read.agent AND value = read.value AND bucket >= read.day AND owner <> read."not")
    THEN ${REFUSE} jsonb_build_object('kind', 'counters-moved', 'counter', read.name)::text; END IF;
  END LOOP;
  INSERT INTO counts SELECT a.name, a.agent, a.value, a.bucket, c->>'owner', sum(a.by), tick
    FROM jsonb_to_recordset(c->'add') AS a(name text, agent text, value text, bucket bigint, by bigint) JOIN kept_counts USING (name)
    GROUP BY a.name, a.agent, a.value, a.bucket
    ON CONFLICT (name, agent, value, bucket, owner) DO UPDATE SET n = counts.n + excluded.n, tick = excluded.tick;
  IF FOUND THEN UPDATE moved SET counts = add_counts.tick; END IF;
  IF before > (SELECT swept FROM moved) AND EXISTS (SELECT 1 FROM kept_counts) THEN
    DELETE FROM counts WHERE bucket < before;
    IF FOUND THEN UPDATE kept_counts SET since = before WHERE since < before; END IF;
    UPDATE moved SET swept = before, counts = add_counts.tick;
  END IF;
END $f$;
`;

const COMMIT = `
CREATE FUNCTION commit_batch(b jsonb, mirrored bigint, bound_after bigint) RETURNS json LANGUAGE plpgsql AS $f$
DECLARE
  a record; s jsonb := b->'seal'; place int := -1; next bigint; before bigint; tick bigint; number bigint := (b->>'number')::bigint; detail text;
  me text := b->>'writer'; mine bigint := (b->>'incarnation')::bigint; stream_no bigint; there streams; scope text;
BEGIN
  PERFORM set_config('lock_timeout', b->>'lockMs', true), ${LOCK};
  UPDATE writers SET batch = batch + 1, lease_until = clock_timestamp() + lease_ms * interval '1 millisecond'
    WHERE writer = me AND incarnation = mine AND batch = (b->>'batch')::bigint AND lease_until > clock_timestamp();
  IF NOT FOUND THEN
    RETURN json_build_object('kind', CASE WHEN EXISTS (SELECT 1 FROM writers WHERE writer = me AND incarnation = mine AND batch = (b->>'batch')::bigint)
      THEN 'lapsed' ELSE 'lost' END);
  END IF;
  next := coalesce((SELECT id + count FROM appends ORDER BY id DESC LIMIT 1), 1);
  before := next - 1;
  tick := nextval('ticks');
  BEGIN
    FOR a IN SELECT * FROM jsonb_to_recordset(b->'appends') AS x(stream text, head bigint, chained text, epoch bigint, begins boolean, first bigint, count int,
      hash text, mac text, body text, at bigint, halted jsonb, mirrored bigint, beside jsonb)
    LOOP
      place := place + 1;
      IF a.halted <> '[]' THEN
        SELECT h INTO scope FROM jsonb_array_elements_text(a.halted) WITH ORDINALITY AS u(h, n) JOIN halts ON halts.scope = h ORDER BY n LIMIT 1;
        IF FOUND THEN ${REFUSE} jsonb_build_object('kind', 'halted', 'scope', scope)::text; END IF;
        IF a.mirrored < (SELECT tightened FROM moved) THEN ${REFUSE} jsonb_build_object('kind', 'counters-moved', 'counter', 'what others left open')::text; END IF;
      END IF;
      stream_no := NULL;
      IF NOT a.begins THEN
        UPDATE streams SET seq = a.first + a.count - 1, hash = a.hash, at = a.at
          WHERE stream = a.stream AND seq = a.head AND hash = a.chained AND (a.epoch IS NULL OR (epoch = a.epoch AND holder = me AND incarnation = mine))
          RETURNING no INTO stream_no;
      END IF;
      IF stream_no IS NULL AND a.epoch IS NULL AND a.head = 0 THEN
        INSERT INTO streams (stream, seq, hash, at, epoch) VALUES (a.stream, a.first + a.count - 1, a.hash, a.at, 0) ON CONFLICT DO NOTHING RETURNING no INTO stream_no;
      END IF;
      IF stream_no IS NULL THEN
        SELECT * INTO there FROM streams WHERE stream = a.stream;
        IF a.epoch IS NOT NULL AND (there.epoch IS DISTINCT FROM a.epoch OR there.holder IS DISTINCT FROM me OR there.incarnation IS DISTINCT FROM mine) THEN
          ${REFUSE} jsonb_build_object('kind', 'hold-lost', 'session', a.stream, 'epoch', a.epoch)::text;
        ELSIF NOT a.begins AND coalesce(there.seq, 0) = a.head THEN
          ${REFUSE} jsonb_build_object('kind', 'entry-bad', 'stream', a.stream, 'seq', a.head, 'detail', 'it was changed underneath its writer')::text;
        END IF;
        ${REFUSE} jsonb_build_object('kind', 'append-conflict', 'stream', a.stream, 'expected', a.head, 'found', coalesce(there.seq, 0))::text;
      END IF;
      INSERT INTO appends VALUES (next, a.count, stream_no, a.first, me, number, a.hash, a.mac, a.body);
      next := next + a.count;
      IF a.beside IS NOT NULL AND a.beside <> 'null' THEN PERFORM write_beside(a.stream, a.at, a.beside, tick); END IF;
    END LOOP;
    IF s = 'null' THEN
      UPDATE writers SET unsealed = before WHERE writer = me AND unsealed IS NULL;
    ELSE
      INSERT INTO seals VALUES (me, number, (s->>'at')::bigint, s->>'previous', s->>'key', (s->>'recovered')::boolean, s->>'wrote', s->>'seen', s->>'hash', s->>'signature', tick);
      UPDATE writers SET unsealed = NULL WHERE writer = me AND unsealed IS NOT NULL;
      UPDATE sessions SET seq = t.seq, summary = t.summary FROM jsonb_to_recordset(b->'lists') AS t(session text, seq bigint, summary text) WHERE sessions.session = t.session AND sessions.seq <= t.seq; -- another process may have written more of it meanwhile
      PERFORM ${NOTIFY} 'wrote ' || me);
    END IF;
    UPDATE moved SET latest = tick WHERE s <> 'null' OR tick IN (unknowns, known, counts);
  EXCEPTION WHEN SQLSTATE 'OG001' THEN
    GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL;
    RETURN json_build_object('kind', 'refused', 'index', place, 'fault', detail::json, 'mirror', mirror_since(mirrored, bound_after));
  END;
  RETURN json_build_object('kind', 'done', 'mirror', mirror_since(mirrored, bound_after));
END $f$;

-- Takes the lock of all batches for a transaction of several statements; the result is the tick of its changes.
CREATE FUNCTION begin_change() RETURNS bigint LANGUAGE sql AS $f$ SELECT ${LOCK}; SELECT nextval('ticks') $f$;

CREATE FUNCTION has_batch(me text, mine bigint, tried bigint, stream_name text, at_first bigint, with_hash text, seal_number bigint) RETURNS text LANGUAGE plpgsql AS $f$
BEGIN
  PERFORM ${LOCK};
  IF NOT EXISTS (SELECT 1 FROM writers WHERE writer = me AND incarnation = mine) THEN RETURN 'lost'; END IF;
  IF EXISTS (SELECT 1 FROM appends AS a JOIN streams AS s ON s.no = a.stream WHERE s.stream = stream_name AND a.first = at_first AND a.hash = with_hash)
    OR EXISTS (SELECT 1 FROM seals WHERE writer = me AND number = seal_number AND hash = with_hash) THEN RETURN 'written'; END IF;
  UPDATE writers SET batch = tried + 1 WHERE writer = me AND batch = tried;
  RETURN 'not written';
END $f$;
`;

const HOLDS = `
CREATE FUNCTION claim_writer(ms bigint, at_host text, as_pid int) RETURNS writers LANGUAGE plpgsql AS $f$
DECLARE w writers;
BEGIN
  PERFORM pg_advisory_xact_lock(2024, 'writers'::regclass::oid::int);
  UPDATE writers SET incarnation = incarnation + 1, batch = 0, lease_ms = ms, lease_until = clock_timestamp() + ms * interval '1 millisecond', host = at_host, pid = as_pid
    WHERE writer = (SELECT writer FROM writers WHERE lease_until < clock_timestamp() ORDER BY unsealed IS NULL, length(writer), writer LIMIT 1)
    AND lease_until < clock_timestamp() RETURNING * INTO w; -- it may just have renewed it
  IF FOUND THEN RETURN w; END IF;
  INSERT INTO writers VALUES ('w' || (SELECT count(*) + 1 FROM writers), 1, NULL, 0, clock_timestamp() + ms * interval '1 millisecond', ms, at_host, as_pid) RETURNING * INTO w;
  RETURN w;
END $f$;

-- A lease that had run out may have cost its process sessions: it learns which it still has.
-- Whoever renews its own also ends the leases of processes that are gone: nothing was heard of them for a while, and the connection that stands for their life
-- (see lease.ts) is lost. Those that end now, for whatever reason, are told of: their sessions are for others.
CREATE FUNCTION renew_lease(me text, mine bigint, wrote bigint, ends_others boolean) RETURNS json LANGUAGE plpgsql AS $f$
DECLARE was timestamptz; at_time timestamptz;
BEGIN
  SELECT lease_until INTO was FROM writers WHERE writer = me AND incarnation = mine FOR UPDATE;
  IF NOT FOUND THEN RETURN json_build_object('kind', 'lost'); END IF;
  at_time := clock_timestamp();
  UPDATE writers SET lease_until = at_time + lease_ms * interval '1 millisecond', appends = wrote WHERE writer = me;
  IF ends_others AND EXISTS (SELECT 1 FROM writers WHERE ${IS_SILENT}) THEN
    UPDATE writers SET lease_until = at_time WHERE writer IN (SELECT writer FROM writers WHERE ${IS_SILENT} AND NOT EXISTS (
      SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
        AND classid = 'writers'::regclass AND objid = substr(writer, 2)::oid AND objsubid = 2 AND granted) FOR UPDATE SKIP LOCKED);
  END IF;
  PERFORM ${NOTIFY} 'ended ' || writer) FROM writers WHERE lease_until <= at_time AND lease_until > at_time - interval '2 seconds';
  RETURN json_build_object('kind', 'renewed', 'at', (extract(epoch FROM at_time) * 1000)::bigint,
    'kept', CASE WHEN was <= at_time THEN (SELECT coalesce(json_agg(stream), '[]') FROM streams WHERE holder = me AND incarnation = mine) END);
END $f$;

-- A hold of this process that it knows nothing of is one whose answer was lost: it may be taken again.
-- The row of a writer whose lease has run out is locked before the session's: a renewal that is under way counts, and a later one learns that the session is gone.
CREATE FUNCTION take_session(name text, me text, mine bigint, is_held boolean) RETURNS json LANGUAGE plpgsql AS $f$
DECLARE h record; is_renewed boolean; found_holder text; found_incarnation bigint; now_epoch bigint;
BEGIN
  INSERT INTO streams (stream, seq, hash, at, epoch) VALUES (name, 0, repeat('0', 64), 0, 0) ON CONFLICT DO NOTHING;
  LOOP
    SELECT s.holder, s.incarnation, w.host, w.pid, w.lease_until > clock_timestamp() AS lives INTO h FROM streams AS s
      LEFT JOIN writers AS w ON w.writer = s.holder AND w.incarnation = s.incarnation WHERE s.stream = name;
    IF h.host IS NOT NULL AND NOT h.lives THEN
      SELECT lease_until > clock_timestamp() INTO is_renewed FROM writers WHERE writer = h.holder AND incarnation = h.incarnation FOR SHARE;
      CONTINUE WHEN is_renewed;
    END IF;
    IF h.lives AND (is_held OR h.holder <> me OR h.incarnation <> mine) THEN
      RETURN json_build_object('kind', 'held', 'by', h.holder, 'host', h.host, 'pid', h.pid);
    END IF;
    SELECT holder, incarnation INTO found_holder, found_incarnation FROM streams WHERE stream = name FOR UPDATE;
    EXIT WHEN found_holder IS NOT DISTINCT FROM h.holder AND found_incarnation IS NOT DISTINCT FROM h.incarnation;
  END LOOP;
  IF NOT EXISTS (SELECT 1 FROM writers WHERE writer = me AND incarnation = mine AND lease_until > clock_timestamp()) THEN RETURN json_build_object('kind', 'lapsed'); END IF;
  UPDATE streams SET epoch = epoch + 1, holder = me, incarnation = mine WHERE stream = name RETURNING epoch INTO now_epoch;
  RETURN json_build_object('kind', 'taken', 'epoch', now_epoch);
END $f$;
`;

/** The streams whose entries every process has at hand (`BOUND_STREAMS` of core). */
const BOUND = "('access', 'erasures', 'grants', 'halt', 'keys', 'known', 'policy', 'trust')";
/** Seals of each writer that a process has at hand: as many as may pass until one names everything. */
export const SEALS_BACK = 64;

const READS = `
CREATE FUNCTION seals_of(rows json) RETURNS json LANGUAGE sql STABLE AS $f$
  SELECT coalesce(json_agg(s), '[]') FROM (SELECT DISTINCT r.writer, r.seal FROM json_to_recordset(rows) AS r(writer text, seal bigint)) AS w
    JOIN seals AS s ON s.writer = w.writer AND s.number = w.seal
$f$;

CREATE FUNCTION blobs_of(rows json) RETURNS json LANGUAGE sql STABLE AS $f$
  SELECT coalesce(json_agg(b), '[]') FROM (SELECT DISTINCT m[1] AS address FROM json_to_recordset(rows) AS r(body text),
    regexp_matches(r.body, '"\\$blob":{"address":"([^"]+)"', 'g') AS m WHERE r.body LIKE '%"$blob":%') AS w JOIN blobs AS b USING (address)
$f$;

-- Entries by which sessions have learnt trusted values since, each with the append before it and those up to its seal.
CREATE FUNCTION learned_since(v bigint) RETURNS json LANGUAGE plpgsql STABLE AS $f$
DECLARE rows json;
BEGIN
  WITH said AS (SELECT DISTINCT a.* FROM known_values AS k JOIN streams AS s ON s.stream = k.stream JOIN appends AS a ON a.stream = s.no AND a.first <= k.place
    AND a.first + a.count > k.place
    WHERE k.tick > v AND k.stream NOT IN ${BOUND}),
  near AS (SELECT * FROM said
    UNION SELECT p.* FROM said AS w CROSS JOIN LATERAL (SELECT * FROM appends WHERE stream = w.stream AND first < w.first ORDER BY first DESC LIMIT 1) AS p
    UNION SELECT n.* FROM said AS w JOIN appends AS n ON n.stream = w.stream AND n.first > w.first AND n.writer = w.writer AND n.seal = w.seal)
  SELECT coalesce(json_agg(near ORDER BY id), '[]') INTO rows FROM near;
  RETURN json_build_object('appends', rows, 'seals', seals_of(rows), 'blobs', blobs_of(rows),
    'streams', (SELECT coalesce(json_agg(s), '[]') FROM streams AS s WHERE s.no IN (SELECT stream FROM json_to_recordset(rows) AS r(stream bigint))));
END $f$;

CREATE FUNCTION mirror_since(v bigint, bound_after bigint) RETURNS json LANGUAGE plpgsql STABLE AS $f$
DECLARE m moved; rows json; learned json;
BEGIN
  SELECT * INTO m FROM moved;
  IF m.latest <= v THEN RETURN NULL; END IF;
  SELECT coalesce(json_agg(a ORDER BY a.id), '[]') INTO rows FROM appends AS a JOIN streams AS s ON s.no = a.stream
    WHERE s.stream IN ${BOUND} AND a.id > bound_after;
  IF m.known > v OR v = 0 THEN learned := learned_since(v); END IF;
  RETURN json_build_object('tick', m.latest,
    'streams', (SELECT coalesce(json_agg(s), '[]') FROM streams AS s WHERE s.stream IN ${BOUND}),
    'appends', rows,
    'blobs', blobs_of(rows),
    'seals', (SELECT coalesce(json_agg(s), '[]') FROM seals AS s WHERE s.tick > v
      AND (v > 0 OR s.number > (SELECT max(number) FROM seals WHERE writer = s.writer) - ${SEALS_BACK})),
    'boundSeals', seals_of(rows),
    'learned', learned,
    'unknowns', CASE WHEN m.unknowns > v OR v = 0 THEN (SELECT coalesce(json_agg(u), '[]') FROM unknowns AS u) END,
    'known', CASE WHEN m.known > v OR v = 0 THEN (SELECT coalesce(json_agg(k), '[]') FROM known_values AS k WHERE k.tick > v) END,
    'allKnown', CASE WHEN m.forgot > v THEN (SELECT coalesce(json_agg(k), '[]') FROM known_values AS k) END,
    'kept', CASE WHEN m.counts > v OR v = 0 THEN (SELECT coalesce(json_agg(k), '[]') FROM kept_counts AS k) END,
    'counts', CASE WHEN m.counts > v OR v = 0 THEN (SELECT coalesce(json_agg(c), '[]') FROM counts AS c WHERE c.tick > v) END);
END $f$;

CREATE FUNCTION pull_stream(name text, from_seq bigint, most bigint) RETURNS json LANGUAGE plpgsql STABLE AS $f$
DECLARE s streams; low bigint; high bigint; line sessions; rows json; last record; start bigint := from_seq;
BEGIN
  SELECT * INTO s FROM streams WHERE stream = name;
  SELECT * INTO line FROM sessions WHERE session = name;
  IF s.no IS NULL THEN RETURN json_build_object('streams', '[]'::json, 'appends', '[]'::json, 'seals', '[]'::json, 'blobs', '[]'::json, 'session', NULL, 'questions', '[]'::json); END IF;
  IF most IS NULL THEN start := least(coalesce(start, s.seq), s.seq, coalesce(line.seq, s.seq)); END IF;
  low := coalesce((SELECT first FROM appends WHERE stream = s.no AND first <= start ORDER BY first DESC OFFSET 1 LIMIT 1), 0);
  SELECT first, writer, seal INTO last FROM appends WHERE stream = s.no AND first >= low AND (most IS NULL OR first < start + most) ORDER BY first DESC LIMIT 1;
  high := coalesce((SELECT max(first) FROM appends WHERE stream = s.no AND first > last.first AND writer = last.writer AND seal = last.seal), last.first);
  SELECT coalesce(json_agg(a ORDER BY a.first), '[]') INTO rows FROM appends AS a WHERE a.stream = s.no AND a.first BETWEEN low AND high;
  RETURN json_build_object('streams', json_build_array(s), 'appends', rows, 'seals', seals_of(rows), 'blobs', blobs_of(rows), 'session', CASE WHEN line.session IS NULL THEN NULL ELSE to_json(line) END,
    'questions', (SELECT coalesce(json_agg(q), '[]') FROM questions AS q WHERE q.session = name));
END $f$;

CREATE FUNCTION pull_tail(from_position bigint, most bigint) RETURNS json LANGUAGE plpgsql STABLE AS $f$
DECLARE low bigint; high bigint; rows json;
BEGIN
  low := coalesce((SELECT max(id) FROM appends WHERE id <= from_position), 1);
  high := coalesce((SELECT max(id) FROM appends WHERE id >= low AND id < from_position + most), 0);
  SELECT coalesce(json_agg(a ORDER BY a.id), '[]') INTO rows FROM appends AS a WHERE a.id BETWEEN low AND high
    OR a.id IN (SELECT p.id FROM appends AS w CROSS JOIN LATERAL (SELECT id FROM appends WHERE stream = w.stream AND first < w.first ORDER BY first DESC LIMIT 1) AS p
      WHERE w.id BETWEEN low AND high)
    OR a.id IN (SELECT n.id FROM (SELECT DISTINCT ON (stream) stream, first, writer, seal FROM appends WHERE id BETWEEN low AND high ORDER BY stream, first DESC) AS w
      JOIN appends AS n ON n.stream = w.stream AND n.first > w.first AND n.writer = w.writer AND n.seal = w.seal);
  RETURN json_build_object('appends', rows, 'seals', seals_of(rows), 'blobs', blobs_of(rows),
    'streams', (SELECT coalesce(json_agg(s), '[]') FROM streams AS s WHERE s.no IN (SELECT stream FROM json_to_recordset(rows) AS r(stream bigint))));
END $f$;
`;

export const FUNCTIONS: string = [WRITE_BESIDE, COMMIT, HOLDS, READS].join("\n");
