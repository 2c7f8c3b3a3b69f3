import { FaultError, type IntentBody, type IntentId, type SessionId, seq } from "@orgate/core";
import type { SessionSummary } from "@orgate/core/journal";
import type { StandingHalt } from "@orgate/core/vocab";
import { hasWords, searchWords } from "@orgate/protocol/view";
import type { OperationGroups } from "@orgate/protocol/words";
import { findSessionHalt } from "../../runtime/people/halted.ts";
import { act, type Caller } from "../access.ts";
import { aboutSession } from "../acts.ts";
import type { OperationContext } from "../context.ts";
import type { OperationHandlers } from "../execute.ts";
import { forkSession, mustBeFree, mustBeOwn, openUnderCallersId } from "../open-session.ts";
import { page, pair, whole } from "../paging.ts";
import { intentResult, json } from "../result.ts";
import { type TurnView, turnsOf } from "./turns.ts";

type ListedSession = SessionSummary & Readonly<{ halted: StandingHalt | null }>;
/** Streams are for a server: its sockets have their handlers. */
type Group = Exclude<OperationGroups["sessions"], "follow" | "followAll">;

type Sending = Readonly<{ params: Readonly<{ session: SessionId }>; caller: Caller; key: Readonly<{ intent: IntentId }> }>;

/** The text of a list's row that a search looks in, beside the words of the conversation. */
const listedText = ({ session, external, title, agent, principal }: SessionSummary): string =>
  [session, external ?? "", title ?? "", agent, principal.id].join(" ");

/** Whether a session matches the search. W-9 Permission to see it is checked for each match. */
async function createMatcher(views: OperationContext["views"], text: string | undefined): Promise<(one: SessionSummary) => boolean> {
  if (text === undefined) return () => true;
  const words = searchWords(text);
  const said = new Set(await views.said(words));
  return (one) => hasWords(listedText(one), words) || said.has(one.session);
}

export function sessionHandlers({ runtime, sessionDriver, cursors, views }: OperationContext): Required<Pick<OperationHandlers, Group>> {
  const mustBe = async (session: SessionId): Promise<SessionSummary> => {
    const found = await runtime.inspect.session(session);
    if (found === null) throw new FaultError({ kind: "session-unknown", session });
    return found;
  };
  /** Who holds them is looked up once for all, and only while something is halted. */
  const listed = async (found: readonly SessionSummary[]): Promise<readonly ListedSession[]> => {
    const { orders, store } = runtime.place;
    await orders.refresh();
    const { halts } = orders.now();
    if (halts.size === 0) return found.map((s) => ({ ...s, halted: null }));
    const { journal } = store;
    const held = await store.holders(found.map(({ session }) => session));
    return Promise.all(
      found.map(async (s) => ({ ...s, halted: await findSessionHalt({ journal, halts, isHeld: held.has(s.session) }, s) })),
    );
  };
  const send = async ({ params, caller, key }: Sending, wish: IntentBody) =>
    intentResult(await sessionDriver.send({ session: params.session, wish, as: caller.person, id: key.intent }));
  return {
    sessions: async ({ query, may }) => {
      const fits = await createMatcher(views, query.text);
      const { items, next } = await page<SessionSummary>(cursors, query, {
        read: async (after, most) => {
          const at = pair(after);
          const before = at === null ? null : { openedAt: Number(at[0]) as SessionSummary["openedAt"], session: at[1] as SessionId };
          return runtime.inspect.sessions({ state: query.state ?? null, agent: query.agent ?? null, before, most });
        },
        place: ({ openedAt, session }) => `${openedAt} ${session}`,
        shows: (one) => fits(one) && may(act("observe", "session", aboutSession(one))),
      });
      return json({ items: await listed(items), next }); // a search looks at thousands, and shows a few
    },
    openSession: async ({ body, caller, key }) => {
      const { agent, id = key.external, labels = [], subject } = body;
      return json(await openUnderCallersId(runtime, caller, { agent, id, labels, ...(subject === undefined ? {} : { subject }) }, key));
    },
    session: async ({ params }) => json((await listed([await mustBe(params.session)]))[0]),
    events: async ({ params, query }) => {
      const entries = await runtime.place.store.journal.read(params.session, seq(query.after), query.limit);
      const last = entries.at(-1);
      return json({ entries, next: last === undefined || entries.length < query.limit ? null : last.seq });
    },
    turns: async ({ params, query }) =>
      json(
        await page<TurnView>(cursors, query, {
          async read(after, most) {
            const rows: TurnView[] = [];
            for await (const turn of turnsOf(runtime, params.session, seq(whole(after)))) {
              rows.push(turn);
              if (rows.length === most) break;
            }
            return rows;
          },
          place: ({ first }) => String(first),
          shows: () => true,
        }),
      ),
    say: ({ body, ...call }) => send(call, { kind: "follow-up", ...body }),
    steer: ({ body, ...call }) => send(call, { kind: "steer", ...body }),
    cancel: ({ body, ...call }) => send(call, { kind: body.all ? "cancel-all" : "cancel", reason: body.reason }),
    clear: (call) => send(call, { kind: "clear" }),
    compact: ({ body, ...call }) => send(call, { kind: "compact", tokens: body.tokens ?? null }),
    chooseModel: ({ body, ...call }) => send(call, { kind: "choose-model", model: body.model }),
    fork: async ({ params, body, caller, key }) => {
      const { at, id = key.external } = body;
      mustBeFree(id, key);
      const how = { id, principal: caller.principal, ...(at === undefined ? {} : { at }) };
      const there = id === key.external ? await runtime.sessions.find(id) : null;
      return json(mustBeOwn(there ?? (await forkSession(runtime, params.session, how)), caller.principal, id));
    },
    close: async ({ params, body, caller }) => {
      const found = await mustBe(params.session);
      return json(found.state === "closed" ? found : await runtime.sessions.close(params.session, body.reason, caller.principal));
    },
  };
}
