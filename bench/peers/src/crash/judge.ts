/**
 * What the counter saw, and what is said of it.
 *
 * X-1 a framework's figures count only after the same work without a kill was the same as everybody's: as many model calls, as many effects,
 *    every result shown to the model, the same text.
 * X-1 an effect counts as doubled for every time beyond the first that it took place, before or after the kill, in a run that came to its end
 *    or not; a model call as repeated when it was asked after the kill for a reply that had been given before it; the call that was in flight
 *    at the kill is told apart; a run is lost unless it comes to the same final text as without a kill.
 */
import { type Case, effectsOf, FINAL, resultOf } from "./cases.ts";
import type { Line, Outcome } from "./wire.ts";

export type Finding = Readonly<{
  lost: boolean;
  effectsDoubled: number;
  callsRepeated: number;
  /** The call that was in flight at the kill, asked again: no reply of it had been given. */
  inFlightRepeated: number;
  /** Done before the kill, in a run that is lost: whoever starts over does them again. */
  effectsStranded: number;
  /** What the person had said before the kill was asked again. */
  askedAgain: boolean;
  /** What the model was told of a call in place of its result. */
  told: string | null;
  why: string | null;
}>;

export function judge(lines: readonly Line[], outcome: Outcome, askedAgain: boolean): Finding {
  const killed = lines.findIndex(({ kind }) => kind === "killed");
  const [before, after] = [lines.slice(0, killed), lines.slice(killed)];
  const answered = new Set(steps(before, "answered"));
  const inFlight = new Set(steps(before, "asked").filter((step) => !answered.has(step)));
  const again = steps(after, "asked");
  const effects = effectsIn(lines);
  const fine = outcome.kind === "ended" && outcome.text === FINAL;
  const seen = after.findLast((l) => l.kind === "asked")?.seen ?? [];
  const results = effects.map(resultOf);
  return {
    lost: !fine,
    effectsDoubled: effects.length - new Set(effects).size,
    callsRepeated: again.filter((step) => answered.has(step)).length,
    inFlightRepeated: again.filter((step) => inFlight.has(step)).length,
    effectsStranded: fine ? 0 : new Set(effectsIn(before)).size,
    askedAgain,
    told: seen.find((text) => !results.some((result) => text.includes(result))) ?? null,
    why: fine ? null : reason(outcome, after),
  };
}

/** In what the work without a kill was not everybody's. */
export function differences(crashed: Case, lines: readonly Line[], outcome: Outcome): readonly string[] {
  const problems: string[] = [];
  if (outcome.kind !== "ended" || outcome.text !== FINAL) problems.push(reason(outcome, lines));
  const asked = lines.filter((l) => l.kind === "asked");
  if (asked.length !== crashed.beats.length) problems.push(`${asked.length} model calls, not ${crashed.beats.length}`);
  const [effects, did] = [effectsOf(crashed), effectsIn(lines)];
  if (did.toSorted().join() !== effects.toSorted().join()) problems.push(`its effects are ${did.join(", ") || "none"}`);
  const seen = asked.at(-1)?.seen ?? [];
  if (!effects.every((key) => seen.some((text) => text.includes(resultOf(key)))))
    problems.push(`the model saw ${seen.join(" | ") || "nothing"}`);
  return problems;
}

const steps = (lines: readonly Line[], kind: "asked" | "answered"): readonly number[] =>
  lines.flatMap((l) => (l.kind === kind ? [l.step] : []));
const effectsIn = (lines: readonly Line[]): readonly string[] => lines.flatMap((l) => (l.kind === "effect" ? [l.key] : []));

function reason(outcome: Outcome, after: readonly Line[]): string {
  switch (outcome.kind) {
    case "parked":
      return "it is parked again";
    case "ended":
      return `its text is \`${outcome.text}\``;
    case "lost": {
      const refused = after.find((l) => l.kind === "refused");
      return refused === undefined || outcome.why.includes(refused.why) ? outcome.why : `${outcome.why} (${refused.why})`;
    }
  }
}

/** All repetitions in one line; the figures of a row are the worst of them. */
export function noteOf(findings: readonly Finding[], remark: string | null): string {
  const most = (of: (f: Finding) => number): number => Math.max(...findings.map(of));
  const notes: string[] = [];
  const figures = findings.map((f) => `lost ${f.lost}, doubled ${f.effectsDoubled}, repeated ${f.callsRepeated}`);
  if (new Set(figures).size > 1) notes.push(`the repetitions differ, the worst is shown: ${figures.join("; ")}`);
  const why = findings.find((f) => f.why !== null)?.why ?? null;
  if (why !== null) notes.push(short(why));
  if (most((f) => f.effectsStranded) > 0)
    notes.push(`${most((f) => f.effectsStranded)} effect(s) had happened: whoever starts over does them again`);
  if (findings.some((f) => f.askedAgain)) notes.push("the approval was lost: the person was asked again, and said yes again");
  const told = findings.find((f) => f.told !== null)?.told ?? null;
  if (told !== null) notes.push(`the model was told: \`${short(told)}\``);
  if (most((f) => f.inFlightRepeated) > 0) notes.push("the model call in flight at the kill was asked again");
  if (remark !== null) notes.push(remark);
  return notes.join(". ");
}
function short(text: string): string {
  const line = text.replaceAll(/\s+/g, " ").trim();
  return line.length <= MOST_CHARS ? line : `${line.slice(0, MOST_CHARS)}…`;
}
const MOST_CHARS = 180;
