/** The view of approval requests that wait: one line each. */
import type { Millis } from "@orgate/core";
import type { ListedApproval } from "@orgate/core/journal";
import { findQuorum, resourceText } from "@orgate/protocol/view";
import { ageText, type Cell, shorten, table, visible } from "@orgate/shell/terminal";
import { isExpired } from "../../../runtime/people/approvals.ts";
import { NODE } from "../../../runtime/ports/outside.ts";
import type { OperationView } from "../../operations/run.ts";

export const listApprovals: OperationView<"approvals"> = {
  toJson: ({ items }) => {
    const now = NODE.clock.now();
    return items.map((q) => withExpiry(q, now));
  },
  print: ({ items, next }, { screen }) => {
    const now = NODE.clock.now();
    if (items.length === 0) screen.line("nothing waits for an answer");
    else {
      const voted = items.some(({ asks }) => asks.some(({ terms }) => terms.quorum > 1));
      for (const line of table(headOf(voted), items.map(rowOf(now, voted)), screen.paint)) screen.line(line);
    }
    if (next !== null) screen.line(screen.paint("warn", `there are more than these ${items.length}: --limit N shows more`));
    if (items.length > 0)
      screen.line(screen.paint("dim", "`orgate approvals show ID` shows all of one; `approve`, `edit`, `deny` and `withdraw` answer it"));
  },
};

export const withExpiry = (q: ListedApproval, now: Millis) => ({ ...q, expired: isExpired(q, now) });

const headOf = (voted: boolean) => ["id", "agent", "wants", "question", "of", ...(voted ? ["yes"] : []), "expires", "asked", "session"];
const WIDE = 60;
const rowOf =
  (now: Millis, voted: boolean) =>
  (q: ListedApproval): readonly Cell[] => [
    q.approval,
    q.agent,
    shorten(wantsText(q), WIDE),
    shorten(q.asks.map((a) => visible(a.question)).join(" / "), WIDE),
    [...new Set(q.asks.flatMap((a) => a.terms.approvers))].join(", ") || "who may approve",
    ...(voted ? [quorumCell(q)] : []),
    isExpired(q, now) ? { text: "expired", tone: "bad" } : q.expiresAt === null ? "-" : `in ${ageText(q.expiresAt - now)}`,
    `${ageText(now - q.askedAt)} ago`,
    q.session,
  ];
/** Q-8 */
function quorumCell({ asks, votes }: Pick<ListedApproval, "asks" | "votes">): string {
  const { needed, given } = findQuorum(asks, votes);
  return needed <= 1 ? "-" : `${given.length} of ${needed}${given.length === 0 ? "" : `: ${given.join(", ")}`}`;
}
export const wantsText = ({ tool, resource }: Pick<ListedApproval, "tool" | "resource">): string =>
  `${visible(tool)}${resource === null ? "" : ` ${resourceText(resource)}`}`;
