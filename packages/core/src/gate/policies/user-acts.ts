/** Actions of people: their resource, as a policy sees it, and as the tables beside policies write it. */
import { breakerSubject, type Decision, SCOPES, type UserAct, type Viewed } from "../../vocab/index.ts";
import type { CedarEntity, CedarRecord, Uid } from "./engine.ts";
import type { Member } from "./slice.ts";

/** Every action of a `User`, and the types of what it is done to. */
export const USER_ACTIONS: Readonly<Record<UserAct["kind"], readonly [string, ...string[]]>> = Object.freeze({
  observe: ["Agent", "Session", "Approval", "Call", "Breaker", "Work", "PolicySet", "Schedule", "Project"],
  run: ["Agent"],
  open: ["Agent", "Session"],
  say: ["Session"],
  steer: ["Session"],
  cancel: ["Session"],
  close: ["Session"],
  approve: ["Approval"],
  deny: ["Approval"],
  withdraw: ["Approval"],
  resolve: ["Call"],
  "read-journal": ["Session", "Project"],
  "edit-policy": ["PolicySet"],
  halt: ["Work"],
  "set-breaker": ["Breaker"],
  "edit-known": ["KnownSet"],
  "edit-knowledge": ["Scope"],
  "remove-label": ["Label"],
  "edit-schedule": ["Schedule"],
  "run-schedule": ["Schedule"],
  "give-access": ["User"],
  erase: ["Session"],
  acknowledge: ["Project"],
  "manage-keys": ["Project"],
  trust: ["Project"],
});

/** The journal and the server as a whole: there is one per project. */
const PROJECT: Uid = { type: "Project", id: "this" };

/** `agent` finds an agent with its groups: what belongs to an agent is `in` it, and in its groups. */
export function toResource(act: UserAct, agent: (name: string) => Member, user: (name: string) => Member): CedarEntity {
  const of = (type: string, id: string, attrs: CedarRecord & Readonly<{ agent: string }>): CedarEntity => {
    const { uid, parents } = agent(attrs.agent);
    return { uid: { type, id }, parents: [uid, ...parents], attrs: { id, ...attrs } };
  };
  const approval = (
    one: Extract<Viewed, { kind: "approval" }> | Extract<UserAct, { approval: string }>,
    forRequester: boolean,
  ): CedarEntity => of("Approval", one.approval, { agent: one.agent, tool: one.tool, requester: one.requester, forRequester });
  const member = ({ uid, parents }: Member): CedarEntity => ({ uid, parents, attrs: { id: uid.id } });
  switch (act.kind) {
    case "observe":
      return looked(act.what);
    case "run":
      return member(agent(act.agent));
    case "open":
    case "read-journal":
      return looked(act.what);
    case "say":
    case "steer":
    case "cancel":
    case "close":
    case "erase":
      return of("Session", act.session, { agent: act.agent, requester: act.requester });
    case "approve":
    case "deny":
    case "withdraw":
      return approval(act, act.forRequester ?? false);
    case "resolve":
      return of("Call", act.call, { agent: act.agent, tool: act.tool });
    case "halt":
      return thing("Work", act.scope);
    case "edit-policy":
      return thing("PolicySet", act.surface);
    case "set-breaker":
      return thing("Breaker", breakerSubject(act.breaker));
    case "edit-known":
      return thing("KnownSet", act.set);
    case "edit-knowledge":
      return scopeEntity(act.scope);
    case "remove-label":
      return of("Label", act.label, { session: act.session, agent: act.agent });
    case "edit-schedule":
    case "run-schedule":
      return of("Schedule", act.schedule, { agent: act.agent, requester: act.requester });
    case "give-access":
      return member(user(act.to));
    case "acknowledge":
    case "manage-keys":
    case "trust":
      return thing(PROJECT.type, PROJECT.id);
  }

  function looked(what: Viewed): CedarEntity {
    switch (what.kind) {
      case "agent":
        return member(agent(what.agent));
      case "session":
        return of("Session", what.session, { agent: what.agent, requester: what.requester });
      case "approval":
        return approval(what, false);
      case "call":
        return of("Call", what.call, { agent: what.agent, tool: what.tool });
      case "breaker":
        return thing("Breaker", breakerSubject(what.breaker));
      case "work":
        return thing("Work", what.scope);
      case "policies":
        return thing("PolicySet", what.surface);
      case "schedule":
        return of("Schedule", what.schedule, { agent: what.agent, requester: what.requester });
      case "project":
        return thing(PROJECT.type, PROJECT.id);
    }
  }
}

