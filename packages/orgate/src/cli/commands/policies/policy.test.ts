import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { AGENT, type Desk, expectRefusal, expectRefusals, makeDesk, POLICIES, until } from "../fixtures/desk.ts";

const desks: Desk[] = [];
const newDesk = (): Desk => {
  const desk = makeDesk();
  desks.push(desk);
  return desk;
};
afterAll(() => {
  for (const desk of desks) desk.remove();
});

type Told = Readonly<{ kind: string; problems?: readonly string[]; changes?: readonly object[]; by: { id: string } }>;
const policyEvents = async (desk: Desk): Promise<readonly Told[]> => {
  const streams = (await desk.orgate("journal", "show", "policy", "--json")).stdout;
  const read: unknown = JSON.parse(streams);
  return JSON.stringify(read) === "[]" ? [] : (read as readonly { event?: Told }[]).map((e) => e.event ?? (e as unknown as Told));
};

describe("check and list", () => {
  const desk = newDesk();

  test("G-18 a set that would be in force exits 0; what no policy can read of a tool is named", async () => {
    expect(await desk.json("policy", "check")).toMatchObject({ ok: true, policies: 5, problems: [], cases: [] });
    const told = await desk.orgate("policy", "check");
    expect([told.code, told.stdout]).toEqual([0, expect.stringMatching(/^ok 5 policies, 0 cases as expected, digest [0-9a-f]{12}\n$/)]);
  });

  test("G-18 all problems at once, with their places, on stdout and as JSON, and exit 1", async () => {
    desk.write(
      "policies/more.cedar",
      '@asks("x")\npermit(principal, action, resource);\n\npermit(principal, action == Action::"tool:lok", resource);\n',
    );
    const { code, stdout } = await desk.orgate("policy", "check");
    expect(code).toBe(1);
    expect(stdout).toContain("policies/more.cedar:1:1: there is no annotation @asks");
    expect(stdout).toMatch(/policies\/more\.cedar:4:\d+: .*tool:lok/);
    expect(stdout).toContain("did you mean");
    const json = await desk.orgate("policy", "check", "--json");
    expect([json.code, JSON.parse(json.stdout)]).toMatchObject([
      1,
      { ok: false, digest: null, problems: [{ line: 1, column: 1 }, { line: 4 }] },
    ]);
    desk.write("policies/more.cedar", '@id("more")\npermit(principal == Agent::"dsek", action == Action::"model", resource);\n');
    desk.write("policies/more.cases.json", JSON.stringify([{ name: "it looks", agent: "desk", action: "tool:look", verdict: "deny" }]));
    const failed = await desk.orgate("policy", "check");
    expect([failed.code, failed.stdout]).toEqual([
      1,
      expect.stringContaining("policies/more.cases.json:1:2: case `it looks`: expected deny, got allow"),
    ]);
    desk.write("policies/more.cases.json", "[]");
    const empty = await desk.orgate("policy", "check");
    expect([empty.code, empty.stdout]).toEqual([1, expect.stringContaining("policies/more.cases.json:1:1: it has no case")]);
    rmSync(join(desk.root, "policies/more.cases.json"));
    expect((await desk.orgate("policy", "check")).stdout).toContain("warning: policies/more.cedar:1:1: there is no agent `dsek`");
  });

  test("G-18 every policy is listed with its place, its surface, and whether it is enforced", async () => {
    desk.write("policies/more.cedar", '@id("more")\npermit(principal, action == Action::"model", resource);\n');
    desk.write("policies/api/closed.cedar", '@reason("no")\nforbid(principal, action == Action::"model", resource);\n');
    desk.write("policies/shadow/cli/next.cedar", "forbid(principal, action, resource);\n");
    const { policies } = (await desk.json("policy", "list")) as { policies: { id: string }[] };
    expect(policies.filter(({ id }) => !id.startsWith("desk/"))).toEqual([
      {
        id: "more/more",
        file: "policies/more.cedar",
        line: 1,
        effect: "permit",
        surface: null,
        shadow: false,
        annotations: { id: "more" },
      },
      {
        id: "api/closed/1",
        file: "policies/api/closed.cedar",
        line: 1,
        effect: "forbid",
        surface: "api",
        shadow: false,
        annotations: { reason: "no" },
      },
      {
        id: "shadow/cli/next/1",
        file: "policies/shadow/cli/next.cedar",
        line: 1,
        effect: "forbid",
        surface: "cli",
        shadow: true,
        annotations: {},
      },
    ]);
    expect((await desk.orgate("policy", "list")).stdout).toMatch(
      /shadow\/cli\/next\/1 +forbid +shadow +cli +policies\/shadow\/cli\/next\.cedar:1/,
    );
  });
});

