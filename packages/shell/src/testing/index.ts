/** Keys, history and texts that tests of a whole shell type and look for. */
export { complete } from "../ui/input/complete.ts";
export { NO_HISTORY } from "../ui/input/history.ts";
export { keyReader } from "../ui/input/keys.ts";
export { QUIET_MS } from "../ui/panel.ts";
export { queuedTexts } from "../ui/screen.ts";
