import { approvalId } from "@orgate/core";
import type { ListedDeadLetter, ListedQuestion } from "@orgate/core/journal";
import { wireProblem } from "@orgate/core/wire";
import { refusal } from "../answering.ts";
import type { Handlers } from "../api.ts";
import type { Front } from "./front.ts";
import { json, page, pageOf, pair, whole } from "./paging.ts";

type Names = "approvals" | "approval" | "answer" | "grants" | "revoke" | "unknowns" | "resolve" | "deadLetters" | "dismiss";

/** What waits for people. */
export function peopleHandlers({ runtime, floor }: Front): Pick<Handlers, Names> {
  const { store } = runtime.place;
  return {
    approvals: async ({ query, sees }) =>
      json(
        await page<ListedQuestion>(query, {
          read: (after, most) => runtime.approvals.list({ after: whole(after), most }),
          place: ({ arrival }) => String(arrival),
          shows: ({ agent }) => sees(agent),
        }),
      ),
    approval: async ({ params }) => {
      const found = await runtime.approvals.show(params.approval);
      if (found === null)
        throw refusal(wireProblem("not-found", `there is no open question \`${params.approval}\``, "it was answered, or has expired"));
      return json(found);
    },
    answer: async ({ params, body, caller, once }) => {
      const [found] = await store.journal.question(approvalId(params.approval));
      if (found === undefined)
        throw refusal(wireProblem("not-found", `there is no open question \`${params.approval}\``, "it was answered, or has expired"));
      const wish = { kind: "answer", approval: params.approval, digest: body.digest, answer: body.answer } as const;
      return json(await floor.send({ session: found.session, wish, as: caller.person, id: once.intent }));
    },
    grants: async ({ query, sees }) => json(await pageOf(query, await runtime.approvals.grants(), ({ agent }) => sees(agent))),
    revoke: async ({ params, body, caller }) => {
      const found = (await runtime.approvals.grants()).find(({ grant }) => grant === params.grant);
      await runtime.approvals.revoke(params.grant, body.reason, caller.person);
      return json(found);
    },
    unknowns: async ({ query, sees }) =>
      json(
        await page(query, {
          read: async (after, most) => {
            const at = pair(after);
            type Place = NonNullable<Parameters<typeof store.unknowns>[0]["after"]>;
            const place = at === null ? null : ({ session: at[0], call: at[1] } as Place);
            return store.unknowns({ after: place, most });
          },
          place: ({ session, call }) => `${session} ${call}`,
          shows: ({ agent }) => sees(agent),
        }),
      ),
    resolve: async ({ params, body, caller, once }) => {
      const wish = { kind: "resolve", call: params.call, as: body.as, note: body.note } as const;
      return json(await floor.send({ session: params.session, wish, as: caller.person, id: once.intent }));
    },
    deadLetters: async ({ query, sees }) =>
      json(
        await page<ListedDeadLetter>(query, {
          read: (after, most) => runtime.deadLetters.list({ after: whole(after), most }),
          place: ({ arrival }) => String(arrival),
          shows: ({ agent }) => sees(agent),
        }),
      ),
    dismiss: async ({ params, body, caller, once }) => {
      const wish = { kind: "dismiss", call: params.call, note: body.note } as const;
      return json(await floor.send({ session: params.session, wish, as: caller.person, id: once.intent }));
    },
  };
}
