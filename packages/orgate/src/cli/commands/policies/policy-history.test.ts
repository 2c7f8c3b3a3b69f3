/** Policies of before at the command line: listed, shown, compared, applied again. */
import { afterAll, expect, test } from "vitest";
import { type Desk, expectRefusal, makeDesk, POLICIES } from "../fixtures/desk.ts";

const desks: Desk[] = [];
afterAll(() => {
  for (const desk of desks) desk.remove();
});
const TABLE = JSON.stringify([{ name: "it looks", agent: "desk", action: "tool:look", verdict: "allow" }]);
const STRICT = `${POLICIES}@id("shut") @reason("shut") forbid(principal, action == Action::"tool:look", resource);\n`;

type Row = Readonly<{
  kind: string;
  digest: string | null;
  files: string;
  by: string;
  reason: string;
  changes: readonly object[];
  counts: object;
}>;

/** Two sets: the first was run under, the second was applied over it and run under. */
async function twoSets(): Promise<Readonly<{ desk: Desk; session: string; rows: readonly Row[] }>> {
  const desk = makeDesk();
  desks.push(desk);
  await desk.json("keys", "create", "ana");
  desk.write("policies/desk.cases.json", TABLE);
  const { session } = (await desk.json("run", "desk", "--input", "look")) as { session: string };
  desk.write("next/desk.cedar", STRICT);
  desk.write("next/api/more.cedar", '@id("more")\nforbid(principal, action == Action::"tool:send", resource);\n');
  await desk.json("policy", "apply", "next", "--reason", "nobody looks on Sundays");
  await desk.orgate("run", "desk", "--input", "look");
  return { desk, session, rows: (await desk.json("policy", "history")) as readonly Row[] };
}
const { desk, session, rows } = await twoSets();
const [second, applied, first] = rows;

test("G-21 `policy history` says which set was in force since when, who applied it and why; files are counted alike everywhere", async () => {
  expect(rows).toMatchObject([
    { kind: "loaded", counts: { policies: 2, tables: 0, agents: 0 } },
    { kind: "applied", counts: { policies: 2, tables: 0, agents: 0 }, by: "user:ana", reason: "nobody looks on Sundays" },
    {
      kind: "loaded",
      counts: { policies: 1, tables: 1, agents: 0 },
      changes: [
        { path: "desk.cases.json", change: "added" },
        { path: "desk.cedar", change: "added" },
      ],
    },
  ]);
  expect(applied?.changes).toEqual([
    { path: "api/more.cedar", change: "added" },
    { path: "desk.cases.json", change: "removed" },
    { path: "desk.cedar", change: "changed" },
  ]);
  expect(second?.files).toBe(applied?.files);
  const { stdout } = await desk.orgate("policy", "history");
  expect(stdout).toContain(first?.digest?.slice(0, 12));
  expect(stdout).toContain("(nobody looks on Sundays)");
});

test("G-21 `policy apply` names both digests of a set, and the history tells which is which: rows of one set can be matched", async () => {
  const { stdout } = await desk.orgate("policy", "history");
  const [head = "", loaded = "", put = ""] = stdout.split("\n");
  const [set, files] = [second?.digest?.slice(0, 12) ?? "", second?.files.slice(0, 12) ?? ""];
  expect(head).toMatch(/set +files +made of/);
  expect(loaded).toMatch(new RegExp(`loaded +${set} +${files} `));
  expect(put).toMatch(new RegExp(`applied +– +${files} `));
  const again = await desk.json("policy", "apply", "--set", files, "--dry-run");
  expect(again).toMatchObject({ set: second?.digest, files: second?.files });
});

test("G-21 `policy show` prints a set by its digest, by a time and by an entry, as it was then", async () => {
  const old = await desk.orgate("policy", "show", first?.digest?.slice(0, 12) ?? "");
  expect(old.stdout).toContain("desk.cases.json");
  expect(old.stdout).not.toContain("shut");
  expect((await desk.orgate("policy", "show")).stdout).toContain('@id("shut")');
  const then = (await desk.json("policy", "show", "--entry", `${session}:3`)) as { digest: string; texts: readonly { text: string }[] };
  expect(then).toMatchObject({ digest: first?.digest, texts: [{ text: TABLE }, { text: POLICIES }] });
  expect(await desk.json("policy", "show", "--at", new Date().toISOString())).toMatchObject({ digest: second?.digest });
  expectRefusal(await desk.orgate("policy", "show", "--at", "2020-01-01"), 2, "no policies were loaded by then");
  expectRefusal(await desk.orgate("policy", "show", "--entry", `${session}`), 2, "write the session and the entry's number");
  expectRefusal(await desk.orgate("policy", "show", "ffffffffffff"), 2, "no set of policies has the digest");
});

test("G-21 `policy diff` shows the lines that differ, and what is decided differently", async () => {
  const { code, stdout } = await desk.orgate("policy", "diff", first?.files.slice(0, 12) ?? "", second?.files.slice(0, 12) ?? "");
  expect(code).toBe(1);
  expect(stdout).toContain("changed desk.cedar");
  expect(stdout).toMatch(/\+ @id\("shut"\)/);
  expect(stdout).toMatch(/newly forbids\n(?:.*\n)*?.*desk +tool:look/);
  const same = await desk.orgate("policy", "diff", second?.digest?.slice(0, 12) ?? "", "now");
  expect([same.code, same.stdout]).toEqual([0, expect.stringContaining("the same files")]);
});

test("G-20 `policy explain --session` shows what the rule said when it decided", async () => {
  const { stdout } = await desk.orgate("policy", "explain", "--session", session, "--call", "1.0");
  expect(stdout).toContain(`then set ${first?.digest?.slice(0, 12)}`);
  const told = (await desk.json("policy", "explain", "--session", session, "--call", "1.0")) as {
    under: { rules: readonly { text: string }[] };
  };
  expect(told.under).toMatchObject({ set: first?.digest });
  expect(told.under.rules[0]?.text).toContain("permit");
  expect(POLICIES).toContain(told.under.rules[0]?.text);
});

test("G-21 an earlier set is applied again through the same decision, with its tables, shown and journalled", async () => {
  const set = first?.digest?.slice(0, 12) ?? "";
  const dry = await desk.orgate("policy", "apply", "--set", set, "--dry-run");
  expect(dry.stdout).toMatch(/removed api\/more\.cedar[\s\S]*added desk\.cases\.json[\s\S]*not applied: 3 files/);
  expect(await desk.json("policy", "apply", "--set", set, "--reason", "back to what worked")).toMatchObject({
    applied: true,
    files: first?.files,
  });
  expect([desk.read("policies/desk.cedar"), desk.read("policies/desk.cases.json"), desk.has("policies/api/more.cedar")]).toEqual([
    POLICIES,
    TABLE,
    false,
  ]);
  const [last] = (await desk.json("policy", "history")) as readonly Row[];
  expect(last).toMatchObject({ kind: "applied", by: "user:ana", reason: "back to what worked", files: first?.files });
  expect((await desk.json("journal", "verify")) as object).toMatchObject({ verified: true, textless: [] });
  expectRefusal(await desk.orgate("policy", "apply"), 2, "it takes either a folder or --set");
  desk.write("policies/desk.cedar", POLICIES.replace("principal is User, action,", 'principal is User, action == Action::"approve",'));
  expectRefusal(
    await desk.orgate("policy", "apply", "--set", second?.digest?.slice(0, 12) ?? "", "--reason", "x"),
    1,
    "`ana` may not edit policies",
  );
});
