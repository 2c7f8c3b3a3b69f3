/**
 * The offline model: no key, no network, no chance. It follows the rules that come with the agent as data, and without a rule that fits
 * does the obvious: calls the tool whose name the request names, with what stands in quotes; tells what a tool answered; or says what it is.
 *
 * M-2 The same request gets the same reply, always.
 * M-2 What it says is streamed before it is returned, and it stops at once when the signal fires.
 * M-2 Rules are tried in order; the first that fits answers. One that names no earlier call fits only before the turn's first call.
 * M-2 It says which files it was shown, by name, type and size; `{{files}}` is that in a rule.
 * M-2 Without a rule it never invents an argument: a value comes from the request, or it says what is missing.
 */
import { hash } from "node:crypto";
import { appendFileSync } from "node:fs";
import { FaultError, type JsonObject, lowerFirst, type Model, type ModelReply, type ModelRequest, type Preview } from "@orgate/core";
import type { Clock } from "@orgate/core/loop";
import { lazily } from "@orgate/core/vocab";
import * as z from "zod";
import { findTemplateFlaw } from "./template.ts";

const regularExpression = lazily(() => z.string().refine(isPattern, "is no regular expression"));

const ruleSchema = lazily(() =>
  z.strictObject({
    when: z
      .strictObject({
        /** A regular expression on what the user said last, case ignored. Its groups are `{{1}}`, `{{name}}`. */
        says: regularExpression().optional(),
        /** A regular expression on the latest result. */
        result: regularExpression().optional(),
        /** Whether the latest result is an error or a refusal. */
        failed: z.boolean().optional(),
        /** Tools that were called in this turn, every one; and tools that were not. */
        called: z.array(z.string()).optional(),
        notCalled: z.array(z.string()).optional(),
      })
      .default({}),
    think: z.string().optional(),
    say: z
      .string()
      .superRefine((text, refused) => {
        const flaw = findTemplateFlaw(text);
        if (flaw !== null) refused.addIssue({ code: "custom", message: flaw });
      })
      .optional(),
    /** The structured answer, said as JSON. */
    answer: z.json().optional(),
    calls: z.array(z.strictObject({ tool: z.string(), args: z.record(z.string(), z.json()).default({}) })).default([]),
  }),
);

const optionsSchema = lazily(() =>
  z.strictObject({
    rules: z
      .array(
        ruleSchema().refine(
          ({ say, answer, calls }) => say !== undefined || answer !== undefined || calls.length > 0,
          "says nothing and calls nothing",
        ),
      )
      .default([]),
    /** Whether it authors agents, policies and tools where no rule fits: for the shell's agent. */
    author: z.boolean().default(false),
    /** Between words, so that a demo can be watched. */
    delayMs: z.int().min(0).max(10_000).default(0),
    /** A file that gets a line for each request before it is answered: for drills that count requests where a killed process cannot lie. */
    log: z.string().min(1).optional(),
  }),
);

/** As an agent's `modelOptions` hold it. */
export type OfflineOptions = z.input<ReturnType<typeof optionsSchema>>;
export type OfflineRule = z.input<ReturnType<typeof ruleSchema>>;
export type CheckedRule = z.output<ReturnType<typeof ruleSchema>>;

/** How it answers is loaded with its first request (R-8). */
const replying = lazily(() => import("./reply.ts"));

export function offlineModel(given: OfflineOptions & Readonly<{ name: string }>, clock: Clock): Model {
  const { name, ...options } = given;
  return following(`offline/${name}`, options, clock);
}

function following(id: string, options: unknown, clock: Clock): Model {
  const read = optionsSchema().safeParse(options);
  if (!read.success) throw new FaultError({ kind: "model-unknown", model: id, detail: `its options are wrong: ${issueText(read.error)}` });
  const { rules, delayMs, log } = read.data;
  const isAuthor = read.data.author || id === AUTHOR;

  async function ask(request: ModelRequest, preview: (preview: Preview) => void, signal: AbortSignal): Promise<ModelReply> {
    if (log !== undefined) appendFileSync(log, requestLine(request));
    return (await replying()).reply({ id, rules, isAuthor, clock, delayMs }, request, preview, signal);
  }
  return Object.freeze({ id, ask });
}

/** The shell's, without a model that has to be paid for. */
const AUTHOR = "offline/author";

/** The same request gives the same line except for its process: a repeat can be recognised. */
function requestLine({ system, messages, attempt }: ModelRequest): string {
  const said = messages.map((message) => JSON.stringify(message)).join("\n");
  return `${JSON.stringify({ request: hash("sha256", `${system}\n${said}`, "hex"), messages: messages.length, attempt, pid: process.pid })}\n`;
}

/**
 * `offline/name` to a model; other providers are in `models/`.
 * `options` is what the agent's definition says beside the name.
 */
export function modelFor(id: string, options: JsonObject, clock: Clock): Model {
  const slash = id.indexOf("/");
  const [provider, name] = slash < 0 ? [id, ""] : [id.slice(0, slash), id.slice(slash + 1)];
  if (provider !== "offline" || name === "") {
    const detail = `\`${provider}\` is no offline model; available: offline/NAME, where NAME is any name, offline/echo for one`;
    throw new FaultError({ kind: "model-unknown", model: id, detail });
  }
  return following(id, options, clock);
}

function isPattern(text: string): boolean {
  try {
    return new RegExp(text, "iu") instanceof RegExp;
  } catch {
    return false;
  }
}

function issueText(error: z.ZodError): string {
  const [issue] = error.issues;
  if (issue === undefined) return "not understood";
  const message = lowerFirst(issue.message);
  return issue.path.length === 0 ? message : `\`${issue.path.join(".")}\` ${message}`;
}
