/**
 * A turn that answers with a value: the schema it is asked for, the result of checking an answer, and how often it is asked for again.
 * M-23 the driver checks an answer before it is delivered; the fold uses only the recorded result.
 * Rule: M-24.
 */
import { checkBySpec, toOutputSpec } from "../../agents/define-output.ts";

import { copyFrozen, type Finish, type JournalEvent, type Output, readJson, type SessionEvent } from "../../vocab/index.ts";
import type { Outputs, Ports } from "../ports.ts";
import { answerIn, type Turn } from "../state.ts";

type Of<K extends SessionEvent["kind"]> = Extract<SessionEvent, { kind: K }>;

// ── by the driver ──

/** The agent's own, but for the one turn that a run brings another for. */
export const toOutputs = (own: Output | null, run: Readonly<{ turn: number; output: Output }> | null = null): Outputs => ({
  of: (turn) => (run?.turn === turn ? run.output : own),
  find: (digest) => [run?.output ?? null, own].find((one) => one?.digest === digest) ?? null,
});

/** The events that follow the start of a turn, in the same commit. */
export function outputAskedEvents(p: Pick<Ports, "outputs">, event: JournalEvent): readonly Of<"output.asked">[] {
  if (event.kind !== "turn.started") return [];
  const output = p.outputs.of(event.turn);
  return output === null ? [] : [{ kind: "output.asked", output: toOutputSpec(output) }];
}

/** It comes again with its turn, when that is recorded again. */
export const isOutputAsked = (event: JournalEvent): boolean => event.kind === "output.asked";

export function checkOutput(p: Pick<Ports, "outputs">, t: Turn): Of<"output.checked"> | null {
  const { output, iterations: iteration } = t;
  const answer = answerIn(t);
  if (output === null || answer === null) return null;
  const own = p.outputs.find(output.spec.digest);
  const by = own === null ? "journal" : "own";
  const read = readJson(unfenced(answer));
  if (read.kind === "not-json") {
    const where = `line ${read.line}, column ${read.column}`;
    return { kind: "output.checked", iteration, by, result: { kind: "misfit", issues: [`it is not JSON: ${read.detail} (${where})`] } };
  }
  const value = copyFrozen(read.value);
  return { kind: "output.checked", iteration, by, result: own === null ? checkBySpec(output.spec, value) : own.check(value) };
}

/** The one thing around JSON that is taken off: a fence around all of it. */
const unfenced = (text: string): string => /^```(?:json)?[ \t]*\n([\s\S]*)\n```$/.exec(text.trim())?.[1] ?? text;

/** An answer by a schema is delivered once it fits or not at all: an early ending does not return an answer that was never checked, or did not fit. */
export const isUnlooked = ({ output }: Turn, finish: Finish, calls: number): boolean =>
  output !== null && calls === 0 && finish !== "refused" && finish !== "filtered";
