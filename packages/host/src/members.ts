/** Who worked in an orchestration, as its journal tells: in the order in which they began. */
import type { CallId, Ending, Journal, SessionId } from "@orgate/core";
import { seq } from "@orgate/core";

export type Member = Readonly<{
  agent: string;
  session: SessionId;
  /** Null: it is at work, or waits for a person. */
  ending: Ending | null;
  output: string | null;
  detail: string | null;
  tokens: number;
  /** In the currency of the prices; null: not known. */
  cost: number | null;
}>;

const PAGE = 500;

export async function membersOf(journal: Pick<Journal, "read">, session: SessionId): Promise<readonly Member[]> {
  const members = new Map<CallId, Member>();
  for (let after = 0; ; ) {
    const page = await journal.read(session, seq(after), PAGE);
    for (const { event } of page) {
      if (event.kind === "child.opened")
        members.set(event.call, {
          agent: event.agent,
          session: event.child,
          ending: null,
          output: null,
          detail: null,
          tokens: 0,
          cost: null,
        });
      const member = event.kind === "child.ended" ? members.get(event.call) : undefined;
      if (event.kind === "child.ended" && member !== undefined) {
        const { ending, output, detail, used } = event;
        members.set(event.call, {
          ...member,
          ending,
          output,
          detail,
          tokens: used.tokens,
          cost: used.micros === null ? null : used.micros / 1_000_000,
        });
      }
    }
    const last = page.at(-1);
    if (last === undefined) return [...members.values()];
    after = last.seq;
  }
}
