/** New names: random, and for sessions in order of time, so that their rows lie together and lists by id are lists by age. */
import { randomBytes } from "node:crypto";
import type { Ids } from "@orgate/core/loop";
import { approvalId, intentId, sessionId } from "@orgate/core/vocab";

/** Nine digits of base 36 hold milliseconds until the year 5188. */
const TIME_DIGITS = 9;
const RANDOM_DIGITS = 16;
const DIGITS = "0123456789abcdefghijklmnopqrstuv";

/** Five bits of each byte: every digit is equally likely. */
const random = (): string => Array.from(randomBytes(RANDOM_DIGITS), (byte) => DIGITS[byte & 31]).join("");

export const randomIds: Ids = {
  session: () => sessionId(`s_${Date.now().toString(36).padStart(TIME_DIGITS, "0")}${random()}`),
  approval: () => approvalId(`a_${random()}`),
  intent: () => intentId(`i_${random()}`),
};
