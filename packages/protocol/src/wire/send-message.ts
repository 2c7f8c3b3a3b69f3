/** Sends a message to an agent: in its session, or in a new one. */
import type { SessionId } from "@orgate/core/vocab";
import type { Called } from "./client.ts";
import type { Link } from "./link.ts";
import type { OperationInput } from "./operations.ts";

export type MessageTo = Readonly<{ agent: string; session: SessionId | null }>;
export type Message = OperationInput<"say">["body"];
/** `isHeldBack`: it is recorded and starts no turn now: another turn is in progress, or a halt is in force. */
export type SentMessage = Readonly<{ session: SessionId; isHeldBack: boolean }>;

/** Resolves once the message is recorded; the turn goes on. Without a session one is opened. */
export async function sendMessage(link: Pick<Link, "call">, { agent, session }: MessageTo, message: Message): Promise<Called<SentMessage>> {
  const { text, ...files } = message;
  if (session !== null) {
    const said = await link.call("say", { params: { session }, body: { text, ...files } });
    if (said.kind === "problem") return said;
    return { kind: "ok", value: { session, isHeldBack: said.value.entry?.event.kind === "input.queued" } };
  }
  const begun = await link.call("execute", { params: { agent }, body: { input: text, ...files, waitMs: 0 } });
  if (begun.kind === "problem") return begun;
  const { state, detail } = begun.value;
  return { kind: "ok", value: { session: begun.value.session, isHeldBack: state === "waiting" && detail !== null } };
}
