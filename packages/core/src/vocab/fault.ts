/** Faults: conditions that stop driving or refuse to start. Plain data: journalled, printed, sent over sockets, matched on by `kind`. */
import type { ActionText, CallId, Epoch, GrantId, IntentId, Seq, SessionId, StreamId } from "./ids.ts";
import type { UnknownCause } from "./outcome.ts";

export type Fault =
  // the journal
  | { readonly kind: "entry-bad"; readonly stream: StreamId; readonly seq: Seq; readonly detail: string }
  | { readonly kind: "seal-bad"; readonly writer: string; readonly number: number; readonly detail: string }
  | { readonly kind: "entry-erased"; readonly stream: StreamId; readonly seq: Seq }
  | { readonly kind: "append-conflict"; readonly stream: StreamId; readonly expected: Seq; readonly found: Seq }
  | { readonly kind: "journal-unwritable"; readonly detail: string }
  | { readonly kind: "journal-replaced"; readonly file: string; readonly how: "removed" | "replaced" | "emptied" }
  | { readonly kind: "journal-doubted"; readonly what: string; readonly detail: string }
  /** `file` is null where the journal lies in a database, which `detail` names. */
  | { readonly kind: "journal-unreadable"; readonly file: string | null; readonly detail: string }
  | { readonly kind: "history-invalid"; readonly index: number; readonly detail: string }
  // holds
  | { readonly kind: "halted"; readonly scope: string }
  | { readonly kind: "counters-moved"; readonly counter: string }
  | { readonly kind: "session-held"; readonly session: SessionId; readonly by: string }
  | { readonly kind: "hold-lost"; readonly session: SessionId; readonly epoch: Epoch }
  | { readonly kind: "session-unknown"; readonly session: string }
  | { readonly kind: "runtime-closed" }
  | { readonly kind: "session-closed"; readonly session: SessionId }
  | { readonly kind: "agent-other"; readonly session: SessionId; readonly agent: string }
  | { readonly kind: "session-busy"; readonly session: SessionId }
  | { readonly kind: "external-taken"; readonly external: string; readonly session: SessionId }
  // permits, tools, models
  | { readonly kind: "grant-revoked"; readonly grant: GrantId }
  | { readonly kind: "permit-refused"; readonly action: ActionText | CallId; readonly detail: string }
  | { readonly kind: "tool-twice"; readonly tool: string }
  | { readonly kind: "tool-invalid"; readonly tool: string; readonly detail: string }
  /** Thrown by a tool: nothing was sent, since what it talks to cannot be reached. */
  | { readonly kind: "unreachable"; readonly what: string; readonly detail: string; readonly hint: string }
  /** Thrown by a tool: the request was sent, and its outcome is unknown. */
  | { readonly kind: "outcome-unknown"; readonly cause: UnknownCause; readonly detail: string }
  | {
      readonly kind: "model-failed";
      readonly detail: string /** A stream that broke, or any failure that a repeat may mend. */;
      readonly again: boolean;
      readonly broke: boolean;
      /** The provider's HTTP status, where it answered. */
      readonly status?: number | null;
      /** How long the provider asks to be left alone. */
      readonly retryAfterMs?: number | null;
      /** It passes by itself: too many requests, an overload, a lost connection, a time-out. */
      readonly transient?: boolean;
    }
  | { readonly kind: "model-unknown"; readonly model: string; readonly detail: string }
  // files and input
  | { readonly kind: "file-refused"; readonly name: string | null; readonly detail: string }
  | {
      readonly kind: "file-bad";
      readonly file: string;
      readonly line: number | null;
      readonly column: number | null;
      readonly detail: string;
      readonly hint: string;
    }
  | { readonly kind: "path-protected"; readonly path: string; readonly what: string }
  | { readonly kind: "agent-invalid"; readonly where: string; readonly detail: string; readonly hint: string }
  /** `session`: the one that cannot go on without it. */
  | { readonly kind: "agent-missing"; readonly agent: string; readonly known: readonly string[]; readonly session?: string }
  | { readonly kind: "not-permitted"; readonly user: string; readonly what: string; readonly reason: string }
  | { readonly kind: "policies-missing"; readonly folder: string }
  | { readonly kind: "policies-refused"; readonly problems: readonly [PolicyIssue, ...PolicyIssue[]] }
  | { readonly kind: "project-missing"; readonly from: string }
  | { readonly kind: "key-bad"; readonly key: string; readonly detail: string; readonly hint: string }
  | { readonly kind: "intent-refused"; readonly intent: IntentId; readonly detail: string }
  | { readonly kind: "usage"; readonly detail: string; readonly hint: string };

