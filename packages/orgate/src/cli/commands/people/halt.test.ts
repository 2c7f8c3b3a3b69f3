import { rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { askingDesk, withPeople } from "../fixtures/asking.ts";
import { type Desk, expectRefusals, until } from "../fixtures/desk.ts";

const desks: Desk[] = [];
const newDesk = async (): Promise<Desk> => {
  const desk = askingDesk();
  desks.push(desk);
  await withPeople(desk, "ana", "eve");
  return desk;
};
afterAll(() => {
  for (const desk of desks) desk.remove();
});

/** In the middle of a call that goes on until the file `go` is there. */
async function charging(desk: Desk) {
  const run = desk.start(["run", "clerk", "--input", "charge", "--as", "eve", "--json"]);
  await until(() => (desk.has("charged.txt") ? true : null));
  return run;
}

test("Q-16 a halt ends what runs elsewhere, says so, survives restarts, is listed, and is lifted", async () => {
  const desk = await newDesk();
  await expectRefusals(desk, [
    [["halt", "--as", "ana"], 2, "--reason is missing"],
    [["halt", "--reason", "x", "--as", "eve"], 1, "`eve` may not halt all"],
    [["halt", "tool", "--reason", "x", "--as", "ana"], 2, "which tool?"],
    [["halt", "all", "pay", "--reason", "x", "--as", "ana"], 2, "`all` takes no name"],
    [["halt", "agent", "no such", "--reason", "x", "--as", "ana"], 2, "is nothing that can be halted"],
  ]);
  expect((await desk.orgate("halts")).stdout).toBe("nothing is halted\n");
  const run = await charging(desk);
  const halted = await desk.orgate("halt", "--reason", "stop it", "--as", "ana");
  expect(halted.code).toBe(0);
  expect(halted.stdout).toMatch(
    /^halted all work: .*`orgate resume-work all --reason "…"`\nit reached 1 session in 1 process:\n {2}s_\w+ clerk(?: \(process \d+\))?: its turn has ended\n$/,
  );
  const ended = await run.ended;
  expect(JSON.parse(ended.stdout)).toMatchObject({ ending: "halted", detail: "stop it", unknowns: [{ tool: "charge" }] });
  expect(await desk.json("halts")).toMatchObject([{ scope: "all", reason: "stop it", by: { kind: "user", id: "ana" } }]);
  expect((await desk.orgate("halts")).stdout).toMatch(/all work +\d+ s +user:ana +stop it/);

  const fresh = await desk.orgate("run", "clerk", "--input", "hello", "--as", "eve", "--json"); // a process of its own: its first effect is refused
  expect([fresh.code, JSON.parse(fresh.stdout)]).toMatchObject([1, { ending: "halted", iterations: 0 }]);
  await expectRefusals(desk, [[["resume-work", "--reason", "x", "--as", "eve"], 1, "`eve` may not let all go on"]]);
  expect(await desk.json("resume-work", "--reason", "mended", "--as", "ana")).toEqual({ resumed: ["all"], left: [], waiting: [] });
  expect((await desk.orgate("run", "clerk", "--input", "hello", "--as", "eve")).code).toBe(0);
  await expectRefusals(desk, [[["resume-work", "--reason", "again", "--as", "ana"], 2, "nothing was lifted: all work is not halted"]]);
});

test("Q-16 one tool is halted, its calls are refused, the agent goes on; a name that nobody knows is halted and said to be unknown", async () => {
  const desk = await newDesk();
  expect(await desk.json("halt", "tool", "pay", "--reason", "wrong account", "--as", "ana")).toMatchObject({
    halted: "tool:pay",
    reached: [],
    known: true,
  });
  const run = (await desk.json("run", "clerk", "--input", "pay", "--as", "eve")) as { output: string };
  expect(run.output).toMatch(/^Not paid: .*halted: wrong account/);
  const coming = await desk.orgate("halt", "agent", "clerc", "--anyway", "--reason", "x", "--as", "ana");
  expect([coming.code, coming.stderr]).toEqual([0, expect.stringContaining("this project has no agent clerc: it is halted all the same")]);
  expect(await desk.json("resume-work", "tool", "pay", "--reason", "mended", "--as", "ana")).toEqual({
    resumed: ["tool:pay"],
    left: ["agent:clerc"],
    waiting: [],
  });
});

test("Q-15 a halt of a name that the project does not have is refused with what may have been meant, and halts nothing", async () => {
  const desk = await newDesk();
  await expectRefusals(desk, [
    [["halt", "agent", "clerc", "--reason", "x", "--as", "ana"], 2, "nothing was halted: this project has no agent `clerc`"],
    [["halt", "agent", "clerc", "--reason", "x", "--as", "ana"], 2, "did you mean `clerk`?"],
    [["halt", "tool", "zzzzzz", "--reason", "x", "--as", "ana"], 2, "it has: "],
    [["halt", "tool", "zzzzzz", "--reason", "x", "--as", "ana"], 2, "--anyway"],
  ]);
  expect(await desk.json("halts")).toEqual([]);
});

test.each([["all"], ["agent", "clerk"], ["tool", "pay"]])(
  "Q-14 Q-17 approved while %s is halted: the command, lists and a late answer say that it waits and with what, resume-work names the session, and there it runs once",
  async (...scope) => {
    const desk = await newDesk();
    await desk.orgate("run", "clerk", "--input", "pay", "--as", "eve");
    const [{ approval, session } = { approval: "", session: "" }] = (await desk.json("approvals", "list")) as {
      approval: string;
      session: string;
    }[];
    await desk.orgate("halt", ...scope, "--reason", "look first", "--as", "ana");
    const says = `${scope[0] === "all" ? "all work" : scope.join(" ")} is halted by user:ana (look first), and what is approved waits with it`;
    expect((await desk.orgate("approvals", "show", approval)).stdout.replace(/\s+/g, " ")).toContain(says);
    const approved = await desk.orgate("approvals", "approve", approval, "--as", "ana");
    expect(approved.code).toBe(3);
    expect(approved.stdout).toContain(`The turn waits until a halt is lifted. ${says}.`);
    expect(approved.stdout).toContain(`orgate resume-work ${scope.join(" ")} --reason`);
    expect(desk.has("paid.txt")).toBe(false);
    const halted = { scope: scope.join(":"), reason: "look first", by: { kind: "user", id: "ana" } };
    expect(await desk.json("sessions", "list")).toMatchObject([{ session, state: "running", shown: "halted", halted }]);
    expect((await desk.orgate("sessions", "list")).stdout).toMatch(
      new RegExp(`${session} +halted [\\s\\S]*orgate resume-work ${scope.join(" ")} --reason`),
    );
    expect((await desk.orgate("sessions", "show", session)).stdout).toContain(`${session} halted`);
    const why = `The call has not run yet. It waits: ${says}. \`orgate resume-work ${scope.join(" ")} --reason "…"\` lets it run.`;
    expect((await desk.orgate("approvals", "show", approval, "--as", "ana")).stdout).toContain(`You approved it. ${why}`);
    expect((await desk.orgate("approvals", "approve", approval, "--as", "ana")).stdout).toContain(why);
    const lifted = await desk.orgate("resume-work", ...scope, "--reason", "looked", "--as", "ana");
    expect(lifted.stdout).toContain(
      `1 session can go on: a running server takes them up by itself; without one, \`orgate sessions resume ID\`: ${session}`,
    );
    expect(await desk.json("sessions", "resume", session)).toMatchObject({ ending: "completed", calls: 1 });
    expect(desk.read("paid.txt").trim().split("\n")).toHaveLength(1);
  },
);

test("Q-20 a tool that can tell settles it, and only then the command succeeds", async () => {
  const desk = await newDesk();
  const run = await charging(desk);
  run.kill("SIGINT");
  await run.ended;
  desk.write("go", "");
  expect(await desk.json("sessions", "resolve", "1.0", "reconcile", "--as", "ana")).toMatchObject({
    state: "taken",
    settled: true,
    left: [],
  });
});

test.each<[string, (desk: Desk) => void, string]>([
  ["a broken policy", (desk) => desk.write("policies/desk.cedar", "permit("), "policies/desk.cedar:1:"],
  ["no policy", (desk) => rmSync(join(desk.root, "policies/desk.cedar")), "there is no policy in `policies`"],
  ["an agent module that throws", (desk) => desk.write("agents/desk.ts", 'throw new Error("out of order");\n'), "out of order"],
])("Q-16 with %s a halt is let through undecided, says so, and reaches what runs; letting go on stays refused", async (_, damage, why) => {
  const desk = await newDesk();
  const run = await charging(desk);
  damage(desk);
  const halted = await desk.orgate("halt", "--reason", "stop it", "--as", "eve"); // whom the policies would not let
  expect([halted.code, halted.stdout]).toEqual([0, expect.stringContaining("halted all work")]);
  expect(halted.stdout).toContain("it reached 1 session");
  expect(halted.stdout).toContain("nothing could be decided, and it was let through because of that: ");
  expect(halted.stdout).toContain(why);
  expect(JSON.parse((await run.ended).stdout)).toMatchObject({ ending: "halted", detail: "stop it" });
  expect(await desk.json("halts")).toMatchObject([{ scope: "all", reason: "stop it", by: { kind: "user", id: "eve" } }]);
  expect(await desk.json("halt", "agent", "clerc", "--reason", "x", "--as", "eve")).toMatchObject({
    halted: "agent:clerc",
    known: null,
    undecided: expect.stringContaining(why),
  });
  await expectRefusals(desk, [
    [["resume-work", "--reason", "x", "--as", "ana"], 1, why],
    [["halt", "agent", "no such", "--reason", "x", "--as", "eve"], 2, "is nothing that can be halted"],
  ]);
  expect(((await desk.json("halts")) as object[]).length).toBe(2);
  expect((await desk.orgate("journal", "verify")).code).toBe(0);
});

test("Q-16 a project file that cannot be understood keeps nobody from halting, nor from seeing what is halted", async () => {
  const desk = await newDesk();
  const run = await charging(desk);
  const good = desk.read("orgate.toml");
  for (const [text, why] of [
    ["= 1", "orgate.toml:1:1: not TOML"],
    [`${good}\n[halt]\nnever = true\n`, "there is no setting `halt`"],
  ] as const) {
    desk.write("orgate.toml", text);
    const halted = await desk.orgate("halt", "--reason", "stop it", "--as", "eve");
    expect([halted.code, halted.stdout]).toEqual([0, expect.stringContaining("halted all work")]);
    expect(halted.stdout).toContain(why);
    await expectRefusals(desk, [[["resume-work", "--reason", "x", "--as", "ana"], 1, why]]);
  }
  expect(JSON.parse((await run.ended).stdout)).toMatchObject({ ending: "halted", detail: "stop it" });
  expect(await desk.json("halts")).toMatchObject([{ scope: "all", reason: "stop it" }]);
});

test("Q-16 whose key is withdrawn halts nothing, also where no policy can decide", async () => {
  const desk = await newDesk();
  const keys = (await desk.json("keys", "list")) as { key: string; holder: string }[];
  await desk.json("keys", "withdraw", keys.find((k) => k.holder === "eve")?.key ?? "", "--reason", "laptop stolen", "--as", "ana");
  desk.write("policies/desk.cedar", "permit(");
  await expectRefusals(desk, [[["halt", "--reason", "x", "--as", "eve"], 1, "withdrawn"]]);
  expect(await desk.json("halts")).toEqual([]);
});

test("Q-20 an unknown outcome is resolved by a person whom the policies let, by call id or SESSION/CALL; the tool is asked only if it can tell", async () => {
  const desk = await newDesk();
  const run = await charging(desk);
  run.kill("SIGINT");
  const { session } = JSON.parse((await run.ended).stdout) as { session: string };
  const resolve = (call: string, as: string, ...more: readonly string[]) => ["sessions", "resolve", call, as, ...more];
  await expectRefusals(desk, [
    [resolve("1.0", "perhaps"), 2, "happened, did-not-happen, reconcile or abandon"],
    [resolve("9.9", "happened", "--as", "ana"), 2, "no outcome of a call `9.9` is unknown"],
    [resolve("1.0", "happened", "--as", "eve"), 1, "`eve` may not resolve it"],
    [resolve("s_nothing/1.0", "happened", "--as", "ana"), 1, "there is no session"],
  ]);
  const asked = await desk.orgate(...resolve(`${session}/1.0`, "reconcile", "--as", "ana"));
  expect([asked.code, asked.stdout]).toEqual([1, expect.stringContaining("it is still open: the tool could not tell")]);
  await desk.json("halt", "tool", "charge", "--reason", "hands off", "--as", "ana");
  const halted = await desk.orgate(...resolve("1.0", "reconcile", "--as", "ana", "--json"));
  expect([halted.code, JSON.parse(halted.stdout)]).toMatchObject([1, { state: "taken", settled: false, left: ["1.0"] }]);
  await desk.json("resume-work", "--reason", "on", "--as", "ana");
  const open = desk.read("policies/desk.cedar");
  desk.write("policies/desk.cedar", `${open}forbid(principal, action == Action::"tool:charge", resource);\n`);
  expect((await desk.orgate(...resolve("1.0", "reconcile", "--as", "ana"))).code).toBe(1);
  desk.write("policies/desk.cedar", open);
  const told = (await desk.json(...resolve("1.0", "happened", "--note", "the bank shows it", "--as", "ana"))) as object;
  expect(told).toMatchObject({
    session,
    state: "taken",
    settled: true,
    event: { kind: "unknown.resolved", as: "happened", note: "the bank shows it" },
    left: [],
  });
  await expectRefusals(desk, [[resolve("1.0", "happened", "--as", "ana"), 2, "there is nothing to resolve"]]);
  expect((await desk.orgate("sessions", "show", session)).stdout).toContain("resolved charge 1.0: happened, the bank shows it");
  expect((await desk.orgate("journal", "verify")).code).toBe(0);
});
