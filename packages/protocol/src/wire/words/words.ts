/**
 * The words of an operation: plain data that help, completion and slash commands read without loading a decoder. `operations/` has the schemas;
 * `defineOperations` binds the two by name.
 */

/**
 * The act that policies decide before an operation runs: an action of `User`, and its target. `session` means the session and its agent. An operation
 * on `listing` is always allowed, and returns only the items that the caller may `observe`.
 */
export const ACT_NAMES = [
  "list",
  "observe",
  "run",
  "say",
  "steer",
  "cancel",
  "open",
  "close",
  "approve",
  "deny",
  "withdraw",
  "resolve",
  "halt",
  "set-breaker",
  "read-journal",
  "edit-policy",
  "edit-schedule",
  "run-schedule",
] as const;
export type ActName = (typeof ACT_NAMES)[number];
export type ActOn =
  | "listing"
  | "agent"
  | "session"
  | "approval"
  | "grant"
  | "call"
  | "breaker"
  | "work"
  | "policies"
  | "schedule"
  | "project";
export type OperationAct = Readonly<{ kind: ActName; on: ActOn }>;

export type Method = "GET" | "POST";

/** One argument or option of a command, and the field of the input that it fills. */
export type CliField = Readonly<{
  /** As help names the value: `SCHEDULE`, `TEXT`. */
  value: string;
  help: string;
  /** The field of the operation's input; an option fills the field of its own name unless this says otherwise. */
  field?: string;
  /**
   * How text becomes the field's value. `text` unless given; `flag` takes no value. `session`: an id of a session, the caller's own id for it, or enough of
   * the id's beginning or end.
   */
  as?: "text" | "number" | "time" | "duration" | "flag" | "session";
  choices?: readonly string[];
  required?: boolean;
  /** The text that counts if the option is left out, where that differs from the schema's own default. */
  default?: string;
}>;

/** How an operation looks on the command line. */
export type CliWords = Readonly<{
  /** `schedules pause`. */
  command: string;
  /** If the command says more, or less, than the operation's own summary. */
  summary?: string;
  /** Positional arguments, in order. */
  args?: readonly CliField[];
  options?: Readonly<Record<string, CliField>>;
  /** Fields that this command always fills alike. */
  fixed?: Readonly<Record<string, string | number | boolean>>;
  notes?: readonly string[];
  examples: readonly string[];
}>;
/**
 * One argument of a slash command, and the fields of the input that it fills. A value such as `all | agent NAME` names the forms that it can have.
 * `as` says how words become fields: `text` unless given.
 * `scope`: `all`, `agent NAME` or `tool NAME`. `agent-scope`: the name of an agent. `agent`: the addressed one if left out. `session`: an id, a name or a
 * part of either; the conversation's if left out. `conversation`: the session of the conversation, without a word. `call`: the short name of a call whose
 * outcome is unknown; fills `session` and `call`. `flag`: true if its value is written. `time` and `duration` are read as on the command line.
 */
export type SlashField = Omit<CliField, "as" | "default"> &
  Readonly<{
    as?: "text" | "number" | "time" | "duration" | "scope" | "agent-scope" | "agent" | "session" | "conversation" | "call" | "flag";
  }>;
/**
 * How an operation looks in the shell: `/cron pause NAME` has the command `cron`, the verb `pause` and the argument `NAME`. The verb `list` is meant where
 * none is written.
 */
