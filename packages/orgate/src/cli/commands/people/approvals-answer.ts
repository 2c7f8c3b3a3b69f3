/**
 * Answers to questions.
 *
 * Q-5 an answer is bound to the question's id and to the digest of the action that was shown; a policy decides who may give it, here
 *     before it is sent and again by the session's holder.
 * Q-11 a yes is remembered only with --grant, as narrowly as it says; --for alone, or more than @grant lets be, is refused before anything is sent.
 */
import {
  type Answer,
  coverageText,
  type IntentId,
  isForRequester,
  isRefusal,
  type JsonObject,
  principalName,
  readJson,
  toAnswerAct,
  toCanonicalJson,
} from "@orgate/core";
import { findQuorum, quorumText, resourceText } from "@orgate/protocol/view";
import type { Screen } from "@orgate/shell/terminal";
import { EXIT, type Given, type RunCommand, visible } from "@orgate/shell/terminal";
import { type ApprovalRequestView, assertMayAct, toGrantRequest } from "../../../runtime/people/approvals.ts";
import { NODE } from "../../../runtime/ports/outside.ts";
import type { Person } from "../../../store/keyring.ts";
import type { ReadOnlyStore } from "../../../store/open-read-only.ts";
import { findCaller, loadCommandProject, withReadOnlyStore } from "../project/project.ts";
import { requestOf, usage } from "./approvals.ts";
import { answeredAlready, type ClosedRequest, isRepeated, type SameAnswer } from "./approvals-closed.ts";
import { deliverWish, tellSent } from "./intents.ts";
import { listPendingAnswers } from "./pending-answers.ts";

export const approve: RunCommand = (given, screen) => {
  const [scope, lifetime] = [given.text("grant"), given.text("for")];
  if (scope === null && lifetime !== null)
    throw usage("--for says how long, but not what is remembered", "add --grant digest, resource or tool");
  if (scope === null) return answer(given, screen, () => ({ kind: "approve" }), { answer: "approved", reason: null });
  if (!isScope(scope)) throw usage(`--grant is \`${scope}\``, "use digest, resource or tool");
  return answer(given, screen, ({ asks }) => ({ kind: "grant", grant: toGrantRequest(scope, lifetime ?? "turn", asks, NODE.clock.now()) }));
};
const isScope = (text: string): text is "digest" | "resource" | "tool" => text === "digest" || text === "resource" || text === "tool";

const refusing =
  (kind: "deny" | "withdraw"): RunCommand =>
  (given, screen) => {
    const reason = given.text("reason");
    if (reason === null || reason.trim() === "") throw usage("--reason is missing", "say why: the agent is told, and the journal keeps it");
    return answer(given, screen, () => ({ kind, reason }), { answer: kind === "deny" ? "denied" : "withdrawn", reason });
  };
export const deny = refusing("deny");
export const withdrawVote = refusing("withdraw");

export const editAndApprove: RunCommand = (given, screen) => {
  const args = argsOf(given.text("args"));
  return answer(given, screen, (view) => {
    if (view.args === null) throw usage("the question is not about a call: there are no arguments to edit", "approve or deny it");
    return { kind: "edit", args };
  });
};

function argsOf(text: string | null): JsonObject {
  if (text === null) throw usage("--args is missing", `write the whole arguments as they are to be: --args '{"amount":10}'`);
  const read = readJson(text);
  if (read.kind === "not-json") throw usage(`--args is not JSON at ${read.line}:${read.column}: ${read.detail}`, "write one JSON object");
  const { value } = read;
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw usage("--args is no JSON object", "write all arguments: {…}");
  return value as JsonObject;
}

