/**
 * A turn that answers with a value: what it is asked for, what came of looking at an answer, and how often it is asked for again.
 * M-23 an answer is looked at before it is delivered, by the driver; the fold uses only what was recorded of that.
 * Rule: M-24.
 */
import { checkBySpec, specOf } from "../../agents/define-output.ts";
import { PER_MESSAGE } from "../../reason/tokens.ts";
import { canonical, type Finish, frozenCopy, type JournalEvent, type Output, readJson, type SessionEvent } from "../../vocab/index.ts";
import type { Outputs, Ports } from "../ports.ts";
import type { State, Turn } from "../state.ts";
import { counted, goOn } from "./conversation.ts";

type Of<K extends SessionEvent["kind"]> = Extract<SessionEvent, { kind: K }>;

// ── by the driver ──

/** The agent's own, but for the one turn that a run brings another for. */
export const outputsOf = (own: Output | null, run: Readonly<{ turn: number; output: Output }> | null = null): Outputs => ({
  of: (turn) => (run?.turn === turn ? run.output : own),
  find: (digest) => [run?.output ?? null, own].find((one) => one?.digest === digest) ?? null,
});

/** What follows from the start of a turn, in the same commit. */
export function askedWith(p: Pick<Ports, "outputs">, event: JournalEvent): readonly Of<"output.asked">[] {
  if (event.kind !== "turn.started") return [];
  const output = p.outputs.of(event.turn);
  return output === null ? [] : [{ kind: "output.asked", output: specOf(output) }];
}

/** It comes again with its turn, when that is recorded again. */
export const isAskedWith = (event: JournalEvent): boolean => event.kind === "output.asked";

export function checkOutput(p: Pick<Ports, "outputs">, t: Turn): Of<"output.checked"> | null {
  const { output, answer, iterations: iteration } = t;
  if (output === null || answer === null) return null;
  const own = p.outputs.find(output.spec.digest);
  const by = own === null ? "journal" : "own";
  const read = readJson(unfenced(answer));
  if (read.kind === "not-json") {
    const where = `line ${read.line}, column ${read.column}`;
    return { kind: "output.checked", iteration, by, result: { kind: "misfit", issues: [`it is not JSON: ${read.detail} (${where})`] } };
  }
  const value = frozenCopy(read.value);
  return { kind: "output.checked", iteration, by, result: own === null ? checkBySpec(output.spec, value) : own.check(value) };
}

/** The one thing around JSON that is taken off: a fence around all of it. */
const unfenced = (text: string): string => /^```(?:json)?[ \t]*\n([\s\S]*)\n```$/.exec(text.trim())?.[1] ?? text;

// ── by the fold ──

export function outputAsked(s: State, t: Turn, { output: spec }: Of<"output.asked">): void {
  t.output = { spec, tokens: counted(s)(canonical(spec.schema)) + PER_MESSAGE + AROUND };
}

/** What a tool for it is called and said to be, where there has to be one. */
const AROUND = 40;

export function outputChecked(s: State, t: Turn, { result }: Of<"output.checked">): void {
  if (t.answer === null || t.output === null) return;
  switch (result.kind) {
    case "fits":
      t.fits = { value: result.value };
      return;
    case "broken":
      t.failure ??= `the answer cannot be looked at: ${result.detail}`;
      return;
    case "misfit": {
      const list = result.issues.map((issue) => `- ${issue}`).join("\n");
      again(s, t, `[does not fit] your answer is not what was asked for:\n${list}`, result.issues.join("; "));
    }
  }
}

/** An answer by a schema, which is delivered once it fits or not at all: an early ending does not hand out what was never looked at, or did not fit. */
export const isUnlooked = ({ output }: Turn, finish: Finish, calls: number): boolean =>
  output !== null && calls === 0 && finish !== "refused" && finish !== "filtered";

export const cutOffAnswer = (s: State, t: Turn): void =>
  again(s, t, "[cut off] your answer reached the output limit, so it was not taken. Be brief.", "it was cut off at the output limit");

function again(s: State, t: Turn, note: string, why: string): void {
  const spec = t.output?.spec;
  if (spec === undefined) return;
  if (t.repairs >= spec.repairs) {
    const times = spec.repairs === 0 ? "" : `, asked for again ${spec.repairs} times`;
    t.failure ??= `the answer does not fit what was asked for${times}: ${why.slice(0, LONGEST).toWellFormed()}`;
    return;
  }
  t.repairs += 1;
  const schema = canonical(spec.schema);
  const shown = schema.length <= LONGEST ? ` It is JSON by this schema: ${schema}` : "";
  goOn(s, t, `${note}\nAnswer again, whole, with nothing else around it.${shown}`);
}
const LONGEST = 4_000;

/** Once, by the reply that it is about. */
export function takeMisread(t: Turn): string | null {
  const { misread } = t;
  t.misread = null;
  return misread === null ? null : `[not understood] ${misread} Nothing was run.`;
}
