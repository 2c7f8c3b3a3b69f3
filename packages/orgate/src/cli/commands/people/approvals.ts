/**
 * Questions that wait for a person: listed without reading a session, shown whole, followed live.
 *
 * Q-25 a list of questions is one look into the index of what waits; only the question that is shown has its session read.
 * Q-25 what is shown before an answer is all of it: hidden characters escaped, long values folded, nothing left out.
 */

import { type ApprovalId, approvalId, FaultError, type Millis, principalName } from "@orgate/core";
import { eachRow, type ListedApproval } from "@orgate/core/journal";
import { onAbort } from "@orgate/core/vocab";
import { findQuorum, quorumText, resourceText } from "@orgate/protocol/view";
import { ageText, bell, EXIT, foldText, type Given, type RunCommand, type Screen, visible } from "@orgate/shell/terminal";
import { type ApprovalRequestView, isExpired, viewApprovalRequest, widestText } from "../../../runtime/people/approvals.ts";
import { NODE } from "../../../runtime/ports/outside.ts";
import type { ReadOnlyStore } from "../../../store/open-read-only.ts";
import { withReadOnlyStore } from "../project/project.ts";
import { type ClosedRequest, closedRequest, printClosed } from "./approvals-closed.ts";
import { wantsText, withExpiry } from "./approvals-list.ts";
import { listPendingAnswers, pendingAnswerTexts } from "./pending-answers.ts";

// one

export const showApproval: RunCommand = (given, screen) =>
  withReadOnlyStore(given, async (look) => {
    const found = await requestOf(look, given);
    const { kind: _, ...view } = found;
    const pending = found.kind === "open" ? await listPendingAnswers(look, found.session) : null;
    const sent = pending?.answers.filter(({ approval }) => approval === found.approval);
    if (given.json) screen.line(JSON.stringify({ ...view, ...(sent === undefined ? {} : { pending: sent }) }));
    else if (found.kind === "open") {
      printQuestion(screen, found, NODE.clock.now());
      for (const text of pending === null ? [] : pendingAnswerTexts(pending, found.approval)) screen.line(screen.paint("warn", text));
    } else printClosed(screen, found);
    return EXIT.success;
  });

const SHORTEST = 4;

type Request = ({ kind: "open" } & ApprovalRequestView) | ({ kind: "closed" } & ClosedRequest);

/** A-9 an id may be shortened to its beginning or its end, as long as it means one question. */
export async function requestOf(look: ReadOnlyStore, given: Given): Promise<Request> {
  const [text = ""] = given.args;
  const all = await meantBy(look, text);
  const [one, ...others] = all;
  if (others.length > 0)
    throw usage(`\`${text}\` means ${all.length} questions`, `write more of it: ${all.map((q) => q.approval).join(", ")}`);
  const view = one === undefined ? null : await viewApprovalRequest(look.journal, one.session, one.approval, NODE.clock.now());
  if (view !== null) return { kind: "open", ...view };
  const closed = await closedRequest(look, given, one?.approval ?? text);
  if (closed === null)
    throw usage(`there is no open approval request \`${text}\`, nor an answered one`, "`orgate approvals list` shows those that are open");
  return { kind: "closed", ...closed };
}

async function meantBy({ journal }: ReadOnlyStore, text: string): Promise<readonly ListedApproval[]> {
  const exact = await journal.question(approvalId(text));
  if (exact.length > 0 || text.length < SHORTEST) return exact;
  const isMeant = (id: ApprovalId): boolean => id.startsWith(text) || id.endsWith(text);
  const found: ListedApproval[] = [];
  const read = (last: ListedApproval | null, most: number) => journal.questions({ after: last?.arrival ?? 0, most });
  for await (const q of eachRow(read)) if (isMeant(q.approval)) found.push(q);
  return found;
}

