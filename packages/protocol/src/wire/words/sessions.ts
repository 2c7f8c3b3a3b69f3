/** Sessions: the words of their operations. */
import { get, post, tagged } from "./words.ts";

export const sessionWords = tagged("sessions", {
  sessions: get({
    path: "/sessions",
    act: { kind: "list", on: "listing" },
    inCommand: "sessions list",
    summary:
      "List the sessions that the caller may see, newest first. `text` finds those whose title, ids, agent, person, or newest inputs and answers contain all of its words.",
  }),
  openSession: post({
    path: "/sessions",
    status: 201,
    act: { kind: "open", on: "agent" },
    summary: "Open a session without a turn. The same `id` again returns the same session.",
  }),
  session: get({
    path: "/sessions/{session}",
    act: { kind: "observe", on: "session" },
    inCommand: "sessions show",
    summary: "Show one session: its owner, state and usage.",
  }),
  events: get({
    path: "/sessions/{session}/events",
    act: { kind: "read-journal", on: "session" },
    inCommand: "journal show",
    summary: "Read the entries of a session after a sequence number; `next` is where to continue, null at its end.",
  }),
  turns: get({
    path: "/sessions/{session}/turns",
    act: { kind: "observe", on: "session" },
    summary: "List the turns of a session, in order.",
  }),
  say: post({
    path: "/sessions/{session}/turns",
    status: 202,
    act: { kind: "say", on: "session" },
    inCommand: "sessions say",
    summary: "Start a turn, or queue the message until the turn in progress has ended.",
  }),
  steer: post({
    path: "/sessions/{session}/steer",
    status: 202,
    act: { kind: "steer", on: "session" },
    inCommand: "sessions steer",
    summary: "Steer the turn in progress: the agent reads the message next.",
  }),
  cancel: post({
    path: "/sessions/{session}/cancel",
    status: 202,
    act: { kind: "cancel", on: "session" },
    inCommand: "sessions cancel",
    summary: "Cancel the turn in progress; with `all`, also the messages queued behind it.",
  }),
  clear: post({
    path: "/sessions/{session}/clear",
    status: 202,
    act: { kind: "steer", on: "session" },
    inCommand: "sessions clear",
    summary: "Clear the conversation: the model no longer sees what was said before. Refused while a turn is in progress.",
  }),
  compact: post({
    path: "/sessions/{session}/compact",
    status: 202,
    act: { kind: "steer", on: "session" },
    inCommand: "sessions compact",
    summary:
      "Compact what the model sees of the conversation to a number of tokens (default: half of the limit). Refused while a turn is in progress.",
  }),
  chooseModel: post({
    path: "/sessions/{session}/model",
    status: 202,
    act: { kind: "steer", on: "session" },
    inCommand: "sessions model",
    summary: "Choose one of the models that the session's agent names, from the next turn on.",
  }),
  fork: post({
    path: "/sessions/{session}/fork",
    status: 201,
    act: { kind: "open", on: "session" },
    inCommand: "sessions fork",
    summary: "Fork a session: a new session with the conversation up to an entry. The original is only read.",
  }),
  close: post({
    path: "/sessions/{session}/close",
    act: { kind: "close", on: "session" },
    inCommand: "sessions close",
    summary: "Close a session for good.",
  }),
  follow: get({
    path: "/sessions/{session}/stream",
    act: { kind: "read-journal", on: "session" },
    onlyConnected: "a stream of events goes over a connection that stays open",
    summary: "Follow a session as server-sent events; `Last-Event-ID` resumes.",
  }),
  followAll: get({
    path: "/stream",
    act: { kind: "list", on: "listing" },
    onlyConnected: "a stream of events goes over a connection that stays open",
    summary: "Follow everything that the caller may see, as server-sent events.",
  }),
});
