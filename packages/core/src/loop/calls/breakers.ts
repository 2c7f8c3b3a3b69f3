/**
 * What keeps failing is left alone: a breaker for each tool, model and MCP server. Its state lies in the journal, so that it survives a restart and
 * holds in every process; what is counted in between is this process's own, and only a change of state is written.
 * F-7 so many failures in a row open it; then nothing goes through until its time is up. F-7 half-open, so many calls may try at a time: one failure
 * opens it again, so many successes close it. F-8 a denial, bad arguments, a cancel or a lost process is no failure.
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
  /** What has changed meanwhile is durable when this resolves. */
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
  /** Calls that try, and since when: one that is never heard of again gives its place back. */
  readonly trying: Map<string, Millis>;
};

const PAGE = 100;
const TRIES = 100;

export function breakersOf(
  journal: Pick<Journal, "read" | "append" | "streams">,
  { now, hash, self }: Readonly<{ now: () => Millis; hash: Hash; self: Principal }>,
): OpenBreakers {
  const kept = new Map<StreamId, Kept>();
  const streams = new Map<string, StreamId>();
  /** To be written, each with the state it stands for: overtaken by somebody else's, it is dropped. */
  const due: { readonly change: BreakerChange; readonly standing: StandingBreaker }[] = [];
  let writing: Promise<void> = Promise.resolve();
  let version = 0;

  function streamOf(breaker: string): StreamId {
    const known = streams.get(breaker);
    if (known !== undefined) return known;
    const stream = breakerStream(breaker, hash);
    streams.set(breaker, stream);
    return stream;
  }
  const of = (breaker: string): Kept => at(streamOf(breaker));
  function at(stream: StreamId): Kept {
    const known = kept.get(stream);
    if (known !== undefined) return known;
    const fresh: Kept = { standing: null, seen: seq(0), failures: 0, successes: 0, trying: new Map() };
    kept.set(stream, fresh);
    return fresh;
  }

  function stand(one: Kept, standing: StandingBreaker | null): void {
    one.standing = standing;
    one.failures = 0;
    one.successes = 0;
    one.trying.clear();
    version += 1;
  }

  /** By due time, whether or not anybody has written that down. */
  function stateOf({ standing }: Kept): BreakerState {
    if (standing === null) return "closed";
    return standing.state === "open" && standing.until !== null && now() >= standing.until ? "half-open" : standing.state;
  }

  function change(breaker: string, to: BreakerState, failures: number, until: Millis | null, reason: string): void {
    const standing: StandingBreaker = { breaker, state: to, failures, until, by: self, reason, at: now() };
    stand(of(breaker), standing);
    due.push({ change: { breaker, to, failures, until, by: self, reason }, standing });
  }

  async function refresh(): Promise<void> {
    for (const { stream, seq: last } of await journal.streams(BREAKERS)) {
      const one = at(stream);
      if (one.seen < last) await catchUp(stream, one);
    }
  }

  async function catchUp(stream: StreamId, one: Kept): Promise<void> {
    for (;;) {
      const entries = await journal.read(stream, one.seen, PAGE);
      const end = entries.at(-1);
      if (end === undefined || end.seq <= one.seen) return;
      one.seen = end.seq;
      const trying = stateOf(one) === "half-open" ? [...one.trying] : [];
      stand(one, foldBreaker(one.standing, entries));
      if (stateOf(one) === "half-open") for (const [key, since] of trying) one.trying.set(key, since); // others try it too: ours still count
      if (entries.length < PAGE) return;
    }
  }

  async function write(change: BreakerChange): Promise<void> {
    const one = of(change.breaker);
    const events = [{ at: now(), event: { kind: "breaker.changed", ...change } as const }];
    await journal.append({ stream: streamOf(change.breaker), after: one.seen, hold: null, events, consumes: [], unlessHalted: [] });
    one.seen = seq(one.seen + 1);
  }

  /** Somebody else was first: what they wrote counts. */
  async function writeDue(): Promise<void> {
    for (let one = due.shift(); one !== undefined; one = due.shift()) {
      const { breaker } = one.change;
      if (of(breaker).standing !== one.standing) continue;
      try {
        await write(one.change);
      } catch (error) {
        if (!isFault(error, "append-conflict")) throw error;
        await catchUp(streamOf(breaker), of(breaker));
      }
    }
  }

  async function set(change: BreakerChange): Promise<void> {
    for (let tries = 1; ; tries += 1) {
      await catchUp(streamOf(change.breaker), of(change.breaker));
      try {
        await write(change);
        const { breaker, to: state, failures, until, by, reason } = change;
        stand(of(breaker), { breaker, state, failures, until, by, reason, at: now() });
        return;
      } catch (error) {
        if (!isFault(error, "append-conflict") || tries === TRIES) throw error;
      }
    }
  }

  /** One after the other: a stream has one end. */
  function inLine(work: () => Promise<void>): Promise<void> {
    const mine = writing.catch(() => {}).then(work);
    writing = mine;
    return mine;
  }

  return {
    refresh: () => inLine(refresh),
    version: () => version,
    refusal({ name, settings }, key) {
      const one = of(name);
      const state = stateOf(one);
      if (state === "closed") return null;
      if (state === "open") return openText(name, one.standing, now());
      for (const [who, since] of one.trying) if (now() - since >= settings.openMs) one.trying.delete(who);
      if (one.trying.has(key) || one.trying.size < settings.probes) return null;
      return `${name} has failed of late and is being tried: ${one.trying.size === 1 ? "another call does" : `${one.trying.size} other calls do`}`;
    },
    pass({ name }, key) {
      const one = of(name);
      if (stateOf(one) !== "half-open") return;
      if (one.standing?.state === "open") change(name, "half-open", one.standing.failures, null, "its time is up: it is tried again");
      if (!one.trying.has(key)) version += 1;
      one.trying.set(key, now());
    },
    report({ name, settings }, key, what, reason) {
      const one = of(name);
      const state = stateOf(one);
      if (what === null) one.trying.delete(key);
      else if (state === "closed") {
        one.failures = what === "success" ? 0 : one.failures + 1;
        if (one.failures >= settings.failures) change(name, "open", one.failures, millis(now() + settings.openMs), reason);
      } else if (state === "half-open" && one.trying.delete(key)) {
        version += 1;
        if (what === "failure") change(name, "open", (one.standing?.failures ?? 0) + 1, millis(now() + settings.openMs), reason);
        else if (++one.successes >= settings.probes)
          change(name, "closed", 0, null, one.successes === 1 ? "a call succeeded" : `${one.successes} calls in a row succeeded`);
      }
    },
    settle: () => (due.length === 0 ? Promise.resolve() : inLine(writeDue)), // what others have to write is theirs to wait for
    list: () => [...kept.values()].flatMap(({ standing }) => (standing === null ? [] : [standing])).sort(byName),
    set: (given) => inLine(() => set(given)),
  };
}

