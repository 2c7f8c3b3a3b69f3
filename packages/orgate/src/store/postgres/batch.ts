/** A batch as the one argument of `commit_batch`. */
import { toBucket } from "@orgate/core/journal";
import { type Fault, recordSet } from "@orgate/core/vocab";
import type { RowsBeside, SealedAppend } from "../sqlite/append-writer.ts";
import type { Batch } from "../sqlite/writer.ts";
import { fromStoredText, toStoredText } from "./text.ts";

export type BatchFrame = Readonly<{ batch: number; lockMs: number }>;

export function batchText({ appends, number, seal, lists, owner, known }: Batch, frame: BatchFrame): string {
  return JSON.stringify({
    ...frame,
    writer: owner.writer,
    incarnation: owner.incarnation,
    number,
    seal,
    lists: lists.map(({ session, seq, ...rest }) => ({ session, seq, summary: JSON.stringify({ session, seq, ...rest }) })),
    appends: appends.map((a, i) => appendRow(a, known[i] ?? 0)),
  });
}

const appendRow = ({ stream, head, epoch, begins, row, unlessHalted, beside }: SealedAppend, mirrored: number) => ({
  ...{ stream, head: head.seq, chained: head.hash, epoch, begins, ...row, mirrored },
  halted: unlessHalted.map(toStoredText),
  beside: beside === null ? null : besideRows(stream, beside),
});

const besideRows = (stream: string, b: RowsBeside) => ({
  ...{ consumes: b.consumes, tells: b.tells, uses: b.claims.uses, revokes: b.claims.revokes, forgets: b.forgets, questions: b.questions },
  blobs: b.blobs.map(({ address, text }) => ({ address, text: toStoredText(text) })),
  halts: b.halts.map(({ scope, on }) => ({ scope: toStoredText(scope), on })),
  opens: b.claims.opens.map(toStoredText),
  counts: b.counts === null ? null : countRows(b.counts),
  known: b.known.map(({ set, value, on, place }) => ({
    set: toStoredText(set),
    value: toStoredText(value),
    folded: toStoredText(value.toLowerCase()),
    ...{ on, place, isRecord: set.startsWith(recordSet("")) },
  })),
  listed: b.listed === null ? null : { ...b.listed, summary: JSON.stringify(b.listed) },
  unknowns: {
    gone: b.unknowns.gone,
    put: b.unknowns.put.map((u) => ({
      ...{ session: stream, call: u.call, tool: toStoredText(u.tool), digest: u.digest, cause: u.cause, at: u.at },
      resource_type: toStoredText(u.resource.type),
      resource_id: toStoredText(u.resource.id),
    })),
  },
  dead: { gone: b.deadLetters.gone, put: b.deadLetters.put.map((letter) => ({ call: letter.call, letter: JSON.stringify(letter) })) },
});

const countRows = ({ owner, add, unless, before }: NonNullable<RowsBeside["counts"]>) => ({
  ...{ owner: toStoredText(owner), before },
  add: add.map(({ name, agent, value, by, at }) => ({ ...counterName({ name, agent, value }), by, bucket: toBucket(at) })),
  unless: unless.map(({ name, agent, value, day, not, seen }) => ({
    ...counterName({ name, agent, value }),
    ...{ day, not: toStoredText(not), seen },
  })),
});

type CounterName = Readonly<{ name: string; agent: string; value: string }>;
export const counterName = ({ name, agent, value }: CounterName): CounterName => ({
  name: toStoredText(name),
  agent: toStoredText(agent),
  value: toStoredText(value),
});

/** A fault that the database has put together of stored texts. */
export function fromStoredFault(fault: Fault): Fault {
  switch (fault.kind) {
    case "external-taken":
      return { ...fault, external: fromStoredText(fault.external) };
    case "counters-moved":
      return { ...fault, counter: fromStoredText(fault.counter) };
    case "halted":
      return { ...fault, scope: fromStoredText(fault.scope) };
    default:
      return fault;
  }
}
