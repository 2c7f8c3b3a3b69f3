/** The codec of action ids: a union in code, one short text in the journal, in the API and in fault messages. */
import { type ActionText, actionText, type CallId, callId } from "./ids.ts";

/** Names one action that the gate decides on. Unique in a session; `iteration` is the reply that the action leads to or delivers. */
export type ActionId =
  | Readonly<{ kind: "call"; call: CallId }>
  | Readonly<{ kind: "model" | "summary" | "recall" | "respond"; iteration: number }>
  | Readonly<{ kind: "remember"; turn: number; iteration: number }>
  /** Asks a tool about an earlier call with an unknown outcome, perhaps of an earlier turn. */
  | Readonly<{ kind: "reconcile"; call: CallId }>;

type PrefixedKind = Exclude<ActionId["kind"], "call">;
const PREFIXED: ReadonlyMap<string, PrefixedKind> = new Map(
  (["model", "summary", "recall", "respond", "remember", "reconcile"] as const).map((kind) => [kind, kind]),
);

export function printActionId(id: ActionId): ActionText {
  switch (id.kind) {
    case "call":
      return actionText(id.call);
    case "remember":
      return actionText(`remember:${id.turn}.${id.iteration}`);
    case "reconcile":
      return actionText(`reconcile:${id.call}`);
    case "model":
    case "summary":
    case "recall":
    case "respond":
      return actionText(`${id.kind}:${id.iteration}`);
  }
}

/** The kind alone, for the fold and the views: it allocates nothing but the prefix. */
export function actionKind(text: ActionText): ActionId["kind"] {
  const colon = text.indexOf(":");
  return colon < 0 ? "call" : (PREFIXED.get(text.slice(0, colon)) ?? "call");
}

export function parseActionId(text: ActionText): ActionId {
  const kind = actionKind(text);
  const rest = text.slice(kind.length + 1);
  switch (kind) {
    case "call":
      return { kind, call: callId(text) };
    case "reconcile":
      return { kind, call: callId(rest) };
    case "remember": {
      const [turn, iteration] = rest.split(".").map(Number);
      return { kind, turn: turn ?? 0, iteration: iteration ?? 0 };
    }
    case "model":
    case "summary":
    case "recall":
    case "respond":
      return { kind, iteration: Number(rest) };
  }
}