describe("eval and explain", () => {
  const desk = newDesk();

  test("G-19 a verdict with its policies and reason; by surface, labels and counters, through the decoder of the tables", async () => {
    desk.write(
      "policies/more.cedar",
      '@id("labelled")\n@reason("too much was seen")\nforbid(principal, action == Action::"tool:look", resource) when { context.labels.contains("secret") && context.calls.look.turn >= 2 };\n',
    );
    const look = ["policy", "eval", "--agent", "desk", "--action", "tool:look", "--args", "{}"];
    expect(await desk.json(...look)).toMatchObject({ verdict: { kind: "allow", because: ["desk/tools"] } });
    const counted = ["--labels", "secret,pii", "--calls", '{"look":{"turn":2}}'];
    expect(await desk.json(...look, ...counted)).toMatchObject({
      verdict: { kind: "deny", reason: "too much was seen", because: ["more/labelled"] },
    });
    expect((await desk.orgate("policy", "eval", "--agent", "desk", "--action", "tool:send", "--args", "{}")).stdout).toBe(
      "deny tool:send by desk\n  by desk/no-sending\n  nothing leaves\n",
    );
    expect(await desk.json("policy", "eval", "--user", "ana", "--action", "approve")).toMatchObject({ verdict: { kind: "allow" } });
  });

  test("G-19 what cannot be asked is one clear line", async () => {
    const e = ["policy", "eval"];
    await expectRefusals(desk, [
      [[...e, "--agent", "desk"], 2, "--action is missing"],
      [[...e, "--agent", "dsek", "--action", "model"], 1, "there is no agent `dsek`"],
      [[...e, "--agent", "desk", "--action", "tool:look", "--args", "{x}"], 2, "not JSON"],
      [[...e, "--agent", "desk", "--action", "fly"], 2, "--action is `fly`"],
      [[...e, "--user", "ana", "--action", "model"], 2, "--action is `model`"],
      [[...e, "--agent", "desk", "--action", "model", "--surface", "moon"], 2, "--surface"],
      [[...e, "--agent", "desk", "--action", "model", "--resource", "x"], 2, "--resource is `x`"],
    ]);
  });

  test("G-19 a tool that is not there, or arguments that do not fit, exit 2 with the nearest name: that is no denial", async () => {
    const e = ["policy", "eval", "--agent", "desk", "--action"];
    await expectRefusals(desk, [
      [[...e, "tool:lok", "--args", "{}"], 2, "did you mean `look`?"],
      [[...e, "tool:look", "--args", '{"x":1}'], 2, "`look`: the arguments do not fit"],
      [["policy", "explain", "--agent", "desk", "--action", "tool:lok"], 2, "there is no tool `lok`"],
    ]);
    expect(await desk.json(...e, "tool:peek", "--effects", "read")).toMatchObject({ verdict: { kind: "allow", because: ["desk/tools"] } });
  });

  test("G-19 a tool to come is decided and explained with the care that is said of it, the strictest where nothing is", async () => {
    desk.write(
      "policies/low.cedar",
      '@id("low") permit(principal, action in Action::"write", resource) when { context.tool.riskTier == "low" };\n',
    );
    const ask = async (verb: string, ...more: readonly string[]) =>
      desk.json("policy", verb, "--agent", "desk", "--action", "tool:scrub", "--effects", "write", ...more);
    const low = ["--tool", '{"riskTier":"low"}'];
    expect(await ask("eval", ...low)).toMatchObject({ verdict: { kind: "allow", because: expect.arrayContaining(["low/low"]) } });
    expect(await ask("explain", ...low)).toMatchObject({
      decision: { verdict: { kind: "allow", because: expect.arrayContaining(["low/low"]) } },
      reads: expect.arrayContaining(["context.tool.riskTier"]),
    });
    expect(JSON.stringify([await ask("eval"), await ask("explain")])).not.toContain('"because":["low/low"]');
    await expectRefusals(desk, [
      [["policy", "eval", "--agent", "desk", "--action", "model", ...low], 2, "--tool: it is about an agent's `tool:NAME` alone"],
      [["policy", "eval", "--agent", "desk", "--action", "tool:look", ...low], 2, "its definition says otherwise"],
    ]);
    rmSync(join(desk.root, "policies/low.cedar"));
  });

  test("G-19 the slice, what it read, which decided, and why the others did not", async () => {
    const explained = (await desk.json(
      "policy",
      "explain",
      "--agent",
      "desk",
      "--action",
      "tool:look",
      "--args",
      "{}",
      "--labels",
      "pii",
    )) as {
      reads: string[];
      considered: { id: string; why: string }[];
      outOfScope: { id: string; why: string }[];
    };
    expect(explained.reads).toEqual(["context.labels", "context.calls.look.turn"]);
    expect(explained.considered.map(({ id, why }) => [id, why])).toEqual([
      ["desk/tools", "decided"],
      ["more/labelled", "its condition is false"],
    ]);
    expect(explained.outOfScope.map(({ id, why }) => [id, why])).toEqual([
      ["desk/think", "out of scope: its action is not tool:look"],
      ["desk/answer", "out of scope: its action is not tool:look"],
      ["desk/no-sending", "out of scope: its action is not tool:look"],
      ["desk/people", "out of scope: its principal is not desk"],
    ]);
    desk.write(
      "policies/err.cedar",
      '@id("errs")\nforbid(principal, action == Action::"tool:look", resource) when { context.calls.look.turn * 9007199254740991 * 9007199254740991 > 0 };\n',
    );
    const erred = (await desk.json(
      "policy",
      "explain",
      "--agent",
      "desk",
      "--action",
      "tool:look",
      "--args",
      "{}",
      "--calls",
      '{"look":{"turn":1}}',
    )) as typeof explained;
    expect(erred.considered).toContainEqual(expect.objectContaining({ id: "err/errs", why: "erred" }));
    rmSync(join(desk.root, "policies/err.cedar"));
  });

  test("G-19 a permit that matched and lost is told as such, with what overrode it; what was not evaluated is not called false", async () => {
    const asking = ["policy", "explain", "--agent", "desk", "--action", "tool:look"];
    desk.write("policies/stop.cedar", '@id("stop")\nforbid(principal, action in Action::"read", resource);\n');
    type Told = { considered: { id: string; part: string; why: string }[] };
    const told = async (...more: string[]) =>
      Object.fromEntries(((await desk.json(...asking, ...more)) as Told).considered.map(({ id, part, why }) => [id, `${part}: ${why}`]));
    expect(await told("--args", "{}")).toEqual({
      "desk/tools": "overridden: it matched, and was overridden by stop/stop",
      "more/labelled": "did not apply: its condition is false",
      "stop/stop": "decided: decided",
    });
    expect(await told("--args", '{"x":1}')).toEqual({
      "desk/tools": "not asked: not evaluated: the request was refused before any policy was asked",
      "more/labelled": "not asked: not evaluated: the request was refused before any policy was asked",
      "stop/stop": "not asked: not evaluated: the request was refused before any policy was asked",
    });
    rmSync(join(desk.root, "policies/stop.cedar"));
    desk.write(
      "policies/err.cedar",
      '@id("errs")\nforbid(principal, action == Action::"tool:look", resource) when { context.calls.look.turn * 9007199254740991 * 9007199254740991 > 0 };\n',
    );
    expect(await told("--args", "{}", "--calls", '{"look":{"turn":1}}')).toMatchObject({
      "desk/tools": "overridden: it matched, and was overridden by err/errs",
      "err/errs": "erred: erred",
    });
    rmSync(join(desk.root, "policies/err.cedar"));
  });

  test("G-19 a recorded decision is explained with the labels and counters of then", async () => {
    const { session } = (await desk.json("run", "desk", "--input", "look")) as { session: string };
    const told = await desk.json("policy", "explain", "--session", session, "--call", "1.0");
    expect(told).toMatchObject({
      recorded: { verdict: { kind: "allow" } },
      decision: { verdict: { kind: "allow" }, read: { calls: { look: { turn: 0 } } } },
    });
    desk.write("policies/desk.cedar", POLICIES.replace('@id("tools")', '@id("tools")\n@ask("sure?")'));
    const now = await desk.orgate("policy", "explain", "--session", session, "--call", "1.0");
    expect(now.stdout).toMatch(/^allow then: 1\.0 of s_\S+\n {2}by desk\/tools\n/); // what was, and not what would be
    expect(now.stdout).toContain("ask today: the policies that decide it have changed since");
    expectRefusal(await desk.orgate("policy", "explain", "--session", session, "--call", "9.9"), 2, "has no decision on `9.9`");
    expectRefusal(await desk.orgate("policy", "explain", "--session", session), 2, "--call is missing");
  });
});

