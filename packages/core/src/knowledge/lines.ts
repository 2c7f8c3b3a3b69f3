/**
 * Items as lines of JSON: what is exported can be read again, by people too. N-2 everything goes out, labels and past included; what comes in is checked
 * field by field, and a line that is wrong is named and stores nothing.
 */
import * as z from "zod";
import {
  KNOWLEDGE_SOURCES,
  type KnowledgeBody,
  knowledgeId,
  label,
  lazily,
  millis,
  readJson,
  SCOPES,
  type Scope,
  type StoredItem,
  seq,
  streamId,
  toCanonicalJson,
} from "../vocab/index.ts";
import { toProjectFolder } from "./conventions.ts";
import { isKnowledgeId } from "./item.ts";

export const LINES_FORMAT = "orgate-knowledge-1";
export const LONGEST_BODY = 64_000;

const text = lazily(() =>
  z
    .string()
    .max(LONGEST_BODY)
    .refine((one) => one.isWellFormed(), "is not well-formed text"),
);
const short = lazily(() => text().max(2_000));
const time = lazily(() => z.int().min(0));
const body: () => z.ZodType<KnowledgeBody> = lazily(() =>
  z.discriminatedUnion("kind", [
    z.strictObject({ kind: z.literal("fact"), subject: short(), predicate: short(), object: text() }),
    z.strictObject({ kind: z.enum(["procedure", "pattern", "episode"]), title: short(), text: text() }),
    z.strictObject({ kind: z.literal("working"), key: short(), text: text() }),
    z.strictObject({ kind: z.literal("chunk"), document: short(), title: short(), text: text() }),
  ]),
);
const id = lazily(() => z.string().refine(isKnowledgeId, "is no id of an item"));
const line = lazily(() =>
  z.strictObject({
    id: id(),
    body: body(),
    scope: z.enum(SCOPES as readonly [Scope, ...Scope[]]),
    agent: z
      .string()
      .regex(/^[A-Za-z0-9_-]{1,64}$/)
      .nullable(),
    directory: z
      .string()
      .max(1_000)
      .refine((path) => toProjectFolder(path) === path, "is no folder of a project")
      .nullable(),
    confidence: z.number().min(0).max(1),
    source: z.enum(KNOWLEDGE_SOURCES as readonly [StoredItem["source"], ...StoredItem["source"][]]),
    labels: z.array(z.string().regex(/^[a-z][a-z0-9:_-]{0,63}$/)).max(100),
    verified: z.boolean(),
    from: z.strictObject({ stream: z.string().regex(/^[\w.-]{1,100}(:[\w.-]{1,100})?$/), seq: z.int().min(1) }).nullable(),
    created: time(),
    validFrom: time().nullable(),
    validTo: time().nullable(),
    usedAt: time().nullable(),
    uses: z.int().min(0),
    supersededBy: id().nullable(),
  }),
);

export const toLine = (item: StoredItem): string => `${toCanonicalJson({ format: LINES_FORMAT, ...item })}\n`;

export type ReadLine = Readonly<{ kind: "item"; item: StoredItem } | { kind: "wrong"; detail: string }>;

export function readLine(given: string): ReadLine {
  const json = readJson(given);
  if (json.kind === "not-json") return { kind: "wrong", detail: `it is not JSON: ${json.detail}` };
  const { value } = json;
  const { format, ...fields } = (typeof value === "object" && value !== null ? value : {}) as Readonly<Record<string, unknown>>;
  if (format !== LINES_FORMAT) return { kind: "wrong", detail: `its format is not ${LINES_FORMAT}` };
  const read = line().safeParse(fields);
  if (!read.success) {
    const [issue] = read.error.issues;
    return { kind: "wrong", detail: `\`${issue?.path.join(".") ?? ""}\` ${issue?.message.toLowerCase() ?? "is wrong"}` };
  }
  const { id: own, from, labels, created, validFrom, validTo, usedAt, supersededBy, ...rest } = read.data;
  if (rest.scope === "agent" && rest.agent === null) return { kind: "wrong", detail: "it belongs to an agent, and names none" };
  const at = (one: number | null) => (one === null ? null : millis(one));
  return {
    kind: "item",
    item: {
      ...rest,
      id: knowledgeId(own),
      from: from === null ? null : { stream: streamId(from.stream), seq: seq(from.seq) },
      labels: [...new Set(labels)].sort().map(label),
      created: millis(created),
      validFrom: at(validFrom),
      validTo: at(validTo),
      usedAt: at(usedAt),
      supersededBy: supersededBy === null ? null : knowledgeId(supersededBy),
    },
  };
}
