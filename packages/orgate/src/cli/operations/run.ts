/**
 * Runs the command of an operation: through the server that runs for this project if `$ORGATE_API_KEY` has a key for it, otherwise in this process.
 * Commands differ only in their view: the lines that people read.
 */
import { FaultError, isFault, type JsonObject } from "@orgate/core";
import {
  type CallableOperation,
  MOST_PAGE,
  OPERATIONS,
  type Operation,
  type OperationName,
  type OperationOutput,
  toOperationInput,
} from "@orgate/protocol";
import { type CliWords, OPERATION_WORDS } from "@orgate/protocol/words";
import { EXIT, type Given, type RunCommand, type Screen } from "@orgate/shell/terminal";
import * as z from "zod";
import { readFields } from "./input.ts";
import type { LocalOperations } from "./local.ts";
import { LOCAL_READS } from "./local-reads.ts";
import { type CallOperation, findServer } from "./through-server.ts";

export type Viewing = Readonly<{ given: Given; screen: Screen }>;
/** How a command shows the result of its operation. `--json` prints the value itself; of a page, its items. */
export type OperationView<K extends OperationName, V = OperationOutput<K>> = Readonly<{
  /** Waits for the work that the operation began in this process; `print` gets what it returns. */
  follow?(value: OperationOutput<K>, at: Viewing & Pick<LocalOperations, "settle" | "runtime">): Promise<V>;
  /** Adds to the value what `--json` prints beside it. */
  toJson?(value: V | OperationOutput<K>): unknown;
  print(value: V | OperationOutput<K>, at: Viewing): void | Promise<void>;
  exit?(value: V | OperationOutput<K>): number;
}>;

export const runOperation =
  <K extends OperationName, V>(name: K, words: CliWords, view: OperationView<K, V>): RunCommand =>
  async (given, screen) => {
    const input = await readFields(words, given);
    const show = async (call: CallOperation, local: LocalOperations | null): Promise<number> => {
      const value = (await collect(call, name, input)) as OperationOutput<K>; // an operation's result fits its own schema (W-4)
      const at: Viewing = { given, screen };
      const shown = local === null || view.follow === undefined ? value : await view.follow(value, { ...local, ...at });
      const printed = view.toJson?.(shown) ?? shown;
      if (given.json) screen.line(JSON.stringify(isPage(printed) ? printed.items : printed));
      else await view.print(shown, at);
      return view.exit?.(shown) ?? EXIT.success;
    };
    const server = findServer(given);
    const reads = LOCAL_READS[name];
    try {
      if (server !== null) return await show(server, null);
      if (reads !== undefined) return await reads(given, screen, (call) => show(call, null));
      const { withLocalOperations } = await import("./local.ts");
      return await withLocalOperations(given, screen, "changes", (local) => show(local.call, local));
    } catch (error) {
      throw named(error, name, given);
    }
  };

/** The whole list, or as much of it as `limit` says: page after page. */
async function collect(call: CallOperation, name: OperationName, input: JsonObject): Promise<unknown> {
  const operation: Operation = OPERATIONS[name];
  const once = async (fields: JsonObject): Promise<unknown> => {
    const result = await call(name as CallableOperation, toOperationInput(name, fields)); // an operation with a command returns one value
    if (result.kind !== "json") throw new Error(`operation \`${name}\` returns no JSON`);
    return result.value;
  };
  if (!isPaged(operation)) return once(input);
  const most = typeof input.limit === "number" ? input.limit : Number.POSITIVE_INFINITY;
  const items: unknown[] = [];
  for (let cursor: string | null = null; ; ) {
    const page: unknown = await once({
      ...input,
      limit: Math.min(MOST_PAGE, most - items.length),
      ...(cursor === null ? {} : { cursor }),
    });
    if (!isPage(page)) throw new Error(`operation \`${name}\` returns no page`);
    items.push(...page.items);
    cursor = page.next;
    if (cursor === null || items.length >= most) return { items, next: cursor };
  }
}

const isPaged = ({ query }: Operation): boolean => query instanceof z.ZodObject && "cursor" in query.shape;
const isPage = (value: unknown): value is Readonly<{ items: readonly unknown[]; next: string | null }> =>
  typeof value === "object" && value !== null && "items" in value && Array.isArray(value.items) && "next" in value;

/** A refusal names what the command was to do (`pause schedule nightly`), not only the act that the policies decided. */
function named(error: unknown, name: OperationName, { args: [target = ""] }: Given): unknown {
  const { act, cli } = OPERATION_WORDS[name];
  if (!isFault(error, "not-permitted") || error.fault.kind !== "not-permitted" || typeof act === "string") return error;
  if (error.fault.what !== act.kind || cli === undefined) return error;
  const verb = cli.command.split(" ").at(-1) ?? act.kind;
  return new FaultError({ ...error.fault, what: [verb, act.on, target].filter((word) => word !== "").join(" ") }, error);
}