test("G-20 a call that was approved is explained by what was decided then, with the question and the person", async () => {
  const desk = newDesk();
  desk.write("policies/desk.cedar", POLICIES.replace('@id("tools")', '@id("tools")\n@ask("sure?")'));
  await desk.json("keys", "create", "ana");
  const { code, stdout } = await desk.orgate("run", "desk", "--input", "look", "--as", "ana", "--json");
  const { session } = JSON.parse(stdout) as { session: string };
  const [question] = (await desk.json("approvals", "list")) as { approval: string }[];
  expect([code, typeof question?.approval]).toEqual([3, "string"]);
  await desk.json("approvals", "approve", question?.approval ?? "", "--as", "ana");
  const explained = ["policy", "explain", "--session", session, "--call", "1.0"];
  const told = await desk.orgate(...explained);
  expect(told.stdout).toMatch(
    new RegExp(`^allow then: 1\\.0 of ${session}\\n(?:.*\\n)*? {2}approved by user:ana \\(${question?.approval}\\)\\n`),
  );
  expect(told.stdout).toMatch(/^ask today$/m);
  expect(await desk.json(...explained)).toMatchObject({ approved: { approval: question?.approval, by: ["user:ana"] } });
});

test("G-18 what `policy check` warns of is told on stderr by `run` and by `up --check` too", async () => {
  const desk = newDesk();
  desk.write("policies/weather.cedar.txt", "forbid(principal, action, resource);\n");
  const { code, stdout, stderr } = await desk.orgate("run", "desk", "--input", "hello");
  expect([code, stderr.match(/policies\/weather\.cedar\.txt:1:1: is neither a policy/g)?.length, stdout.includes("weather")]).toEqual([
    0,
    1,
    false,
  ]);
  expect(await desk.json("up", "--check")).toMatchObject({ warnings: [expect.stringContaining("policies/weather.cedar.txt:1:1:")] });
});

