/**
 * Circuit breakers, one for each tool, model and MCP server. A breaker's state is journalled, so that it survives a restart and holds in every process;
 * failures in between are counted by each process for itself, and only a change of state is written.
 * F-7 `failures` in a row open it; then no call goes through until its time is up. F-7 half-open, `probes` calls may try at a time: one failure
 * opens it again, as many successes close it. F-8 a denial, bad arguments, a cancel or a lost process is no failure.
 */
import { BREAKERS, type BreakerState, breakerStream, foldBreaker, type StandingBreaker } from "../../journal/breakers.ts";
import type { Journal } from "../../journal/port.ts";
import type { Model } from "../../reason/port.ts";
import {
  type BreakerSettings,
  breakerSubject,
  DEFAULT_BREAKER,
  type Hash,
  isFault,
  type JournalEvent,
  type Millis,
  millis,
  type Outcome,
  type Principal,
  type Seq,
  type StreamId,
  seq,
  type Tool,
} from "../../vocab/index.ts";

/** One that a call has to pass, and by which rules. */
export type Breaker = Readonly<{ name: string; settings: BreakerSettings }>;
export type Reported = "success" | "failure";

/** Breakers as a driver uses them. `key` is whose call it is. */
export type BreakersPort = Readonly<{
  refresh(): Promise<void>;
  /** Why nothing may go through now; null when something may. */
  refusal(breaker: Breaker, key: string): string | null;
  /** It goes through: while half-open, one of the few places to try is its own until it is reported. */
  pass(breaker: Breaker, key: string): void;
  /** Null: nothing can be said of it, and its place is free again. */
  report(breaker: Breaker, key: string, what: Reported | null, reason: string): void;
  /** Changes of state are to be written. */
  isDue(): boolean;
  /** Changes of state are durable when this resolves. */
  settle(): Promise<void>;
  /** Goes up with what a decision made before may have to be made again for. */
  version(): number;
}>;

export type BreakerChange = Omit<Extract<JournalEvent, { kind: "breaker.changed" }>, "kind">;
export type OpenBreakers = BreakersPort &
  Readonly<{
    /** All that were ever changed, by name. */
    list(): readonly StandingBreaker[];
    /** An operator's word; durable when it resolves. */
    set(change: BreakerChange): Promise<void>;
  }>;

type Kept = {
  standing: StandingBreaker | null;
  seen: Seq;
  failures: number;
  successes: number;
  /** Calls that probe it, and since when: one that is never reported gives its place back. */
  readonly trying: Map<string, Millis>;
};

type BreakerParts = Readonly<{ now: () => Millis; hash: Hash; self: Principal }>;
type BreakerJournal = Pick<Journal, "read" | "append" | "streams">;

const PAGE = 100;
const TRIES = 100;

/** The circuit breakers of a project, as this process sees them. */
export function openBreakers(journal: BreakerJournal, parts: BreakerParts): OpenBreakers {
  const all = new CircuitBreakers(journal, parts);
  return {
    refresh: () => all.refresh(),
    version: () => all.version,
    refusal: (breaker, key) => all.refusal(breaker, key),
    pass: (breaker, key) => all.pass(breaker, key),
    report: (breaker, key, what, reason) => all.report(breaker, key, what, reason),
    isDue: () => all.isDue(),
    settle: () => all.settle(),
    list: () => all.list(),
    set: (change) => all.set(change),
  };
}

class CircuitBreakers {
  readonly #journal: BreakerJournal;
  readonly #parts: BreakerParts;
  readonly #kept = new Map<StreamId, Kept>();
  readonly #streams = new Map<string, StreamId>();
  /** Changes to be written, each with the state it stands for. A change that another process has overtaken is dropped. */
  readonly #due: { readonly change: BreakerChange; readonly standing: StandingBreaker }[] = [];
  #writing: Promise<void> = Promise.resolve();
  version = 0;

  constructor(journal: BreakerJournal, parts: BreakerParts) {
    this.#journal = journal;
    this.#parts = parts;
  }

