/** The request to the engine: an action and its facts in the words of the vocabulary. Everything is looked up only when a policy reads it. */
import { type Action, type Facts, knowledgeAction, type Principal, principalName, type UserAct } from "../vocab/index.ts";
import type { CedarEntity, Uid } from "./policies/engine.ts";
import type { Member } from "./policies/slice.ts";
import { scopeEntity, toResource, USER_ACTIONS } from "./policies/user-acts.ts";
import type { PolicyWorld } from "./policies/vocabulary.ts";

export type GateRequest = Readonly<{
  principal: Member;
  action: Member;
  resource: CedarEntity;
  /** Null for what a person does: it has no context. */
  told: RequestFacts | null;
}>;

/** What a tool's definition says of the care that it needs: `context.tool`. */
export type ToolCare = Readonly<{ riskTier: string; humanApproval: boolean; sandbox: string }>;
/** `care`: of a tool that is only supposed. */
export type RequestFacts = Readonly<{ facts: Facts; call: Extract<Action, { kind: "call" }> | null; care?: ToolCare }>;

/** Who there is, and which tools the policies were checked against. */
export type Directory = Readonly<{
  agent(name: string): Member;
  user(name: string): Member;
  acting(principal: Principal): Member;
  tool(name: string): Member | null;
  /** Risk tier, human approval and sandbox, as its definition says: the strictest for a tool that the policies were not checked against. */
  care(name: string): ToolCare;
  /** The entity that a policy names, if it is one of ours. */
  named(uid: Uid): CedarEntity | null;
}>;

export function createDirectory(cast: PolicyWorld): Directory {
  const agents = new Map(cast.agents.map((a) => [a.name, member("Agent", a.name, "AgentGroup", a.groups)]));
  const users = new Map(cast.users.map((u) => [u.name, member("User", u.name, "UserGroup", u.groups)]));
  const tools = new Map(cast.tools.map((t) => [t.name, { uid: actionUid(`tool:${t.name}`), parents: t.effects.map(actionUid) }]));
  const care = new Map(
    cast.tools.map(({ name, riskTier, humanApproval, sandbox }) => [name, { riskTier, humanApproval, sandbox: sandbox ?? "own" }]),
  );
  const agent = (name: string): Member => agents.get(name) ?? member("Agent", name, "AgentGroup", []);
  const user = (name: string): Member => users.get(name) ?? member("User", name, "UserGroup", []);
  return {
    agent,
    user,
    // an agent or the runtime itself is nobody's namesake: `agent:ann` is not the user `ann`
    acting: (p) => (p.kind === "user" ? user(p.id) : member("User", principalName(p), "UserGroup", [])),
    tool: (name) => tools.get(name) ?? null,
    care: (name) => care.get(name) ?? STRICTEST,
    named: (uid) => {
      const found =
        uid.type === "Agent"
          ? agents.get(uid.id)
          : uid.type === "User"
            ? users.get(uid.id)
            : uid.type === "Action"
              ? actionNamed(uid.id)
              : null;
      return found === undefined || found === null ? null : toEntity(found);
    },
  };

  function actionNamed(id: string): Member | null {
    return id.startsWith("tool:") ? (tools.get(id.slice("tool:".length)) ?? null) : null;
  }
}

export function toGateRequest(action: Action, facts: Facts, known: Directory): GateRequest {
  const principal = known.agent(facts.agent);
  switch (action.kind) {
    case "call": {
      const { tool, effects, resource } = action;
      const by = knowledgeAction(tool);
      if (by !== null)
        return { principal, action: by === "recall" ? RECALL : REMEMBER, resource: scopeEntity(resource.id), told: { facts, call: null } };
      const same = known.tool(tool);
      const as = same !== null && hasEffects(same, effects) ? same : { uid: actionUid(`tool:${tool}`), parents: effects.map(actionUid) };
      return { principal, action: as, resource: thing(resource), told: { facts, call: action } };
    }
    case "delegate":
      return { principal, action: DELEGATING, resource: toEntity(known.agent(action.to)), told: { facts, call: null } };
    case "model":
      return { principal, action: MODEL, resource: thing({ type: "Model", id: action.model }), told: { facts, call: null } };
    case "respond": {
      const to = action.to.kind === "agent" ? known.agent(action.to.id) : known.acting(action.to);
      return { principal, action: RESPOND, resource: toEntity(to), told: { facts, call: null } };
    }
    case "recall":
      return { principal, action: RECALL, resource: scopeEntity(action.scope), told: { facts, call: null } };
    case "remember":
      return { principal, action: REMEMBER, resource: scopeEntity(action.scope), told: { facts, call: null } };
  }
}

/** T-29 the second question about a tool whose program runs without a sandbox: may this agent run this one so? */
export function toUnsandboxedRequest(tool: string, facts: Facts, known: Directory): GateRequest {
  return {
    principal: known.agent(facts.agent),
    action: UNSANDBOXED,
    resource: thing({ type: "Tool", id: tool }),
    told: { facts, call: null },
  };
}

export function toUserRequest(user: string, act: UserAct, known: Directory): GateRequest {
  return {
    principal: known.user(user),
    action: ACTS.get(act.kind) ?? bare(act.kind),
    resource: toResource(act, known.agent, known.user),
    told: null,
  };
}

/** The tool as the policies were checked against it: its name, and the groups its effects put it in. */
export function hasEffects(tool: Member, effects: readonly string[]): boolean {
  return tool.parents.length === effects.length && tool.parents.every((p, i) => p.id === effects[i]);
}

export const STRICTEST: ToolCare = { riskTier: "high", humanApproval: false, sandbox: "none" };

const actionUid = (id: string): Uid => ({ type: "Action", id });
const bare = (id: string): Member => ({ uid: actionUid(id), parents: [] });
const MODEL = bare("model");
const DELEGATING = bare("delegate");
const RESPOND = bare("respond");
const RECALL = bare("recall");
const REMEMBER = bare("remember");
const UNSANDBOXED = bare("unsandboxed");
const ACTS: ReadonlyMap<string, Member> = new Map(Object.keys(USER_ACTIONS).map((kind) => [kind, bare(kind)]));

const thing = (uid: Uid): CedarEntity => ({ uid, parents: [], attrs: { id: uid.id } });
const member = (type: string, id: string, group: string, groups: readonly string[]): Member => ({
  uid: { type, id },
  parents: groups.map((g) => ({ type: group, id: g })),
});
/** Actions have no attributes. */
export const toEntity = ({ uid, parents }: Member): CedarEntity => ({ uid, parents, attrs: uid.type === "Action" ? {} : { id: uid.id } });
