/**
 * Serves `useChat` of the AI SDK: a message in, one turn as a UI message stream out.
 *
 * W-26 `useChat` works against an agent: a person's message is a turn; its words, calls and outcomes arrive as the AI SDK's own parts.
 * Rule: W-27.
 */
import {
  type Attachment,
  FaultError,
  type IntentId,
  type Journal,
  type JsonObject,
  principalName,
  readAttachments,
  type SessionId,
} from "@orgate/core";
import {
  type LiveSign,
  type OperationOutput,
  type OperationRequest,
  readUiApproval,
  UI_STREAM_END,
  type UiPart,
  uiStreamText,
  uiTurn,
} from "@orgate/protocol";
import * as z from "zod";
import { act, type Caller, type Permissions } from "../../operations/access.ts";
import { callOperation } from "../../operations/call-operation.ts";
import type { OperationExecutor } from "../../operations/execute.ts";
import { deriveIntentId, deriveName, type Idempotency } from "../../operations/idempotency.ts";
import type { Sink } from "../../operations/result.ts";
import type { SessionDriver } from "../../operations/session-driver.ts";
import { findNewestEntry } from "../../runtime/delivery.ts";
import type { Subscribe } from "../../runtime/subscribe.ts";

export type UiChatPorts = Readonly<{
  operations: Pick<OperationExecutor, "execute">;
  access: Pick<Permissions, "mayDo">;
  sessionDriver: Pick<SessionDriver, "send">;
  once: Pick<Idempotency, "claim">;
  journal: Pick<Journal, "session" | "read">;
  subscribe: Subscribe;
  /** Opens the caller's session of this agent under this id, or finds it. */
  open(agent: string, external: string, caller: Caller): Promise<SessionId>;
}>;

/** The used parts of a message; other fields are ignored. */
const approval = z.looseObject({ id: z.string(), approved: z.boolean(), reason: z.string().optional() });
const part = z.looseObject({
  type: z.string(),
  text: z.string().optional(),
  mediaType: z.string().optional(),
  filename: z.string().optional(),
  url: z.string().optional(),
  state: z.string().optional(),
  approval: approval.partial().optional(),
});
const message = z.looseObject({ id: z.string().min(1).max(200), role: z.enum(["user", "assistant", "system"]), parts: z.array(part) });
type Message = z.infer<typeof message>;

/** `useChat` lets a person deny without a reason. */
const NO_REASON = "no reason was given in the chat";

/** `answers`: entries of the answers that came with the request; their effect on calls is streamed, although the stream begins after them. */
type FollowedTurn = Readonly<{ session: SessionId; intent: IntentId; from: number; after: number; answers: ReadonlySet<number> }>;

/** Decides and begins the turn; the result writes the stream. Throws a fault if the caller may not, or the messages cannot be read. */
export async function openUiChat(
  ports: UiChatPorts,
  caller: Caller,
  agent: string,
  body: OperationRequest<"uiChat">["body"],
): Promise<(sink: Sink, signal: AbortSignal) => Promise<void>> {
  const read = z.array(message).safeParse(body.messages);
  const said = read.success ? read.data.findLast(({ role }) => role === "user") : undefined;
  const last = read.success ? read.data.at(-1) : undefined;
  if (said === undefined || last === undefined) throw unusable("the messages are not those of `useChat`");
  const reason = ports.access.mayDo(caller, act("run", "agent", { agent }));
  if (reason !== null) throw new FaultError({ kind: "not-permitted", user: caller.principal.id, what: `run \`${agent}\``, reason });
  const who = principalName(caller.principal);
  const session = await ports.open(agent, deriveName("ui", who, agent, body.id), caller);
  const intent = deriveIntentId("ui", who, agent, body.id, said.id);
  const turn =
    last.role === "assistant"
      ? await continueTurn(ports, caller, { session, intent }, last)
      : await beginTurn(ports, caller, { session, intent }, said);
  return (sink, signal) => streamTurn(ports, turn, sink, signal);
}

async function beginTurn(
  ports: UiChatPorts,
  caller: Caller,
  at: Pick<FollowedTurn, "session" | "intent">,
  said: Message,
): Promise<FollowedTurn> {
  const text = said.parts.flatMap((one) => (one.type === "text" && one.text !== undefined ? [one.text] : [])).join("\n");
  const files = filesIn(said);
  if (text === "") throw unusable("the message says nothing");
  const before = (await ports.journal.session(at.session))?.seq ?? 0;
  const wish = { kind: "follow-up", text, ...(files.length === 0 ? {} : { files }) } as const;
  const id = await ports.once.claim(at.intent, { text, files });
  const { entry } = await ports.sessionDriver.send({ session: at.session, wish, as: caller.person, id });
  const from = entry === null ? before : entry.seq - 1;
  return { ...at, from, after: from, answers: NO_ANSWERS };
}

