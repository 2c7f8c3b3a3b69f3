/** Notes of tools and middleware: on record, and of no consequence. What is too long or not JSON is left out with a word, and never stops the drive. */
import { toErrorText } from "../../act/act.ts";
import { type CallId, copyFrozen, type JournalEvent, type Json, type JsonObject, toCanonicalJson } from "../../vocab/index.ts";

const NOTE_MAX = 16_384;

export const noteEvent = (from: string, call: CallId | null, name: string, value: Json): JournalEvent => ({
  kind: "note",
  from,
  call,
  name: toErrorText(name).slice(0, 64).toWellFormed(),
  value: fitting(value),
});

function fitting(value: Json): Json {
  try {
    const own = copyFrozen(value);
    return toCanonicalJson(own).length <= NOTE_MAX ? own : `[left out: a note holds at most ${NOTE_MAX} characters]`;
  } catch {
    return "[left out: a note is JSON]";
  }
}

const PROOF_MAX = 65_536;

/** Evidence that a tool gives of one run, field by field. A value that is too long or not JSON is left out and marked: it never stops a call that has had its effect. */
export function evidenceRecorder(bill: { proof: JsonObject | null }): (proof: JsonObject) => void {
  return (proof) => {
    try {
      const own: JsonObject = copyFrozen({ ...bill.proof, ...proof });
      bill.proof =
        toCanonicalJson(own).length <= PROOF_MAX ? own : { ...bill.proof, leftOut: `proof holds at most ${PROOF_MAX} characters` };
    } catch {
      bill.proof = { ...bill.proof, leftOut: "proof is JSON" };
    }
  };
}
