/**
 * Settings of a conversation that people change between turns: where it begins, how much of it is shown, which model is asked.
 *
 * J-30 after a clear the model is shown nothing that was said before it; instructions, labels, grants, counts and the journal are as they were, and so a fork
 *     begins after it too.
 * J-30 an intent to compact brings the conversation down to a number of tokens, and never below the newest message: at once where no model is needed, else by the
 *     summary before the next request; without one the oldest go.
 * J-30 a chosen model is one that the agent names; the turns after it begin with it, and what is named after it stands in for it. It is decided on like any.
 */

import { droppable, maskable } from "../../reason/window.ts";
import type { AgentFacts, JournalEvent } from "../../vocab/index.ts";
import { toCompacted } from "../model/context.ts";
import { foldCompacted } from "../model/evolve-context.ts";
import type { State } from "../state.ts";

type Of<Kind extends JournalEvent["kind"]> = Extract<JournalEvent, { kind: Kind }>;

export const listModels = ({ model, fallbacks }: AgentFacts): readonly string[] => [model, ...fallbacks.map((one) => one.model)];

/** As `fellBack` counts: 0 is the agent's own. A model that the agent does not name was put in its place when the session was taken (M-19). */
export const placeOfChosen = ({ agent, chosen }: Pick<State, "agent" | "chosen">): number =>
  chosen === null ? 0 : Math.max(0, listModels(agent).indexOf(chosen));

/** Compactions that a request for one leads to at once; an agent that sums up, or has the program's own plan, does that before its next request. */
export function compactNow(s: State, event: JournalEvent): readonly Of<"context.compacted">[] {
  if (event.kind !== "context.compact-asked" || s.agent.context.kind === "summarise" || s.agent.context.kind === "own") return [];
  const { tokens } = event;
  const trial = { ...s, window: { ...s.window, lines: new Map(s.window.lines) } };
  const done: Of<"context.compacted">[] = [];
  const apply = (how: "mask" | "window", range: ReturnType<typeof droppable>): void => {
    if (range === null) return;
    const next = toCompacted(trial, how, range, { summary: null, model: null });
    done.push(next);
    foldCompacted(trial, next);
  };
  const plan = s.agent.context;
  if (plan.kind === "mask" && trial.window.tokens > tokens) apply("mask", maskable(s.messages, trial.window, plan.keep));
  if (trial.window.tokens > tokens) apply("window", droppable(s.messages, trial.window, tokens));
  return done;
}
