/** Decisions of the gate about one action. They always have reasons; only `allow` yields a permit. */

import { type ApprovalId, type CallId, type Digest, type GrantId, type Label, millis, type PolicyId } from "./ids.ts";
import type { Scope } from "./knowledge.ts";
import type { Principal, Surface } from "./principal.ts";
import { type DecisionTime, toDecisionTime } from "./rules/decision-time.ts";
import type { Subject, ThingFacts, ThingsFacts } from "./rules/records.ts";
import type { Origin } from "./rules/schedule.ts";
import type { Json, JsonObject } from "./text/canonical.ts";
import type { Effect, Resource } from "./tool.ts";

/** An action to decide on. `args` is the validated form, which will run; null only for a call refused by its contract. */
export type Action =
  | Readonly<{
      kind: "call";
      call: CallId;
      tool: string;
      toolDigest: Digest | null;
      effects: readonly Effect[];
      args: JsonObject | null;
      /** JSON pointers to numbers of `args` whose own text says more than a JavaScript number can hold. */
      inexact: readonly string[];
      resource: Resource;
    }>
  /** Another agent is to do something. The task is in `args`, for people to see; the gate learns to whom, never what (rule 7). */
  | Readonly<{ kind: "delegate"; call: CallId; to: string; agentDigest: Digest | null; args: JsonObject }>
  | Readonly<{ kind: "model"; model: string }>
  | Readonly<{ kind: "respond"; to: Principal }>
  /** To look things up before the model is asked; as wide as `scope`. A call of the model's own is a call, and decided as `recall` too. */
  | Readonly<{ kind: "recall"; scope: Scope }>
  /** To remember a turn's result. `content` is the digest of the text: the gate learns where, never what (rule 7). */
  | Readonly<{ kind: "remember"; scope: Scope; key: string; content: Digest }>;

/** An action that begins with the commit of its decision. `proposed`: its arguments are those of its proposal, in the same commit. */
export type BegunAction =
  | Exclude<Action, { kind: "call" }>
  | (Omit<Extract<Action, { kind: "call" }>, "args"> & Readonly<{ args: JsonObject | "proposed" | null }>);

/** The name that the model calls to delegate; no tool may have it. */
export const DELEGATE = "delegate";

/** Tool, resource and arguments of a call: for approval requests, grants and lists. Null for an action that is no call of the model's. */
export type CallSubject = Readonly<{ tool: string; toolDigest: Digest | null; resource: Resource; args: JsonObject | null }>;
export function toCallSubject(action: Action): CallSubject | null {
  switch (action.kind) {
    case "call":
      return action;
    case "delegate":
      return { tool: DELEGATE, toolDigest: action.agentDigest, resource: { type: "Agent", id: action.to }, args: action.args };
    case "model":
    case "respond":
    case "recall":
    case "remember":
      return null;
  }
}

/** Facts for the gate beside the action: identities, labels, counters. No prose (rule 7). */
export type Facts = Readonly<{
  agent: string;
  onBehalfOf: Principal;
  surface: Surface;
  /** The schedule or the delivery that it comes from. */
  origin?: Origin;
  labels: readonly Label[];
  /** Calls of a tool decided `allow` so far; the one in question is not counted. A look-up, so that only what a policy reads is fetched. */
  calls(tool: string): Counts;
  /** Tokens, those of lost replies included. */
  spent: Counts;
  /** Money, rounded up, reservations included; null where a price is not known. */
  cents: Counts | null;
  /** Media types of the files that the session was shown. */
  media: readonly string[];
  /** Over all sessions of this agent in the project. A look-up: it may have to be read from the journal. */
  lately(counter: Counter): RecentCounts;
  /** Nothing is begun on this decision: it is about one of several things that a permitted call would show. A gate that asks elsewhere does not ask then. */
  supposed?: true;
  /** Facts about the arguments that are targets: computed only where a policy reads them. */
  aims(): ArgumentFacts;
  /** Whom the session serves; null: nobody has said. */
  subject: Subject | null;
  /** Records of the things that arguments refer to, by type: looked up only where a policy reads them. A type of which one thing is not on record is absent. */
  records(): Readonly<Record<string, ThingsFacts>>;
  /** The time of the decision, on the clocks of this zone. */
  now(zone: string): DecisionTime;
  /** The approval that the action has got; null: none. */
  approval: Readonly<{ ageSeconds: number }> | null;
}>;

