/**
 * Runs one operation for a caller: its act is decided, it runs once per idempotency key, its handler does the work. No transport has a part in it: the
 * server calls it for a request, the command line for a command.
 * Rule: W-6.
 */
import { FaultError, type IntentId, isSessionId } from "@orgate/core";
import { OPERATIONS, type Operation, type OperationName, type OperationRequest, wireProblem } from "@orgate/protocol";
import type { Runtime } from "../runtime/api.ts";
import { findNewestEntry, readIntentId } from "../runtime/delivery.ts";
import { type Act, act, type Caller, type Permissions } from "./access.ts";
import { actionOutOfScope } from "./access-limits.ts";
import { type AboutAct, findAct, refusalFor, textIn } from "./acts.ts";
import type { Idempotency, IdempotencyKey, KeyedReply, KeyedRequest } from "./idempotency.ts";
import { refusal } from "./refusal.ts";
import type { OperationResult } from "./result.ts";

/** Facts about the connection that only few operations read: the page that asks, and where a broken stream is resumed. */
export type OperationConnection = Readonly<{ origin: string | null; resumeAfter: string | null }>;
const NO_CONNECTION: OperationConnection = { origin: null, resumeAfter: null };

/** The input of a handler. */
export type OperationCall<K extends OperationName> = OperationRequest<K> &
  Readonly<{
    caller: Caller;
    /** True if the caller is allowed to do this. */
    may(act: Act): boolean;
    /** True if the caller may observe this agent. */
    sees(agent: string): boolean;
    key: IdempotencyKey;
    /** Aborted when nobody waits for the result any more. */
    gone: AbortSignal;
    connection: OperationConnection;
  }>;
export type OperationHandlers = { readonly [K in OperationName]?: (call: OperationCall<K>) => Promise<OperationResult> };
/** Refuse a call of an operation for reasons of its own, before anything of it is done. */
export type OperationChecks = { readonly [K in OperationName]?: (call: OperationCall<K>) => Promise<void> };
type AnyCheck = (call: OperationCall<OperationName>) => Promise<void>;
type AnyHandler = (call: OperationCall<OperationName>) => Promise<OperationResult>;

/** `caller` is null for an operation that is open to anybody. */
export type OperationDemand = Readonly<{
  name: OperationName;
  caller: Caller | null;
  request: OperationRequest<OperationName>;
  idempotencyKey: string | undefined;
  /** Where the surface derives the id of its intent; otherwise it comes from the key. */
  intent?: IntentId;
  gone: AbortSignal;
  connection?: OperationConnection;
}>;
/** `status` is the operation's own, or the stored one of the first call under the same key. */
export type ExecutedOperation = Readonly<{ status: number; result: OperationResult }>;

export type OperationExecutorOptions = Readonly<{
  runtime: Runtime;
  access: Pick<Permissions, "mayDo">;
  handlers: OperationHandlers;
  checks: OperationChecks;
  once: Idempotency;
  /** Runs when a change is allowed, before anything of it is done. */
  beforeChange?: () => Promise<void>;
}>;

/** `repeated` answers a repeated request whose target no longer exists. */
type Work<T> = Readonly<{ work(): Promise<T>; repeated?(): Promise<T | null> }>;

/** The input of a handler that reads: `caller` and `key` throw where there are none, so copy this value field by field (a spread reads both). */
export const toCall = (
  { caller, request, gone, connection = NO_CONNECTION }: Pick<OperationDemand, "caller" | "request" | "gone" | "connection">,
  may: (wanted: Act) => boolean,
): OperationCall<OperationName> => ({
  ...request,
  get caller() {
    if (caller === null) throw new Error("this operation has no caller");
    return caller;
  },
  get key(): IdempotencyKey {
    throw new Error("this operation takes no idempotency key");
  },
  may,
  sees: (agent) => may(act("observe", "agent", { agent })),
  gone,
  connection,
});

export class OperationExecutor {
  readonly #options: OperationExecutorOptions;
  #handlers: OperationHandlers;

  constructor(options: OperationExecutorOptions) {
    this.#options = options;
    this.#handlers = options.handlers;
  }

  /** Adds operations of a surface that needs the executor itself. */
  offer(handlers: OperationHandlers): void {
    this.#handlers = { ...this.#handlers, ...handlers };
  }

