import type { OperationName } from "@orgate/protocol";
import type { Act } from "../../operations/access.ts";
import { decodeParts } from "../../operations/call-operation.ts";
import { type OperationCall, type OperationHandlers, toCall } from "../../operations/execute.ts";
import { isRefusal } from "../../operations/refusal.ts";
import type { OperationResult } from "../../operations/result.ts";
import { toOperationFault } from "./input.ts";
import type { CallOperation } from "./through-server.ts";

/** Calls handlers that only read. `may` tells a view what its reader could do; it keeps nothing from them. */
export const readWith =
  (handlers: OperationHandlers, may: (act: Act) => boolean): CallOperation =>
  async (name, fields) => {
    const handler = handlers[name] as ((call: OperationCall<OperationName>) => Promise<OperationResult>) | undefined;
    if (handler === undefined) throw new Error(`operation \`${name}\` is not read here`);
    try {
      return await handler(toCall({ caller: null, request: decodeParts(name, fields), gone: new AbortController().signal }, may));
    } catch (error) {
      throw isRefusal(error) ? toOperationFault(error.problem, name) : error;
    }
  };
