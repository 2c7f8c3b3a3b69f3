/**
 * C-3 a model call of its own: gated, reserved, settled and journalled like any other, but no iteration, and never shown while it comes.
 * The summary is put in place in the commit that records it. Its words are the runtime's own business: middleware sees the request they end up in.
 */
import { FaultError, maxCost, toUsage } from "../../vocab/index.ts";
import { classifyModel, reportModel } from "../calls/breakers.ts";
import { checkHold, consume, type EffectContext } from "../effect-context.ts";
import type { Turn } from "../state.ts";
import { askUnlessStopped, failedEvent, repliedEvent } from "./ask-model.ts";
import { summaryDigest, summaryFor, summaryRequest, summedEvent } from "./context.ts";
import { currentSummariser, summariserNow } from "./summary-fallback.ts";

export function summarise(c: EffectContext, t: Turn): (() => void) | null {
  const { p, s } = c;
  const plan = summaryFor(s, t);
  if (t.summary.gated.kind !== "allowed" || plan === null) return null;
  const { decided } = t.summary.gated;
  const request = summaryRequest(s, t, plan);
  const asked = { iteration: t.iterations + 1, attempt: request.attempt, purpose: "summary" } as const;
  const reserved = toUsage(plan.room.input, plan.room.output);
  const model = currentSummariser(p, s, t);
  const { prices } = summariserNow(s.agent, t);
  consume(c, decided);
  c.record({
    kind: "model.asked",
    ...asked,
    model: model.id,
    request: summaryDigest(model.id, request, p.hash),
    reserved,
    reservedMicros: maxCost(prices, reserved),
    decisions: [],
  });
  return () => {
    const permit = c.permitFor(decided.id);
    checkHold(c);
    c.launch("model", async () => {
      const allowed = c.redeem(permit);
      if (allowed.kind !== "model" || allowed.model !== model.id)
        throw new FaultError({ kind: "permit-refused", action: decided.id, detail: "it names another model" });
      const stop = c.stopOf(null);
      const reply = await askUnlessStopped(stop, request, (signal) => model.ask(request, () => {}, signal));
      const what = classifyModel(reply, stop.aborted);
      return () => {
        reportModel(p, model.id, `${s.session}/${decided.id}`, { what, reason: "error" in reply ? reply.error : "" });
        if ("error" in reply) return [failedEvent(c, t, reply, { ...asked, model: model.id })];
        const said = reply.parts.map((part) => (part.kind === "text" ? part.text : "")).join("");
        const isUsable = reply.finish !== "refused" && reply.finish !== "filtered";
        const put = isUsable ? summedEvent(s, t, plan, { text: said, model: reply.model }) : null;
        return [repliedEvent(s, reply, asked, prices), ...(put === null ? [] : [put])];
      };
    });
  };
}
