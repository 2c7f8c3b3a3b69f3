/**
 * Hears of what other processes write: LISTEN on a connection of its own, and a slow look beside it, so that a lost notification or connection delays and
 * loses nothing.
 */
import type { Position } from "@orgate/core/journal";
import { type SessionId, type StreamId, streamId } from "@orgate/core/vocab";
import type { Client } from "pg";
import type { SignalEar, Signals } from "../store.ts";
import { Watchers } from "../watchers.ts";
import type { LocalCopy, MirrorRows } from "./copy.ts";
import { asUnreadable } from "./faults.ts";
import { isBehindPooler, type Link } from "./link.ts";
import type { AlarmRow, SharedAlarms } from "./shared-alarms.ts";

export type Listener = Readonly<{
  watchers: Watchers;
  /** What others have written by now is known here when this resolves. */
  catchUp(): Promise<void>;
  /** Where the journal ended at the last look, and what has grown between the one before and it. */
  position(): Position;
  /** How long the connection has been there; 0: it is lost, or a pooler's, which stands for no process. */
  connectedMs(): number;
  streamsAfter(seen: Position): Readonly<{ last: Position; streams: readonly StreamId[] }>;
  signals: Signals;
  close(): Promise<void>;
}>;

const LOOK_EVERY_MS = 1_000;
/** How often the connection that listens is asked whether it is still one: where its server is gone without a word, nothing else would ever say so. */
const BEAT_MS = 1_000;
const RECONNECT_MS = 500;

type Needs = Readonly<{
  link: Link;
  copy: LocalCopy;
  alarms: Pick<SharedAlarms, "heard" | "hear">;
  /** The writer of this process, whose appends need no telling; null for a process that only reads. */
  own: string | null;
}>;

export async function openListener({ link, copy, alarms, own }: Needs): Promise<Listener> {
  const watchers = new Watchers();
  const looks = new Looks({ link, copy, alarms, watchers });
  const ear = new Ear(link, own, {
    heard(payload) {
      const [what, who = ""] = payload.split(" ");
      if (what === "wrote") {
        if (who !== own) looks.quietly();
        return;
      }
      if (what === "due" || what === "ended") watchers.tellDue(); // a lease that ends by itself tells of no session
      if (what === "due") return;
      if (what === "inbox") watchers.wake(who as SessionId);
      watchers.tellAll(); // an intent of a session that nobody drives, or sessions whose process is gone
    },
    connected() {
      looks.quietly();
      watchers.tellDue(); // of what was told meanwhile nobody knows
    },
  });
  try {
    await ear.connect();
    await looks.soon();
  } catch (error) {
    await ear.close();
    throw asUnreadable(error, link.place);
  }
  const timer = setInterval(() => looks.quietly(), LOOK_EVERY_MS).unref();
  return {
    watchers,
    catchUp: () => looks.soon(),
    connectedMs: () => ear.connectedMs(),
    signals: ear.signals,
    position: () => looks.position,
    streamsAfter: () => ({ last: looks.position, streams: looks.grown }),
    async close() {
      clearInterval(timer);
      watchers.clear();
      await looks.close();
      await ear.close();
    },
  };
}

type Look = Readonly<{
  mirror: MirrorRows | null;
  position: string;
  grown: readonly string[] | null;
  waiting: readonly string[] | null;
  alarms: readonly AlarmRow[] | null;
}>;
type LookNeeds = Omit<Needs, "own"> & Readonly<{ watchers: Watchers }>;

/** Looks at what has changed, one at a time; what is asked for meanwhile is one more. */
class Looks {
  /** Before the first look: nothing is new then. */
  position: Position = -1;
  grown: readonly StreamId[] = [];
  readonly #needs: LookNeeds;
  readonly #sql: string;
  #running: Promise<void> | null = null;
  #isAsked = false;
  #isClosed = false;

