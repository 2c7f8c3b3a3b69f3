import { type ApprovalId, approvalId, principalName, type SessionId } from "@orgate/core";
import type { ListedApproval, ListedDeadLetter } from "@orgate/core/journal";
import type { OperationGroups } from "@orgate/protocol/words";
import type { Runtime } from "../../runtime/api.ts";
import { findNewestEntry, readIntentId } from "../../runtime/delivery.ts";
import { findSettledRequest } from "../../runtime/people/settled-request.ts";
import { type Act, act, type Caller } from "../access.ts";
import { aboutGrant, aboutQuestion, missingProblem, settledRefusal } from "../acts.ts";
import type { OperationContext } from "../context.ts";
import type { OperationHandlers } from "../execute.ts";
import type { IdempotencyKey } from "../idempotency.ts";
import { type Cursors, page, pair, toPage, whole } from "../paging.ts";
import { intentResult, json, type OperationResult } from "../result.ts";
import type { Whose } from "../visibility.ts";

type Group = OperationGroups["approvals"];
type Reads = "approvals" | "grants" | "deadLetters";

/** The parts of a runtime that lists of approvals are read from. */
export type ApprovalReads = Readonly<{
  inspect: Pick<Runtime["inspect"], "session">;
  approvals: Pick<Runtime["approvals"], "list" | "grants">;
  deadLetters: Pick<Runtime["deadLetters"], "list">;
  cursors: Cursors;
  whose: Whose;
}>;

/** W-6. A call belongs to its session: a caller who may not see the session does not see the call. */
const showsCall =
  (whose: Whose, may: (act: Act) => boolean) =>
  async ({ session, call, agent, tool }: Readonly<{ session: SessionId; call: string; agent: string; tool: string }>) => {
    const of = await whose(session);
    const about = { session, agent, requester: of?.requester ?? null };
    return may(act("observe", "call", { ...about, id: call, tool })) && may(act("observe", "session", about));
  };

export function approvalReaders({
  inspect,
  approvals,
  deadLetters,
  cursors,
  whose,
}: ApprovalReads): Required<Pick<OperationHandlers, Reads>> {
  return {
    approvals: async ({ query, may }) =>
      json(
        await page<ListedApproval>(cursors, query, {
          read: (after, most) => approvals.list({ after: whole(after), most }),
          place: ({ arrival }) => String(arrival),
          shows: async (one) => may(act("observe", "approval", await aboutQuestion(inspect, one))),
        }),
      ),
    grants: async ({ query, may }) =>
      json(await toPage(cursors, query, await approvals.grants(), (one) => may(act("observe", "grant", aboutGrant(one))))),
    deadLetters: async ({ query, may }) =>
      json(
        await page<ListedDeadLetter>(cursors, query, {
          read: (after, most) => deadLetters.list({ after: whole(after), most }),
          place: ({ arrival }) => String(arrival),
          shows: showsCall(whose, may),
        }),
      ),
  };
}

/** Handlers for requests that wait for people. */
export function peopleHandlers({ runtime, sessionDriver, cursors, whose }: OperationContext): Required<Pick<OperationHandlers, Group>> {
  const { store } = runtime.place;
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
    ...approvalReaders({ inspect: runtime.inspect, approvals: runtime.approvals, deadLetters: runtime.deadLetters, cursors, whose }),
    approval: async ({ params, caller }) => json((await runtime.approvals.show(params.approval)) ?? (await over(params.approval, caller))),
    answer: async ({ params, body, caller, key }) => {
      const [found] = await store.journal.question(approvalId(params.approval));
      if (found === undefined) return (await answeredBefore(params.approval, key)) ?? over(params.approval, caller);
      const wish = { kind: "answer", approval: params.approval, digest: body.digest, answer: body.answer } as const;
      return intentResult(await sessionDriver.send({ session: found.session, wish, as: caller.person, id: key.intent }));
    },
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
          shows: showsCall(whose, may),
        }),
      ),
    resolve: async ({ params, body, caller, key }) => {
      const wish = { kind: "resolve", call: params.call, as: body.as, note: body.note } as const;
      return intentResult(await sessionDriver.send({ session: params.session, wish, as: caller.person, id: key.intent }));
    },
    dismiss: async ({ params, body, caller, key }) => {
      const wish = { kind: "dismiss", call: params.call, note: body.note } as const;
      return intentResult(await sessionDriver.send({ session: params.session, wish, as: caller.person, id: key.intent }));
    },
  };
}
