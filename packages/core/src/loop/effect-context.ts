/** The driver, as effects see it. An effect never touches the state: it returns a function that the driver calls for its events. */
import type { Run } from "../act/act.ts";
import type { Hold, SessionStart } from "../journal/port.ts";
import type { Permit, Redeem } from "../permit/turnstile.ts";
import { type ActionText, type Digest, FaultError, type GateDecided, type JournalEvent, type Millis, type Tool } from "../vocab/index.ts";
import type { Choice } from "./calls/recovery.ts";
import type { Live, Ports } from "./ports.ts";
import type { FactsFor } from "./session-facts.ts";
import type { Call, State, Turn } from "./state.ts";

/** The events that an effect leads to, made when the driver records them. */
export type EffectResult = () => readonly JournalEvent[];

/** The driver, as effects see it. */
export type EffectContext = Readonly<{
  p: Ports;
  s: State;
  hold: Hold;
  record(event: JournalEvent): void;
  permitFor(action: ActionText): Permit;
  redeem: Redeem;
  /** Fires when the turn is stopped, or the calls of this tool are. */
  stopOf(tool: string | null): AbortSignal;
  /** Adds a session that opens with the next commit. */
  begin(one: SessionStart): void;
  /** Something may have arrived in the inbox. */
  look(): void;
  time(): Millis;
  deadline: Run["deadline"];
  isTurnStopped(): boolean;
  launch(name: string, effect: () => Promise<EffectResult>): void;
  isInFlight(name: string): boolean;
  /** Hands in events while the effect goes on. */
  settle(result: EffectResult): void;
  tell(live: Live): void;
  /** A tool's code may outlive its call. The session's hold is kept until it has ended. */
  outliving(over: Promise<void>): void;
  toolDigest(tool: Tool): Digest;
  factsFor: FactsFor;
  /** Chooses what is done about a call that failed. */
  chooseFor(t: Turn, call: Call): Choice | null;
}>;

/** Records that the approval behind a decision is used up, or its grant used, in the commit that starts the action. */
export function consume({ record }: Pick<EffectContext, "record">, decided: GateDecided): void {
  const approval = decided.verdict.kind === "allow" ? decided.verdict.approval : null;
  if (approval === null) return;
  if (isGrant(approval)) record({ kind: "grant.used", grant: approval, action: decided.id });
  else record({ kind: "approval.consumed", approval, action: decided.id });
}
const isGrant = (
  id: NonNullable<Extract<GateDecided["verdict"], { kind: "allow" }>["approval"]>,
): id is Extract<JournalEvent, { kind: "grant.used" }>["grant"] => id.startsWith("g_");

/** Called right before an effect: where a hold can be lost, this is the last check of it. */
export function checkHold({ p, s, hold }: EffectContext): void {
  if (!p.journal.holds(hold)) throw new FaultError({ kind: "hold-lost", session: s.session, epoch: hold.epoch });
}