/** By argument; an argument that was not given is absent. */
export type ArgumentFacts = Readonly<{
  targets: Readonly<Record<string, TargetFacts>>;
  /** Plain texts: nothing is aimed at by them. */
  texts: Readonly<Record<string, TargetFacts>>;
  numbers: Readonly<Record<string, NumberFacts>>;
  outgoing: Readonly<Record<string, OutgoingFacts>>;
  /** Of all together, where nothing else is known: in the tables beside policies, and when a decision is explained. */
  sums?: Readonly<{ targets: TargetsSum; values: ValuesSum; outgoing: OutgoingFacts; amount?: NumberFacts | null }>;
}>;
/** `named`: each target is vouched for, or stands for a thing whose name the user wrote in this turn. */
export type TargetsSum = Readonly<
  Pick<TargetFacts, "inRequest" | "known" | "vouched" | "seenUnder" | "said" | "recorded" | "owned"> & { named: boolean; count: number }
>;
/** Of the plain texts and the numbers together, but for numbers on record: the price of a thing needs nobody's word. */
export type ValuesSum = Readonly<Pick<TargetFacts, "inRequest" | "said"> & { count: number }>;

/** How long ago the user last named a value: 0 turns is this one. Of several values the one that was named longest ago. */
export type Said = Readonly<{ turnsAgo: number; secondsAgo: number }>;
/** Of several the one that was said longest ago; null where one was not said, or there is none. */
export function oldestSaid(all: readonly (Said | null)[]): Said | null {
  const found = all.filter((one) => one !== null);
  if (found.length === 0 || found.length < all.length) return null;
  return { turnsAgo: Math.max(...found.map((one) => one.turnsAgo)), secondsAgo: Math.max(...found.map((one) => one.secondsAgo)) };
}

/** Of all values of one argument together: what holds for each of them holds. */
export type TargetFacts = Readonly<{
  /** It stands, as whole tokens, in what the user wrote in this turn. */
  inRequest: boolean;
  /** It is a member of a trusted set. */
  known: boolean;
  /** Each of its values is one or the other, or a trusted source gives it the name that the user wrote in this turn. */
  vouched: boolean;
  /** Labels of the outputs in which it was seen in this session. */
  seenUnder: readonly string[];
  /** Calls of this tool with this value; of several values the one with the most. */
  calls: Counts;
  lately(): RecentCounts;
  /** Calls of any tool of this agent with this value as a target of the same kind; of several values the one with the most. */
  touched: Counts;
  touchedLately(): RecentCounts;
  /** Name of the thing that an id stands for; null where no tool has given one. */
  name: string | null;
  nameInRequest: boolean;
  /** Null: the user has not named each of its values in this session, as far back as is looked. A look-up: only where a policy reads it. */
  said(): Said | null;
  /** The record of the thing that the one value stands for; null: there is none, or there are several values. */
  record(): ThingFacts | null;
  /** A trusted source has said something of each thing that a value stands for, and it has not aged. */
  recorded(): boolean;
  /** Each value is the subject's id, or stands for a thing whose record says that it is the subject's. */
  owned(): boolean;
}>;

/** Of a target that stands for nothing on record. */
export const NOT_RECORDED: Pick<TargetFacts, "record" | "recorded" | "owned"> = Object.freeze({
  record: () => null,
  recorded: () => false,
  owned: () => false,
});

/** Of all numbers of one argument together. Amounts are whole ten-thousandths. */
export type NumberFacts = Readonly<{
  inRequest: boolean;
  said(): Said | null;
  /** A trusted source has said this very number of the thing that `per` refers to: its price, its total. Of a number without `per` never so. */
  recorded(): boolean;
  /** Null: several, or what a decimal cannot hold. */
  amount: number | null;
  /** Over the calls of this tool, this one with them; null: a decimal cannot hold it. */
  total: Counts | null;
  totalLately(): RecentCounts | null;
  /** Over those with the same value of the target that `per` names; of several values the one with the most. Null: it names none. */
  perTarget: Readonly<{ total: Counts | null; totalLately(): RecentCounts | null }> | null;
}>;

/** Of a text that leaves the system. */
export type OutgoingFacts = Readonly<{
  links: readonly string[];
  addresses: readonly string[];
  /** Each link and address in it was written by the user in this turn, or is known. */
  vouched: boolean;
  /** All of it was: nothing leaves but the user's own words, or nothing at all. */
  inRequest: boolean;
  seenUnder: readonly string[];
}>;