  /** The same operations and keys, decided by another access. */
  withAccess(access: OperationExecutorOptions["access"]): OperationExecutor {
    return new OperationExecutor({ ...this.#options, access, handlers: this.#handlers });
  }

  /** Throws where nothing here offers the operation. */
  mustOffer(name: OperationName): void {
    if (this.#handlers[name] === undefined)
      throw refusal(wireProblem("unavailable", "this server does not offer that operation", "its description lists the ones it has"));
  }

  /** Throws refusals and faults. */
  async execute(demand: OperationDemand): Promise<ExecutedOperation> {
    this.mustOffer(demand.name);
    const operation: Operation = OPERATIONS[demand.name];
    const handler = this.#handlers[demand.name] as AnyHandler;
    const call = this.#toCall(demand);
    if (operation.idempotencyKey) return this.#executeOnce(demand, operation, call, handler);
    return this.#decided(demand.caller, operation, call, {
      work: async () => ({ status: operation.status, result: await handler(call) }),
    });
  }

  #toCall(demand: OperationDemand): OperationCall<OperationName> {
    const { caller } = demand;
    return toCall(demand, (wanted) => caller !== null && this.#options.access.mayDo(caller, wanted) === null);
  }

  async #decided<T>(caller: Caller | null, { act: on }: Operation, call: Omit<AboutAct, "user">, { work, repeated }: Work<T>): Promise<T> {
    if (caller === null || typeof on === "string") return work(); // "open" or "self": no policy decides it
    const user = caller.principal.id;
    const outOfScope = actionOutOfScope(caller.scope, on.kind); // before anything is looked up: it is the same whatever exists
    if (outOfScope !== null) throw new FaultError({ kind: "not-permitted", user, what: on.kind, reason: outOfScope });
    const wanted = await findAct(this.#options.runtime, on, { params: call.params, body: call.body, user }).catch(
      (error: unknown) => ({ kind: "absent", error }) as const,
    );
    if (wanted.kind === "absent") {
      const before = (await repeated?.()) ?? null;
      if (before === null) throw wanted.error;
      return before;
    }
    const mayNot = (one: Act): string | null => this.#options.access.mayDo(caller, one);
    const reason = mayNot(wanted);
    if (reason !== null) throw refusalFor(mayNot, wanted, reason, user);
    return work();
  }

  async #executeOnce(
    { name, idempotencyKey, intent }: OperationDemand,
    operation: Operation,
    call: OperationCall<OperationName>,
    handler: AnyHandler,
  ): Promise<ExecutedOperation> {
    const { params, query, body, caller, may, sees, gone, connection } = call;
    const { principal, scope } = caller;
    const { once } = this.#options;
    const given = { user: principal.id, scope, route: name, key: idempotencyKey, intent, request: { params, query, body } };
    const replied = await this.#decided(caller, operation, call, {
      work: () =>
        once.run(given, async (key) => {
          // not `{ ...call, key }`: the spread would read `call.key`, which throws
          const whole = { params, query, body, caller, may, sees, gone, connection, key } as OperationCall<OperationName>;
          await (this.#options.checks[name] as AnyCheck | undefined)?.(whole);
          await this.#options.beforeChange?.();
          const result = await handler(whole);
          if (result.kind !== "json") throw new Error("an operation with an idempotency key returns JSON");
          return { status: operation.status, value: result.value, isProvisional: result.isProvisional ?? false };
        }),
      repeated: async () => (await once.findReply(given)) ?? this.#findEarlier(given, operation, params),
    });
    return { status: replied.status, result: { kind: "json", value: replied.value } };
  }

  /** W-5. A crash may come between the entry that an intent became and the stored answer: the entry is the answer. */
  async #findEarlier(given: KeyedRequest, { status }: Operation, params: unknown): Promise<KeyedReply | null> {
    const intent = await this.#options.once.findIntent(given);
    const session = textIn(params, "session") ?? "";
    if (intent === null || !isSessionId(session)) return null;
    const entry = await findNewestEntry(this.#options.runtime.place.store.journal, session, (event) => readIntentId(event) === intent);
    return entry === null ? null : { status, value: { session, entry, halted: null }, isProvisional: true };
  }
}
