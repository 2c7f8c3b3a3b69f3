/**
 * From what somebody wants to what the policies are asked. Pure.
 * Rule: W-13.
 */
import type { Gate, UserAct, Viewed } from "@orgate/core";
import { refusalFor } from "@orgate/core/gate";
import type { AccessScope, Act } from "./access.ts";

/** Why its limits leave this out; null when they do not. */
export function outOfScope({ agents, actions }: AccessScope, act: Act): string | null {
  const left = actionOutOfScope({ actions }, act.kind);
  if (left !== null) return left;
  if (agents === null || act.on === "listing") return null; // what is listed is looked at one by one
  const agent = agentResource(act);
  return agent !== null && agents.includes(agent)
    ? null
    : `this access is limited to ${agents.length === 1 ? "agent" : "agents"} ${listed(agents)}`;
}

/** Why its limits leave out this action, whatever it is done to. */
export function actionOutOfScope({ actions }: Pick<AccessScope, "actions">, kind: Act["kind"]): string | null {
  const needed = kind === "list" ? "observe" : kind;
  const isCovered = actions === null || actions.includes(needed) || (kind === "deny" && actions.includes("approve"));
  return isCovered ? null : `this access is limited to ${listed(actions)}`;
}

const listed = (names: readonly string[]): string => (names.length === 0 ? "nothing" : names.map((n) => `\`${n}\``).join(", "));

/** Whose it is. To halt one agent is to do something to that agent. */
export function agentResource({ on, agent, id }: Act): string | null {
  if (on === "work") return id?.startsWith("agent:") === true ? id.slice("agent:".length) : null;
  return agent;
}

/** The act that the policies decide; null where there is none, or part of it is missing. A listing is decided item by item. */
export function userActFor(act: Act): UserAct | null {
  const { kind, on, agent, session, id, requester } = act;
  const inSession = session === null || agent === null || requester === null ? null : { session, agent, requester };
  switch (kind) {
    case "list":
      return null;
    case "observe":
      return about(act, (what) => ({ kind, what }));
    case "run":
      return on === "agent" && agent !== null ? { kind, agent } : null;
    case "open":
      return about(act, (what) => (what.kind === "agent" || what.kind === "session" ? { kind, what } : null));
    case "read-journal":
      return about(act, (what) => (what.kind === "session" || what.kind === "project" ? { kind, what } : null));
    case "say":
    case "steer":
    case "cancel":
    case "close":
      return on === "session" && inSession !== null ? { kind, ...inSession } : null;
    case "approve":
    case "deny":
    case "withdraw":
      return about(act, (what) =>
        what.kind === "approval" ? { ...what, kind, ...(act.forRequester ? { forRequester: true } : {}) } : null,
      );
    case "resolve":
      return about(act, (what) => (what.kind === "call" ? { ...what, kind } : null));
    case "halt":
      return on === "work" && id !== null ? { kind, scope: id } : null;
    case "set-breaker":
      return on === "breaker" && id !== null ? { kind, breaker: id } : null;
    case "edit-schedule":
    case "run-schedule":
      return about(act, (what) => (what.kind === "schedule" ? { ...what, kind } : null));
    case "edit-policy":
      return on === "policies" ? { kind, surface: id ?? EVERY } : null;
  }
}

/** All policies, whatever surface they are for. */
const EVERY = "every";

const about = (act: Act, then: (what: Viewed) => UserAct | null): UserAct | null => {
  const what = lookedAt(act);
  return what === null ? null : then(what);
};

function lookedAt({ on, agent, session, id, tool, requester }: Act): Viewed | null {
  switch (on) {
    case "listing":
      return null;
    case "agent":
      return agent === null ? null : { kind: "agent", agent };
    case "session":
      return session === null || agent === null || requester === null ? null : { kind: "session", session, agent, requester };
    case "approval":
    case "grant": // a remembered answer
      return id === null || agent === null || requester === null
        ? null
        : { kind: "approval", approval: id, agent, tool: tool ?? "", requester };
    case "call":
      return id === null || agent === null ? null : { kind: "call", call: id, agent, tool: tool ?? "" };
    case "breaker":
      return id === null ? null : { kind: "breaker", breaker: id };
    case "work":
      return id === null ? null : { kind: "work", scope: id };
    case "policies":
      return { kind: "policies", surface: id ?? EVERY };
    case "schedule":
      return id === null || agent === null || requester === null ? null : { kind: "schedule", schedule: id, agent, requester };
    case "project":
      return { kind: "project" };
  }
}

/** Null if the policies allow the act, otherwise the reason for the refusal. A listing is allowed: its items are decided one by one. */
export function policyRefusal(gate: Pick<Gate, "decideFor">, user: string, act: Act): string | null {
  if (act.kind === "list" && act.on === "listing") return null;
  const asked = userActFor(act);
  if (asked === null) return `there is no rule for what it means to ${act.kind} this ${act.on}`;
  return refusalFor(gate, user, asked);
}
