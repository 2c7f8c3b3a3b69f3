/**
 * Tickets: what a page or a program shows to open one socket, in place of what lasts. A ticket carries what it stands for, sealed with a key of the project, so
 * that every server of the project takes it; that it was used is in the store.
 *
 * W-11 a ticket is good once, for seconds, for one socket, with what its maker has, also where two servers are shown it at the same time.
 */
import { createHash, randomUUID } from "node:crypto";
import { type AccessId, type Millis, millis } from "@orgate/core";
import { sealedTexts } from "../../node/sealed-text.ts";
import type { AccessScope } from "../../operations/access.ts";
import type { RequestKeys } from "../../store/store.ts";

export const TICKET_MS = 30_000;
const TICKET = /^ogt_([A-Za-z0-9_-]{40,8000})$/;

export type TicketHolder = Readonly<{ person: string; scope: AccessScope; access: AccessId | null; origin: string | null }>;
export type Tickets = Readonly<{
  issue(holder: TicketHolder): Readonly<{ ticket: string; expiresAt: Millis }>;
  /** Used up, whatever comes of it. */
  redeem(ticket: string): Promise<TicketHolder | null>;
}>;

type TicketPorts = Readonly<{ key: string | Uint8Array; used: Pick<RequestKeys, "begin">; now(): Millis }>;

export function createTickets({ key, used, now }: TicketPorts): Tickets {
  const { seal, open } = sealedTexts(key, "ticket");
  return {
    issue(holder) {
      const expiresAt = millis(now() + TICKET_MS);
      return { ticket: `ogt_${seal(JSON.stringify({ holder, expiresAt }))}`, expiresAt };
    },
    async redeem(ticket) {
      const text = open(TICKET.exec(ticket)?.[1] ?? "");
      if (text === null) return null;
      const { holder, expiresAt } = JSON.parse(text) as Readonly<{ holder: TicketHolder; expiresAt: Millis }>; // nobody else can seal one
      if (expiresAt <= now()) return null;
      const mine = randomUUID();
      const name = `ticket-${createHash("sha256").update(ticket).digest("base64url")}`;
      return (await used.begin(name, mine, now())) === mine ? holder : null; // the first one to use it
    },
  };
}