describe("apply", () => {
  test("G-16 nothing is applied without a reason; a dry run needs none", async () => {
    const desk = newDesk();
    desk.write("next/desk.cedar", POLICIES.replace("nothing leaves", "nothing goes"));
    expectRefusal(await desk.orgate("policy", "apply", "next"), 2, "--reason is missing");
    expectRefusal(await desk.orgate("policy", "apply", "next", "--reason", " "), 2, "--reason is missing");
    expect(desk.read("policies/desk.cedar")).toBe(POLICIES);
    expect(await desk.json("policy", "apply", "next", "--dry-run")).toMatchObject({ applied: false });
  });

  const files = (desk: Desk) =>
    Object.fromEntries(
      readdirSync(join(desk.root, "policies")).map((name) => [name, readFileSync(join(desk.root, "policies", name), "utf8")]),
    );

  test("G-16 S-9 a folder replaces the policies as a whole: shown, journalled with who and what changed, and in force at the next run; constraints are for what agents author", async () => {
    const desk = newDesk();
    desk.write(".orgate/constraints.toml", "[cedar]\nforbid_wildcard_principal = true\n"); // `more`, below, is one
    desk.write("policies/README.md", "how they read");
    desk.write("next/desk.cedar", POLICIES.replace("nothing leaves", "nothing at all leaves"));
    desk.write("next/more.cedar", '@id("more")\npermit(principal, action == Action::"model", resource);\n');
    const before = files(desk);
    const dry = await desk.orgate("policy", "apply", "next", "--dry-run", "--as", "ana");
    expectRefusal(dry, 1, "there is no such key");
    await desk.json("keys", "create", "ana");
    expect(await desk.json("policy", "apply", "next", "--dry-run")).toMatchObject({ applied: false });
    expect(files(desk)).toEqual(before);
    const { code, stdout } = await desk.orgate("policy", "apply", "next", "--reason", "a drill");
    expect([code, stdout]).toEqual([0, expect.stringContaining('  - @reason("nothing leaves")\n  + @reason("nothing at all leaves")\n')]);
    expect(stdout).toContain("added more.cedar");
    expect(Object.keys(files(desk)).sort()).toEqual(["README.md", "desk.cedar", "more.cedar"]);
    expect(readdirSync(desk.root).filter((name) => name.startsWith(".policies"))).toEqual([]);
    expect(await policyEvents(desk)).toMatchObject([
      {
        kind: "policy.applied",
        by: { kind: "user", id: "ana" },
        changes: [
          { path: "desk.cedar", change: "changed" },
          { path: "more.cedar", change: "added" },
        ],
      },
    ]);
    expect((await desk.orgate("run", "desk", "--input", "send")).stdout).toContain("nothing at all leaves");
    expect((await desk.orgate("policy", "apply", "next", "--reason", "a drill")).stdout).toBe("nothing to change\n");
  });

  test("G-16 a candidate that does not load, or that the person may not apply, changes nothing and is journalled as refused", async () => {
    const desk = newDesk();
    await desk.json("keys", "create", "ana");
    const before = files(desk);
    desk.write("next/desk.cedar", "permit(principal, action, resource)");
    expectRefusal(await desk.orgate("policy", "apply", "next", "--reason", "a drill"), 1, "next/desk.cedar:1:");
    desk.write("next/desk.cedar", POLICIES);
    desk.write("next/desk.cases.json", JSON.stringify([{ name: "it sends", agent: "desk", action: "tool:send", verdict: "allow" }]));
    expectRefusal(
      await desk.orgate("policy", "apply", "next", "--reason", "a drill"),
      1,
      "case `it sends`: expected allow, got deny: nothing leaves",
    );
    rmSync(join(desk.root, "next/desk.cases.json"));
    const closed = POLICIES.replace("principal is User, action,", 'principal is User, action == Action::"approve",');
    desk.write("policies/desk.cedar", closed);
    desk.write("next/desk.cedar", `${POLICIES}// and more\n`);
    expectRefusal(
      await desk.orgate("policy", "apply", "next", "--reason", "a drill"),
      1,
      '`ana` may not edit policies: no policy permits edit-policy on PolicySet::"every"',
    );
    expect(files(desk)).toEqual({ ...before, "desk.cedar": closed });
    const told = await policyEvents(desk);
    expect(told.map((e) => e.kind)).toEqual(["policy.refused", "policy.refused", "policy.refused"]);
    expect(told.flatMap((e) => e.problems ?? []).every((line) => line.startsWith("next") && !line.includes(desk.root))).toBe(true);
    expectRefusal(await desk.orgate("policy", "apply", "none", "--reason", "a drill"), 1, "there is no policy in `none`");
  });

  test("G-16 a candidate is read once: what is checked is what is put in place, although the folder changes meanwhile", async () => {
    const desk = newDesk();
    await desk.json("keys", "create", "ana");
    const before = files(desk);
    desk.write("next/desk.cedar", "");
    // each listing of the candidate finds other policies: first some that do not load, then some that do
    const meddling = `import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
const [list, next] = [fs.readdirSync, import.meta.dirname + "/../next"];
const texts = ["permit(principal, action, resource)", ${JSON.stringify(POLICIES)}];
fs.readdirSync = ((path: string, options: never) => {
  if (String(path).endsWith("/next")) {
    fs.writeFileSync(next + "/desk.cedar", texts.shift() ?? "");
    fs.appendFileSync(next + "/../listed.txt", "listed\\n");
  }
  return list(path, options);
}) as never;
syncBuiltinESMExports();
`;
    desk.write("agents/desk.ts", meddling + AGENT);
    expectRefusal(await desk.orgate("policy", "apply", "next", "--reason", "a drill"), 1, "next/desk.cedar:1:");
    expect(desk.read("listed.txt")).toBe("listed\n");
    expect(files(desk)).toEqual(before);
  });

  test("G-16 who may edit is decided for each surface that changes, by the policies in force and not by the candidate's", async () => {
    const desk = newDesk();
    await desk.json("keys", "create", "ana");
    const onlyApi = POLICIES.replace(
      "permit(principal is User, action, resource);",
      'permit(principal is User, action == Action::"edit-policy", resource == PolicySet::"api");',
    );
    desk.write("policies/desk.cedar", onlyApi);
    desk.write("next/desk.cedar", POLICIES);
    expectRefusal(await desk.orgate("policy", "apply", "next", "--reason", "a drill"), 1, "may not edit policies");
    desk.write("next/desk.cedar", onlyApi);
    desk.write("next/api/more.cedar", 'forbid(principal, action == Action::"tool:look", resource);\n');
    expect(await desk.json("policy", "apply", "next", "--reason", "a drill")).toMatchObject({
      applied: true,
      changes: [{ path: "api/more.cedar", change: "added" }],
    });
  });

  test("G-16 a change that was cut short between its steps is undone by the next, and one under way keeps others out", async () => {
    const desk = newDesk();
    await desk.json("keys", "create", "ana");
    cpSync(join(desk.root, "policies"), join(desk.root, "next"), { recursive: true });
    writeFileSync(join(desk.root, "next/more.cedar"), '@id("more")\npermit(principal, action == Action::"model", resource);\n');
    renameSync(join(desk.root, "policies"), join(desk.root, ".policies.before"));
    expectRefusal(await desk.orgate("run", "desk", "--input", "x"), 1, "there is no policy in `policies`");
    expect(await desk.json("policy", "apply", "next", "--reason", "a drill")).toMatchObject({
      applied: true,
      changes: [{ path: "more.cedar", change: "added" }],
    });
    mkdirSync(join(desk.root, ".policies.next"));
    writeFileSync(join(desk.root, "next/more.cedar"), '@id("other")\npermit(principal, action == Action::"model", resource);\n');
    expectRefusal(
      await desk.orgate("policy", "apply", "next", "--reason", "a drill"),
      1,
      "policies are being applied, or that was cut short",
    );
    expect(existsSync(join(desk.root, "policies/more.cedar"))).toBe(true);
  });
});