export const NO_ARGUMENT_FACTS: ArgumentFacts = Object.freeze({ targets: {}, texts: {}, numbers: {}, outgoing: {} });
/** Nothing was counted lately, and nothing is aimed at. */
export const NO_MORE_FACTS: Pick<Facts, "media" | "lately" | "aims" | "subject" | "records" | "now" | "approval"> = Object.freeze({
  media: [],
  subject: null,
  records: () => ({}),
  now: (zone: string) => toDecisionTime(millis(0), zone),
  approval: null,
  lately: () => ({ hour: 0, day: 0 }),
  aims: () => NO_ARGUMENT_FACTS,
});

export type Counts = Readonly<{ turn: number; session: number }>;

/** A counter over hours and days, by agent: `calls:TOOL`, `calls:TOOL/ARGUMENT` and `touched:KIND` per value, `total:TOOL/ARGUMENT`, also per value, `tokens`, `micros`. */
export type Counter = Readonly<{ name: string /** Empty: all of them. */; value: string }>;
/** The counter that a value of a started call belongs to. `of` is an argument, or `kind:KIND` for the targets of one kind, whatever tool has them. */
export const counterForValue = (tool: string, of: string): string =>
  of.startsWith("kind:") ? `touched:${of.slice(5)}` : `calls:${tool}/${of}`;
/** The counter that sums the numbers of an argument, in ten-thousandths: of all calls (the value is empty), and per value of a target. */
export const counterForTotal = (tool: string, arg: string): string => `total:${tool}/${arg}`;
/** At least what happened in the last hour or day, and at most what happened five minutes before that. */
export type RecentCounts = Readonly<{ hour: number; day: number }>;

export type PolicyFault = Readonly<{ policy: PolicyId | null; message: string }>;

/** One question for a person; `policy` is who wants it asked. */
export type Ask = Readonly<{ policy: PolicyId; question: string; terms: ApprovalTerms }>;

/** How a question may be answered. */
export type ApprovalTerms = Readonly<{
  /** Groups of people who may answer, and `requester`, whom the session acts for; empty: anybody whom the policies let approve. */
  approvers: readonly string[];
  /** Number of different people who have to approve. */
  quorum: number;
  /** Null: it does not expire. */
  expiresMs: number | null;
  /** The widest grant an approver may give; null: none, this once. */
  grant: string | null;
  onExpiry: "deny" | "halt" | "wait";
  /** Labels that may join the session without ending a grant; absent: none. */
  grantSurvives?: readonly string[] | undefined;
}>;
/** Stands among the approvers for the person whose words the turn follows. No group of users can have this name. */
export const REQUESTER = "requester";
/** A person's own yes is worth nothing where anything is asked of somebody else too. */
export const isForRequester = (asks: readonly Readonly<{ terms: Pick<ApprovalTerms, "approvers"> }>[]): boolean =>
  asks.length > 0 && asks.every(({ terms }) => terms.approvers.includes(REQUESTER));
export const DEFAULT_TERMS: ApprovalTerms = Object.freeze({ approvers: [], quorum: 1, expiresMs: null, grant: null, onExpiry: "deny" });

export type Verdict =
  /** `approval` names the answered question, or the grant, that turned an `ask` into this. */
  | Readonly<{ kind: "allow"; because: readonly PolicyId[]; approval: ApprovalId | GrantId | null }>
  | Readonly<{ kind: "deny"; by: DeniedBy; because: readonly PolicyId[]; faults: readonly PolicyFault[]; reason: string }>
  | Readonly<{ kind: "ask"; because: readonly PolicyId[]; asks: readonly [Ask, ...Ask[]] }>
  /** Permitted with other arguments: they are checked and gated again, once. */
  /** It cannot be decided yet: decided again when what it read changes, or when the time is up, which then denies it. */
  | Readonly<{ kind: "defer"; because: readonly PolicyId[]; ms: number }>
  | Readonly<{ kind: "modify"; because: readonly PolicyId[]; edits: readonly Edit[] }>;

/** One argument set to something else; `path` leads into the arguments. */
export type Edit = Readonly<{ path: readonly string[]; value: Json }>;

/** `contract`: unknown tool, arguments that are not JSON or do not fit the schema, a delegation that is too deep. `breaker`: it failed too often of late. */
export type DeniedBy = "contract" | "policy" | "person" | "expiry" | "halt" | "breaker" | "middleware";

