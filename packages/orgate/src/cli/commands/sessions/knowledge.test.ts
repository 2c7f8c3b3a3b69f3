import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { withPeople } from "../fixtures/asking.ts";
import { type Desk, expectRefusals, makeDesk } from "../fixtures/desk.ts";

const AGENT = `name = "clerk"
instructions = "Remember."
model = "offline/clerk"

[knowledge]
maxItems = 3
threshold = 0.2
keepLearnings = true

[[modelOptions.rules]]
say = "Noted: {{input}}"
`;
const POLICIES = `permit(principal, action in [Action::"model", Action::"respond"], resource);
permit(principal, action in [Action::"recall", Action::"remember"], resource in Scope::"project");
permit(principal in UserGroup::"ops", action == Action::"edit-knowledge", resource);
permit(principal is User, action in [Action::"run", Action::"say", Action::"erase"], resource);
`;
const desk: Desk = makeDesk();
afterAll(() => desk.remove());
const PATIENCE = { timeout: 120_000 };

type Hit = Readonly<{ id: string; relevance: number; labels: readonly string[]; body: { kind: string; title?: string } }>;
const hits = async (...args: readonly string[]) => ((await desk.json("knowledge", "search", ...args)) as { hits: Hit[] }).hits;

test("A-7 `knowledge add` exits 1 when a file that was named is passed over, or nothing of a folder is read", PATIENCE, async () => {
  const other = makeDesk();
  try {
    other.write("orgate.toml", '[project]\nname = "desk"\n[groups.users]\nops = ["ana"]\n');
    other.write(
      "policies/desk.cedar",
      POLICIES.split("\n")
        .filter((line) => !line.includes("recall"))
        .join("\n"),
    );
    other.write("docs/good.md", "# Good\n\nIt is.\n");
    other.write("docs/picture.png", "no");
    other.write("only/picture.png", "no");
    await withPeople(other, "ana");
    const add = async (...paths: readonly string[]) => {
      const said = await other.orgate("knowledge", "add", ...paths, "--as", "ana");
      return [said.code, said.stderr.includes("passed over")];
    };
    expect(await add("docs")).toEqual([0, true]); // a folder holds what it holds
    expect(await add("docs/good.md", "docs/picture.png")).toEqual([1, true]);
    expect(await add("only")).toEqual([1, true]);
    expect(await add("docs/good.md")).toEqual([0, false]);
  } finally {
    other.remove();
  }
});

