import { afterAll, expect, test } from "vitest";
import { withPeople } from "../fixtures/asking.ts";
import { type Desk, expectRefusals, makeDesk } from "../fixtures/desk.ts";

const AGENT = `import { defineAgent, defineTool } from "orgate";
const look = defineTool({ name: "look", description: "looks", effects: ["read"], repeat: "read", input: { type: "object" }, run: () => "seen" });
export default defineAgent({
  name: "clerk", instructions: "Look.", model: "offline/clerk", tools: [look],
  modelOptions: { rules: [{ when: {}, calls: [{ tool: "look", args: {} }] }, { when: { called: ["look"] }, say: "{{result}}" }] },
});
`;
const POLICIES = `permit(principal, action in [Action::"model", Action::"respond", Action::"read"], resource);
permit(principal in UserGroup::"ops", action in [Action::"edit-known", Action::"remove-label"], resource);
permit(principal is User, action in [Action::"run", Action::"say"], resource);
@id("secret") forbid(principal, action == Action::"remove-label", resource == Label::"secret");
`;
const desk: Desk = makeDesk();
afterAll(() => desk.remove());
const PATIENCE = { timeout: 120_000 }; // a dozen processes

test("G-30 G-33 trusted sets and labels at the command line: listed, edited with a reason by whom the policies let", PATIENCE, async () => {
  desk.write("orgate.toml", '[project]\nname = "desk"\n[groups.users]\nops = ["ana"]\n');
  desk.write("agents/desk.ts", AGENT);
  desk.write("policies/desk.cedar", POLICIES);
  await withPeople(desk, "ana", "eve");
  expect((await desk.orgate("known", "list")).stdout).toBe("nothing is known yet\n");
  const added = await desk.orgate("known", "add", "people", "ben@example.org", "--why", "a friend", "--as", "ana");
  expect(added.stdout).toBe("ben@example.org is in people from now on, in every process\n");
  await expectRefusals(desk, [
    [["known", "add", "people", "carl@example.org", "--as", "ana"], 2, "--why is missing"],
    [["known", "add", "people", "carl@example.org", "--why", "x", "--as", "eve"], 1, "`eve` may not edit the set people"],
    [["known", "add", "My People", "x", "--why", "x", "--as", "ana"], 2, "is no name of a set"],
    [["known", "remove", "people", "carl@example.org", "--why", "x", "--as", "ana"], 2, "is not in `people`"],
  ]);
  expect(await desk.json("known", "list", "people")).toMatchObject([{ set: "people", value: "ben@example.org", from: "known" }]);
  expect((await desk.orgate("known", "list")).stdout).toMatch(/people +ben@example\.org +a person/);
  expect((await desk.orgate("journal", "show", "known")).stdout).toMatch(
    /known\.added .*"id":"ana".*"value":"ben@example\.org","why":"a friend"/,
  );
  await desk.orgate("known", "remove", "people", "BEN@example.org", "--why", "left", "--as", "ana");
  expect(await desk.json("known", "list")).toEqual([]);

  const { session } = JSON.parse((await desk.orgate("run", "clerk", "--input", "go", "--as", "eve", "--json")).stdout) as {
    session: string;
  };
  expect(await desk.json("sessions", "labels", session)).toEqual(["untrusted"]);
  await expectRefusals(desk, [
    [["sessions", "labels", session, "--remove", "untrusted", "--as", "ana"], 2, "--why is missing"],
    [["sessions", "labels", session, "--remove", "untrusted", "--why", "x", "--as", "eve"], 1, "`eve` may not take `untrusted` off"],
    [["sessions", "labels", session, "--remove", "secret", "--why", "x", "--as", "ana"], 1, "may not take `secret` off"],
  ]);
  const off = await desk.orgate("sessions", "labels", session, "--remove", "untrusted", "--why", "I read it", "--as", "ana");
  expect([off.code, off.stdout]).toEqual([0, expect.stringContaining("no longer labelled untrusted, says user:ana: I read it")]);
  expect((await desk.orgate("sessions", "labels", session)).stdout).toBe("it carries no label\n");
});
