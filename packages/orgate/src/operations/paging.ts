/**
 * A page of the rows that a caller may see: `next` is where to ask on from, opaque to the caller.
 *
 * W-21 a cursor tells nothing: it is a place in a list that holds more than the caller may see, so it is sealed, and of use to this project's servers alone.
 */
import { randomBytes } from "node:crypto";
import { wireProblem } from "@orgate/protocol";
import { sealedTexts } from "../node/sealed-text.ts";
import { refusal } from "./refusal.ts";

export type ListPage = Readonly<{ limit: number; cursor?: string | undefined }>;

/** Most rows read for one page: a caller who may see little gets a cursor to ask on from, and holds nobody up. */
const MOST_LOOKED = 5_000;

export type PageSource<T> = Readonly<{
  /** Rows after this place; a short page is the last. */
  read(after: string | null, most: number): Promise<readonly T[]>;
  place(row: T): string;
  shows(row: T): boolean | Promise<boolean>;
}>;

export type Cursors = Readonly<{ seal(place: string): string; open(cursor: string): string }>;

export async function page<T>(
  { seal, open }: Cursors,
  { limit, cursor }: ListPage,
  { read, place, shows }: PageSource<T>,
): Promise<{ items: readonly T[]; next: string | null }> {
  const items: T[] = [];
  let after = cursor === undefined ? null : open(cursor);
  for (let looked = 0; looked < MOST_LOOKED; ) {
    const most = Math.min(500, looked === 0 ? limit + 1 : Math.max(limit, 50)); // one more tells whether there is a next page
    const rows = await read(after, most);
    for (const row of rows) {
      if (items.length === limit) return { items, next: after === null ? null : seal(after) };
      looked += 1;
      after = place(row);
      if (await shows(row)) items.push(row);
    }
    if (rows.length < most) return { items, next: null };
  }
  return { items, next: after === null ? null : seal(after) };
}

/** Of a list that is there as a whole. */
export async function toPage<T>(cursors: Cursors, asked: ListPage, rows: readonly T[], shows: (row: T) => boolean) {
  const { items, next } = await page(cursors, asked, {
    read: async (after, most) => {
      const from = whole(after);
      return rows.slice(from, from + most).map((row, i) => ({ row, place: String(from + i + 1) }));
    },
    place: ({ place }) => place,
    shows: ({ row }) => shows(row),
  });
  return { items: items.map(({ row }) => row), next };
}

/** `key`: of the project, so that each of its servers takes the cursors of the others; without one they are of use in this process alone. */
export function cursors(key: Uint8Array = randomBytes(32)): Cursors {
  const { seal, open } = sealedTexts(key, "cursor");
  return {
    seal,
    open(cursor) {
      const place = open(cursor);
      if (place !== null) return place;
      throw refusal(wireProblem("bad-request", "the cursor is not one of this server's", "use `next` of the page before, or begin again"));
    },
  };
}

/** A cursor of two numbers or names. */
export const pair = (place: string | null): readonly [string, string] | null => {
  if (place === null) return null;
  const cut = place.indexOf(" ");
  if (cut < 1) throw refusal(wireProblem("bad-request", "the cursor is not one of this server's", "use `next` of the page before"));
  return [place.slice(0, cut), place.slice(cut + 1)];
};
export const whole = (place: string | null): number => {
  const number = place === null ? 0 : Number(place);
  if (!Number.isSafeInteger(number) || number < 0)
    throw refusal(wireProblem("bad-request", "the cursor is not one of this server's", "use `next` of the page before"));
  return number;
};
