/**
 * Calls the developer's own code at one stage, in order, and says what it changed, as events. It never touches the state.
 * H-2 what one changed is journalled beside what it changed, in the same commit. H-3 one that throws, or returns what its stage does not let it change, fails the turn and is named;
 * what it was to look at is withheld from the model. H-3 nobody waits for one after the turn was stopped.
 * A hook that answers at once costs no turn of the event loop: the stages of an iteration stay within its two commits.
 */
import { toErrorText } from "../../act/act.ts";
import { cut } from "../../observe/observe.ts";
import { joinTextParts } from "../../reason/parse.ts";
import {
  argumentsOf,
  type CallId,
  type CallView,
  type Change,
  copyFrozen,
  deepFreeze,
  type HookResult,
  type JournalEvent,
  type Json,
  type JsonObject,
  type Middleware,
  type MiddlewareContext,
  type Outcome,
  type Part,
  type ReplyChange,
  type Stage,
  type ToolChange,
  toCanonicalJson,
} from "../../vocab/index.ts";
import { noteEvent } from "../calls/notes.ts";
import type { State } from "../state.ts";

/** Where a stage is played: whose session, in which turn, about which call. */
export type Scene = Omit<MiddlewareContext, "note"> & Readonly<{ call: CallId | null }>;

/** The scene of a stage that is played now. */
export const sceneIn = ({ s, stopOf }: Readonly<{ s: State; stopOf(tool: null): AbortSignal }>, iteration: number): Scene => ({
  session: s.session,
  agent: s.agent.name,
  turn: s.turn?.number ?? s.turns + 1,
  iteration,
  labels: Object.freeze([...s.labels]),
  signal: stopOf(null),
  call: null,
});

/** The result of a stage: the value after the last middleware, and the events that say so. `failed`: the last event says which one, and why. */
export type MiddlewareRun<V> = Readonly<{ value: V; events: readonly JournalEvent[]; failed: boolean }>;

type Named<V, C> = Readonly<{ name: string; hook: (value: V, context: MiddlewareContext) => HookResult<C> }>;
/** The value after a change; throws when the stage does not let it be changed so. Null: nothing changed. */
type Apply<V, C> = (value: V, given: C) => Readonly<{ value: V; change: Change; last?: boolean }> | null;
type Stages<V, C> = Readonly<{ stage: Stage; at: Scene; hooks: readonly Named<V, C>[]; apply: Apply<V, C> }>;

/** A promise only where a hook returned one. */
export function runStage<V, C>({ stage, at, hooks, apply }: Stages<V, C>, start: V): MiddlewareRun<V> | Promise<MiddlewareRun<V>> {
  const events: JournalEvent[] = [];
  const { call, ...scene } = at;
  let over = false;
  let value = start;

  const end = (failed: boolean): MiddlewareRun<V> => {
    over = true; // what is noted later is nobody's
    return { value, events, failed };
  };
  const fail = (name: string, error: unknown): MiddlewareRun<V> => {
    events.push({ kind: "middleware.failed", middleware: name, stage, call, error: toErrorText(error).toWellFormed() });
    return end(true);
  };
  const note = (from: string) => (name: string, said: Json) => {
    if (!over) events.push(noteEvent(`middleware:${from}`, call, name, said));
  };
  /** Says whether the others come next. */
  function take(name: string, given: C | undefined): boolean {
    const applied = given === undefined ? null : apply(value, given);
    if (applied === null) return true;
    value = applied.value;
    events.push({ kind: "middleware.applied", middleware: name, stage, call, change: applied.change });
    return applied.last !== true;
  }
  function from(first: number): MiddlewareRun<V> | Promise<MiddlewareRun<V>> {
    for (const [i, { name, hook }] of hooks.entries()) {
      if (i < first) continue;
      try {
        const given = hook(value, Object.freeze({ ...scene, note: note(name) }));
        if (isPromise(given))
          return unlessStopped(given, at.signal).then(
            (answer) => {
              try {
                return take(name, answer) ? from(i + 1) : end(false);
              } catch (error) {
                return fail(name, error);
              }
            },
            (error: unknown) => fail(name, error),
          );
        if (!take(name, given)) return end(false);
      } catch (error) {
        return fail(name, error);
      }
    }
    return end(false);
  }
  return from(0);
}