export function printQuestion(screen: Screen, q: ApprovalRequestView, now: Millis): void {
  const { paint } = screen;
  const line = (name: string, text: string): void => {
    const [first = "", ...more] = foldText(text, screen.columns - 14);
    screen.line(`${paint("dim", name.padEnd(12))}${first}`);
    for (const rest of more) screen.line(`${" ".repeat(12)}${rest}`);
  };
  screen.line(`${paint("strong", q.approval)} ${q.expired ? paint("bad", "expired") : paint("warn", "open")}`);
  line("wants", q.tool);
  line("touches", q.resource === null ? "no resource of its own" : resourceText(q.resource));
  if (q.args !== null)
    block(screen, q.editedBy === null ? "arguments" : `arguments, as edited by ${q.editedBy}`, JSON.stringify(q.args, null, 2));
  if (q.text !== null) block(screen, "the answer that would be delivered", q.text);
  const above = q.lineage.length === 0 ? "" : `, at work for ${q.lineage.toReversed().map(visible).join(", which works for ")}`;
  line("agent", `${q.agent}${above}, for ${principalName(q.requester)}`);
  if (q.subject !== null) line("serves", q.subject);
  line("session", `${q.session}, action ${q.action}`);
  for (const { policy, question, terms } of q.asks) {
    line("asked by", `${policy}: ${question}`);
    const yes = q.votes.filter((v) => v.counts.includes(policy)).map((v) => v.by);
    const who = terms.approvers.length === 0 ? "whoever the policies let approve" : `somebody of ${terms.approvers.join(", ")}`;
    const need = terms.quorum === 1 ? who : `${terms.quorum} different people: ${who}`;
    line("answered by", `${need}${yes.length === 0 ? "" : `; yes so far: ${yes.join(", ")}`}`);
  }
  const voted = quorumText(findQuorum(q.asks, q.votes));
  if (voted !== null) line("votes", voted);
  if (q.again !== null) line("again", `an earlier answer does not count: ${q.again}`);
  line("expires", expiryText(q, now));
  for (const since of q.resolved) line("known now", since);
  if (q.halted !== null) line("halted", q.halted);
  line("remembered", widestText(q.widest));
  for (const { scope, says } of q.grants) line(`  ${scope}`, says);
  line("digest", q.digest);
}

function block(screen: Screen, title: string, text: string): void {
  screen.line(screen.paint("dim", visible(title)));
  for (const one of foldText(text, screen.columns - 2)) screen.line(`  ${one}`);
}

function expiryText({ expiresAt, onExpiry, expired }: ApprovalRequestView, now: Millis): string {
  if (expiresAt === null) return "never";
  const then = onExpiry === "halt" ? "the turn is halted" : "it is denied";
  const at = new Date(expiresAt).toISOString();
  return expired ? `expired at ${at}: ${then}` : `in ${ageText(expiresAt - now)}, at ${at}; then ${then}`;
}

// as they come

/** Those that wait already, then each new one as it is asked, until Ctrl-C. */
export const watch: RunCommand = (given, screen) =>
  withReadOnlyStore(given, async (look) => {
    const stop = new AbortController();
    const onSignal = (): void => stop.abort();
    process.on("SIGINT", onSignal);
    process.on("SIGTERM", onSignal);
    const keepAlive = setInterval(() => {}, 60_000); // looking alone does not keep a process up
    try {
      await follow(look, stop.signal, screen, (q, isNew) => told(given, screen, q, isNew));
    } finally {
      clearInterval(keepAlive);
      process.off("SIGINT", onSignal);
      process.off("SIGTERM", onSignal);
    }
    return EXIT.success;
  });

async function follow(
  look: ReadOnlyStore,
  stop: AbortSignal,
  screen: Screen,
  tell: (q: ListedApproval, isNew: boolean) => void,
): Promise<void> {
  let after = 0;
  let wake = (): void => {};
  let changed = false;
  const unwatch = look.inbox.watchChanges(() => {
    changed = true;
    wake();
  });
  const stopListening = onAbort(stop, () => wake());
  try {
    for (let isNew = false; !stop.aborted && screen.isOpen(); isNew = true) {
      changed = false;
      for await (const q of eachRow<ListedApproval>((last, most) => look.journal.questions({ after: last?.arrival ?? after, most }))) {
        tell(q, isNew);
        after = q.arrival;
      }
      await new Promise<void>((resume) => {
        wake = resume;
        if (changed || stop.aborted) resume();
      });
    }
  } finally {
    unwatch();
    stopListening();
  }
}

function told(given: Given, screen: Screen, q: ListedApproval, isNew: boolean): void {
  const now = NODE.clock.now();
  if (given.json) {
    screen.line(JSON.stringify(withExpiry(q, now)));
    return;
  }
  const question = q.asks.map((a) => visible(a.question)).join(" / ");
  const left = isExpired(q, now) ? ", expired" : q.expiresAt === null ? "" : `, ${ageText(q.expiresAt - now)} left`;
  screen.line(
    `${isNew ? bell(screen) : ""}${screen.paint("warn", "?")} ${screen.paint("strong", q.approval)} ${visible(q.agent)} wants ${wantsText(q)}: ${question}${left}`,
  );
}

export const usage = (detail: string, hint: string): FaultError => new FaultError({ kind: "usage", detail, hint });