test(
  "N-16 knowledge at the command line: added, found, shown, forgotten, exported, imported, counted, by whom the policies let",
  PATIENCE,
  async () => {
    desk.write("orgate.toml", '[project]\nname = "desk"\n[groups.users]\nops = ["ana"]\n');
    desk.write("agents/clerk.toml", AGENT);
    desk.write("policies/desk.cedar", POLICIES);
    desk.write("docs/deploy.md", "# Deploy\n\nPush to the pipeline.\n\n# Roll back\n\nPull the lever.\n");
    desk.write("docs/.hidden.md", "# Hidden\n\nzqxhidden\n");
    desk.write("docs/picture.png", "no");
    desk.write("docs/evil.md", "# Evil\n\n\u001b[2Jzqxescape \u202e\n");
    await withPeople(desk, "ana", "eve");
    expect((await desk.orgate("knowledge", "stats")).stdout).toBe("nothing is known yet\n");
    expect((await desk.orgate("knowledge", "search", "deploy")).stdout).toBe('nothing is known about "deploy"\n');
    await expectRefusals(desk, [
      [["knowledge", "add", "docs", "--as", "eve"], 1, "`eve` may not add to what is known"],
      [["knowledge", "add", "nowhere", "--as", "ana"], 2, "there is no `nowhere`"],
      [["knowledge", "add", "--as", "ana"], 2, "there is no folder `knowledge` in this project"],
      [["knowledge", "add", "docs", "--scope", "agent", "--as", "ana"], 2, "--agent is missing"],
      [["knowledge", "add", "docs", "--label", "BAD", "--as", "ana"], 2, "--label is `BAD`"],
      [["knowledge", "show", "x"], 2, "is no id of an item"],
      [["knowledge", "import", "nowhere.jsonl", "--as", "ana"], 1, "name what `orgate knowledge export` wrote"],
      [["knowledge", "embed", "--as", "ana"], 2, "names no embedding model"],
    ]);
    const added = (await desk.json("knowledge", "add", "docs", "--as", "ana")) as { documents: number; skipped: { path: string }[] };
    expect(added).toMatchObject({ documents: 2, unchanged: 0, added: 3 });
    expect(added.skipped.map(({ path }) => path)).toEqual(["docs/picture.png"]);
    expect(await desk.json("knowledge", "add", "docs", "--as", "ana")).toMatchObject({ documents: 0, unchanged: 2, added: 0 });
    desk.write("knowledge/house.md", "# House\n\nThe zqxkey lies under the mat.\n");
    expect(await desk.json("knowledge", "add", "--as", "ana")).toMatchObject({ documents: 1, unchanged: 0, added: 1 });
    expect(await hits("zqxkey")).toMatchObject([{ labels: ["untrusted"], body: { title: "House" } }]);
    const [hit] = await hits("pipeline");
    expect(hit).toMatchObject({ labels: ["untrusted"], body: { kind: "chunk", title: "Deploy" } });
    const escaped = await desk.orgate("knowledge", "search", "zqxescape");
    expect(escaped.stdout).toContain("zqxescape");
    expect(escaped.stdout).not.toContain("\u001b[2J");
    const shown = (await desk.orgate("knowledge", "show", hit?.id ?? "")).stdout;
    expect(shown).toMatch(/labels +untrusted/);
    expect(shown).toMatch(/from +knowledge 1/);
    expect(shown).toContain("Push to the pipeline.");

    desk.write("docs/deploy.md", "# Deploy\n\nPush to the pipeline.\n");
    expect(await desk.json("knowledge", "add", "docs", "--as", "ana")).toMatchObject({ documents: 1, kept: 1, gone: 1 });
    await desk.json("knowledge", "add", join(desk.root, "docs/deploy.md"), "--trusted", "--as", "ana");
    expect((await hits("pipeline"))[0]).toMatchObject({ labels: [], verified: true });

    // a turn is kept, and comes back in the next one
    await desk.json("run", "clerk", "--input", "the pipeline has a zqxcanary99 in it", "--as", "eve");
    expect((await hits("zqxcanary99", "--agent", "clerk")).map((one) => one.body.kind)).toEqual(["working"]);
    expect(await hits("zqxcanary99")).toEqual([]);
    const next = (await desk.json("run", "clerk", "--input", "what of the zqxcanary99?", "--as", "eve")) as { session: string };
    expect((await desk.orgate("journal", "show", next.session)).stdout).toMatch(/knowledge\.recalled .*"kind":"working"/);

    const file = join(desk.root, "out.jsonl");
    expect(await desk.json("knowledge", "export", "out.jsonl")).toMatchObject({ items: expect.any(Number) });
    await expectRefusals(desk, [[["knowledge", "export", "out.jsonl"], 2, "is there already"]]);
    expect(await desk.json("knowledge", "import", "out.jsonl", "--as", "ana")).toMatchObject({ stored: 0 });
    expect(readFileSync(file, "utf8")).toContain('"format":"orgate-knowledge-1"');

    const [canary] = await hits("zqxcanary99", "--agent", "clerk");
    await expectRefusals(desk, [
      [["knowledge", "forget", canary?.id ?? "", "--as", "ana"], 2, "--reason is missing"],
      [["knowledge", "forget", canary?.id ?? "", "--reason", "x", "--as", "eve"], 1, "`eve` may not have something forgotten"],
      [["knowledge", "forget", "--document", "docs/none.md", "--reason", "x", "--as", "ana"], 2, "there is no document"],
    ]);
    const first = await desk.orgate("knowledge", "forget", canary?.id ?? "", "--erase", "--reason", "asked for", "--as", "ana");
    expect([first.code, first.stdout]).toEqual([
      2,
      expect.stringMatching(/can no longer resume[\s\S]*it came from here[\s\S]*nothing was done: give --yes/),
    ]);
    expect(await hits("zqxcanary99", "--agent", "clerk")).toHaveLength(1);
    const done = await desk.orgate("knowledge", "forget", canary?.id ?? "", "--erase", "--yes", "--reason", "asked for", "--as", "ana");
    expect(done.stdout).toMatch(/1 item forgotten; the journal has a tombstone\n\d+ sessions? erased/);
    expect((await desk.orgate("journal", "verify")).code).toBe(0);
    expect((await desk.orgate("journal", "show", "knowledge")).stdout).toMatch(/knowledge\.forgotten/);
    expect(await desk.json("knowledge", "import", "out.jsonl", "--trusted", "--as", "ana")).toMatchObject({ stored: 0, forgotten: 1 });
    expect((await desk.orgate("knowledge", "forget", "--document", "docs/evil.md", "--reason", "x", "--as", "ana")).stdout).toContain(
      "1 item forgotten",
    );
    expect(await desk.json("knowledge", "stats")).toMatchObject({ forgotten: 2, documents: 2, vectors: null, embedding: null });
  },
);