export const isPromise = <T>(given: T | Promise<T>): given is Promise<T> =>
  typeof given === "object" && given !== null && "then" in given && typeof given.then === "function";

/** One that does not listen to the signal is not waited for. */
function unlessStopped<T>(given: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  const onStop = () => reject(new Error(`it had not answered when it was stopped (${String(signal.reason)})`));
  if (signal.aborted) onStop();
  signal.addEventListener("abort", onStop, { once: true });
  given.then(resolve, reject);
  return promise.finally(() => signal.removeEventListener("abort", onStop)); // a turn has many stages: what they leave behind must not grow with it
}

export const listHooks = <H extends Exclude<keyof Middleware, "name">>(
  all: readonly Middleware[],
  hook: H,
): readonly Readonly<{ name: string; hook: NonNullable<Middleware[H]> }>[] =>
  all.flatMap((m) => {
    const found = m[hook];
    return found === null ? [] : [{ name: m.name, hook: found }];
  });

// ── the stages ──

export const onUserMessage = (
  all: readonly Middleware[],
  at: Scene,
  text: string,
): MiddlewareRun<string> | Promise<MiddlewareRun<string>> =>
  runStage(
    {
      stage: "user-message",
      at,
      hooks: listHooks(all, "userMessage"),
      apply: (before, given: string) => {
        const value = textual(given, "it returned no text");
        if (value === "") throw new Error("it returned an empty text");
        return value === before ? null : { value, change: { kind: "input", before, files: [] } };
      },
    },
    text,
  );

/** After the model, then before each of the calls that are left. Arguments that are no JSON, and calls that are never run, are nobody's business. */
export async function onReply(
  all: readonly Middleware[],
  at: Scene,
  reply: Extract<JournalEvent, { kind: "model.replied" }>,
): Promise<readonly JournalEvent[]> {
  const { finish } = reply;
  const hooks = listHooks(all, "afterModel").map(({ name, hook }) => ({
    name,
    hook: (parts: readonly Part[], context: MiddlewareContext) =>
      hook(Object.freeze({ text: joinTextParts(parts), calls: Object.freeze(callsOf(parts).map(viewOf)), finish }), context),
  }));
  const { value: parts, events, failed } = await runStage({ stage: "after-model", at, hooks, apply: changeReply }, reply.parts);
  if (failed || !RUNS.has(finish)) return events;
  const befores = listHooks(all, "beforeTool");
  const said: JournalEvent[] = [...events];
  for (const call of befores.length === 0 ? [] : callsOf(parts)) {
    if (argumentsOf(call).kind === "not-json") continue;
    const ran = await runStage<CallView, ToolChange>(
      { stage: "before-tool", at: { ...at, call: call.id }, hooks: befores, apply: changeCall },
      viewOf(call),
    );
    said.push(...ran.events);
    if (ran.failed) break;
  }
  return said;
}

/** How a reply ends whose calls are run. */
const RUNS: ReadonlySet<string> = new Set(["stop", "calls", "other"]);

export function onResult(
  all: readonly Middleware[],
  at: Scene,
  result: Readonly<{ call: CallView; outcome: Outcome; text: string; limit: number }>,
): MiddlewareRun<string> | Promise<MiddlewareRun<string>> {
  const { call, outcome, text, limit } = result;
  if (outcome.kind === "unknown") return { value: text, events: [], failed: false }; // that nobody can tell is the runtime's own word
  const hooks = listHooks(all, "afterTool").map(({ name, hook }) => ({
    name,
    hook: (shown: string, context: MiddlewareContext) => hook(Object.freeze({ call, outcome, text: shown }), context),
  }));
  if (hooks.length > 0) deepFreeze([call, outcome]); // the very outcome that is recorded: it stands
  const apply: Apply<string, string> = (before, given) => {
    const value = cut(textual(given, "it returned no text"), limit);
    return value === before ? null : { value, change: { kind: "observation", text: value } };
  };
  return runStage({ stage: "after-tool", at, hooks, apply }, text);
}

