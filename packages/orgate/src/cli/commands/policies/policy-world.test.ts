/** Records, the subject, the time and an approval, as options of the command line. */
import { afterAll, expect, test } from "vitest";
import { AGENT, expectRefusals, makeDesk, POLICIES, TOML } from "../fixtures/desk.ts";

const desk = makeDesk();
afterAll(() => desk.remove());
desk.write("orgate.toml", `${TOML}\n[policies]\nsubject = { tier = "string" }\n`);
const ORDER = '{ type: "object", properties: { order: { type: "string" } }, required: ["order"], additionalProperties: false } as const';
desk.write(
  "agents/desk.ts",
  AGENT.replace(
    "export default",
    `const getOrder = defineTool({ name: "get_order", description: "reads", input: ${ORDER}, effects: ["read"], labels: [], run: () => null,
  records: [{ type: "order", key: { arg: "order" }, owner: "customer", fields: { status: "status" } }] });
const getOrders = defineTool({ name: "get_orders", description: "reads orders", input: ${ORDER}, effects: ["read"], labels: [], run: () => null });
const refund = defineTool({ name: "refund", description: "pays back", input: ${ORDER}, effects: ["spend"], targets: { order: { kind: "id", of: "order" } }, run: () => null });
export default`,
  ).replace("tools: [look,", "tools: [getOrder, getOrders, refund, look,"),
);
desk.write(
  "policies/desk.cedar",
  `${POLICIES}
@id("own")
permit(principal, action == Action::"tool:refund", resource) when {
  context.records has order && context.records.order has owner && context has subject && context.records.order.owner == context.subject.id
  && context.now.hour < 18
};
@id("all-sent")
permit(principal, action == Action::"tool:refund", resource) when {
  context.allRecords has order && context.allRecords.order.status.values == ["sent"] && context.allRecords.order.id.size == 2
};
@id("fresh-yes")
permit(principal, action == Action::"tool:refund", resource) when { context has approval && context.approval.ageSeconds < 60 };
@id("owned")
permit(principal, action == Action::"tool:refund", resource) when { context.targets.owned && context.facts.order.recorded && context.facts.order has record && context.facts.order.record.status == "kept" };
@id("gold-only")
@reason("only gold customers")
forbid(principal, action == Action::"tool:look", resource) unless { context has subject && context.subject has tier && context.subject.tier == "gold" };
`,
);

const EVAL = ["policy", "eval", "--agent", "desk", "--action", "tool:refund", "--args", '{"order":"O-1"}'];
const verdict = async (...options: readonly string[]): Promise<string> => {
  const { stdout } = await desk.orgate(...EVAL, ...options, "--json");
  const { kind, because } = (JSON.parse(stdout) as { verdict: { kind: string; because: readonly string[] } }).verdict;
  return [kind, ...because].join(" ");
};

test("G-19 policy eval decides with the records, subject, time and approval that its options say", async () => {
  const [record, subject] = [
    ["--records", '{"order":{"owner":"C-7","status":"pending"}}'],
    ["--subject", '{"id":"C-7"}'],
  ];
  expect(await desk.json(...EVAL, ...record, ...subject)).toMatchObject({ verdict: { kind: "allow", because: ["desk/own"] } });
  expect(await verdict(...record)).toMatch(/^deny/);
  expect(await verdict(...subject)).toMatch(/^deny/);
  expect(await verdict(...record, "--subject", '{"id":"C-8"}')).toMatch(/^deny/);
  expect(await verdict(...record, ...subject, "--now", "2030-01-31T19:00:00Z")).toMatch(/^deny/);
  const several = (...states: readonly string[]) => [
    "--records",
    JSON.stringify({ order: states.map((status, i) => ({ id: `O-${i}`, status })) }),
  ];
  expect(await verdict(...several("sent", "sent"))).toContain("desk/all-sent");
  expect(await verdict(...several("sent", "lost"))).toMatch(/^deny/);
  expect(await verdict("--approval", '{"ageSeconds":59}')).toContain("desk/fresh-yes");
  expect(await verdict("--approval", '{"ageSeconds":60}')).toMatch(/^deny/);
  expect(await desk.json(...EVAL, "--records", '{"order":{"owner":"C-7"}}', ...subject)).toMatchObject({
    verdict: { kind: "deny", reason: expect.stringContaining("does not have the attribute `status`") },
  });
  const explained = await desk.orgate("policy", "explain", ...EVAL.slice(2), ...record, ...subject);
  expect([explained.code, explained.stdout]).toEqual([0, expect.stringContaining("desk/own")]);
});

