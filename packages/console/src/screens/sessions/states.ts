import type { Ending } from "@orgate/core/vocab";
import type { SessionView } from "@orgate/protocol/view";
import type { Tone } from "../../parts/Tag.tsx";

export const STATE_TONES: Readonly<Record<SessionView["state"], Tone>> = {
  idle: "plain",
  running: "act",
  waiting: "wait",
  closed: "plain",
};
/** The tone of an ending, also of one that only a newer server knows. */
export const endingTone = (ending: Ending | (string & {})): Tone =>
  ending === "completed" ? "ok" : ending === "cancelled" ? "plain" : "bad";