export type SlashWords = Readonly<{
  command: string;
  verb?: string;
  /** The line of `/help`, where it says something else than the operation's summary. */
  summary?: string;
  /** Further lines of its help. */
  notes?: readonly string[];
  args?: readonly SlashField[];
  /** Fields of the input that nobody types. */
  fixed?: Readonly<Record<string, string | number | boolean>>;
  /** The fields of a list's items that a table shows; needed where `shell/commands/` has no renderer of the operation. */
  columns?: readonly string[];
}>;
/** One field that the coordinator's model may give, and the field of the operation's input that it fills: the one of its own name unless `field` says otherwise. */
export type ToolField = Readonly<{ about?: string; isOptional?: boolean; field?: string }> &
  Readonly<
    | { kind: "name"; longest?: number }
    | { kind: "text"; longest: number; default?: string }
    | { kind: "choice"; choices: readonly string[]; default?: string }
    /** `times`: how much larger the input's own unit is counted; 60,000 for minutes that become milliseconds. */
    | { kind: "count"; most: number; default?: number; times?: number }
  >;
/** One field of what the model gets: where it is in the result (`principal.id`), and how it is written. */
export type ToolShown = string | Readonly<{ from: string; as: "ago" | "time" | "due" | "firing" | "times" }>;
/** How an operation looks to the coordinator's model. */
export type ToolWords = Readonly<{
  name: string;
  about: string;
  fields?: Readonly<Record<string, ToolField>>;
  /** Fields of the input that the model has no part in. */
  fixed?: Readonly<Record<string, string | number | boolean>>;
  /** The resource that policies see: its type, and the field that has its id. */
  resource?: Readonly<{ type: string; field: string }>;
  /** True if the runtime alone makes every word of the result; otherwise the result is labelled as untrusted. */
  isOwnWords?: boolean;
  /** The part of the result that the model gets, where no projection of the server says it: of a list, the name of the list and the fields of each item. */
  shows?: Readonly<{ list: string; fields: Readonly<Record<string, ToolShown>> }>;
}>;

export type OperationWords = Readonly<{
  method: Method;
  /** Below `/api/v1`; `{name}` is a parameter. */
  path: string;
  status: 200 | 201 | 202;
  /** `open`: no sign-in needed. `self`: any signed-in caller, about themselves. */
  act: OperationAct | "open" | "self";
  idempotencyKey: boolean;
  tag: string;
  /** One sentence that begins with a verb. */
  summary: string;
  /** The reason why only a connection to a server can use it; commands, slash commands and tools then cannot. */
  onlyConnected?: string;
  cli?: CliWords;
  /** Further commands of the same operation, such as one that fixes some of its fields. */
  alsoCli?: readonly CliWords[];
  /** A command that does this and more, written by hand: it waits, asks, or works where the project does not load. */
  inCommand?: string;
  slash?: readonly SlashWords[];
  tool?: ToolWords;
}>;

type GivenWords = Omit<OperationWords, "method" | "idempotencyKey" | "tag" | "status">;
type Created = Readonly<{ status?: 201 | 202 }>;
type Described<W, M extends Method, K extends boolean> = W &
  Readonly<{ method: M; idempotencyKey: K; status: W extends { status: infer S extends OperationWords["status"] } ? S : 200 }>;

/** Reads. */
export const get = <const W extends GivenWords>(words: W): Described<W, "GET", false> =>
  ({ status: 200, ...words, method: "GET", idempotencyKey: false }) as Described<W, "GET", false>;
/** Changes something, so it needs an idempotency key. */
export const post = <const W extends GivenWords & Created>(words: W): Described<W, "POST", true> =>
  ({ status: 200, ...words, method: "POST", idempotencyKey: true }) as Described<W, "POST", true>;
/** Reads, with a body; it changes nothing, so it needs no idempotency key. */
export const ask = <const W extends GivenWords & Created>(words: W): Described<W, "POST", false> =>
  ({ status: 200, ...words, method: "POST", idempotencyKey: false }) as Described<W, "POST", false>;

type Tagged<G> = { readonly [K in keyof G]: G[K] & Readonly<{ tag: string }> };
export const tagged = <const G extends Readonly<Record<string, Omit<OperationWords, "tag">>>>(tag: string, group: G): Tagged<G> =>
  Object.fromEntries(Object.entries(group).map(([name, words]) => [name, { ...words, tag }])) as Tagged<G>;