/** The answer counts although the stream is closed before it was given. */
const NEVER = new AbortController().signal;
const NO_ANSWERS: ReadonlySet<number> = new Set();

/** The answers are given first: the stream begins after them. */
async function continueTurn(
  ports: UiChatPorts,
  caller: Caller,
  at: Pick<FollowedTurn, "session" | "intent">,
  last: Message,
): Promise<FollowedTurn> {
  let after = 0;
  const answers = new Set<number>();
  for (const { state, approval: given } of last.parts) {
    if (state !== "approval-responded" || given?.id === undefined) continue;
    const bound = readUiApproval(given.id);
    if (bound === null) throw unusable("an answer belongs to an approval request that was not made here");
    const answer =
      given.approved === true ? ({ kind: "approve" } as const) : ({ kind: "deny", reason: given.reason?.trim() || NO_REASON } as const);
    const { approval: id, digest } = bound;
    const key = deriveName("ui", principalName(caller.principal), at.session, id);
    const input = { params: { approval: id }, body: { digest, answer } };
    const { value } = await callOperation(ports.operations, { name: "answer", input, caller, key, gone: NEVER });
    const { entry } = value as OperationOutput<"answer">;
    if (entry === null) continue;
    after = Math.max(after, entry.seq);
    answers.add(entry.seq);
  }
  if (after === 0) throw unusable("there is nothing new in the messages");
  const began = await findNewestEntry(ports.journal, at.session, (event) => event.kind === "turn.started" && event.intent === at.intent);
  return { ...at, from: began === null ? 0 : began.seq - 1, after, answers };
}

async function streamTurn(
  ports: UiChatPorts,
  { session, intent, from, after, answers }: FollowedTurn,
  sink: Sink,
  signal: AbortSignal,
): Promise<void> {
  const turn = uiTurn(intent);
  const open = new Set<string>();
  const write = async (parts: readonly UiPart[]): Promise<void> => {
    for (const one of parts) await sink.write(uiStreamText(one));
  };
  for await (const live of ports.subscribe({ session }, { after: from, signal })) {
    const parts = turn.hear(live);
    const isTold = ({ type }: UiPart): boolean =>
      type === "start" || (type === "tool-output-denied" && live.kind === "entry" && answers.has(live.entry.seq));
    await write(isOld(live, after) ? parts.filter(isTold) : parts);
    if (turn.isOver()) break;
    if (live.kind !== "entry") continue;
    const { event, seq } = live.entry;
    if (event.kind === "approval.asked") open.add(event.approval);
    if (event.kind === "approval.answered" || event.kind === "approval.expired") open.delete(event.approval);
    if (open.size > 0 && seq > after && (await isWaiting(ports, session, seq))) {
      await write(turn.pause());
      break;
    }
  }
  if (!signal.aborted) await sink.write(UI_STREAM_END);
}

const isOld = (live: LiveSign, after: number): boolean => live.kind === "entry" && live.entry.seq <= after;

/** Nothing more comes before somebody has answered. */
async function isWaiting({ journal }: UiChatPorts, session: SessionId, at: number): Promise<boolean> {
  const summary = await journal.session(session);
  return summary?.state === "waiting" && summary.seq === at;
}

function filesIn({ parts }: Message): readonly Attachment[] {
  const given = parts.flatMap(({ type, mediaType, filename, url }) => {
    if (type !== "file") return [];
    const [, base64] = /^data:[^,;]*;base64,(.*)$/s.exec(url ?? "") ?? [];
    if (base64 === undefined) throw unusable("a file is not part of the message itself");
    return [fileOf(mediaType ?? "", filename ?? null, base64)];
  });
  const read = readAttachments(given);
  if (read.kind === "refused") throw new FaultError(read.fault);
  return read.files;
}

const fileOf = (mediaType: string, name: string | null, base64: string): JsonObject =>
  mediaType.startsWith("text/") ? { mediaType, name, text: Buffer.from(base64, "base64").toString("utf8") } : { mediaType, name, base64 };

const unusable = (detail: string): FaultError =>
  new FaultError({ kind: "usage", detail, hint: "send what `useChat` sends, with a message by the user" });