  refresh(): Promise<void> {
    return this.#inLine(async () => {
      for (const { stream, seq: last } of await this.#journal.streams(BREAKERS)) {
        const one = this.#at(stream);
        if (one.seen < last) await this.#catchUp(stream, one);
      }
    });
  }

  refusal({ name, settings }: Breaker, key: string): string | null {
    const { now } = this.#parts;
    const one = this.#of(name);
    const state = this.#stateOf(one);
    if (state === "closed") return null;
    if (state === "open") return openText(name, one.standing, now());
    for (const [who, since] of one.trying) if (now() - since >= settings.openMs) one.trying.delete(who);
    if (one.trying.has(key) || one.trying.size < settings.probes) return null;
    return `${name} has failed of late and is being tried: ${one.trying.size === 1 ? "another call does" : `${one.trying.size} other calls do`}`;
  }

  pass({ name }: Breaker, key: string): void {
    const one = this.#of(name);
    if (this.#stateOf(one) !== "half-open") return;
    if (one.standing?.state === "open")
      this.#change(name, "half-open", { failures: one.standing.failures, until: null, reason: "its time is up: it is tried again" });
    if (!one.trying.has(key)) this.version += 1;
    one.trying.set(key, this.#parts.now());
  }

  report({ name, settings }: Breaker, key: string, what: Reported | null, reason: string): void {
    const one = this.#of(name);
    const state = this.#stateOf(one);
    const open = (failures: number): void =>
      this.#change(name, "open", { failures, until: millis(this.#parts.now() + settings.openMs), reason });
    if (what === null) one.trying.delete(key);
    else if (state === "closed") {
      one.failures = what === "success" ? 0 : one.failures + 1;
      if (one.failures >= settings.failures) open(one.failures);
    } else if (state === "half-open" && one.trying.delete(key)) {
      this.version += 1;
      if (what === "failure") open((one.standing?.failures ?? 0) + 1);
      else if (++one.successes >= settings.probes) {
        const successes = one.successes === 1 ? "a call succeeded" : `${one.successes} calls in a row succeeded`;
        this.#change(name, "closed", { failures: 0, until: null, reason: successes });
      }
    }
  }

  isDue(): boolean {
    return this.#due.length > 0;
  }

  /** Waits for this process's own changes only. */
  settle(): Promise<void> {
    return this.#inLine(() => this.#writeDue());
  }

  list(): readonly StandingBreaker[] {
    return [...this.#kept.values()].flatMap(({ standing }) => (standing === null ? [] : [standing])).sort(byName);
  }

  set(change: BreakerChange): Promise<void> {
    return this.#inLine(async () => {
      const { breaker, to: state, failures, until, by, reason } = change;
      for (let tries = 1; ; tries += 1) {
        await this.#catchUp(this.#streamOf(breaker), this.#of(breaker));
        try {
          await this.#write(change);
          this.#stand(this.#of(breaker), { breaker, state, failures, until, by, reason, at: this.#parts.now() });
          return;
        } catch (error) {
          if (!isFault(error, "append-conflict") || tries === TRIES) throw error;
        }
      }
    });
  }

  #streamOf(breaker: string): StreamId {
    const known = this.#streams.get(breaker);
    if (known !== undefined) return known;
    const stream = breakerStream(breaker, this.#parts.hash);
    this.#streams.set(breaker, stream);
    return stream;
  }

  #of(breaker: string): Kept {
    return this.#at(this.#streamOf(breaker));
  }

  #at(stream: StreamId): Kept {
    const known = this.#kept.get(stream);
    if (known !== undefined) return known;
    const fresh: Kept = { standing: null, seen: seq(0), failures: 0, successes: 0, trying: new Map() };
    this.#kept.set(stream, fresh);
    return fresh;
  }

  #stand(one: Kept, standing: StandingBreaker | null): void {
    one.standing = standing;
    one.failures = 0;
    one.successes = 0;
    one.trying.clear();
    this.version += 1;
  }

  /** By due time, whether or not anybody has written that down. */
  #stateOf({ standing }: Kept): BreakerState {
    if (standing === null) return "closed";
    return standing.state === "open" && standing.until !== null && this.#parts.now() >= standing.until ? "half-open" : standing.state;
  }

  #change(breaker: string, to: BreakerState, { failures, until, reason }: Pick<BreakerChange, "failures" | "until" | "reason">): void {
    const { self: by, now } = this.#parts;
    const standing: StandingBreaker = { breaker, state: to, failures, until, by, reason, at: now() };
    this.#stand(this.#of(breaker), standing);
    this.#due.push({ change: { breaker, to, failures, until, by, reason }, standing });
  }

  async #catchUp(stream: StreamId, one: Kept): Promise<void> {
    for (;;) {
      const entries = await this.#journal.read(stream, one.seen, PAGE);
      const end = entries.at(-1);
      if (end === undefined || end.seq <= one.seen) return;
      one.seen = end.seq;
      const trying = this.#stateOf(one) === "half-open" ? [...one.trying] : [];
      this.#stand(one, foldBreaker(one.standing, entries));
      if (this.#stateOf(one) === "half-open") for (const [key, since] of trying) one.trying.set(key, since); // others probe it too: ours still count
      if (entries.length < PAGE) return;
    }
  }

  async #write(change: BreakerChange): Promise<void> {
    const one = this.#of(change.breaker);
    const stream = this.#streamOf(change.breaker);
    const events = [{ at: this.#parts.now(), event: { kind: "breaker.changed", ...change } as const }];
    await this.#journal.append({ stream, after: one.seen, hold: null, events, consumes: [], unlessHalted: [] });
    one.seen = seq(one.seen + 1);
  }

  /** Another process was first: its change counts. */
  async #writeDue(): Promise<void> {
    for (let one = this.#due.shift(); one !== undefined; one = this.#due.shift()) {
      const { breaker } = one.change;
      if (this.#of(breaker).standing !== one.standing) continue;
      try {
        await this.#write(one.change);
      } catch (error) {
        if (!isFault(error, "append-conflict")) throw error;
        await this.#catchUp(this.#streamOf(breaker), this.#of(breaker));
      }
    }
  }

  /** One after the other: a stream has one end. */
  #inLine(work: () => Promise<void>): Promise<void> {
    const mine = this.#writing.catch(() => {}).then(work);
    this.#writing = mine;
    return mine;
  }
}

