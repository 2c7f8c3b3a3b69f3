/**
 * Every key of every block: what it takes and what it does. Reading, checking, documenting and completing a block all use this table.
 * Y-2 a key that is not here is refused with its place and what may have been meant; Y-3 for every key here there is a run whose outcome changes with its value.
 */
export type ValueKind =
  /** A text in quotes. */
  | "text"
  /** A name, with or without quotes. */
  | "word"
  | "words"
  | "whole number"
  | "number"
  | "amount of money"
  | "time"
  | "true or false"
  | "value"
  | "secret";
export type BlockKey = Readonly<{ takes: ValueKind; choices?: readonly string[]; says: string }>;
export type Keys = Readonly<Record<string, BlockKey>>;

const METADATA: Keys = {
  description: { takes: "text", says: "what the agent is for: its instructions begin with it" },
  version: { takes: "text", says: "of the file; part of what a session records of its agent" },
  author: { takes: "text", says: "who answers for it; part of what a session records of its agent" },
  license: { takes: "text", says: "under which the file may be used; part of what a session records of its agent" },
  tags: { takes: "words", says: "what people look for it by; part of what a session records of its agent" },
};

/** Names of `AgentDefinition`, and of its limits, in the spelling of these files. */
const WITH: Keys = {
  model: { takes: "text", says: "`provider/name`" },
  fallbacks: { takes: "words", says: "models that are asked in its place when it cannot be had, in order" },
  model_options: { takes: "value", says: "what the model's adapter is told beside the request" },
  instructions: { takes: "text", says: "what the agent is told first, after the description" },
  project_instructions: { takes: "true or false", says: "whether the project's AGENTS.md joins its instructions" },
  sandbox: { takes: "word", says: "`process`: what runs programs runs them in a sandbox, or is denied; `none`: no such demand" },
  memory: {
    takes: "word",
    choices: ["persistent", "ephemeral", "none"],
    says: "whether it recalls and remembers, with the file's `memory` block or as it is usual; `ephemeral` is `none`: a session alone remembers what was said in it",
  },
  privacy: { takes: "word", choices: ["high", "normal"], says: "`high`: every output of a tool is labelled `private`" },
  timeout: { takes: "time", says: "of a turn" },
  tool_timeout: { takes: "time", says: "of one call of a tool" },
  budget: { takes: "amount of money", says: "of a turn, in the currency of the prices" },
  iterations: { takes: "whole number", says: "model calls of a turn" },
  tokens: { takes: "whole number", says: "of a turn" },
  calls: { takes: "whole number", says: "calls of tools in a turn" },
  context_tokens: { takes: "whole number", says: "of one request" },
  output_tokens: { takes: "whole number", says: "of one reply" },
  tools_at_once: { takes: "whole number", says: "calls that run at the same time" },
  refused_in_a_row: { takes: "whole number", says: "replies in a row with every call refused that end a turn" },
  observation_chars: { takes: "whole number", says: "characters of one result that the model is shown" },
  temperature: { takes: "number", says: "0 to 2" },
  output_repairs: { takes: "whole number", says: "how often an answer that does not fit the return type is asked for again" },
  groups: { takes: "words", says: "`AgentGroup`s it is in" },
  max_depth: { takes: "whole number", says: "levels of delegates below it" },
  recover: { takes: "value", says: "what is done when a tool fails" },
  retry: { takes: "value", says: "how a model that refuses for the moment is asked again" },
  breaker: { takes: "value", says: "when a tool or the model is left alone after it kept failing" },
  prices: { takes: "value", says: "of its models, by million tokens" },
  tokenizer: { takes: "word", says: "what counts tokens" },
  context: { takes: "value", says: "how a long conversation is kept within `context_tokens`" },
};

