/**
 * Between gate and act. The only place where receipts and permits are made.
 * P-2 once: a decision yields one permit, a permit is redeemed once; copies, casts and forgeries are refused at run time too.
 * Rules: P-1, P-2.
 */
import {
  type Action,
  type ActionText,
  copyFrozen,
  type Digest,
  decisionsIn,
  FaultError,
  type GateDecided,
  joinDecisions,
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
  const self = {};

  /** Of the events as they were recorded: what is stored is made of them here, with the decisions that are part of others. */
  async function append(events: readonly TimedEvent[]): Promise<Receipt> {
    const sealed = events.map((e) => (e.event.kind === "gate.decided" ? { at: e.at, event: copyFrozen(e.event) } : e)); // nobody can change these
    const stored = joinDecisions(sealed);
    const first = await commit(stored); // durable, or it throws and there is no receipt
    const receipt = Object.freeze({ first }) as Receipt;
    const made = sealed.flatMap(({ event }) => (event.kind === "gate.decided" ? [event] : []));
    const places = stored.flatMap(({ event }, i) => decisionsIn(event).map(() => seq(first + i))); // as many, in the same order
    for (const [i, decided] of made.entries()) {
      allowed.delete(decided.id); // the latest decision counts
      if (decided.verdict.kind === "allow") allowed.set(decided.id, { receipt, seq: places[i] ?? first, decided });
    }
    return receipt;
  }

  function issuePermit(receipt: Receipt, action: ActionText): Permit {
    const found = allowed.get(action);
    if (found === undefined || found.receipt !== receipt) throw refused(action, "no durable allow");
    allowed.delete(action);
    return new IssuedPermit(action, found.seq, found.decided, self) as unknown as Permit;
  }

  function redeem(permit: Permit): Action {
    const decided = IssuedPermit.use(permit, self);
    if (decided === null) throw refused(permit.action, "not issued here, or used before");
    if (digestAction(decided.action) !== decided.digest) throw refused(permit.action, "not what was decided");
    return decided.action;
  }

  return { append, issuePermit, redeem };
}

/** Holds its decision where nobody else can read it or put one: a copy, a cast or a forgery has none. */
class IssuedPermit {
  readonly action: ActionText;
  readonly decidedAt: Seq;
  #decided: GateDecided | null;
  readonly #by: object;

  constructor(action: ActionText, decidedAt: Seq, decided: GateDecided, by: object) {
    this.action = action;
    this.decidedAt = decidedAt;
    this.#decided = decided;
    this.#by = by;
    Object.freeze(this);
  }

  /** Its decision, once, and only where it was issued. */
  static use(permit: object, by: object): GateDecided | null {
    if (typeof permit !== "object" || permit === null || !(#decided in permit) || permit.#by !== by) return null;
    const decided = permit.#decided;
    permit.#decided = null;
    return decided;
  }
}

const refused = (action: ActionText, detail: string): FaultError => new FaultError({ kind: "permit-refused", action, detail });
