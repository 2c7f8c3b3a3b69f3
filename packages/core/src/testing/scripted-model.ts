/**
 * A model that says exactly what its script says, in order. Strict both ways: a call the script does not expect fails, and so does
 * `done()` when a step was not used or an expectation failed, even if whoever called the model swallowed the error.
 */
import type { Clock } from "../loop/ports.ts";
import type { Counted, Model, ModelReply, ModelRequest, Preview } from "../reason/port.ts";
import { FaultError, type Finish, type Json, NO_USAGE, type ReplyPart } from "../vocab/index.ts";

/** Details of a failure that an adapter knows. */
export type Cause = Readonly<{ status?: number; retryAfterMs?: number; transient?: boolean }>;

/** Options of any step: check its request (throw to fail), and wait on the clock first. */
export type StepOptions = Readonly<{ expect?: (request: ModelRequest) => void; delayMs?: number }>;

export type Step = StepOptions &
  (
    | Readonly<{ kind: "reply"; parts: readonly ReplyPart[]; finish: Finish; usage: Counted; meta: Json }>
    /** Some words arrive as previews, then the stream breaks (`broke`), or nothing arrives and the call fails. */
    | Readonly<{ kind: "failure"; parts: readonly ReplyPart[]; detail: string; again: boolean; broke: boolean; cause?: Cause }>
    /** Answers only when the signal fires, and then by failing. */
    | Readonly<{ kind: "hang" }>
  );

export type ReplyOptions = StepOptions & Readonly<{ text?: string; thinking?: string; usage?: Counted; finish?: Finish; meta?: Json }>;
/** `args` is sent as JSON; `text` is sent exactly as it stands, however broken. */
export type ScriptedCall = Readonly<{ tool: string; id?: string } & ({ args: Json } | { text: string })>;

export type ScriptedModel = Model &
  Readonly<{
    /** Requests so far, each as it was when it arrived. */
    asked: readonly ModelRequest[];
    /** Throws when a step was not used, a call came that no step expected, or an expectation failed. */
    done(): void;
  }>;

export function scriptedModel(steps: readonly Step[], options: Readonly<{ id?: string; clock?: Clock }> = {}): ScriptedModel {
  const { id = "scripted/model", clock } = options;
  const asked: ModelRequest[] = [];
  const wrong: Error[] = [];
  const fail = (error: Error): never => {
    wrong.push(error);
    throw error;
  };
  if (clock === undefined && steps.some((step) => step.delayMs !== undefined)) throw new Error("a step with `delayMs` needs a clock");

  async function ask(request: ModelRequest, preview: (preview: Preview) => void, signal: AbortSignal): Promise<ModelReply> {
    const at = asked.length;
    asked.push({ ...request, messages: [...request.messages] }); // the session's own list goes on growing
    const step = steps[at];
    if (step === undefined) return fail(new Error(`the model was asked ${at + 1} times, but the script has ${steps.length} steps`));
    try {
      step.expect?.(request);
    } catch (error) {
      return fail(new Error(`step ${at + 1} of the script: ${error instanceof Error ? error.message : String(error)}`, { cause: error }));
    }
    if (step.delayMs !== undefined) await clock?.sleep(step.delayMs, signal);
    if (step.kind === "hang") await fired(signal);
    if (signal.aborted || step.kind === "hang") throw modelFailed("stopped", false, false);
    stream(step.parts, preview);
    if (step.kind === "failure") throw modelFailed(step.detail, step.again, step.broke, step.cause);
    return { parts: step.parts, finish: step.finish, usage: step.usage, model: id, meta: step.meta };
  }

  function done(): void {
    const [first] = wrong;
    if (first !== undefined) throw first;
    const unused = steps.length - asked.length;
    if (unused > 0)
      throw new Error(
        `${unused} of ${steps.length} steps of the script were not used, the first is ${JSON.stringify(steps[asked.length])}`,
      );
  }

  return { id, ask, asked, done };
}

export const reply = {
  text: (text: string, options: ReplyOptions = {}): Step => replyOf({ text, ...options }, [], "stop"),
  /** Calls, with the text of `options` before them. */
  calls: (calls: readonly ScriptedCall[], options: ReplyOptions = {}): Step => replyOf(options, calls, "calls"),
};

/** The call fails before a word arrived; a repeat may mend it unless `again` says no. */
export const failure = (detail: string, options: StepOptions & Readonly<{ again?: boolean }> = {}): Step => {
  const { again = true, ...rest } = options;
  return { kind: "failure", parts: [], detail, again, broke: false, ...rest };
};

/** The provider answered, and said no: for the moment, or for good. */
export const refused = (status: number, { retryAfterMs, transient = true, ...rest }: StepOptions & Cause = {}): Step => ({
  kind: "failure",
  parts: [],
  detail: `the provider answered ${status}`,
  again: transient,
  broke: false,
  cause: { status, transient, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) },
  ...rest,
});

/** Words arrive, then the stream breaks. */
export const broken = (text: string, options: StepOptions & Readonly<{ cause?: Cause }> = {}): Step => ({
  kind: "failure",
  parts: [{ kind: "text", text, meta: null }],
  detail: "the stream broke",
  again: true,
  broke: true,
  ...options,
});

export const hang = (options: StepOptions = {}): Step => ({ kind: "hang", ...options });

function replyOf(options: ReplyOptions, calls: readonly ScriptedCall[], finish: Finish): Step {
  const { text, thinking, usage = NO_USAGE, meta = null, ...rest } = options;
  const parts: ReplyPart[] = [];
  if (thinking !== undefined) parts.push({ kind: "thinking", text: thinking, meta: null });
  if (text !== undefined) parts.push({ kind: "text", text, meta: null });
  for (const [i, call] of calls.entries()) {
    parts.push({
      kind: "call",
      id: call.id ?? `call_${i}`,
      tool: call.tool,
      text: "text" in call ? call.text : JSON.stringify(call.args),
      meta: null,
    });
  }
  return { kind: "reply", parts, usage, meta, ...rest, finish: options.finish ?? finish };
}

/** Word by word; offsets count within text and within thinking. */
function stream(parts: readonly ReplyPart[], preview: (preview: Preview) => void): void {
  const offsets = { text: 0, thinking: 0 };
  for (const part of parts) {
    if (part.kind === "call") continue;
    for (const word of part.text.match(/\S+\s*|\s+/g) ?? []) {
      preview({ part: part.kind, offset: offsets[part.kind], text: word });
      offsets[part.kind] += word.length;
    }
  }
}

const fired = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });

const modelFailed = (detail: string, again: boolean, broke: boolean, cause: Cause = {}): FaultError =>
  new FaultError({ kind: "model-failed", detail, again, broke, ...cause });
