/** Sessions: the words of their operations. */
import { type CliField, get, post, type SlashField, tagged } from "./words.ts";

const SESSION = {
  value: "ID",
  field: "session",
  as: "session",
  help: "a session's id, or enough of its beginning or end",
  required: true,
} as const satisfies CliField;
const HERE = { value: "", as: "conversation", field: "session", help: "this conversation" } as const satisfies SlashField;

export const sessionWords = tagged("sessions", {
  sessions: get({
    path: "/sessions",
    slash: [
      {
        command: "sessions",
        summary: "list sessions, newest first",
        notes: ["As `orgate sessions list`."],
        args: [
          {
            value: "running|waiting|idle|closed",
            field: "state",
            help: "only sessions in this state",
            choices: ["running", "waiting", "idle", "closed"],
          },
        ],
        fixed: { limit: 50 },
      },
    ],
    tool: {
      name: "list_sessions",
      about: "Sessions, newest first; of one agent, or in one state, where given.",
      fields: {
        agent: { kind: "name", isOptional: true },
        state: { kind: "choice", choices: ["idle", "running", "waiting", "closed"], isOptional: true },
        most: { kind: "count", most: 50, default: 20, field: "limit" },
      },
      isOwnWords: true,
      shows: {
        list: "sessions",
        fields: {
          session: "session",
          agent: "agent",
          for: "principal.id",
          state: "state",
          turns: "turns",
          ending: "ending",
          openQuestions: "openQuestions",
          ago: { from: "lastAt", as: "ago" },
        },
      },
    },
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
    slash: [
      {
        command: "debug",
        summary: "show a session's state",
        notes: ["As `orgate sessions show`, in short."],
        args: [{ value: "ID", field: "session", as: "session", help: "which session; this conversation's if left out" }],
      },
    ],
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
    slash: [
      {
        command: "steer",
        summary: "say something while a turn is in progress; the agent reads it next",
        notes: ["As `orgate sessions steer`."],
        args: [HERE, { value: "TEXT", field: "text", help: "the message", required: true }],
      },
    ],
    status: 202,
    act: { kind: "steer", on: "session" },
    inCommand: "sessions steer",
    summary: "Steer the turn in progress: the agent reads the message next.",
  }),
  cancel: post({
    path: "/sessions/{session}/cancel",
    tool: {
      name: "cancel_turn",
      about: "Cancels the turn that is in progress in a session.",
      fields: {
        session: { kind: "name", about: "The session's id, such as s_…" },
        reason: { kind: "text", longest: 500, default: "" },
      },
      resource: { type: "Session", field: "session" },
      isOwnWords: true,
    },
    status: 202,
    act: { kind: "cancel", on: "session" },
    inCommand: "sessions cancel",
    summary: "Cancel the turn in progress; with `all`, also the messages queued behind it.",
  }),
  clear: post({
    path: "/sessions/{session}/clear",
    slash: [
      {
        command: "clear",
        summary: "begin again with an empty context, in the same session",
        notes: [
          "The model no longer sees what was said before. Instructions, labels, grants and the journal stay. As `orgate sessions clear`.",
        ],
        args: [HERE],
      },
    ],
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
    summary: "Fork a session: a new session with the conversation up to an entry. The original is only read.",
    cli: {
      command: "sessions fork",
      summary: "Open a new session that starts with the conversation of this one.",
      args: [SESSION],
      options: {
        at: { value: "N", as: "number", help: "only up to this entry (`orgate sessions show` numbers them)" },
        id: { value: "NAME", help: "an id of your own for it" },
      },
      notes: [
        "The fork has the messages and their labels. A call without an outcome is marked as unknown; approval requests and grants stay behind.",
        "The session itself is only read: it may be running, waiting or closed.",
      ],
      examples: ["orgate sessions fork s_0mh3k2", "orgate sessions fork s_0mh3k2 --at 12 --id second-try"],
    },
  }),
  close: post({
    path: "/sessions/{session}/close",
    act: { kind: "close", on: "session" },
    summary: "Close a session for good.",
    cli: {
      command: "sessions close",
      summary: "Close a session for good: it takes no more turns.",
      args: [SESSION],
      options: { reason: { value: "TEXT", help: "why; the journal keeps it" } },
      notes: ["A turn in progress is cancelled or waited for first."],
      examples: ['orgate sessions close s_0mh3k2 --reason "solved"'],
    },
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
