export { onAbort, untilAborted } from "@orgate/core/vocab";
