import { PER_MESSAGE } from "../../reason/tokens.ts";
import { toCanonicalJson } from "../../vocab/index.ts";
import type { EventOf } from "../fold-parts.ts";
import type { State, Turn } from "../state.ts";
import { tokenCounter } from "./conversation.ts";
import { continueTurn } from "./evolve-conversation.ts";
/** The fold of structured answers: what is asked for, whether an answer fits, and how often it is asked for again. */
export function foldOutputAsked(s: State, t: Turn, { output: spec }: EventOf<"output.asked">): void {
  t.output = { spec, tokens: tokenCounter(s)(toCanonicalJson(spec.schema)) + PER_MESSAGE + AROUND };
}

/** Name and description of the tool that carries the answer, for models that need one. */
const AROUND = 40;

export function foldOutputChecked(s: State, t: Turn, { result }: EventOf<"output.checked">): void {
  if (t.phase.kind !== "answering" || t.output === null) return;
  switch (result.kind) {
    case "fits":
      t.phase = { ...t.phase, fits: { value: result.value } };
      return;
    case "broken":
      t.failure ??= `the answer cannot be checked: ${result.detail}`;
      return;
    case "misfit": {
      const list = result.issues.map((issue) => `- ${issue}`).join("\n");
      repair(s, t, `[does not fit] your answer is not what was asked for:\n${list}`, result.issues.join("; "));
    }
  }
}

export const foldCutOffAnswer = (s: State, t: Turn): void =>
  repair(s, t, "[cut off] your answer reached the output limit, so it was not taken. Be brief.", "it was cut off at the output limit");

function repair(s: State, t: Turn, note: string, why: string): void {
  const spec = t.output?.spec;
  if (spec === undefined) return;
  if (t.repairs >= spec.repairs) {
    const times = spec.repairs === 0 ? "" : `, asked for again ${spec.repairs} times`;
    t.failure ??= `the answer does not fit what was asked for${times}: ${why.slice(0, LONGEST).toWellFormed()}`;
    return;
  }
  t.repairs += 1;
  const schema = toCanonicalJson(spec.schema);
  const shown = schema.length <= LONGEST ? ` It is JSON by this schema: ${schema}` : "";
  continueTurn(s, t, `${note}\nAnswer again, whole, with nothing else around it.${shown}`);
}
const LONGEST = 4_000;

/** Once, by the reply that it is about. */
export function takeMisread(t: Turn): string | null {
  const { misread } = t;
  t.misread = null;
  return misread === null ? null : `[not understood] ${misread} Nothing was run.`;
}
