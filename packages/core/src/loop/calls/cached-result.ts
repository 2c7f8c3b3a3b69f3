import { FaultError, seq } from "../../vocab/index.ts";
import type { EffectContext } from "../effect-context.ts";
import { cleanedEventsFor } from "../model/sanitise.ts";
import type { Turn } from "../state.ts";
import type { Call } from "./call.ts";
import { middlewareOn, newLabelEvents } from "./start-call.ts";
/** The recovery strategy `cached`: an earlier result of the same call is read from the journal, and recorded again with the entry it comes from. */
export function recallCached(c: EffectContext, t: Turn, call: Call): (() => void) | null {
  const name = `recover:${call.proposed.id}`;
  const choice = c.isInFlight(name) ? null : c.chooseFor(t, call);
  if (choice?.kind !== "look") return null;
  const { at, event } = choice;
  return () =>
    c.launch(name, async () => {
      const [entry] = await c.p.journal.read(c.s.session, seq(at - 1), 1);
      const outcome = entry?.event.kind === "act.ended" ? entry.event.outcome : null;
      if (outcome?.kind !== "done") throw new FaultError({ kind: "entry-bad", stream: c.s.session, seq: at, detail: "it holds no result" });
      const seen = await middlewareOn(c, call, outcome);
      return () => {
        if (c.s.turn !== t || call.run.kind !== "failed") return []; // it ended meanwhile
        const tool = c.p.tools.find(call.proposed.tool);
        const known = tool === null ? [] : [...newLabelEvents(c.s, tool, event.call), ...cleanedEventsFor(tool, event.call, outcome)];
        return [...known, ...seen, { ...event, output: outcome.output }];
      };
    });
}