  constructor(needs: LookNeeds) {
    this.#needs = needs;
    const table = (name: string): string => `"${needs.link.schema}".${name}`;
    this.#sql = `SELECT ${table("mirror_since")}($1, $2) AS mirror, (SELECT coalesce(max(id), 0) FROM ${table("appends")}) AS position,
      (SELECT array_agg(DISTINCT s.stream) FROM ${table("appends")} AS a JOIN ${table("streams")} AS s ON s.no = a.stream WHERE a.id > $3 AND $3 >= 0) AS grown,
      (SELECT array_agg(DISTINCT session) FROM ${table("inbox")} WHERE intent IS NOT NULL AND session = ANY($4)) AS waiting,
      (SELECT json_agg(a ORDER BY a.no) FROM ${table("alarms")} AS a WHERE a.no > $5) AS alarms`;
  }

  soon(): Promise<void> {
    this.#isAsked = true;
    this.#running ??= this.#run();
    return this.#running;
  }

  /** A read or an append reports what is wrong; the next look tries again. */
  quietly(): void {
    void this.soon().catch(() => {});
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#running?.catch(() => {});
  }

  async #run(): Promise<void> {
    try {
      while (this.#isAsked && !this.#isClosed) {
        this.#isAsked = false;
        await this.#look();
      }
    } finally {
      this.#running = null;
    }
  }

  async #look(): Promise<void> {
    const { link, copy, watchers, alarms } = this.#needs;
    const [row] = await link.read<Look>(this.#sql, [...copy.mirrored, this.position, watchers.watched(), alarms.heard()]);
    if (row === undefined || this.#isClosed) return;
    copy.mirror(row.mirror);
    alarms.hear(row.alarms ?? []);
    for (const session of row.waiting ?? []) watchers.wake(session as SessionId);
    if (Number(row.position) === this.position) return;
    this.grown = (row.grown ?? []).map(streamId);
    this.position = Number(row.position);
    watchers.tellAll();
  }
}

type Channels = Readonly<{ journal: string; signals: string }>;
type Heard = Readonly<{ heard(payload: string): void /** After a lost connection, too. */; connected(): void }>;

/** A notification has less than 8,000 bytes. */
const MOST_BYTES = 7_999;

/** One connection that listens, made again when it is lost. A lock on it says that the process lives. Signals have a channel of their own on it. */
class Ear {
  readonly #link: Link;
  readonly #own: string | null;
  readonly #tell: Heard;
  readonly #ears = new Set<SignalEar>();
  #channels: Channels | null = null;
  #client: Client | null = null;
  #since = 0;
  #isPooled = false;
  #isClosed = false;

  constructor(link: Link, own: string | null, tell: Heard) {
    this.#link = link;
    this.#own = own;
    this.#tell = tell;
  }

  async connect(): Promise<void> {
    const client = this.#link.listener();
    client.on("error", () => {}); // `end` follows
    client.on("end", () => {
      if (this.#client !== client) return;
      this.#client = null;
      this.#connectLater();
    });
    client.on("notification", ({ channel, payload = "" }) => {
      if (channel !== this.#channels?.signals) this.#tell.heard(payload);
      else for (const ear of [...this.#ears]) ear.heard(payload);
    });
    try {
      await this.#listen(client);
    } catch (error) {
      void client.end().catch(() => {}); // it would stay, and be one more with each try
      throw error;
    }
    if (this.#isClosed) return client.end();
    this.#client = client;
    this.#since = performance.now();
    this.#beat(client);
    for (const ear of [...this.#ears]) ear.joined();
  }

  async #listen(client: Client): Promise<void> {
    await client.connect();
    this.#isPooled = await isBehindPooler(client);
    const sql = "SELECT 'orgate_' || md5($1) AS journal, 'orgate_signals_' || md5($1) AS signals";
    const [channels] = (await client.query<Channels>(sql, [this.#link.schema])).rows;
    if (channels === undefined) throw new Error("a question without a table is answered");
    this.#channels = channels;
    await client.query(`LISTEN "${channels.journal}"; LISTEN "${channels.signals}"`);
    if (this.#own !== null)
      await client.query("SELECT pg_advisory_lock_shared($1::regclass::oid::int, $2)", [
        `"${this.#link.schema}".writers`,
        this.#own.slice(1),
      ]); // a zombie of that name may have it, too
  }

  /** An answer that does not come in time ends the connection (`SILENCE_MS`), and `end` makes another. */
  #beat(client: Client): void {
    const next = (): void => {
      if (this.#client !== client) return;
      client.query("SELECT 1").then(
        () => this.#beat(client),
        () => client.end().catch(() => {}),
      );
    };
    setTimeout(next, BEAT_MS).unref();
  }

  /** On this connection, so that a flood of them does not hold up the journal, and the direct one, where there is a pooler. */
  readonly signals: Signals = {
    mostBytes: MOST_BYTES,
    send: async (texts) => {
      const channel = this.#channels?.signals;
      if (this.#client === null || channel === undefined) throw new Error("the connection is lost");
      await this.#client.query("SELECT pg_notify($1, text) FROM unnest($2::text[]) AS text", [channel, texts]);
    },
    hear: (ear) => {
      this.#ears.add(ear);
      if (this.#client !== null) ear.joined();
      return () => void this.#ears.delete(ear);
    },
  };

  connectedMs(): number {
    return this.#client === null || this.#isPooled ? 0 : performance.now() - this.#since;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const client = this.#client;
    this.#client = null;
    await client?.end().catch(() => {});
  }

  #connectLater(): void {
    if (this.#isClosed) return;
    setTimeout(() => {
      if (this.#isClosed) return;
      this.connect().then(
        () => this.#tell.connected(),
        () => this.#connectLater(),
      );
    }, RECONNECT_MS).unref();
  }
}
