/** Views of circuit breakers: the lines that people read. */
import { type Millis, principalName } from "@orgate/core";
import type { BreakerState } from "@orgate/core/journal";
import type { OperationOutput } from "@orgate/protocol";
import type { Tone } from "@orgate/shell/terminal";
import { ageText, type Cell, table, visible } from "@orgate/shell/terminal";
import { unknownBreaker } from "../../../runtime/people/breakers.ts";
import { NODE } from "../../../runtime/ports/outside.ts";
import type { OperationView } from "../../operations/run.ts";
import { tell } from "../project/read-only.ts";

const TONES: Readonly<Record<BreakerState, Tone>> = { closed: "good", open: "bad", "half-open": "warn" };

export const listBreakers: OperationView<"breakers"> = {
  print: ({ items }, { screen }) => {
    if (items.length === 0) screen.line("no breaker has ever opened");
    else for (const line of table(HEAD, items.map(rowOf(NODE.clock.now())), screen.paint)) screen.line(line);
  },
};

const HEAD = ["breaker", "state", "tried again", "since", "by", "reason"];
const rowOf =
  (now: Millis) =>
  (b: OperationOutput<"setBreaker">): readonly Cell[] => [
    b.breaker,
    { text: b.state, tone: TONES[b.state] },
    b.state === "open" ? (b.until === null ? "when it is closed" : `in ${ageText(b.until - now)}`) : "-",
    ageText(now - b.at),
    principalName(b.by),
    b.reason,
  ];

export const viewBreaker: OperationView<"setBreaker"> = {
  follow: async (value, { given, screen, runtime }) => {
    const { breaker } = value;
    if (given.flag("anyway") && unknownBreaker(runtime.inspect.agents, [], breaker, "") !== null)
      tell(given, screen, `this project has no \`${breaker}\`: it is set all the same, should it come from elsewhere`);
    return value;
  },
  print: ({ breaker, state }, { screen }) => screen.line(`${visible(breaker)} is ${screen.paint(TONES[state], state)}${WORDS[state]}`),
};

const WORDS: Readonly<Record<BreakerState, string>> = {
  open: ": nothing of it is called, in any process",
  "half-open": ": a few calls may try it",
  closed: ": it may be called",
};
