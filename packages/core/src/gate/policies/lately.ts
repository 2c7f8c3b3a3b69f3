/** Which counters over hours and days policies can read: these are kept. */
import { counterForTotal, counterForValue, type Tool, targetCounterKind } from "../../vocab/index.ts";
import { isPlainType, type Need } from "../arguments/arg-types.ts";
import { readsLately } from "./project.ts";

const ALL: Need = { whole: true, fields: new Map() };
const NONE: Need = { whole: false, fields: new Map() };
const inside = (need: Need, name: string): Need => (need.whole ? ALL : (need.fields.get(name) ?? NONE));

export function listRecentCounters(context: Need, tools: readonly Tool[]): readonly string[] {
  const calls = inside(context, "calls");
  const spent = inside(context, "spent");
  const facts = inside(context, "facts");
  const names = tools
    .filter((t) => isPlainType(t.name))
    .flatMap((tool) => {
      const own = readsLately(inside(calls, tool.name)) ? [`calls:${tool.name}`] : [];
      const perValue = Object.entries(tool.targets).flatMap(([arg, target]) => {
        const reads = (of: string): boolean => readsLately(inside(inside(facts, arg), of));
        const readsPaid = (of: string): boolean => target.per !== undefined && readsLately(inside(inside(context, "amount"), of));
        const isRead = (of: string): boolean => reads(of) || readsPaid(of);
        if (target.kind === "number") return isRead("total") || isRead("totalPerTarget") ? [counterForTotal(tool.name, arg)] : [];
        const touched = reads("touched") ? [counterForValue(tool.name, `kind:${targetCounterKind(target)}`)] : [];
        return reads("calls") ? [counterForValue(tool.name, arg), ...touched] : touched;
      });
      return [...own, ...perValue];
    });
  const tokens = readsLately(inside(spent, "tokens")) ? ["tokens"] : [];
  const money = readsLately(inside(spent, "cents")) ? ["micros"] : [];
  return [...new Set(names), ...tokens, ...money];
}
