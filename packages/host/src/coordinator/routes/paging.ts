/** A page of what a caller may see: `next` is where to ask on from, opaque to whoever asks. */
import { wireProblem } from "@orgate/core/wire";
import type { Answer } from "../answering.ts";
import { refusal } from "../answering.ts";

export type Page = Readonly<{ limit: number; cursor?: string | undefined }>;
export const json = (value: unknown): Answer => ({ kind: "json", value });
export const passing = (value: unknown): Answer => ({ kind: "json", value, passing: true });

/** Most rows looked at for one page: who may see little is told where to ask on, and holds nobody up. */
const MOST_LOOKED = 5_000;

export type Source<T> = Readonly<{
  /** Rows after this place; a short page is the last. */
  read(after: string | null, most: number): Promise<readonly T[]>;
  place(row: T): string;
  shows(row: T): boolean;
}>;

export async function page<T>(
  { limit, cursor }: Page,
  { read, place, shows }: Source<T>,
): Promise<{ items: readonly T[]; next: string | null }> {
  const items: T[] = [];
  let after = cursor === undefined ? null : decoded(cursor);
  for (let looked = 0; looked < MOST_LOOKED; ) {
    const most = Math.min(500, Math.max(limit, 50));
    const rows = await read(after, most);
    for (const row of rows) {
      if (items.length === limit) return { items, next: after === null ? null : encoded(after) };
      looked += 1;
      after = place(row);
      if (shows(row)) items.push(row);
    }
    if (rows.length < most) return { items, next: null };
  }
  return { items, next: after === null ? null : encoded(after) };
}

/** Of a list that is there as a whole. */
export const pageOf = <T>(asked: Page, rows: readonly T[], shows: (row: T) => boolean) =>
  page(asked, {
    read: async (after, most) => rows.slice(after === null ? 0 : Number(after), (after === null ? 0 : Number(after)) + most),
    place: (row) => String(rows.indexOf(row) + 1),
    shows,
  });

const encoded = (place: string): string => Buffer.from(place).toString("base64url");
function decoded(cursor: string): string {
  const place = Buffer.from(cursor, "base64url").toString();
  if (encoded(place) !== cursor || place === "")
    throw refusal(wireProblem("bad-request", "the cursor is none of ours", "use `next` of the page before"));
  return place;
}

/** A cursor of two numbers or names. */
export const pair = (place: string | null): readonly [string, string] | null => {
  if (place === null) return null;
  const cut = place.indexOf(" ");
  if (cut < 1) throw refusal(wireProblem("bad-request", "the cursor is none of ours", "use `next` of the page before"));
  return [place.slice(0, cut), place.slice(cut + 1)];
};
export const whole = (place: string | null): number => {
  const number = place === null ? 0 : Number(place);
  if (!Number.isSafeInteger(number) || number < 0)
    throw refusal(wireProblem("bad-request", "the cursor is none of ours", "use `next` of the page before"));
  return number;
};
