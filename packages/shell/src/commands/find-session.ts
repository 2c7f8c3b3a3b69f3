/** Finds the session that somebody means. */
import { isSessionId } from "@orgate/core/vocab";
import type { OperationOutput } from "@orgate/protocol";
import type { Shell } from "../contract.ts";
import { visible } from "../terminal/visible.ts";

type Summary = OperationOutput<"session">;

const MOST_LOOKED = 10_000;
/** A-9, over the API: an id, a name that the caller gave, or enough of the beginning or end. Null after the reason was printed. */
export async function findSession(
  { unwrap, connection, say }: Pick<Shell, "unwrap" | "connection" | "say">,
  text: string,
): Promise<Summary | null> {
  if (isSessionId(text)) return unwrap(connection.client.call("session", { params: { session: text } }));
  const items: Summary[] = [];
  for (let cursor: string | null = ""; cursor !== null && items.length < MOST_LOOKED; ) {
    const query: { limit: number; cursor?: string } = { limit: 500, ...(cursor === "" ? {} : { cursor }) };
    const page: OperationOutput<"sessions"> | null = await unwrap(connection.client.call("sessions", { query }));
    if (page === null) return null;
    items.push(...page.items);
    cursor = page.next;
  }
  const part = text.replace(/^s_/, "");
  const isMeant = ({ session, external }: Summary): boolean =>
    external === text || (part.length >= 4 && (session.startsWith(`s_${part}`) || (!text.startsWith("s_") && session.endsWith(part))));
  const found = items.filter(isMeant);
  const [one, ...others] = found.some(({ external }) => external === text) ? found.filter(({ external }) => external === text) : found;
  if (one !== undefined && others.length === 0) return one;
  say(
    one === undefined
      ? `there is no session \`${visible(text)}\`: \`/sessions\` lists them`
      : `\`${visible(text)}\` means ${found.length} sessions: write more of it`,
  );
  return null;
}
