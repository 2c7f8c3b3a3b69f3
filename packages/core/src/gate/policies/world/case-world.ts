/** Records, subject, time and approval in the cases of decision tables. */
import * as z from "zod";
import { type Facts, lazily, millis, NOT_RECORDED, type TargetFacts, type ThingFacts, toDecisionTime } from "../../../vocab/index.ts";

const value = lazily(() => z.union([z.string(), z.number(), z.boolean(), z.array(z.string())]));
/** Of a record, only what is said here is known. */
const thingSchema = lazily(() =>
  z.object({ id: z.string().default("any"), owner: z.string().optional(), ageSeconds: z.int().min(0).default(0) }).catchall(value()),
);
type Thing = z.infer<ReturnType<typeof thingSchema>>;
const WITH_ZONE = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(?::\d{2})?(?:\.\d{1,3})?(?:Z|[+-]\d{2}:\d{2})$/;

export const worldSchema = lazily(() => ({
  /** By the kind of thing, one or several; `{}` is a record of which nothing is known but that it was read. */
  records: z.record(z.string(), z.union([thingSchema(), z.array(thingSchema()).min(1)])).optional(),
  subject: z.object({ id: z.string() }).catchall(value()).optional(),
  /** A moment with its zone, or what the project's clocks show then. */
  now: z
    .union([
      z.string().regex(WITH_ZONE, "write 2030-01-31T08:00:00Z"),
      z.strictObject({
        epoch: z.int().default(0),
        date: z.string().default(""),
        weekday: z.int().min(1).max(7).default(1),
        hour: z.int().min(0).max(23).default(0),
        minute: z.int().min(0).max(59).default(0),
      }),
    ])
    .optional(),
  approval: z.strictObject({ ageSeconds: z.int().min(0) }).optional(),
}));
type CaseWorld = z.infer<z.ZodObject<ReturnType<typeof worldSchema>>>;

export function toWorldFacts(c: CaseWorld): Pick<Facts, "records" | "subject" | "now" | "approval"> {
  const { now, subject } = c;
  const { id, ...attributes } = subject ?? { id: "" };
  return {
    records: () => Object.fromEntries(Object.entries(c.records ?? {}).map(([type, one]) => [type, { each: [one].flat().map(toThing) }])),
    subject: subject === undefined ? null : { id, attributes },
    now: (zone) => (typeof now === "object" ? now : toDecisionTime(millis(now === undefined ? 0 : Date.parse(now)), zone)),
    approval: c.approval ?? null,
  };
}

const toThing = ({ id, owner, ageSeconds, ...fields }: Thing): ThingFacts => ({
  id,
  owner: owner ?? null,
  ageSeconds,
  fields,
  isPartial: true,
});

export const targetThingSchema = lazily(() => ({ ...targetSumSchema(), record: thingSchema().optional() }));
export const targetSumSchema = lazily(() => ({ recorded: z.boolean().optional(), owned: z.boolean().optional() }));
type TargetThing = Readonly<{ record?: Thing | undefined; recorded?: boolean | undefined; owned?: boolean | undefined }>;

/** A target with a record was read. */
export function toTargetThing({ record, recorded = record !== undefined, owned = false }: TargetThing): typeof NOT_RECORDED {
  const thing: ReturnType<TargetFacts["record"]> = record === undefined ? null : toThing(record);
  return thing === null && !recorded && !owned ? NOT_RECORDED : { record: () => thing, recorded: () => recorded, owned: () => owned };
}

export type CaseThings = Pick<CaseWorld, "records" | "subject">;
/** What the records of a case say of a target that stands for such a thing: it was read, and whose it is. Facts that the case states count before these. */
export function thingsOfTarget({ records, subject }: CaseThings, of: string | null): TargetThing {
  const things = of === null ? [] : [records?.[of] ?? []].flat();
  if (things.length === 0) return {};
  const owned = subject !== undefined && things.every(({ owner }) => owner === subject.id);
  return { recorded: true, owned, ...(things.length === 1 ? { record: things[0] } : {}) };
}