type CallPart = Extract<Part, { kind: "call" }>;
const callsOf = (parts: readonly Part[]): readonly CallPart[] => parts.filter((p) => p.kind === "call");
const viewOf = (call: CallPart): CallView => {
  const args = argumentsOf(call);
  return Object.freeze({ id: call.id, tool: call.tool, args: args.kind === "json" ? args.value : null });
};

const changeReply: Apply<readonly Part[], ReplyChange> = (parts, given) => {
  const { text, dropCalls = [], args = {} } = fields(given, ["text", "dropCalls", "args"]) as ReplyChange;
  const ids = callsOf(parts).map((c): string => c.id);
  const stranger = [...requireTexts(dropCalls, "dropCalls"), ...Object.keys(fields(args, null))].find((id) => !ids.includes(id));
  if (stranger !== undefined) throw new Error(`there is no call \`${stranger}\` in the reply`);
  const kept = parts.flatMap((p): readonly Part[] => {
    if (p.kind !== "call") return [p];
    if (dropCalls.includes(p.id)) return [];
    const other = Object.hasOwn(args, p.id) ? args[p.id] : undefined;
    if (other === undefined) return [p];
    const value = argumentsIn(other);
    return [{ ...p, text: toCanonicalJson(value) }];
  });
  const value = text === undefined ? kept : withText(kept, textual(text, "`text` is no text"));
  return toCanonicalJson(value) === toCanonicalJson(parts) ? null : { value, change: { kind: "reply", parts: value } };
};

/** In the place of the first words, or before the calls. */
function withText(parts: readonly Part[], text: string): readonly Part[] {
  const words: readonly Part[] = text === "" ? [] : [{ kind: "text", text, meta: null }];
  const first = parts.findIndex((p) => p.kind === "text");
  const place = first >= 0 ? first : parts.findIndex((p) => p.kind === "call");
  const at = place >= 0 ? place : parts.length;
  const isWords = (p: Part) => p.kind === "text";
  return [...parts.slice(0, at).filter((p) => !isWords(p)), ...words, ...parts.slice(at).filter((p) => !isWords(p))];
}

const changeCall: Apply<CallView, ToolChange> = (call, given) => {
  const { kind } = fields(given, null);
  if (kind === "block") {
    const { reason } = fields(given, ["kind", "reason"]);
    const why = textual(reason, "`reason` is no text");
    return { value: call, change: { kind, reason: why === "" ? "no reason given" : why }, last: true };
  }
  if (kind !== "arguments") throw new Error("it returned neither `arguments` nor `block`");
  const args = argumentsIn(fields(given, ["kind", "args"])["args"]);
  return toCanonicalJson(args) === toCanonicalJson(call.args) ? null : { value: Object.freeze({ ...call, args }), change: { kind, args } };
};

// ── what a hook returned: its type is not enough, it may come from anywhere ──

type Fields = Readonly<Record<string, unknown>>;

/** An object with no other fields than these; null: any. */
export function fields(given: unknown, known: readonly string[] | null): Fields {
  if (typeof given !== "object" || given === null || Array.isArray(given)) throw new Error("it returned no object");
  const stray = known === null ? undefined : Object.keys(given).find((key) => !known.includes(key));
  if (stray !== undefined) throw new Error(`it may not change \`${stray}\``);
  return given as Fields;
}

export function textual(given: unknown, wrong: string): string {
  if (typeof given !== "string") throw new Error(wrong);
  return given.toWellFormed();
}

export function requireTexts(given: readonly string[], name: string): readonly string[] {
  if (!Array.isArray(given) || !given.every((one) => typeof one === "string")) throw new Error(`\`${name}\` is no list of texts`);
  return given;
}

const argumentsIn = (given: unknown): JsonObject => {
  fields(given, null);
  return copyFrozen(given as JsonObject);
};
