/** What is done when a tool fails. Data, so that it can be journalled; a function of the user's may choose one. */
export type Recovery =
  /** Run it again, with the same key, after a wait that doubles and is jittered. Never a call that may not be repeated. */
  | Readonly<{ kind: "retry"; times: number; backoffMs: number; maxBackoffMs: number }>
  /** Another tool in its place, with the same arguments; gated like any call. */
  | Readonly<{ kind: "fallback"; tool: string }>
  /** The last result of the very same call in this session, if it is fresh enough. */
  | Readonly<{ kind: "cached"; maxAgeMs: number }>
  /** The error goes to the model. */
  | Readonly<{ kind: "ask-model" }>
  /** A person decides: run it again, with other arguments perhaps, or go on with the error. */
  | Readonly<{ kind: "escalate" }>
  /** Set aside for an operator to look at; the model is told so. */
  | Readonly<{ kind: "dead-letter" }>
  /** The turn ends `failed`. */
  | Readonly<{ kind: "stop" }>;