const SCHEDULE: Keys = {
  agent: { takes: "word", says: "whose turn each firing is" },
  input: { takes: "text", says: "what the agent is told; unless said, that it is time for this schedule" },
  cron: { takes: "text", says: "when, as 5 or 6 fields; or `at`" },
  at: { takes: "text", says: "when, once; or `cron`" },
  timezone: { takes: "text", says: "IANA; `UTC` unless said" },
  one_shot: { takes: "true or false", says: "done after the first firing" },
  jitter: { takes: "time", says: "each firing is put off by up to this" },
  overlap: { takes: "word", choices: ["skip", "queue"], says: "when the turn before still goes on" },
  missed: { takes: "word", choices: ["skip", "once", "all"], says: "what was due while nobody was there" },
  session: { takes: "word", choices: ["fresh", "shared"], says: "a session for each firing, or one for all" },
  retries: { takes: "whole number", says: "of a firing whose turn failed, before it is set aside" },
  enabled: { takes: "true or false", says: "whether it fires at all" },
};

const WEBHOOK: Keys = {
  agent: { takes: "word", says: "whose turn each delivery is" },
  path: { takes: "text", says: "where it is delivered, from `/` on" },
  provider: { takes: "word", choices: ["github", "stripe", "slack", "custom"], says: "whose signature it bears; `custom` unless said" },
  secret: { takes: "secret", says: '`vault://NAME`, or `"$NAME"` of the environment; a list while one takes the place of another' },
  input: { takes: "text", says: "what the agent is told before the delivery's body" },
  replay_window: { takes: "time", says: "how old a signed delivery may be" },
  max_bytes: { takes: "whole number", says: "of a delivery" },
};
const FILTER: Keys = {
  json_path: { takes: "text", says: "`$.action`" },
  equals: { takes: "value", says: "what stands there" },
  contains: { takes: "text", says: "what stands in it" },
};

/** Of what an agent recalls and remembers; every agent of the file, unless it says `memory = "none"`. */
const MEMORY: Keys = {
  scope: { takes: "word", choices: ["agent", "project", "shared"], says: "how wide it looks" },
  store: { takes: "word", choices: ["agent", "project", "shared"], says: "where it remembers" },
  max_items: { takes: "whole number", says: "recalled for one request; 0 to 50" },
  max_tokens: { takes: "whole number", says: "of what is recalled; 100 to 100000" },
  threshold: { takes: "number", says: "how near something has to be; 0 to 1" },
  keep_learnings: { takes: "true or false", says: "whether what a turn taught is kept" },
};

/** Of the record that `approval(…)` may be given: how a question is asked and answered. */
const APPROVAL: Keys = {
  question: { takes: "text", says: "what the person is asked" },
  approvers: { takes: "words", says: "groups of users; the person who answers must be in one of them" },
  quorum: { takes: "whole number", says: "how many have to say yes" },
  expires: { takes: "time", says: "until when" },
  on_expiry: { takes: "word", choices: ["deny", "halt", "wait"], says: "what happens then" },
  grant: { takes: "text", says: "the widest grant that an approver may give" },
  grant_survives: { takes: "words", says: "labels that may join the session without ending a grant" },
};

export const BLOCK_KEYS = {
  metadata: METADATA,
  with: WITH,
  schedule: SCHEDULE,
  webhook: WEBHOOK,
  "webhook filter": FILTER,
  memory: MEMORY,
  approval: APPROVAL,
} as const satisfies Readonly<Record<string, Keys>>;

/** Known from elsewhere, and not here yet: refused by name, so that nobody believes them to be in force. */
export const UNSUPPORTED_KEYS: Readonly<Record<string, readonly string[]>> = {
  metadata: ["executor", "model", "allowed_tools", "system_prompt", "permission_mode", "min_runtime_version", "dependencies"],
  schedule: ["policy", "audit", "deliver"],
  with: ["security", "executor", "encryption", "requires", "retry_policy", "max_memory_mb", "max_cpu_cores"],
  memory: ["path", "retention", "search"],
};

/** Where what they are for is said here. */
export const REPLACEMENT_KEYS: Readonly<Record<string, string>> = {
  "metadata model": 'say it of the agent: `with model = "provider/name"`',
  "metadata system_prompt": 'say it of the agent: `with instructions = "…"`',
  "metadata allowed_tools": "name them in the agent's `capabilities`, and permit them in a policy",
  "with retry_policy": "`retry` is for models, `recover` for tools",
};
