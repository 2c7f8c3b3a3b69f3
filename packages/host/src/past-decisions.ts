/** Decisions as the journal has them, with the facts as they stood then: labels and counters of what came before. To explain them, and to make them again. */
import { centsSpent, type Entry, evolve, type Facts, fold, type Journal, type SessionId, type State, seq } from "@orgate/core";
import { factsRead } from "@orgate/core/gate";

type Writable<T> = { -readonly [K in keyof T]: T[K] };
type Decided = Extract<Entry["event"], { kind: "gate.decided" }>;
export type PastDecision = Readonly<{ decided: Decided; facts: Facts }>;

/** Of one session, in order. */
export async function* decisionsOf(journal: Pick<Journal, "read">, session: SessionId): AsyncGenerator<PastDecision> {
  const about: Writable<Pick<Facts, "agent" | "onBehalfOf" | "surface">> = {
    agent: "",
    onBehalfOf: { kind: "user", id: "" },
    surface: "cli",
  };
  const labels = new Set<Facts["labels"][number]>();
  let [turn, all] = [new Map<string, number>(), new Map<string, number>()];
  const spent = { turn: 0, session: 0 };
  let state: State | null = null;
  for (let after = seq(0); ; ) {
    const page = await journal.read(session, after, 500);
    for (const entry of page) {
      const { seq: place, event: e } = entry;
      after = place;
      if (e.kind === "session.opened") {
        [about.agent, about.onBehalfOf, about.surface] = [e.agent.name, e.principal, e.surface];
        for (const l of e.labels) labels.add(l);
      } else if (e.kind === "labels.added") for (const l of e.labels) labels.add(l);
      else if (e.kind === "turn.started") [turn, spent.turn] = [new Map(), 0];
      else if (e.kind === "model.replied") {
        spent.turn += e.usage.input + e.usage.output;
        spent.session += e.usage.input + e.usage.output;
      } else if (e.kind === "gate.decided") {
        const [t, s] = [new Map(turn), new Map(all)];
        const facts: Facts = {
          ...about,
          labels: [...labels],
          calls: (tool: string) => ({ turn: t.get(tool) ?? 0, session: s.get(tool) ?? 0 }),
          spent: { ...spent },
          cents: state === null ? null : centsSpent(state, state.turn),
          media: [...(state?.media ?? [])],
          ...factsRead(e.read), // what was counted in other sessions then, and said of its arguments, is what was journalled
        };
        yield { decided: e, facts };
        if (e.action.kind === "call" && e.verdict.kind === "allow")
          for (const counter of [turn, all]) counter.set(e.action.tool, (counter.get(e.action.tool) ?? 0) + 1);
      }
      state = state === null ? fold([entry]) : evolve(state, entry);
    }
    if (page.length < 500) return;
  }
}
