import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { millis } from "@orgate/core";
import { afterEach, expect, test } from "vitest";
import { openRequestKeys } from "../../store/idempotency-keys.ts";
import { createTickets, TICKET_MS, type TicketHolder } from "./auth-tickets.ts";

const folder = mkdtempSync(join(tmpdir(), "orgate-tickets-"));
const stores: ReturnType<typeof openRequestKeys>[] = [];
afterEach(() => {
  for (const one of stores.splice(0)) one.close();
  rmSync(folder, { recursive: true, force: true });
});

let now = 1_000;
const holder = (person: string): TicketHolder => ({
  person,
  scope: { agents: ["clerk"], actions: null, expiresAt: null },
  access: null,
  origin: null,
});
/** One server of a project; its store is shared with the others. */
function server(key = "a key of the project") {
  const used = openRequestKeys(folder);
  stores.push(used);
  return createTickets({ key, used, now: () => millis(now) });
}

test("W-11 a ticket is good once and for seconds, at whichever server of the project it is shown", async () => {
  const [one, two] = [server(), server()];
  const [first, second, third] = [one.issue(holder("ann")), one.issue(holder("bob")), two.issue(holder("eve"))];
  expect(first.expiresAt).toBe(1_000 + TICKET_MS);
  expect(await two.redeem(first.ticket)).toEqual(holder("ann"));
  expect([await one.redeem(first.ticket), await two.redeem(first.ticket)]).toEqual([null, null]);
  now += TICKET_MS - 1;
  const both = await Promise.all([one.redeem(second.ticket), two.redeem(second.ticket)]);
  expect(both.filter((found) => found !== null)).toEqual([holder("bob")]);
  now += 1;
  expect(await one.redeem(third.ticket)).toBeNull();
});

test("W-11 what no server of the project has sealed is no ticket", async () => {
  const [own, other] = [server(), server("a key of another project")];
  const { ticket } = own.issue(holder("ann"));
  const changed = `${ticket.slice(0, -1)}${ticket.endsWith("A") ? "B" : "A"}`;
  expect(await other.redeem(ticket)).toBeNull();
  for (const wrong of ["", "ogt_", `ogt_${"C".repeat(43)}`, "__proto__", changed]) expect(await own.redeem(wrong)).toBeNull();
  expect(await own.redeem(ticket)).toEqual(holder("ann"));
});
