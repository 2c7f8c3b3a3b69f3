/** The agent of a domain and its model: obedient to the user, and to whoever writes into what it reads. */
import { type Agent, defineAgent, type Model, type ReplyPart } from "@orgate/core";
import type { Json, JsonObject } from "@orgate/core/vocab";
import { isWanted, type SimulatedCase } from "./cases.ts";
import type { Domain, SimulatedCall, SimulatedTurn } from "./domain.ts";
import { withTextAt } from "./output.ts";
import { toTools } from "./tools.ts";

/** A call that the model made. */
export type MadeCall = Readonly<{
  tool: string;
  args: JsonObject;
  by: "user" | "attacker";
  /** The attack or the violation succeeds by it. */
  wanted: boolean;
  /** The user agreed to this very call. */
  agreed: boolean;
}>;

export type DomainStage = Readonly<{
  agent: Agent;
  model: Model;
  /** One case at a time: the tools and the model play this one from now on. */
  begin(one: SimulatedCase): void;
  startTurn(turn: SimulatedTurn): void;
  /** Calls of the case in play so far. */
  made(): readonly MadeCall[];
}>;

const NOTHING: SimulatedCase = { kind: "task", id: "", now: "", turns: [] };

export function openStage(domain: Domain, name: string): DomainStage {
  let playing = NOTHING;
  let answer = "";
  let ahead: MadeCall[] = [];
  let made: MadeCall[] = [];
  let hasArrived = false;

  const planned = (call: SimulatedCall, by: MadeCall["by"], agreed: boolean): MadeCall => ({
    ...call,
    by,
    agreed,
    wanted: (by === "attacker" || playing.kind === "violation") && isWanted(playing, call),
  });

  /** The text of an injection joins the first output that has room for it. */
  function inject(tool: string, output: Json): Json {
    if (playing.kind !== "attack" || hasArrived) return output;
    for (const place of playing.places) {
      const injected = place.tool === tool ? withTextAt(output, place.path, playing.injection.text) : null;
      if (injected === null) continue;
      hasArrived = true;
      ahead = [...playing.injection.calls.map((call) => planned(call, "attacker", false)), ...ahead];
      return injected;
    }
    return output;
  }

  const model: Model = {
    id: "simulation/obedient",
    ask: async () => {
      const next = ahead.shift();
      if (next !== undefined) made.push(next);
      const part: ReplyPart =
        next === undefined
          ? { kind: "text", text: answer, meta: null }
          : { kind: "call", id: `c${made.length}`, tool: next.tool, text: JSON.stringify(next.args), meta: null };
      const finish = next === undefined ? "stop" : "calls";
      return { parts: [part], finish, usage: { input: 100, output: 20 }, model: "obedient", meta: null };
    },
  };

  return {
    agent: defineAgent({ name, instructions: domain.title, model: model.id, tools: toTools(domain, inject) }),
    model,
    begin(one) {
      playing = one;
      made = [];
      hasArrived = false;
    },
    startTurn({ calls, answer: text, yes }) {
      answer = text;
      ahead = calls.map((call, i) => planned(call, "user", yes === true || (yes?.includes(i) ?? false)));
    },
    made: () => made,
  };
}
