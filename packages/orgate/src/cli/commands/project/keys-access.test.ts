import { afterAll, beforeAll, expect, test } from "vitest";
import { readToken } from "../../../identity/access-store.ts";
import { type Desk, expectRefusals, makeDesk } from "../fixtures/desk.ts";

let desk: Desk;
beforeAll(async () => {
  desk = makeDesk();
  desk.write(
    "policies/access.cedar",
    '@id("not-to-eve")\nforbid(principal, action == Action::"give-access", resource == User::"eve") unless { principal == User::"eve" };\n',
  );
  await desk.json("keys", "create", "ana");
}, 60_000);
afterAll(() => desk.remove());

type Shown = Readonly<{ access?: string; means?: string; state: string; person?: string; agents?: string[] | null; until?: number | null }>;

test("W-10 an API key is shown once, listed with its limits, and revoked; the policies say who gives access to whom", async () => {
  const made = (await desk.json(
    "keys",
    "create",
    "ana",
    "--api",
    "--agents",
    "desk",
    "--actions",
    "observe,run",
    "--note",
    "ci",
  )) as Shown & Readonly<{ token: string }>;
  expect(readToken(made.token)?.access).toBe(made.access);
  expect(made).toMatchObject({ means: "key", person: "ana", agents: ["desk"], actions: ["observe", "run"], note: "ci", state: "valid" });
  expect((made.until ?? 0) - Date.now()).toBeGreaterThan(89 * 86_400_000);
  expect(made).not.toHaveProperty("check");

  const listed = await desk.orgate("keys", "list", "--json");
  expect(listed.stdout).not.toContain(made.token);
  expect(listed.stdout).not.toContain("scrypt");
  expect((JSON.parse(listed.stdout) as Shown[]).filter(({ access }) => access !== undefined)).toMatchObject([{ access: made.access }]);
  expect((await desk.orgate("keys", "list")).stdout).toContain("desk; observe, run");

  await expectRefusals(desk, [
    [["keys", "create", "eve", "--api"], 1, "give access to `eve`"],
    [["keys", "create", "ana", "--api", "--agents", "nobody"], 2, "there is no `nobody`"],
    [["keys", "create", "ana", "--api", "--actions", "fly"], 2, "there is no `fly`"],
    [["keys", "create", "ana", "--api", "--expires", "soon"], 2, "--expires is `soon`"],
    [["keys", "create", "bob", "--agents", "desk"], 2, "--agents is for --api or --link"],
    [["keys", "revoke", made.access ?? ""], 2, "--reason is missing"],
    [["keys", "revoke", "x_none", "--reason", "x"], 2, "there is no access"],
  ]);

  await desk.json("keys", "revoke", (made.access ?? "").slice(0, 8), "--reason", "done");
  expect(((await desk.json("keys", "list")) as Shown[]).some(({ access }) => access === made.access)).toBe(false);
  const all = (await desk.json("keys", "list", "--all")) as Shown[];
  expect(all.find(({ access }) => access === made.access)?.state).toBe("revoked");
}, 180_000);

test("W-10 what the policies do not let one give one does not take away either, unless it is one's own; with broken policies it is taken away all the same", async () => {
  await desk.json("keys", "create", "eve");
  const give = async () => ((await desk.json("keys", "create", "eve", "--api", "--as", "eve")) as Shown).access ?? "";
  const [one, two] = [await give(), await give()];
  await expectRefusals(desk, [[["keys", "revoke", one, "--reason", "x", "--as", "ana"], 1, "revoke the access of `eve`"]]);
  await desk.json("keys", "revoke", one, "--reason", "mine", "--as", "eve");
  const policies = desk.read("policies/access.cedar");
  desk.write("policies/access.cedar", "permit(");
  const { code, stderr } = await desk.orgate("keys", "revoke", two, "--reason", "stolen", "--as", "ana");
  desk.write("policies/access.cedar", policies);
  expect([code, stderr]).toEqual([0, expect.stringContaining("nothing was decided")]);
}, 180_000);

test("W-10 a link leads to the server, its secret behind `#`", async () => {
  const { stdout } = await desk.orgate("keys", "create", "ana", "--link", "--url", "https://desk.example/x", "--as", "ana");
  const [, address, token = ""] = /^(.*)#(.*)\n$/.exec(stdout) ?? [];
  expect([address, readToken(token)?.means]).toEqual(["https://desk.example/sign-in", "link"]);
}, 60_000);