/** A narrow scope is `in` the wider ones: a permit for the project's scope includes one's own. */
export function scopeEntity(scope: string): CedarEntity {
  const at = SCOPES.findIndex((one) => one === scope);
  const wider = at < 0 ? [] : SCOPES.slice(at + 1);
  return { uid: { type: "Scope", id: scope }, parents: wider.map((id) => ({ type: "Scope", id })), attrs: { id: scope } };
}

const thing = (type: string, id: string): CedarEntity => ({ uid: { type, id }, parents: [], attrs: { id } });

/** A line of a table: who is asked about what. */
export type UserCase = Readonly<{
  action: string;
  agent?: string | undefined;
  resource?: Readonly<{ type: string; id: string }> | undefined;
  args?: Readonly<Record<string, unknown>> | undefined;
  onBehalfOf: string;
  forRequester?: boolean | undefined;
}>;

const isUserAction = (action: string): action is UserAct["kind"] => Object.hasOwn(USER_ACTIONS, action);

/** The meaning of a line of a table; a text says why it has none. */
export function readUserAct(c: UserCase): UserAct | string {
  const { action } = c;
  if (!isUserAction(action)) return `\`${action}\` is nothing that a person does: ${Object.keys(USER_ACTIONS).join(", ")} are`;
  const types = USER_ACTIONS[action];
  const type = c.resource?.type ?? types[0];
  if (!types.includes(type)) return `a person does \`${action}\` to ${types.join(" or ")}, not to ${type}`;
  const id = c.resource?.id ?? "any";
  const about = { agent: c.agent ?? "somebody", tool: String(c.args?.["tool"] ?? "") };
  const session = { session: id, agent: about.agent, requester: c.onBehalfOf };
  switch (action) {
    case "observe":
      return { kind: action, what: lookedOf(type, id, about, c.onBehalfOf) };
    case "run":
      return { kind: action, agent: c.resource?.id ?? about.agent };
    case "open":
      return {
        kind: action,
        what: type === "Agent" ? { kind: "agent", agent: c.resource?.id ?? about.agent } : { kind: "session", ...session },
      };
    case "read-journal":
      return { kind: action, what: type === "Project" ? { kind: "project" } : { kind: "session", ...session } };
    case "say":
    case "steer":
    case "cancel":
    case "close":
    case "erase":
      return { kind: action, ...session };
    case "approve":
    case "deny":
    case "withdraw":
      return { kind: action, approval: id, ...about, requester: c.onBehalfOf, forRequester: c.forRequester ?? false };
    case "resolve":
      return { kind: action, call: id, ...about };
    case "halt":
      return { kind: action, scope: id };
    case "set-breaker":
      return { kind: action, breaker: id };
    case "edit-known":
      return { kind: action, set: id };
    case "edit-knowledge":
      return { kind: action, scope: c.resource?.id ?? "project" };
    case "remove-label":
      return { kind: action, label: id, session: "any", agent: about.agent };
    case "edit-policy":
      return { kind: action, surface: id };
    case "edit-schedule":
    case "run-schedule":
      return { kind: action, schedule: id, agent: about.agent, requester: c.onBehalfOf };
    case "give-access":
      return { kind: action, to: id };
    case "acknowledge":
    case "manage-keys":
    case "trust":
      return { kind: action };
  }
}

function lookedOf(type: string, id: string, about: Readonly<{ agent: string; tool: string }>, requester: string): Viewed {
  switch (type) {
    case "Session":
      return { kind: "session", session: id, agent: about.agent, requester };
    case "Approval":
      return { kind: "approval", approval: id, ...about, requester };
    case "Call":
      return { kind: "call", call: id, ...about };
    case "Breaker":
      return { kind: "breaker", breaker: id };
    case "Work":
      return { kind: "work", scope: id };
    case "PolicySet":
      return { kind: "policies", surface: id };
    case "Schedule":
      return { kind: "schedule", schedule: id, agent: about.agent, requester };
    case "Project":
      return { kind: "project" };
    default:
      return { kind: "agent", agent: id === "any" ? about.agent : id };
  }
}

/**
 * Q-21 A person who may approve may deny, unless a policy forbids just that: policies from before there was `deny` know no other word for it.
 * An error of the policies denies, and is not asked about again.
 */
export function decideAlsoAsApprover(act: UserAct, decide: (act: UserAct) => Decision): Decision {
  const decision = decide(act);
  const { verdict } = decision;
  const isOpen = verdict.kind === "deny" && verdict.because.length === 0 && verdict.faults.length === 0;
  return act.kind === "deny" && isOpen ? decide({ ...act, kind: "approve" }) : decision;
}
