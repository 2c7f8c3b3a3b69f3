import { type ApprovalId, approvalId, principalName, type SessionId } from "@orgate/core";
import type { ListedApproval, ListedDeadLetter } from "@orgate/core/journal";
import { findNewestEntry, readIntentId } from "../../runtime/delivery.ts";
import { findSettledRequest } from "../../runtime/people/settled-request.ts";
import { type Act, act, type Caller } from "../access.ts";
import { aboutGrant, aboutQuestion, missingProblem, settledRefusal } from "../acts.ts";
import type { OperationContext } from "../context.ts";
import type { OperationHandlers } from "../execute.ts";
import type { IdempotencyKey } from "../idempotency.ts";
import { page, pageOf, pair, whole } from "../paging.ts";
import { intentResult, json, type OperationResult } from "../result.ts";

type Names = "approvals" | "approval" | "answer" | "grants" | "revoke" | "unknowns" | "resolve" | "deadLetters" | "dismiss";

/** Handlers for requests that wait for people. */
export function peopleHandlers({ runtime, sessionDriver, cursors, whose }: OperationContext): Pick<OperationHandlers, Names> {
  const { store } = runtime.place;
  /** W-6. A call is its session's: who may not see that one is not shown this one. */
  const showsCall =
    (may: (act: Act) => boolean) => async (row: Readonly<{ session: SessionId; call: string; agent: string; tool: string }>) => {
      const { session, call, agent, tool } = row;
      const of = await whose(session);
      const about = { session, agent, requester: of?.requester ?? null };
      return may(act("observe", "call", { ...about, id: call, tool })) && may(act("observe", "session", about));
    };
  const over = async (approval: ApprovalId, { principal }: Caller): Promise<never> => {
    const settled = await findSettledRequest(store.journal, approval, { me: principalName(principal) });
    throw settled === null ? missingProblem({ on: "approval", id: approval, session: null }) : settledRefusal(settled);
  };
  /** W-5. The server may have gone between the answer and its reply: the entry that the answer became is the reply. */
  const answeredBefore = async (approval: ApprovalId, { again, intent }: IdempotencyKey): Promise<OperationResult | null> => {
    const settled = again ? await findSettledRequest(store.journal, approval, { me: null }) : null;
    if (settled === null) return null;
    const entry = await findNewestEntry(store.journal, settled.session, (event) => readIntentId(event) === intent);
    return entry === null ? null : json({ session: settled.session, entry, halted: null });
  };
  return {
    approvals: async ({ query, may }) =>
      json(
        await page<ListedApproval>(cursors, query, {
          read: (after, most) => runtime.approvals.list({ after: whole(after), most }),
          place: ({ arrival }) => String(arrival),
          shows: async (one) => may(act("observe", "approval", await aboutQuestion(runtime.inspect, one))),
        }),
      ),
    approval: async ({ params, caller }) => json((await runtime.approvals.show(params.approval)) ?? (await over(params.approval, caller))),
    answer: async ({ params, body, caller, once }) => {
      const [found] = await store.journal.question(approvalId(params.approval));
      if (found === undefined) return (await answeredBefore(params.approval, once)) ?? over(params.approval, caller);
      const wish = { kind: "answer", approval: params.approval, digest: body.digest, answer: body.answer } as const;
      return intentResult(await sessionDriver.send({ session: found.session, wish, as: caller.person, id: once.intent }));
    },
    grants: async ({ query, may }) =>
      json(await pageOf(cursors, query, await runtime.approvals.grants(), (one) => may(act("observe", "grant", aboutGrant(one))))),
    revoke: async ({ params, body, caller }) => {
      const found = (await runtime.approvals.grants()).find(({ grant }) => grant === params.grant);
      await runtime.approvals.revoke(params.grant, body.reason, caller.person);
      return json(found);
    },
    unknowns: async ({ query, may }) =>
      json(
        await page(cursors, query, {
          read: async (after, most) => {
            const at = pair(after);
            type Place = NonNullable<Parameters<typeof store.unknowns>[0]["after"]>;
            const place = at === null ? null : ({ session: at[0], call: at[1] } as Place);
            return store.unknowns({ after: place, most });
          },
          place: ({ session, call }) => `${session} ${call}`,
          shows: showsCall(may),
        }),
      ),
    resolve: async ({ params, body, caller, once }) => {
      const wish = { kind: "resolve", call: params.call, as: body.as, note: body.note } as const;
      return intentResult(await sessionDriver.send({ session: params.session, wish, as: caller.person, id: once.intent }));
    },
    deadLetters: async ({ query, may }) =>
      json(
        await page<ListedDeadLetter>(cursors, query, {
          read: (after, most) => runtime.deadLetters.list({ after: whole(after), most }),
          place: ({ arrival }) => String(arrival),
          shows: showsCall(may),
        }),
      ),
    dismiss: async ({ params, body, caller, once }) => {
      const wish = { kind: "dismiss", call: params.call, note: body.note } as const;
      return intentResult(await sessionDriver.send({ session: params.session, wish, as: caller.person, id: once.intent }));
    },
  };
}