test("G-19 a record that an option states makes the argument that refers to it recorded, and the subject's where its owner is; a fact that is stated counts first", async () => {
  const kept = (owner: string) => ["--records", JSON.stringify({ order: { owner, status: "kept" } }), "--now", "2030-01-31T19:00:00Z"];
  const own = [...kept("C-7"), "--subject", '{"id":"C-7"}'];
  expect(await verdict(...own)).toBe("allow desk/owned");
  expect(await verdict(...kept("C-8"), "--subject", '{"id":"C-7"}')).toMatch(/^deny/);
  expect(await verdict(...kept("C-7"))).toMatch(/^deny/);
  expect(await verdict(...own, "--facts", '{"order":{"owned":false}}')).toMatch(/^deny/);
});

test("G-14 G-19 a name in a question that nothing has is refused with the nearest, and so is a value of another type; in a decision table too", async () => {
  const refused: readonly (readonly [readonly string[], string])[] = [
    [["--records", '{"ordr":{"status":"sent"}}'], "no tool makes records of `ordr`"],
    [["--records", '{"order":{"sttus":"sent"}}'], "no such record has a field `sttus`"],
    [["--records", '{"order":[{"status":"sent"},{"status":5}]}'], "`records.order.status` is 5"],
    [["--subject", '{"id":"C-7","tir":"gold"}'], "nothing gives the subject an attribute `tir`"],
    [["--facts", '{"ordr":{"recorded":true}}'], "`refund` marks no argument `ordr`"],
    [["--facts", '{"order":{"record":{"sttus":"x"}}}'], "no such record has a field `sttus`"],
  ];
  for (const verb of ["eval", "explain"])
    await expectRefusals(
      desk,
      refused.map(([options, detail]) => [["policy", verb, ...EVAL.slice(2), ...options], 2, detail]),
    );
  const one = {
    name: "sent",
    agent: "desk",
    action: "tool:refund",
    args: { order: "O-1" },
    records: { order: { sttus: "sent" } },
    verdict: "deny",
  };
  desk.write("policies/desk.cases.json", JSON.stringify([one]));
  const checked = await desk.orgate("policy", "check");
  desk.write("policies/desk.cases.json", JSON.stringify([{ ...one, records: { order: { status: "sent" } } }]));
  expect([checked.code, checked.stdout]).toEqual([
    1,
    expect.stringContaining("no such record has a field `sttus`; did you mean `status`?"),
  ]);
  expect((await desk.orgate("policy", "check")).code).toBe(0);
});

test("G-19 what is no record, subject or time is one clear line", async () => {
  await expectRefusals(desk, [
    [[...EVAL, "--records", "{order}"], 2, "not JSON"],
    [[...EVAL, "--records", '{"order":[]}'], 2, "--records"],
    [[...EVAL, "--subject", '{"tier":"gold"}'], 2, "--subject"],
    [[...EVAL, "--now", "tomorrow"], 2, "2030-01-31T08:00:00Z"],
    [[...EVAL, "--approval", '{"ageSeconds":-1}'], 2, "--approval"],
  ]);
});

test("G-18 check advises about the project's own tools, and not about those that Orgate brings", async () => {
  desk.write("agents/watcher.toml", 'name = "watcher"\ninstructions = "watch"\nmodel = "offline/echo"\ntools = ["list_sessions"]\n');
  const { advice } = (await desk.json("policy", "check")) as { advice: readonly Readonly<{ tools: readonly string[] }>[] };
  const named = advice.flatMap(({ tools }) => tools);
  expect([named.includes("list_sessions"), named.includes("get_orders")]).toEqual([false, true]);
});

test("G-40 run says whom a new session serves, by an id or with attributes; the journal has it, and policies read it", async () => {
  const run = ["run", "desk", "--input", "look"];
  expect(await desk.json(...run)).toMatchObject({ calls: 0 });
  expect(await desk.json(...run, "--subject", "C-7")).toMatchObject({ calls: 0 });
  const served = (await desk.json(...run, "--subject", '{"id":"C-7","tier":"gold"}')) as { session: string };
  expect(served).toMatchObject({ ending: "completed", calls: 1 });
  expect((await desk.orgate("journal", "show", served.session, "--json")).stdout).toContain(
    '"subject":{"attributes":{"tier":"gold"},"id":"C-7"}',
  );
  await expectRefusals(desk, [
    [[...run, "--session", served.session, "--subject", "C-8"], 2, "--subject is for a new session"],
    [[...run, "--subject", "{C-7}"], 2, "--subject is not JSON"],
    [[...run, "--subject", '{"tier":"gold"}'], 2, "is no id of a subject"],
    [[...run, "--subject", " C-7"], 2, "is no id of a subject"],
    [[...run, "--subject", '{"id":"C-7","a b":1}'], 2, "is no name of an attribute"],
  ]);
});
