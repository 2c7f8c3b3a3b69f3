/** Messages between victims, the counter and the runner: one JSON text per line, and the one decoder. */
import type { Fault, IntentBody } from "@orgate/core";

/** The steps of a process, in order. */
export type Job =
  | Readonly<{ kind: "run" }>
  /** Resumes everything that an earlier process left unfinished, as an operator would after a crash. */
  | Readonly<{ kind: "resume-all" }>
  | Readonly<{ kind: "resume"; session: string }>
  | Readonly<{ kind: "wish"; session: string; wish: IntentBody }>;

/**
 * Where a process freezes until it is killed: at a point by its name, at its nth, where it first writes such an event, or where it first writes a seal and
 * nothing else after it has passed a point (null: after its start).
 */
export type Stop = Readonly<
  | { kind: "at"; point: string }
  | { kind: "nth"; nth: number }
  | { kind: "writes"; event: string; step: "commit" | "committed" }
  | { kind: "seals"; after: string | null; step: "commit" | "committed" }
>;

export type Orders = Readonly<{
  victim: string;
  /** The folder of journal and keys. */
  directory: string;
  /** Where the person's key lies. */
  home: string;
  jobs: readonly Job[];
  stop: Stop | null;
  /** Calls (`call 1.2`) and model calls (`model 3`) that the counter leaves unanswered until the runner releases them. */
  hold: readonly string[];
  /** Of small random delays everywhere; null: none, and parallel calls end in call order, each in a commit of its own. */
  seed: number | null;
  /** Which of the broken builds it is; null: the real one. */
  broken: Broken | null;
  /** From this point on the database may not grow: a full disk where none can be mounted. */
  fullAt: string | null;
  /** Its database statements are counted. */
  counted: boolean;
}>;
export type Broken =
  | "append-after-effect"
  | "repeats-once"
  | "asks-again"
  | "ignores-halts"
  | "uses-up-nothing"
  | "expires-by-reading"
  | "forgets-grants"
  | "opens-before-firing"
  | "opens-after-firing"
  | "forgets-firings"
  | "fires-again";

/** One statement: how often it ran, and how many rows it returned. */
export type Query = Readonly<{ sql: string; times: number; rows: number }>;

/** One entry of a commit, as it was handed to SQLite. */
export type Written = Readonly<{ stream: string; seq: number; kind: string; call: string | null }>;
/** The seal of a commit. */
export type WrittenSeal = Readonly<{ writer: string; number: number; recovered: boolean }>;

/** A line of a victim. Written synchronously, so that it stands in the order of what the victim did. */
export type Said =
  /** Sent by the runner, so that a victim that dies at once still has a name. */
  | Readonly<{ kind: "guest"; orders: Orders }>
  | Readonly<{ kind: "hello"; pid: number }>
  | Readonly<{ kind: "begins"; job: Job["kind"] }>
  | Readonly<{
      kind: "mark";
      point: string;
      step: "begin" | "commit" | "committed" | "enter" | "got";
      written: readonly Written[];
      seal: WrittenSeal | null;
    }>
  | Readonly<{
      kind: "effect";
      point: string;
      request: number;
      session: string;
      key: string;
      call: string;
      tool: string;
      n: number;
      start: number;
    }>
  | Readonly<{ kind: "reconcile"; request: number; key: string }>
  /** A call that is a group of processes, by the group's number. */
  | Readonly<{ kind: "group"; group: number }>
  /** All its database statements. */
  | Readonly<{ kind: "queries"; queries: readonly Query[] }>
  | Readonly<{ kind: "memory"; rss: number }>
  | Readonly<{ kind: "model"; point: string; request: number; session: string; iteration: number; attempt: number }>
  | Readonly<{ kind: "reached"; point: string }>
  | Readonly<{ kind: "did"; job: Job["kind"]; outcome: Did }>;

/** A transaction that writes a seal over earlier appends, and no entry. */
export const isSealAlone = (mark: Extract<Said, { kind: "mark" }>): boolean => mark.seal !== null && mark.written.length === 0;

export type Did =
  | Readonly<{ kind: "result"; session: string; state: "ended" | "waiting"; ending: string | null; output: string | null }>
  | Readonly<{ kind: "nothing" }>
  | Readonly<{ kind: "put"; as: "new" | "known" }>
  | Readonly<{ kind: "fault"; fault: Fault }>;

/** A note of the counter: a victim's line with the journal's state at that moment, or the victim's end. */
export type Noted =
  | Exclude<Said, { kind: "guest" | "effect" | "model" }>
  | (Extract<Said, { kind: "effect" }> & Readonly<{ durable: boolean }>)
  | (Extract<Said, { kind: "model" }> & Readonly<{ asked: boolean; recorded: boolean }>)
  | Readonly<{ kind: "gone" }>;
/** A line of the counter's log. */
export type Line = Noted & Readonly<{ victim: string; ms: number }>;

/** From the runner to the counter. */
export type Order = Readonly<{ kind: "answer"; victim: string; what: string }>;
/** From the counter to the runner. */
export type Report = Readonly<{ kind: "listening" } | { kind: "line"; line: Line }>;
/** From the counter to a victim. */
export type Reply = Readonly<{ request: number; value: string | null }>;

export const encode = (message: Said | Reply): string => `${JSON.stringify(message)}\n`;
/** Both ends are this suite's own processes: a message that does not match these types is a bug here. */
export const decode = <T>(text: string): T => JSON.parse(text) as T;

/** Whole lines out of chunks. */
export function lines(take: (line: string) => void): (chunk: string) => void {
  let rest = "";
  return (chunk) => {
    const parts = (rest + chunk).split("\n");
    rest = parts.pop() ?? "";
    for (const part of parts) take(part);
  };
}