const byName = (a: StandingBreaker, b: StandingBreaker): number => (a.breaker < b.breaker ? -1 : a.breaker > b.breaker ? 1 : 0);

function openText(name: string, standing: StandingBreaker | null, now: Millis): string {
  const until = standing?.until ?? null;
  const why =
    standing?.by.kind === "user"
      ? "was set aside by an operator"
      : `failed ${standing?.failures === 1 ? "once" : `${standing?.failures ?? 0} times in a row`}`;
  const again = until === null ? "until an operator closes it" : `and is tried again in ${Math.ceil((until - now) / 1000)} s`;
  // a model is not told about its own breaker: people are, and can do something about it
  const subject = breakerSubject(name);
  const mend = name.startsWith("model:")
    ? `; once it is mended, \`orgate breakers reset ${shellWord(subject)} --reason "mended"\` has it tried at once`
    : "";
  return `${subject} ${why}, is left alone ${again}${mend}`;
}
const shellWord = (text: string): string => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);

// ── which, and what counts ──

type Models = Readonly<{ model: Model; fallbacks: readonly Model[]; summariser: Model; modelBreaker: BreakerSettings }>;

/**
 * Those that a call of the agent's own model, a fallback or its summariser has to pass. Failures count against the address and key that failed, so that
 * a corrected setting starts closed; what an operator says of the model holds for all of them.
 */
export function breakersOfModel(models: Models, id: string): readonly Breaker[] {
  const known = ofModels.get(models) ?? new Map<string, readonly Breaker[]>();
  ofModels.set(models, known);
  const found = known.get(id) ?? listModelBreakers(models, id);
  known.set(id, found);
  return found;
}
const ofModels = new WeakMap<Models, Map<string, readonly Breaker[]>>();

function listModelBreakers({ model, fallbacks, summariser, modelBreaker: settings }: Models, id: string): readonly Breaker[] {
  const name = `model:${id}`;
  const setting = [model, ...fallbacks, summariser].find((one) => one.id === id)?.setting;
  return setting === undefined
    ? [{ name, settings }]
    : [
        { name: `${name}#${setting}`, settings },
        { name, settings },
      ];
}

/** A failure counts against the first, which is the narrowest; a success counts for all. */
export function reportModel(p: Models & Readonly<{ breakers: BreakersPort }>, id: string, key: string, said: ModelReport): void {
  for (const [i, breaker] of breakersOfModel(p, id).entries())
    p.breakers.report(breaker, key, said.what === "failure" && i > 0 ? null : said.what, said.reason);
}
type ModelReport = Readonly<{ what: Reported | null; reason: string }>;

/** The breakers that a call of this tool has to pass. Made once: a definition does not change. */
export function breakersOfTool(tool: Tool): readonly Breaker[] {
  const known = ofTools.get(tool);
  if (known !== undefined) return known;
  const settings = tool.breaker ?? DEFAULT_BREAKER;
  const own = { name: `tool:${tool.name}`, settings };
  const all = tool.server === null ? [own] : [own, { name: `mcp:${tool.server}`, settings }];
  ofTools.set(tool, all);
  return all;
}
const ofTools = new WeakMap<Tool, readonly Breaker[]>();

/**
 * The outcome of a run as its breaker counts it; null: not at all. `stopped` is a cancel, a halt, or the end of the turn's time.
 * A server that answers works, also when its tool says that it failed.
 */
export function classifyCall(breaker: Breaker, outcome: Outcome, stopped: boolean): Reported | null {
  switch (outcome.kind) {
    case "done":
      return "success";
    case "failed":
      if (stopped) return null;
      return breaker.name.startsWith("mcp:") && !NO_ANSWER.test(outcome.error) ? "success" : "failure";
    case "unknown":
      if (stopped) return null;
      return outcome.cause === "timed-out" || outcome.cause === "connection-lost" || outcome.cause === "killed" ? "failure" : null;
  }
}

/** A failure of the server, not of its tool. */
const NO_ANSWER = /^(?:timed-out|connection-lost|unreachable): /;

/** Of a model: what may be better the next time, and a stream that broke. That a request was bad is not the model's fault. */
export function classifyModel(
  reply: object | Readonly<{ error: string; broke: boolean; again: boolean }>,
  stopped: boolean,
): Reported | null {
  if (!("error" in reply)) return "success";
  if (stopped) return null;
  return reply.again || reply.broke ? "failure" : null;
}