/** A defect in a policy or its decision table, and where it is. */
export type PolicyIssue = {
  readonly file: string;
  readonly line: number;
  readonly column: number;
  readonly detail: string;
  readonly hint: string;
};

/** The only class we throw. Boundaries catch it, keep `fault` and drop the class. */
export class FaultError extends Error {
  override readonly name = "FaultError";
  readonly fault: Fault;
  constructor(fault: Fault, cause?: unknown) {
    super(describeFault(fault).message, { cause });
    this.fault = fault;
  }
}

/** Wrong input of a person or a program: what is wrong, and what to write instead. */
export const usageFault = (detail: string, hint: string): FaultError => new FaultError({ kind: "usage", detail, hint });

type FaultOf<K extends Fault["kind"]> = Extract<Fault, { kind: K }>;

export const isFault = <K extends Fault["kind"] = Fault["kind"]>(
  error: unknown,
  kind?: K,
): error is FaultError & { readonly fault: FaultOf<K> } => error instanceof FaultError && (kind === undefined || error.fault.kind === kind);

type FaultText = Readonly<{ message: string; hint: string }>;

const line = (message: string, hint: string): FaultText => ({ message, hint });

const TEXTS: Readonly<{ [K in Fault["kind"]]: (f: FaultOf<K>) => FaultText }> = {
  "entry-bad": (f) =>
    line(
      `entry ${f.seq} of stream \`${f.stream}\` is bad: ${f.detail}`,
      f.detail.endsWith("written by a newer version?")
        ? "nothing is wrong with the journal: use the newer version here too"
        : "run `orgate journal verify`; restore the journal from a copy whose head you trust",
    ),
  "seal-bad": (f) =>
    line(
      `seal ${f.number} of writer \`${f.writer}\` is bad: ${f.detail}`,
      "run `orgate journal verify`; restore the journal from a copy whose head you trust",
    ),
  "entry-erased": (f) =>
    line(`entry ${f.seq} of session \`${f.stream}\` was erased on request, so the session cannot go on`, "open a new session"),
  "append-conflict": (f) =>
    line(`stream \`${f.stream}\` is at ${f.found}, not at ${f.expected}`, "another writer was first: read the stream again, then append"),
  "journal-unwritable": (f) =>
    line(
      `the journal cannot be written: ${f.detail}`,
      "nothing was run after the last durable entry; mend the disk, then `orgate sessions resume`",
    ),
  "journal-replaced": (f) =>
    line(
      `\`${f.file}\` was ${f.how} while this process used it, so what it writes may be lost`,
      "nothing more is run here; stop every orgate process of the project, put the files back together, run `orgate journal verify --head`, then start again",
    ),
  "journal-doubted": (f) =>
    line(
      `the project is read-only, because its journal was changed from outside: ${f.what}: ${f.detail}`,
      'run `orgate journal verify` and restore a journal that you trust; `orgate journal acknowledge --reason "…"` then lets work go on',
    ),
  "journal-unreadable": ({ file, detail }) =>
    file === null
      ? line(
          `the journal cannot be read: ${detail}`,
          "look at `[cluster]` in orgate.toml, and whether the database runs; docs/guide/cluster.md says more",
        )
      : line(
          `\`${file}\` cannot be read as a journal: ${detail}`,
          "a project's journal begins with its first `orgate run`; a damaged file is best replaced by a copy whose head you trust",
        ),
  "history-invalid": (f) =>
    line(
      `message ${f.index} of the imported history is invalid: ${f.detail}`,
      "import messages of `user`, `assistant` and `tool`, the first by `user`, each call answered once and in order before anything else is said",
    ),
  halted: (f) =>
    line(
      `work is halted (${f.scope})`,
      `\`orgate halts\` says who halted it; \`orgate resume-work ${f.scope.replace(":", " ")} --reason "…"\` lets it go on`,
    ),
  "counters-moved": (f) => line(`\`${f.counter}\` was counted elsewhere meanwhile`, "it is decided again by whoever drives it"),
  "session-held": (f) =>
    line(
      `session \`${f.session}\` is held by ${f.by}`,
      "wait for it, or send it a wish (`orgate sessions steer|cancel`); it is free at once when that process ends",
    ),
  "hold-lost": (f) => line(`the hold ${f.epoch} on session \`${f.session}\` was lost`, "another process drives it now"),
  "session-unknown": (f) => line(`there is no session \`${f.session}\``, "`orgate sessions list` shows those of this project"),
  "runtime-closed": () => line("the runtime is closed", "create another with `createRuntime`"),
  "session-closed": (f) => line(`session \`${f.session}\` is closed`, "open a new one"),
  "agent-other": (f) => line(`session \`${f.session}\` belongs to agent \`${f.agent}\``, "run it with that agent, or open a new session"),
  "session-busy": (f) => line(`session \`${f.session}\` has a turn in progress`, "steer it, cancel it, or wait for its end"),
  "external-taken": (f) =>
    line(
      `the id \`${f.external}\` is that of session \`${f.session}\``,
      "it has another agent, principal or origin: choose another id, or go on in that session",
    ),
  "grant-revoked": (f) => line(`grant \`${f.grant}\` was revoked`, "what it covered asks again"),
  "permit-refused": (f) => line(`no permit for \`${f.action}\`: ${f.detail}`, "only what a durable `allow` names may run, once"),
  "tool-twice": (f) => line(`two tools are named \`${f.tool}\``, "rename one of them"),
  "tool-invalid": (f) => line(`tool \`${f.tool}\` is invalid: ${f.detail}`, "see docs/guide/tools.md"),
  unreachable: (f) => line(`unreachable: ${f.what}: ${f.detail}`, f.hint),
  "outcome-unknown": (f) =>
    line(`nobody can tell whether it took effect: ${f.detail}`, "`orgate sessions show` lists it; `orgate sessions resolve` settles it"),
  "model-failed": (f) =>
    line(
      `the model failed: ${f.detail}`,
      f.again ? "it may work again later: `orgate sessions resume`" : "check the model's name, key and request",
    ),
  "model-unknown": (f) =>
    line(`model \`${f.model}\` cannot be used: ${f.detail}`, "`orgate doctor` shows what is usable; `offline/…` needs no key"),
  "file-refused": (f) =>
    line(
      `${f.name === null ? "a file" : `file \`${f.name}\``} cannot be part of a message: ${f.detail}`,
      "accepted are image/png, image/jpeg, image/gif, image/webp, application/pdf and text/…; docs/guide/models.md tells how much of it",
    ),
  "file-bad": (f) => {
    const at = f.line === null ? f.file : `${f.file}:${f.line}:${f.column ?? 1}`;
    return line(`${at}: ${f.detail}`, f.hint);
  },
  "path-protected": (f) =>
    line(
      `\`${f.path}\` is protected: ${f.what}`,
      "no tool writes what decides, what is run, or the record; `orgate policy apply` changes policies",
    ),
  "agent-invalid": (f) => line(`${f.where}: ${f.detail}`, f.hint),
  "agent-missing": (f) =>
    line(
      `there is no agent \`${f.agent}\``,
      f.session !== undefined
        ? `put its file back, or end the session without it: \`orgate sessions cancel ${f.session}\` or \`orgate approvals deny ID --reason WHY\`, then \`orgate sessions close ${f.session}\``
        : f.known.length === 0
          ? "look at the list of agents: it has those that you may see"
          : `known agents: ${f.known.join(", ")}`,
    ),
  "not-permitted": (f) =>
    line(`\`${f.user}\` may not ${f.what}: ${f.reason}`, "policies/ says who may, and orgate.toml who is in which group"),
  "policies-missing": (f) =>
    line(
      `there is no policy in \`${f.folder}\`, so nothing runs, the model included`,
      "`orgate init` writes starter policies; docs/guide/policies.md tells how they read",
    ),
  "policies-refused": (f) => {
    const [{ file, line: at, column, detail, hint }, ...more] = f.problems;
    const others = more.length === 0 ? "" : ` (and ${more.length} more)`;
    return line(
      `${file}:${at}:${column}: ${detail}${others}`,
      [hint, "`orgate policy check` shows all"].filter((t) => t !== "").join("; "),
    );
  },
  "project-missing": (f) =>
    line(`no \`orgate.toml\` in \`${f.from}\` or above it`, "`orgate init` makes a project, or name one with --project DIR"),
  "key-bad": (f) => line(`key \`${f.key}\`: ${f.detail}`, f.hint),
  "intent-refused": (f) => line(`refused: ${f.detail}`, "`orgate sessions show` shows what happened and what the session waits for"),
  usage: (f) => line(f.detail, f.hint),
};

const textFor = <K extends Fault["kind"]>(kind: K, fault: FaultOf<K>): FaultText => TEXTS[kind](fault);

/** A fault of another version, or of a program that casts, must not hide behind a `TypeError`. */
export const isFaultKind = (text: string): text is Fault["kind"] => Object.hasOwn(TEXTS, text);

/** One line for people, lower case, and what to do next. */
export const describeFault = (fault: Fault): FaultText =>
  isFaultKind(fault.kind)
    ? textFor(fault.kind, fault)
    : line(
        `a fault of a kind that this version does not know: \`${String(Object(fault).kind)}\``,
        "update Orgate, or look into the log of what sent it",
      );