/** `same`: the answer as the journal would have it, so that its repetition is a success. */
function answer(
  given: Given,
  screen: Screen,
  said: (view: ApprovalRequestView) => Answer,
  same: SameAnswer | null = null,
): Promise<number> {
  return withReadOnlyStore(given, async (look, config) => {
    const view = await requestOf(look, given);
    if (view.kind === "closed") {
      if (same === null || !isRepeated(view, given, same)) throw answeredAlready(view);
      return tellRepeated(given, screen, view);
    }
    const { approval, agent, tool, requester, session, digest } = view;
    const wanted = given.text("digest");
    if (wanted !== null && (wanted.length < 8 || !digest.startsWith(wanted)))
      throw usage(`question \`${approval}\` is about ${digest}, not ${wanted}`, `look again: \`orgate approvals show ${approval}\``);
    const chosen = said(view);
    const person = findCaller(given, screen);
    const { gate } = await loadCommandProject(config, given.env);
    const kind = toAnswerAct(chosen);
    const by = kind === "withdraw" ? person.name : requester.id; // whether they asked for it is the holder's to say
    const forRequester = isForRequester(view.asks);
    assertMayAct(
      gate,
      person,
      { kind, approval, agent, tool, requester: by, forRequester },
      kind === "approve" ? "answer it" : `${kind} it`,
    );
    const before = await findSameAnswer(look, view, person, chosen);
    const announce = (): void => {
      if (given.json) return;
      printAnswer(screen, view, chosen);
      if (before !== null) screen.line(screen.paint("warn", `you have answered it so already, as ${before}: it is taken up now`));
    };
    const wish = { kind: "answer", approval, digest, answer: chosen } as const;
    const to = { look, config, session, agent, person, ...(before === null ? {} : { pending: before }) };
    const sent = await deliverWish(given, screen, { ...to, announce }, wish);
    const isOneOfSeveral = !isRefusal(chosen) && quorumText(findQuorum(view.asks, view.votes)) !== null;
    const [still] = isOneOfSeveral ? await look.journal.question(approval) : []; // to prove that a row is gone all of them are read
    const quorum = still === undefined ? null : findQuorum(still.asks, still.votes);
    const code = await tellSent(given, screen, look, { sent, more: { quorum } });
    const voted = quorum === null ? null : quorumText(quorum);
    if (voted === null || sent.entry === null) return code;
    if (!given.json) screen.line(screen.paint("warn", voted));
    return EXIT.waiting; // Q-8 the vote counts, and the call still waits for people
  });
}

/** I-1 Delivered again under its id it is the same intent: the call runs once, and the repetition succeeds. */
async function findSameAnswer(
  look: ReadOnlyStore,
  { session, approval }: ApprovalRequestView,
  person: Person,
  chosen: Answer,
): Promise<IntentId | null> {
  const said = toCanonicalJson(chosen);
  const { answers } = await listPendingAnswers(look, session);
  const isSame = (one: (typeof answers)[number]): boolean =>
    one.approval === approval && one.by === principalName({ kind: "user", id: person.name }) && toCanonicalJson(one.answer) === said;
  return answers.find(isSame)?.intent ?? null;
}

function tellRepeated(given: Given, screen: Screen, { approval, session, state, says, answeredAt }: ClosedRequest): number {
  if (given.json) screen.line(JSON.stringify({ approval, session, state, says, answeredAt }));
  else screen.line(`it was answered so already: ${visible(says)}`);
  return EXIT.success;
}

const DOING = { approve: "approving", deny: "denying", withdraw: "withdrawing", edit: "approving, edited,", grant: "approving" };

function printAnswer(screen: Screen, q: ApprovalRequestView, chosen: Answer): void {
  const args = chosen.kind === "edit" ? chosen.args : q.args;
  screen.line(
    `${DOING[chosen.kind]} ${screen.paint("strong", visible(q.tool))} ${args === null ? "" : visible(toCanonicalJson(args))}`.trimEnd(),
  );
  if (chosen.kind === "grant") {
    const says = q.shown === null ? "" : `: ${coverageText(q.shown, chosen.grant)}`;
    screen.line(screen.paint("warn", `and remembering it for this ${chosen.grant.scope}${says}`));
  }
  if (q.halted !== null && !isRefusal(chosen)) screen.line(screen.paint("warn", visible(q.halted)));
  const about = [
    `for ${visible(q.agent)}`,
    ...(q.subject === null ? [] : [`serving ${visible(q.subject)}`]),
    ...(q.resource === null ? [] : [`touches ${resourceText(q.resource)}`]),
    `asked by ${q.asks.map((a) => visible(a.policy)).join(", ")}`,
    `digest ${q.digest.slice(0, 12)}`,
  ];
  screen.line(screen.paint("dim", about.join(" · ")));
}
