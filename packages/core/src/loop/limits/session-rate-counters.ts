/** One session's part in the counts over hours and days: the reservations of its decisions, the counts of its commits, and what they rest on. */
import { countedAmounts } from "../../gate/arguments/amounts.ts";
import { targetDigests } from "../../gate/arguments/targets.ts";
import type { Count } from "../../journal/counts.ts";
import type { Append } from "../../journal/port.ts";
import {
  type ActionText,
  computeCost,
  counterForTotal,
  counterForValue,
  type GateDecided,
  type JournalEvent,
  printActionId,
  type TimedEvent,
  totalTokens,
  toUsage,
} from "../../vocab/index.ts";
import { findCall } from "../people/approval-state.ts";
import type { Ports } from "../ports.ts";
import { modelNow, type State } from "../state.ts";
import { roomForOutput } from "./budgets.ts";
import type { ActionOwner, RateReservation } from "./rate-counters.ts";

export type SessionCounters = Readonly<{
  /** An event was folded. */
  heard(event: JournalEvent): void;
  /** These are about to be appended. */
  about(events: readonly TimedEvent[]): void;
  /** The counters' part of the append. */
  now(): Pick<Append, "counts">;
  durable(): void;
  /** The append was refused. Says of an event whether it is a leave that rests on counters: such a leave has to be given again. */
  takenBack(): (event: JournalEvent) => boolean;
  isCurrent(action: ActionText): boolean;
  leave(): void;
}>;

export function createSessionCounters(p: Pick<Ports, "counts" | "tools" | "hash">, s: State): SessionCounters {
  const session = s.session;
  let counted: Count[] = [];
  let begun: readonly ActionOwner[] = [];
  let append: NonNullable<Append["counts"]> | null = null;
  const whose = (action: string): ActionOwner => ({ session, action });

  function setAside(e: GateDecided): void {
    if (e.verdict.kind === "allow") p.counts.reserve(whose(e.id), asideFor(p, s, e));
    else p.counts.release(whose(e.id));
  }

  return {
    heard(event) {
      counted.push(...s.tally.last);
      if (event.kind === "gate.decided") setAside(event);
      if (event.kind === "turn.ended") p.counts.leave(session); // whatever did not begin begins no more
    },
    about(events) {
      begun = events.flatMap(({ event }) => beginningOf(event)).map(whose);
      append = counted.length === 0 && begun.length === 0 ? null : p.counts.conditions(begun, counted);
      counted = [];
    },
    now: () => (append === null ? {} : { counts: append }),
    durable() {
      if (append !== null) p.counts.begun(begun, append);
      append = null;
    },
    takenBack() {
      append = null;
      counted = [];
      return (e) => {
        if (e.kind !== "gate.decided" || e.verdict.kind !== "allow" || !p.counts.hasRead(whose(e.id))) return false;
        p.counts.release(whose(e.id));
        return true;
      };
    },
    isCurrent: (action) => p.counts.isCurrent(whose(action)),
    leave: () => p.counts.leave(session),
  };
}

/** The action whose effect an event announces. */
function beginningOf(e: JournalEvent): readonly string[] {
  switch (e.kind) {
    case "act.started":
      return [e.call];
    case "model.asked":
      return [printActionId({ kind: e.purpose === "reply" ? "model" : "summary", iteration: e.iteration })];
    default:
      return [];
  }
}

/** The counts of an action if it began now; none for one that has begun before. */
function asideFor(p: Pick<Ports, "counts" | "tools" | "hash">, s: State, { id, action }: GateDecided): readonly RateReservation[] {
  const agent = s.agent.name;
  const t = s.turn;
  if (t === null) return [];
  if (action.kind === "call") {
    if ((findCall(t, id)?.starts ?? 1) > 0) return [];
    const tool = p.tools.find(action.tool);
    const values = Object.entries(targetDigests(tool, action.args, p.hash));
    const perValue = values.flatMap(([arg, all]) => all.map((value) => ({ name: counterForValue(action.tool, arg), agent, value, by: 1 })));
    const totals = Object.entries(countedAmounts(tool, action.args, p.hash)).flatMap(([arg, { by, per }]) =>
      ["", ...per].map((value) => ({ name: counterForTotal(action.tool, arg), agent, value, by })),
    );
    return [{ name: `calls:${action.tool}`, agent, value: "", by: 1 }, ...perValue, ...totals];
  }
  if (action.kind !== "model" || !(p.counts.areKept(["tokens"]) || p.counts.areKept(["micros"]))) return []; // most policies read neither
  const { input, output } = roomForOutput(s, t);
  const micros = computeCost(modelNow(s.agent, t).prices, toUsage(input, output));
  const tokens = { name: "tokens", agent, value: "", by: totalTokens(toUsage(input, output)) };
  return micros === null ? [tokens] : [tokens, { name: "micros", agent, value: "", by: micros }];
}
