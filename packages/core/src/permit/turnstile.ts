/**
 * Between gate and act. The only place where receipts and permits are made.
 * P-3 once: a decision yields one permit, a permit is redeemed once; copies, casts and forgeries are refused at run time too.
 * Rules: P-1, P-2.
 */
import {
  type Action,
  type ActionText,
  copyFrozen,
  type Digest,
  FaultError,
  type GateDecided,
  type Seq,
  seq,
  type TimedEvent,
} from "../vocab/index.ts";

declare const durable: unique symbol;
declare const redeemable: unique symbol;
export type Receipt = Readonly<{ [durable]: true; first: Seq }>;
export type Permit = Readonly<{ [redeemable]: true; action: ActionText; decidedAt: Seq }>;
export type Redeem = (permit: Permit) => Action;

/** Durable when it resolves, with the first sequence number; else it rejects. */
export type Commit = (events: readonly TimedEvent[]) => Promise<Seq>;
export type DigestAction = (action: Action) => Digest;

/** One per drive: receipts and permits of another are worth nothing here. */
export function turnstile(commit: Commit, digestAction: DigestAction) {
  const allowed = new Map<ActionText, { receipt: Receipt; seq: Seq; decided: GateDecided }>();
  const issued = new WeakMap<Permit, GateDecided>();

  async function append(events: readonly TimedEvent[]): Promise<Receipt> {
    const sealed = events.map((e) => (e.event.kind === "gate.decided" ? { at: e.at, event: copyFrozen(e.event) } : e)); // nobody can change these
    const first = await commit(sealed); // durable, or it throws and there is no receipt
    const receipt = Object.freeze({ first }) as Receipt;
    for (const [i, { event }] of sealed.entries()) {
      if (event.kind !== "gate.decided") continue;
      allowed.delete(event.id); // the latest decision counts
      if (event.verdict.kind === "allow") allowed.set(event.id, { receipt, seq: seq(first + i), decided: event });
    }
    return receipt;
  }

  function issuePermit(receipt: Receipt, action: ActionText): Permit {
    const found = allowed.get(action);
    if (found === undefined || found.receipt !== receipt) throw refused(action, "no durable allow");
    allowed.delete(action);
    const permit = Object.freeze({ action, decidedAt: found.seq }) as Permit;
    issued.set(permit, found.decided);
    return permit;
  }

  function redeem(permit: Permit): Action {
    const decided = issued.get(permit);
    issued.delete(permit);
    if (decided === undefined) throw refused(permit.action, "not issued here, or used before");
    if (digestAction(decided.action) !== decided.digest) throw refused(permit.action, "not what was decided");
    return decided.action;
  }

  return { append, issuePermit, redeem };
}

const refused = (action: ActionText, detail: string): FaultError => new FaultError({ kind: "permit-refused", action, detail });
