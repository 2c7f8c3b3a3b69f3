/** The one decoder of an intent that came from outside, whichever way it came in. */
import * as z from "zod";
import {
  type Attachment,
  approvalId,
  callId,
  describeFault,
  digest,
  ENDINGS,
  type Ending,
  type Intent,
  intentId,
  isSessionId,
  type Json,
  keyId,
  label,
  lazily,
  millis,
  readAttachments,
  UNKNOWN_CAUSES,
} from "../vocab/index.ts";

const endings = Object.keys(ENDINGS) as [Ending, ...Ending[]];

/** Short enough for a line of a list. */
const nameSchema = () => z.string().min(1).max(200);

const principalSchema = () =>
  z.discriminatedUnion("kind", [
    z.strictObject({ kind: z.literal("user"), id: nameSchema() }),
    z.strictObject({ kind: z.literal("agent"), id: nameSchema() }),
    z.strictObject({ kind: z.literal("system"), id: nameSchema() }),
  ]);

const outcomeSchema = () =>
  z.discriminatedUnion("kind", [
    z.strictObject({ kind: z.literal("done"), output: z.json() }),
    z.strictObject({ kind: z.literal("failed"), error: z.string() }),
    z.strictObject({
      kind: z.literal("unknown"),
      cause: z.enum(UNKNOWN_CAUSES),
      detail: z.string(),
    }),
  ]);

function answerSchema() {
  const until = z.union([z.enum(["turn", "session"]), z.int().nonnegative().transform(millis)]);
  return z.discriminatedUnion("kind", [
    z.strictObject({ kind: z.literal("approve") }),
    z.strictObject({ kind: z.literal("deny"), reason: z.string() }),
    z.strictObject({ kind: z.literal("withdraw"), reason: z.string() }),
    z.strictObject({ kind: z.literal("edit"), args: z.record(z.string(), z.json()) }),
    z.strictObject({ kind: z.literal("grant"), grant: z.strictObject({ scope: z.enum(["digest", "resource", "tool"]), until }) }),
  ]);
}

/** As the file's own reader has it: one that would be read otherwise than it was signed is refused by its signature. */
const filesSchema = () =>
  z.array(z.json()).transform((given, context): readonly Attachment[] => {
    const read = readAttachments(given);
    if (read.kind === "files") return read.files;
    context.addIssue({ code: "custom", message: describeFault(read.fault).message });
    return z.NEVER;
  });

function childEndedSchema() {
  const name = nameSchema();
  const amount = z.int().nonnegative();
  return z.strictObject({
    kind: z.literal("child-ended"),
    call: name.transform(callId),
    child: z.string().refine(isSessionId, "is no session's id"),
    ending: z.enum(endings),
    output: z.string().nullable(),
    detail: z.string().nullable(),
    labels: z.array(name.transform(label)),
    used: z.strictObject({ iterations: amount, tokens: amount, micros: amount.nullable(), calls: amount, ms: amount }),
    lost: amount.exactOptional(),
  });
}

function wishSchema() {
  const name = nameSchema();
  const spoken = { text: z.string().min(1), files: filesSchema().exactOptional() };
  return z.discriminatedUnion("kind", [
    z.strictObject({ kind: z.literal("say"), ...spoken }),
    z.strictObject({ kind: z.literal("steer"), ...spoken }),
    z.strictObject({ kind: z.literal("follow-up"), ...spoken }),
    z.strictObject({ kind: z.literal("cancel"), reason: z.string() }),
    z.strictObject({ kind: z.literal("cancel-all"), reason: z.string() }),
    z.strictObject({
      kind: z.literal("answer"),
      approval: name.transform(approvalId),
      digest: z
        .string()
        .regex(/^[0-9a-f]{64}$/)
        .transform(digest),
      answer: answerSchema(),
    }),
    z.strictObject({
      kind: z.literal("resolve"),
      call: name.transform(callId),
      as: z.enum(["happened", "did-not-happen", "abandon", "reconcile"]),
      note: z.string(),
    }),
    childEndedSchema(),
    z.strictObject({ kind: z.literal("unlabel"), labels: z.array(name.transform(label)).min(1).max(50), why: z.string().min(1) }),
    z.strictObject({ kind: z.literal("clear") }),
    z.strictObject({ kind: z.literal("compact"), tokens: z.int().nonnegative().nullable() }),
    z.strictObject({ kind: z.literal("choose-model"), model: name }),
    z.strictObject({ kind: z.literal("dismiss"), call: name.transform(callId), note: z.string() }),
    z.strictObject({ kind: z.literal("late"), call: name.transform(callId), outcome: outcomeSchema() }),
  ]);
}

const intentSchema = lazily(() =>
  z.strictObject({
    id: z
      .string()
      .regex(/^[\w-]{1,100}$/)
      .transform(intentId),
    session: z.string().refine(isSessionId, "is no session's id"),
    at: z.int().nonnegative().transform(millis),
    by: principalSchema(),
    key: nameSchema().transform(keyId).nullable(),
    wish: wishSchema(),
    signature: nameSchema().nullable(),
  }),
);

export type ReadIntent = Readonly<{ kind: "intent"; intent: Intent } | { kind: "refused"; reason: string }>;

export function readIntent(value: Json): ReadIntent {
  const read = intentSchema().safeParse(value);
  if (read.success) return { kind: "intent", intent: read.data };
  const [issue] = read.error.issues;
  return { kind: "refused", reason: `not an intent: \`${issue?.path.join(".") ?? ""}\` ${issue?.message.toLowerCase() ?? ""}`.trim() };
}
