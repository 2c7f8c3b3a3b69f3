/**
 * The verdict on a call that nobody proposed: for a tool that shows several things under one permit (a search below a folder),
 * and must leave out what the policies would not let it show by itself.
 *
 * T-13 It narrows, and never widens: what it says yes to is shown under the permit that the call has, and nothing else is done by it.
 */

import { failClosed } from "../../gate/fail-closed.ts";
import type { Action, Facts, GateDecided, JsonObject, Tool, Verdict, WouldPermit } from "../../vocab/index.ts";
import type { Ports } from "../ports.ts";

type Needs = Pick<Ports, "gate" | "tools">;
type Call = Extract<Action, { kind: "call" }>;

/** `decided`: the call that is running; `factsOf`: as they were for that one. */
export function createWouldPermit(
  p: Needs,
  decided: GateDecided,
  toolDigest: (tool: Tool) => Call["toolDigest"],
  factsOf: (action: Action) => Facts,
): WouldPermit {
  const { action, verdict } = decided;
  const granted = verdict.kind === "allow" ? verdict.because : [];
  return (name, args) => {
    const tool = p.tools.find(name);
    if (action.kind !== "call" || tool === null) return "unsaid";
    const supposed = asIf(action, tool, toolDigest(tool), args);
    return said(failClosed(() => p.gate.decide(supposed, { ...factsOf(supposed), supposed: true })).verdict, granted);
  };
}

function asIf(action: Call, tool: Tool, toolDigest: Call["toolDigest"], args: JsonObject): Call {
  return { ...action, tool: tool.name, toolDigest, effects: tool.effects, args, inexact: [], resource: tool.resource(args) };
}

/** A question that was answered for the call itself is not asked again for each thing that it shows. */
function said(verdict: Verdict, granted: readonly string[]): ReturnType<WouldPermit> {
  switch (verdict.kind) {
    case "allow":
      return "yes";
    case "ask":
      return verdict.asks.every(({ policy }) => granted.includes(policy)) ? "yes" : "no";
    case "deny":
      return verdict.by === "policy" && verdict.because.length + verdict.faults.length === 0 ? "unsaid" : "no";
    case "defer":
    case "modify":
      return "no";
  }
}
