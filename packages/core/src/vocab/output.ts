/** A structured answer: the required form of a turn's answer, as journalled, and the result of checking one. */

import type { Digest } from "./ids.ts";
import type { Json, JsonObject } from "./text/canonical.ts";

/** Required output of a turn: enough for a process that has nothing but the journal. */
export type OutputSpec = Readonly<{
  /** Of an object, always: what is no object is the one field `value` of it. */
  schema: JsonObject;
  digest: Digest;
  /** Whether the answer is the field `value` of that object. */
  wrapped: boolean;
  /** How often an answer that does not fit is asked for again. */
  repairs: number;
}>;

export type CheckedOutput =
  | Readonly<{ kind: "fits"; value: Json }>
  | Readonly<{ kind: "misfit"; issues: readonly string[] }>
  /** The schema itself cannot say: no other answer would change that. */
  | Readonly<{ kind: "broken"; detail: string }>;

/** A spec with the function that checks an answer, as parsed JSON, by it. */
export type Output = OutputSpec & Readonly<{ check(value: Json): CheckedOutput }>;

/** A model's answer as it is asked for: as the text of its reply, or as the arguments of its call of this tool, which is not one of the agent's. */
export type AnswerForm = Readonly<{ kind: "text"; schema: JsonObject }> | Readonly<{ kind: "call"; tool: string }>;