/** A verdict with what it stands on: the digest of the policies that could decide it, and what they read. */
export type Decision = Readonly<{
  verdict: Verdict;
  slice: Digest;
  read: JsonObject;
  /** The verdict with the policies of `policies/shadow/` in force; null when it would be the same. Recorded, never enforced. */
  shadow: Verdict | null;
}>;

/** The object that a person looks at. `requester` is on whose behalf the session runs. */
export type Viewed =
  | Readonly<{ kind: "agent"; agent: string }>
  | Readonly<{ kind: "session" } & OneSession>
  | Readonly<{ kind: "approval"; approval: string; agent: string; tool: string; requester: string }>
  | Readonly<{ kind: "call"; call: string; agent: string; tool: string }>
  | Readonly<{ kind: "breaker"; breaker: string }>
  | Readonly<{ kind: "work"; scope: string }>
  | Readonly<{ kind: "policies"; surface: string }>
  | Readonly<{ kind: "schedule" } & OneSchedule>
  /** The journal and the server as a whole. */
  | Readonly<{ kind: "project" }>;
/** `requester` is whose it is. */
type OneSchedule = Readonly<{ schedule: string; agent: string; requester: string }>;
type OneSession = Readonly<{ session: string; agent: string; requester: string }>;

/** Acts that a person does for themselves; decided like everything else. */
export type UserAct =
  /** To see that it is there, and what state it is in. */
  | Readonly<{ kind: "observe"; what: Viewed }>
  /** To have an agent take a turn. */
  | Readonly<{ kind: "run"; agent: string }>
  /** A session of an agent, or one that goes on from another. */
  | Readonly<{ kind: "open"; what: Extract<Viewed, { kind: "agent" | "session" }> }>
  | Readonly<{ kind: "say" | "steer" | "cancel" | "close" } & OneSession>
  /** To remove a session's content from the journal for good. */
  | Readonly<{ kind: "erase" } & OneSession>
  /** `requester` is on whose behalf the session runs: a policy may keep the two apart. */
  | Readonly<{
      kind: "approve" | "deny" | "withdraw";
      approval: string;
      agent: string;
      tool: string;
      requester: string;
      /** Everything that is asked is for the requester to answer (`@approvers("requester")`): their own yes to this very action. */
      forRequester?: boolean;
    }>
  | Readonly<{ kind: "resolve"; call: string; agent: string; tool: string }>
  | Readonly<{ kind: "halt"; scope: string }>
  | Readonly<{ kind: "set-breaker"; breaker: string }>
  /** To say what is trusted from now on, and what is not any more. */
  | Readonly<{ kind: "edit-known"; set: string }>
  | Readonly<{ kind: "remove-label"; label: string; session: string; agent: string }>
  /** Reads a session's text, word by word; of the project: that of all sessions. */
  | Readonly<{ kind: "read-journal"; what: Extract<Viewed, { kind: "session" | "project" }> }>
  | Readonly<{ kind: "edit-policy"; surface: string }>
  /** To put something into the store of knowledge, and to have it forgotten. */
  | Readonly<{ kind: "edit-knowledge"; scope: string }>
  /** To add, remove, pause or resume it. */
  | Readonly<{ kind: "edit-schedule" } & OneSchedule>
  /** To have it fire now. */
  | Readonly<{ kind: "run-schedule" } & OneSchedule>
  /** To make keys and sign-ins that stand for this person, and to revoke them. */
  | Readonly<{ kind: "give-access"; to: string }>
  /**
   * Of the project as a whole. `acknowledge`: to let work go on after an alarm of the journal. `manage-keys`: to replace the root key or a
   * writer's, or withdraw a writer's. `trust`: to trust what the project brings along (instructions, skills, MCP servers), or take that back.
   */
  | Readonly<{ kind: "acknowledge" | "manage-keys" | "trust" }>;

/** A call failed, and its strategy is to ask a person: asked by the runtime itself. */
export const ESCALATED: PolicyId = "orgate:escalated" as PolicyId;
/** Rule 4: asked by the runtime itself, whatever the policies permit. */
export const UNKNOWN_OPEN: PolicyId = "orgate:unknown-open" as PolicyId;
/** A tool's definition wants a person asked before each call: asked by the runtime itself. */
export const HUMAN_APPROVAL: PolicyId = "orgate:human-approval" as PolicyId;
