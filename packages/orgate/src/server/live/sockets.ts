/** The live surfaces: sockets, server-sent events and `useChat`, all over the same fan-out and the same operations. */
import { millis } from "@orgate/core";
import { type Following, UI_STREAM_HEADERS } from "@orgate/protocol";
import type { Caller } from "../../operations/access.ts";
import { findAgent, type OperationContext } from "../../operations/context.ts";
import type { OperationExecutor, OperationHandlers } from "../../operations/execute.ts";
import { errorText, type Log } from "../../operations/logs.ts";
import { openOwnSession } from "../../operations/open-session.ts";
import type { OperationResult } from "../../operations/result.ts";
import { makeVisibility } from "../../operations/visibility.ts";
import type { SocketProtocols } from "../http/socket-connections.ts";
import type { Access } from "../identity/authentication.ts";
import { type ChatPorts, openChat } from "./chat.ts";
import { type ConnectionPorts, openConnection } from "./connection.ts";
import { type Fanout, openFanout } from "./fanout.ts";
import { EVENT_STREAM, lastEventId, streamEvents } from "./sse.ts";
import { openUiChat } from "./ui-chat.ts";

export type Sockets = Readonly<{ talks: SocketProtocols; handlers: OperationHandlers; fanout: Fanout }>;

/** The agent of `/ws/chat`. */
const DESK = "coordinator";

export function openSockets(front: OperationContext, operations: OperationExecutor, access: Access, log: Log): Sockets {
  const { runtime, sessionDriver, once, now, whose } = front;
  const { journal } = runtime.place.store;
  const fanout = openFanout(journal, runtime);
  const ports: ConnectionPorts = {
    operations,
    access,
    journal,
    whose,
    fanout,
    position: journal.position,
    now: () => millis(now()),
    unforeseen: (error) => log("error", "socket.failed", { error: errorText(error) }),
  };
  const open: ChatPorts["open"] = async (agent, external, caller) =>
    (await openOwnSession(runtime, caller, { agent, id: external })).session;
  const chat = { ...ports, sessionDriver, once, open, subscribe: runtime.subscribe, agent: DESK };
  const talks: SocketProtocols = {
    "/ws/v1": (caller, id, duplex, countRequest) => openConnection(ports, { caller, id, duplex, countRequest }),
    ...(findAgent(front, DESK) === null
      ? {}
      : ({ "/ws/chat": (caller, id, duplex) => openChat(chat, { caller, id, duplex }) } satisfies SocketProtocols)),
  };

  const events = (to: Following, after: number | "now", caller: Caller): OperationResult => ({
    kind: "stream",
    mediaType: EVENT_STREAM,
    write: (sink, gone) =>
      streamEvents(fanout, { to, after, previews: true, sees: makeVisibility(access, caller, whose), signal: gone }, sink),
  });
  const handlers: OperationHandlers = {
    follow: async ({ params, query, caller, connection }) =>
      events({ kind: "session", session: params.session }, lastEventId(connection.resumeAfter) ?? query.after, caller),
    followAll: async ({ query, caller, connection }) => events({ kind: "all" }, lastEventId(connection.resumeAfter) ?? query.after, caller),
    uiChat: async ({ params, body, caller }) => {
      const write = await openUiChat(chat, caller, params.agent, body);
      return { kind: "stream", mediaType: EVENT_STREAM, headers: UI_STREAM_HEADERS, write };
    },
  };
  return { fanout, talks, handlers };
}
