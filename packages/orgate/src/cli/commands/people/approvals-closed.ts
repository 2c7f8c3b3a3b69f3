/** Approval requests that are not open any more: who answered, when, and what the call came to, read from the session's journal. */
import { type ApprovalId, type Entry, FaultError, isFault, type Millis, type SessionId } from "@orgate/core";
import { eachSession, readAllEntries, type SessionSummary } from "@orgate/core/journal";
import type { StandingHalt } from "@orgate/core/vocab";
import { answeredText, buildSessionView, findSettledApproval, type QuestionItem } from "@orgate/protocol/view";
import type { Given, Screen } from "@orgate/shell/terminal";
import { visible } from "@orgate/shell/terminal";
import { findSessionHalt, readHalts } from "../../../runtime/people/halted.ts";
import { openPersons, type ReadOnlyStore } from "../../../store/open-read-only.ts";

export type ClosedRequest = Readonly<{
  approval: ApprovalId;
  session: SessionId;
  agent: string;
  state: QuestionItem["state"];
  /** Who answered and how, and what the call came to. */
  says: string;
  answeredAt: Millis | null;
  request: QuestionItem;
}>;

/** A-9 by its id, or enough of either end of it. The latest one; null where no session asked for it, or it is still open. */
export async function closedRequest(look: ReadOnlyStore, given: Given, text: string): Promise<ClosedRequest | null> {
  const isMeant = (id: string): boolean => id === text || (text.length >= 4 && (id.startsWith(text) || id.endsWith(text)));
  for await (const summary of eachSession(look.journal)) {
    const { session } = summary;
    const entries = await entriesOf(look, session);
    const asked = entries.findLast(({ event }) => event.kind === "approval.asked" && isMeant(event.approval))?.event;
    if (asked?.kind !== "approval.asked") continue;
    const needs = { journal: look.journal, halts: await readHalts(look.journal), isHeld: (await look.holder(session)) !== null };
    return closedIn(entries, summary, { approval: asked.approval, me: meOf(given), halt: await findSessionHalt(needs, summary) });
  }
  return null;
}

function closedIn(
  entries: readonly Entry[],
  { session, agent }: SessionSummary,
  { approval, me, halt }: Readonly<{ approval: ApprovalId; me: string | null; halt: StandingHalt | null }>,
): ClosedRequest | null {
  const view = buildSessionView(session, entries);
  const settled = findSettledApproval(view, approval, me, halt);
  const request = view.items.find((one): one is QuestionItem => one.kind === "question" && one.approval === approval);
  if (settled === null || request === undefined) return null;
  return { approval, session, agent, state: request.state, says: settled.says, answeredAt: settled.at, request };
}

/** None of a session that was erased in part: the rest does not show its result. */
async function entriesOf({ journal }: ReadOnlyStore, session: SessionId): Promise<readonly Entry[]> {
  try {
    return await readAllEntries(journal, session);
  } catch (error) {
    if (isFault(error, "entry-erased")) return [];
    throw error;
  }
}

/** Who looks, where that is clear without making a key. */
function meOf(given: Given): string | null {
  const named = given.text("as") ?? (given.env.ORGATE_USER || null);
  const [only, ...others] = named === null ? openPersons(given.env).names() : [named];
  return only === undefined || others.length > 0 ? null : `user:${only}`;
}

const whenText = ({ answeredAt }: ClosedRequest): string => (answeredAt === null ? "" : ` (${new Date(answeredAt).toISOString()})`);

/** An answer in the journal's words, as far as a repetition can be told from another answer. */
export type SameAnswer = Readonly<{ answer: "approved" | "denied" | "withdrawn"; reason: string | null }>;

/** Q-23 The same person has given this very answer, and it counted. */
export function isRepeated({ request }: ClosedRequest, given: Given, { answer, reason }: SameAnswer): boolean {
  const last = request.answers.findLast(({ by }) => by === meOf(given));
  const isSameAction = request.digest.startsWith(given.text("digest") ?? "");
  return last !== undefined && isSameAction && last.answer === answer && last.reason === reason && request.state === answer;
}

/** Q-23 the refusal of an answer that comes too late. */
export const answeredAlready = (closed: ClosedRequest): FaultError =>
  new FaultError({
    kind: "usage",
    detail: `approval request \`${closed.approval}\` is not open any more${whenText(closed)}: ${visible(closed.says)}`,
    hint: `\`orgate approvals show ${closed.approval}\` shows it, \`orgate sessions show ${closed.session}\` all that happened`,
  });

export function printClosed(screen: Screen, closed: ClosedRequest): void {
  const { request } = closed;
  const line = (name: string, text: string): void => screen.line(`${screen.paint("dim", name.padEnd(12))}${visible(text)}`);
  screen.line(`${screen.paint("strong", closed.approval)} ${closed.state}`);
  line("answer", closed.says);
  for (const one of request.answers)
    line("", `${new Date(one.at).toISOString()} ${answeredText({ state: closed.state, answers: [one] }, null)}`);
  line("wanted", `${request.tool}${request.resource === null ? "" : ` ${request.resource}`}`);
  line("call", request.summary);
  line("agent", closed.agent);
  line("session", `${closed.session}, action ${request.action}`);
  for (const { policy, question } of request.asks) line("asked by", `${policy.id}: ${question}`);
  line("asked", new Date(request.at).toISOString());
  line("digest", request.digest);
}
