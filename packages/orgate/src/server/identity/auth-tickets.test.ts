import { millis } from "@orgate/core";
import { expect, test } from "vitest";
import { newSecret } from "../../identity/secret-hash.ts";
import { createTickets, TICKET_MS } from "./auth-tickets.ts";

test("W-11 a ticket is good once, and for seconds", () => {
  let now = 1_000;
  const desk = createTickets<string>(() => millis(now), newSecret);
  const first = desk.issue("ann");
  const second = desk.issue("bob");
  const third = desk.issue("eve");
  if (first === null || second === null || third === null) throw new Error("there is room");
  expect(first.expiresAt).toBe(1_000 + TICKET_MS);
  expect(desk.redeem(first.ticket)).toBe("ann");
  expect(desk.redeem(first.ticket)).toBeNull();
  now += TICKET_MS - 1;
  expect(desk.redeem(second.ticket)).toBe("bob");
  now += 1;
  expect(desk.redeem(third.ticket)).toBeNull();
  for (const wrong of ["", "ogt_", `ogt_${newSecret()}`, "__proto__"]) expect(desk.redeem(wrong)).toBeNull();
});

test("W-11 only so many wait; those that have ended make room", () => {
  let now = 0;
  const desk = createTickets<number>(() => millis(now), newSecret);
  for (let i = 0; i < 10_000; i += 1) expect(desk.issue(i)).not.toBeNull();
  expect(desk.issue(0)).toBeNull();
  now = TICKET_MS;
  expect(desk.issue(0)).not.toBeNull();
});