const byName = (a: StandingBreaker, b: StandingBreaker): number => (a.breaker < b.breaker ? -1 : a.breaker > b.breaker ? 1 : 0);

function openText(name: string, standing: StandingBreaker | null, now: Millis): string {
  const until = standing?.until ?? null;
  const why = standing?.by.kind === "user" ? "was set aside by an operator" : `failed ${standing?.failures ?? 0} times in a row`;
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
export function breakersOfModel({ model, fallbacks, summariser, modelBreaker: settings }: Models, id: string): readonly Breaker[] {
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
export function reportModel(
  p: Models & Readonly<{ breakers: BreakersPort }>,
  id: string,
  key: string,
  what: Reported | null,
  reason: string,
): void {
  for (const [i, breaker] of breakersOfModel(p, id).entries())
    p.breakers.report(breaker, key, what === "failure" && i > 0 ? null : what, reason);
}

/** Those that a call of this tool has to pass. */
export function breakersOfTool(tool: Tool): readonly Breaker[] {
  const settings = tool.breaker ?? DEFAULT_BREAKER;
  const own = { name: `tool:${tool.name}`, settings };
  return tool.server === null ? [own] : [own, { name: `mcp:${tool.server}`, settings }];
}

/**
 * What a run says of what it ran on; null: nothing. `stopped` is a cancel, a halt, or the end of the turn's time.
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

/** What a failure says that is the server's own, not its tool's. */
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
