/** Grants (remembered approvals): listed, and revoked. */
import { type Millis, principalName } from "@orgate/core";
import type { StandingGrant } from "@orgate/core/journal";
import type { OperationOutput } from "@orgate/protocol";
import { ageText, type Cell, table, visible } from "@orgate/shell/terminal";
import { NODE } from "../../../runtime/ports/outside.ts";
import type { OperationView } from "../../operations/run.ts";

export const grants: OperationView<"grants"> = {
  print: ({ items }, { screen }) => {
    if (items.length === 0) screen.line("no answer is remembered");
    else for (const line of table(HEAD, items.map(rowOf(NODE.clock.now())), screen.paint)) screen.line(line);
  },
};

const HEAD = ["grant", "agent", "for", "covers", "until", "given by", "given", "instead of"];
const rowOf =
  (now: Millis) =>
  (g: OperationOutput<"grants">["items"][number]): readonly Cell[] => [
    g.grant,
    g.agent,
    principalName(g.onBehalfOf),
    g.says,
    lifetimeText(g, now),
    principalName(g.by),
    `${ageText(now - g.givenAt)} ago`,
    g.policies.join(", "),
  ];

function lifetimeText({ until, session, turn }: Pick<StandingGrant, "until" | "session" | "turn">, now: Millis): string {
  if (until !== null) return `in ${ageText(until - now)}`;
  return turn === null ? `the end of ${session ?? "?"}` : `the end of turn ${turn} of ${session ?? "?"}`;
}

export const viewRevoked: OperationView<"revoke"> = {
  print: ({ grant, agent, says }, { screen }) => screen.line(`revoked ${grant}: ${visible(agent)} asks again; it had covered ${says}`),
};
