/**
 * What processes of a cluster tell one another about words of replies in progress. Whoever can connect to the database can hear and send notifications, so each
 * message is sealed with a key of the project; what does not open is not of the project. A version that does not know a message lets it pass.
 */
import type { Preview, Seq, SessionId } from "@orgate/core";
import { shapes } from "@orgate/protocol";
import * as z from "zod";
import type { SealedTexts } from "../../node/sealed-text.ts";
import type { Spoken } from "./live-text.ts";

export type Words = Readonly<{ session: SessionId; asked: Seq; iteration: number; attempt: number; preview: Preview }>;
export type Message =
  /** Whose words the sender's clients follow, until it says otherwise or is silent for a while; of `ask` it wants all so far. Null: those of all sessions. */
  | Readonly<{ kind: "watch"; sessions: readonly SessionId[] | null; ask: readonly SessionId[] | null }>
  /** Somebody who does not know who watches. */
  | Readonly<{ kind: "hello" }>
  | (Readonly<{ kind: "words" }> & Words);
export type Received = Message & Readonly<{ from: string }>;

/** So many ids fit into one message. More are `all`. */
export const MOST_NAMED = 64;
const PIECE_BYTES = 4_800;
const PIECE_UNITS = 4_000;

const sessions = z.array(shapes.sessionIdSchema).max(MOST_NAMED).nullable();
const received = z.discriminatedUnion("kind", [
  z.object({ from: z.string(), kind: z.literal("watch"), sessions, ask: sessions }),
  z.object({ from: z.string(), kind: z.literal("hello") }),
  z.object({
    ...{ from: z.string(), kind: z.literal("words"), session: shapes.sessionIdSchema, preview: shapes.preview },
    ...{ asked: shapes.seqSchema, iteration: shapes.countSchema, attempt: shapes.countSchema },
  }),
]);

/** Null where it is too long to be sent: a model may name a call at any length. */
export function sealMessage(sealed: SealedTexts, message: Received, mostBytes: number): string | null {
  const text = sealed.seal(JSON.stringify(message));
  return text.length > mostBytes ? null : text;
}

export function openMessage(sealed: SealedTexts, text: string): Received | null {
  const json = sealed.open(text);
  if (json === null) return null;
  const read = received.safeParse(JSON.parse(json)); // nobody else can seal one
  return read.success ? read.data : null;
}

/** Cuts what is said into pieces that fit into a message, each once. */
export function createPieces(asked: Seq): Readonly<{ asked: Seq; next(spoken: Readonly<Spoken>): Preview | null }> {
  const sent = { thinking: 0, text: 0 };
  const sentOf: number[] = [];
  return {
    asked,
    next(spoken) {
      for (const part of ["thinking", "text"] as const) {
        const offset = sent[part];
        const text = pieceAt(spoken[part], offset);
        sent[part] += text.length;
        if (text !== "") return { part, offset, text };
      }
      for (const [call, { tool, text: whole }] of spoken.calls.entries()) {
        const offset = sentOf[call] ?? 0;
        const text = pieceAt(whole, offset);
        sentOf[call] = offset + text.length;
        if (text !== "") return { part: "call", call, tool, offset, text };
      }
      return null;
    },
  };
}

function pieceAt(whole: string, offset: number): string {
  let piece = whole.slice(offset, offset + PIECE_UNITS);
  while (Buffer.byteLength(JSON.stringify(piece)) > PIECE_BYTES) piece = piece.slice(0, Math.ceil(piece.length / 2));
  return piece;
}
