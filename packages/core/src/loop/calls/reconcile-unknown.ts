/** Asking a tool about a call whose outcome is unknown, perhaps of an earlier turn: a person wants to know. */
import { type FoundTool, reconcile } from "../../act/act.ts";
import { printActionId, reconciledEvent, type Tool } from "../../vocab/index.ts";
import { checkHold, type EffectContext } from "../effects.ts";
import { sanitisedText } from "../model/sanitise.ts";
import type { Unknown } from "../state.ts";
import { breakersOfTool } from "./breakers.ts";
import { newLabelEvents } from "./outcome-events.ts";

export function toFound(result: FoundTool) {
  const found = result.kind === "found" ? result.found : { kind: "cannot-tell" as const, detail: result.detail };
  return found.kind === "cannot-tell" ? { ...found, detail: sanitisedText(found.detail, "clean") } : found; // it is told to the model as it is
}

/** A tool's word on an earlier run is no run: a place to probe the breaker is free again. */
export function leaveBreakers({ p, s }: EffectContext, tool: Tool | null, action: string): void {
  for (const breaker of tool === null ? [] : breakersOfTool(tool)) p.breakers.report(breaker, `${s.session}/${action}`, null, "");
}

/** A person wants the tool asked about a call whose outcome is unknown, perhaps of a turn long ago. */
export function reconcileUnknown(c: EffectContext, unknown: Unknown): (() => void) | null {
  const name = printActionId({ kind: "reconcile", call: unknown.call });
  const tool = c.p.tools.find(unknown.tool);
  if (unknown.gated?.kind !== "allowed" || c.isInFlight(name)) return null;
  const context = {
    session: c.s.session,
    key: unknown.key,
    epoch: c.hold.epoch,
    start: 1,
    note: () => {},
    spent: () => {},
    evidence: () => {},
    wouldPermit: () => "no" as const, // asked what became of a call, it shows nothing new
  };
  return () => {
    const permit = c.permitFor(name);
    checkHold(c);
    c.launch(name, async () => {
      const found: ReturnType<typeof toFound> =
        tool?.reconcile == null
          ? { kind: "cannot-tell", detail: "this tool cannot be asked for a call's outcome" }
          : toFound(
              await reconcile(permit, c.redeem, {
                tool,
                repeat: "reconcile",
                context,
                timeoutMs: tool.timeoutMs ?? 30_000,
                stop: c.stopOf(tool.name),
                sleep: (ms, signal) => c.p.clock.sleep(ms, signal),
                deadline: c.deadline,
              }),
            );
      const detail = found.kind === "cannot-tell" ? found.detail : "";
      const said = reconciledEvent(unknown.call, found.kind, detail);
      leaveBreakers(c, tool, name);
      return () => [...(tool === null ? [] : newLabelEvents(c.s, tool, unknown.call)), said];
    });
  };
}