test("G-9 `run --watch` takes up an edit while the session runs, tells of a broken one, and goes on with the set before it", async () => {
  const desk = newDesk();
  const run = desk.start(["run", "desk", "--input", "hold", "--watch", "--json"]);
  let stderr = "";
  run.child.stderr?.on("data", (text: string) => {
    stderr += text;
  });
  await until(() => (desk.has("effects.txt") ? true : null));
  desk.write("policies/desk.cedar", "permit(");
  await until(() => (stderr.includes("policies not reloaded, those before go on: policies/desk.cedar:1:") ? true : null));
  desk.write("policies/desk.cedar", POLICIES.replace('@id("answer")\npermit', '@id("answer")\n@reason("silence")\nforbid'));
  await until(() => (/policies reloaded: [0-9a-f]{12} is in force/.test(stderr) ? true : null));
  desk.write("go", "");
  const { code, stdout } = await run.ended;
  expect(code).toBe(1);
  expect(JSON.parse(stdout)).toMatchObject({ ending: "denied", output: null });
  expect((await desk.orgate("sessions", "show", JSON.parse(stdout).session)).stdout).toContain("silence");
  expect((await policyEvents(desk)).map((e) => e.kind)).toEqual(["policy.loaded", "policy.refused", "policy.loaded"]);
});
