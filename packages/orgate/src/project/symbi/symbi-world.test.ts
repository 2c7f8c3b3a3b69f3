/** What rules of `.symbi` files say about the world: records, whom the session serves, the amount, the age of an approval. */
import type { Case } from "@orgate/core/gate";
import { expect, test } from "vitest";
import { deciderOf, made } from "./fixtures/symbi-stand.ts";

const agent = (...rules: readonly string[]): string =>
  `agent worker {\n  capabilities = ["get_order", "refund"]\n  policy p {\n${rules.map((rule) => `    ${rule}\n`).join("")}  }\n  with instructions = "Serve." { }\n}\n`;
const ARGS = { orders: ["O-1", "O-2"], order: "O-1", euros: 5 };
const refund = (given: Partial<Case> = {}): Partial<Case> => ({ action: "tool:refund", args: ARGS, ...given });
const order = (status: string, more: object = {}) => ({ id: "O-1", ageSeconds: 0, status, tags: [], ...more });
const verdicts = (rules: readonly string[], cases: readonly Partial<Case>[]): readonly string[] => {
  const decide = deciderOf(agent(...rules));
  return cases.map((one) => decide(one).kind);
};

test("Y-10 a rule compares fields of one record, of the record that an argument stands for, and of all records together", () => {
  const one = { records: { order: order("pending", { owner: "C-7" }) } };
  expect(
    verdicts(['allow: refund if records.order.status == "pending"'], [one, { records: { order: order("sent") } }, {}].map(refund)),
  ).toEqual(["allow", "deny", "deny"]);
  const all = (...totals: readonly number[]) => refund({ records: { order: totals.map((total) => order("sent", { total })) } });
  expect(
    verdicts(
      ['allow: refund if allRecords.order.total.max < 50 && allRecords.order.status.values == ["sent"]'],
      [all(20, 30), all(20, 60), refund({ records: { order: [order("sent", { total: 1 }), order("lost", { total: 1 })] } }), refund()],
    ),
  ).toEqual(["allow", "deny", "deny", "deny"]);
  const facts = (status: string) => refund({ facts: { order: { record: order(status) } } });
  expect(verdicts(['allow: refund if facts.order.record.status == "sent"'], [facts("sent"), facts("lost"), refund()])).toEqual([
    "allow",
    "deny",
    "deny",
  ]);
  // a denial that depends on a record that was never read denies
  expect(verdicts(["allow: refund", "deny: refund if allRecords.order.id.size > 1"], [all(1), all(1, 2), refund()])).toEqual([
    "allow",
    "deny",
    "deny",
  ]);
});

test("Y-10 a rule compares whom the session serves with an owner; without a subject it is stricter, and has(subject) tests for one", () => {
  const owned = refund({ records: { order: order("sent", { owner: "C-7" }) }, subject: { id: "C-7", tier: "gold" } });
  const cases = [owned, { ...owned, subject: { id: "C-8", tier: "gold" } }, { ...owned, subject: { id: "C-7" } }, refund()];
  expect(verdicts(["allow: refund if records.order.owner == subject.id"], cases)).toEqual(["allow", "deny", "allow", "deny"]);
  expect(verdicts(["allow: refund", 'deny: refund if subject.tier != "gold"'], cases)).toEqual(["allow", "allow", "deny", "deny"]);
  expect(verdicts(["allow: refund if has(subject)"], cases)).toEqual(["allow", "allow", "allow", "deny"]);
  expect(verdicts(["allow: refund", 'deny: refund if has(subject.tier) && subject.tier == "gold"'], cases)).toEqual([
    "deny",
    "deny",
    "allow",
    "allow",
  ]);
  expect(verdicts(['allow: model if subject.id == "C-7"'], [{ action: "model", subject: { id: "C-7" } }, { action: "model" }])).toEqual([
    "allow",
    "deny",
  ]);
});

test("Y-10 a rule compares the age of an approval and the amount", () => {
  const cases = [refund({ approval: { ageSeconds: 10 } }), refund({ approval: { ageSeconds: 90 } }), refund()];
  expect(verdicts(["allow: refund if approval.ageSeconds < 60"], cases)).toEqual(["allow", "deny", "deny"]);
  expect(verdicts(["allow: refund", "require: approval.ageSeconds < 60"], cases)).toEqual(["allow", "deny", "deny"]);
  expect(
    verdicts(
      ["allow: refund if amount.total.day < 10 && amount.recorded"],
      [
        refund({ facts: { euros: { recorded: true, total: { day: 5 } } } }),
        refund({ facts: { euros: { recorded: true, total: { day: 15 } } } }),
      ],
    ),
  ).toEqual(["allow", "deny"]);
});

test("Y-10 what is not declared of the subject or a record is refused, with its place", () => {
  expect(made(agent('allow: refund if subject.rank == "a"'))).toMatchObject({
    kind: "problems",
    text: expect.stringMatching(/^4:\d+ .*there is no `subject\.rank`/),
  });
  expect(made(agent('allow: refund if records.parcel.state == "a"'))).toMatchObject({
    text: expect.stringContaining("there is no `records.parcel`"),
  });
  expect(made(agent("allow: refund if has(labels)"))).toMatchObject({ text: expect.stringContaining("it is always there") });
});
