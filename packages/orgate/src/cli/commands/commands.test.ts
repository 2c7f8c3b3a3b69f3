import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { type Desk, expectRefusal, expectRefusals, makeDesk, POLICIES, sessionsOf } from "./fixtures/desk.ts";

const desks: Desk[] = [];
const newDesk = (below = ""): Desk => {
  const desk = makeDesk(below);
  desks.push(desk);
  return desk;
};
afterAll(() => {
  for (const desk of desks) desk.remove();
});

describe("a run", () => {
  const desk = newDesk();
  let session = "";

  test("V-3 A-6 a run streams words, shows decisions and outcomes, names its ending and the journal's head", async () => {
    const first = await desk.orgate("run", "desk", "--input", "please look");
    expect(first.code).toBe(0);
    expect(first.stderr).toMatch(/made a key for `[a-z0-9_-]+`/);
    expect(first.stderr).toContain("in this project");
    expect(first.stdout).toMatch(/ {2}Looking\.\n {2}✓ allowed: look 1\.0 \{\} · by desk\/tools\n {2}← look 1\.0 done: .* · \d+ ms\n/);
    expect(first.stdout).toMatch(
      /The agent answered\. \(2 iterations, \d+ tokens, 1 call, .*\)\nsession s_\w+\njournal head w1@\d+:[0-9a-f]{64}\n$/,
    );
    session = /session (s_\w+)/.exec(first.stdout)?.[1] ?? "";
    const second = await desk.orgate("run", "desk", "--input", "again", "--session", session.slice(-8));
    expect(second.stderr).toBe("");
    expect(second.stdout).toContain("You said: again");
  });

  test("B-7 M-2 what a run costs is said in its line and in --json; the offline model is free", async () => {
    expect(await desk.json("run", "desk", "--input", "hello")).toMatchObject({ cost: 0 });
    desk.write(
      "agents/priced.toml",
      'name = "priced"\ninstructions = "x"\nmodel = "offline/echo"\n[prices]\ninput = 1000\noutput = 5000\n[limits]\ncents = 500\n',
    );
    desk.write("policies/priced.cedar", 'permit(principal == Agent::"priced", action, resource);\n');
    const told = await desk.orgate("run", "priced", "--input", "hello");
    const cost = Number(/cost ([0-9.]+), /.exec(told.stdout)?.[1]);
    expect(cost).toBeGreaterThan(0);
    const { cost: exact } = (await desk.json("run", "priced", "--input", "hello")) as { cost: number };
    expect(exact).toBeCloseTo(cost, 1);
  });

  test("V-1 a tool's hidden and control characters reach nobody's terminal", async () => {
    for (const args of [
      ["run", "desk", "--input", "look"],
      ["sessions", "show", session],
      ["journal", "show", session],
    ]) {
      const { stdout } = await desk.orgate(...args);
      expect(stdout).toContain("\\u{202e}");
      expect(stdout).not.toMatch(/[\u001b\u202e]/);
    }
  });

  test("A-7 --json prints exactly the fields of a result, and the exit code tells the ending", async () => {
    const fields =
      "calls,conversation,cost,detail,durationMs,ending,iterations,next,output,parent,questions,sentence,session,state,unknowns,usage,value,warnings";
    const result = (await desk.json("run", "desk", "--input", "send it")) as Record<string, unknown>;
    expect(Object.keys(result).sort().join(",")).toBe(fields);
    expect(result).toMatchObject({ state: "ended", ending: "completed", output: "I may not send." });
    const piped = await desk.start(["run", "desk", "--input", "-", "--json"], "from a pipe\n").ended;
    expect(JSON.parse(piped.stdout)).toMatchObject({ output: "You said: from a pipe" });
    expect(desk.has("effects.txt") && desk.read("effects.txt").includes("send")).toBe(false);
  });

  test("V-3 a session's account has its turns, decisions with reasons, acts, holds; lists show what a list needs", async () => {
    const listed = await desk.orgate("sessions", "list");
    expect(listed.stdout.split("\n")[0]).toMatch(/^session +state +agent +age +turns +ending/);
    expect(listed.stdout).toMatch(new RegExp(`${session} +idle +desk +\\d+ s +2 +completed`));
    const shown = await desk.orgate("sessions", "show", session);
    for (const text of [
      "session opened: agent desk (offline/desk)",
      "held by w1 (hold 1)",
      "held by w1 (hold 2)",
      "turn 1, user:",
      "allowed: model offline/desk · by desk/think",
      "turn 2 ended: completed",
    ])
      expect(shown.stdout).toContain(text);
    const [sent] = (await sessionsOf(desk)).filter(({ session: s }) => s !== session);
    const full = (await desk.json("sessions", "show", sent?.session ?? "")) as { entries: { event: { kind: string } }[] };
    expect(full.entries.length).toBeGreaterThan(5);
    expectRefusal(await desk.orgate("sessions", "list", "--agent", "nobody"), 2, "no session was ever opened for an agent `nobody`");
  });

  test("A-9 a shortened id must mean one session", async () => {
    await expectRefusals(desk, [
      [["sessions", "show", "s_00000000"], 1, "there is no session `s_00000000`"],
      [["sessions", "show", session.slice(0, 6)], 2, "is the beginning or end of"],
      [["sessions", "resume", "abc"], 1, "there is no session `abc`"],
    ]);
  });

  test("A-9 resuming what has ended changes nothing", async () => {
    const head = await desk.orgate("journal", "head");
    const resumed = await desk.orgate("sessions", "resume", session);
    expect(resumed).toMatchObject({ code: 0, stdout: "nothing to resume: the last turn ended `completed`\n" });
    expect(await desk.orgate("journal", "head")).toMatchObject({ code: 0, stdout: head.stdout });
  });

  test("J-5 J-13 the journal verifies, exports, and a flipped byte, an older head and a cut file are found", async () => {
    const verified = (await desk.json("journal", "verify")) as { verified: boolean; head: string };
    expect(verified).toMatchObject({ verified: true, head: (await desk.orgate("journal", "head")).stdout.trim() });
    expect((await desk.orgate("journal", "verify", "--head", verified.head)).code).toBe(0);
    const later = verified.head.replace(/@(\d+):/, (_, n: string) => `@${Number(n) + 5}:`);
    const rolledBack = await desk.orgate("journal", "verify", "--head", later);
    expect(rolledBack.code).toBe(1);
    expect(rolledBack.stdout).toContain("not verified: seal");

    expect((await desk.orgate("journal", "export", "--out", "all.jsonl")).code).toBe(0);
    expect((await desk.orgate("journal", "verify", "all.jsonl", "--head", verified.head)).code).toBe(0);
    const one = await desk.orgate("journal", "export", "--session", session);
    desk.write("one.jsonl", one.stdout);
    expect((await desk.orgate("journal", "verify", "one.jsonl")).stdout).toContain("verified: everything");
    desk.write("bad.jsonl", one.stdout.replace("please look", "please lock"));
    const bad = (await desk.orgate("journal", "verify", "bad.jsonl", "--json")) as { code: number; stdout: string };
    expect([bad.code, JSON.parse(bad.stdout).verified]).toEqual([1, false]);
    desk.write("torn.jsonl", desk.read("all.jsonl").slice(0, -200));
    const torn = await desk.orgate("journal", "verify", "torn.jsonl");
    expect([torn.code, torn.stdout.trimEnd().split("\n").at(-1)]).toEqual([
      1,
      "not verified: the end of the file is missing; what is there is as it was written",
    ]);
    expect([torn.stdout.includes("a whole journal"), torn.stdout.includes("part of")]).toEqual([false, true]);
    expect(JSON.parse((await desk.orgate("journal", "verify", "torn.jsonl", "--json")).stdout)).toMatchObject({
      verified: false,
      torn: true,
    });
    await expectRefusals(desk, [
      [["journal", "verify", "none.jsonl"], 1, "cannot be read as a journal"],
      [["journal", "verify", "--key", "ed25519:x"], 2, "--key is not a public key"],
      [["journal", "verify", "--head", "w1"], 2, "--head is not a head"],
      [["journal", "show", "nothing"], 2, "there is no stream `nothing`"],
    ]);
    expect((await desk.orgate("journal", "show")).stdout).toMatch(/keys +\d+/);
    const keys = (await desk.json("journal", "show", "keys")) as { kind: string }[];
    expect(keys.map(({ kind }) => kind)).toEqual(["key.certified", "key.certified", "key.certified"]);
  });

  test("J-15 keys are made, listed, withdrawn and rotated, and old and new roots verify", async () => {
    const before = (await desk.json("keys", "list")) as { key: string; holder: string; publicKey: string }[];
    const root = before.find(({ holder }) => holder === "root");
    expect((await desk.orgate("keys", "create", "bob")).stdout).toContain("certified in project desk");
    await expectRefusals(desk, [
      [["keys", "create", "bob"], 1, "there is a key already"],
      [["keys", "create", "../bob"], 1, "this cannot name a person"],
      [["run", "desk", "--input", "hi"], 2, "you have several keys"],
      [["run", "desk", "--input", "hi", "--as", "eve"], 1, "there is no such key"],
    ]);
    expect((await desk.orgate("run", "desk", "--input", "hi", "--as", "bob")).stdout).toContain("desk for bob");
    const bob = ((await desk.json("keys", "list")) as { key: string; holder: string }[]).find(({ holder }) => holder === "bob")?.key ?? "";
    expectRefusal(await desk.orgate("keys", "withdraw", bob, "--as", "bob"), 2, "--reason is missing");
    expect((await desk.orgate("keys", "withdraw", bob, "--reason", "lost", "--as", "bob")).stdout).toContain("counts no more");
    await expectRefusals(desk, [
      [["sessions", "say", session, "hi", "--as", "bob"], 1, "it was withdrawn"],
      [["keys", "withdraw", "k_none", "--reason", "x", "--as", "bob"], 1, ""],
    ]);
    rmSync(join(desk.home, "keys", "bob.key"));
    expect((await desk.orgate("journal", "rotate-key")).stdout).toContain("is replaced by");
    expect((await desk.orgate("journal", "rotate-key", "--writer")).code).toBe(0);
    expect((await desk.orgate("journal", "verify")).code).toBe(0);
    expect((await desk.orgate("journal", "verify", "--key", root?.publicKey ?? "")).code).toBe(0);
  });

  test("J-8 sessions are listed and shown with the first line of what was said in them", async () => {
    const { stdout } = await desk.orgate("sessions", "list");
    expect(stdout.split("\n")[0]).toMatch(/title$/);
    expect(stdout).toMatch(new RegExp(`^${session} .*  please look`, "m"));
    expect((await desk.orgate("sessions", "show", session)).stdout.split("\n")[1]).toContain("please look");
  });

  test("J-9 an erasure is on record, removes what was said, and ends the session; the journal verifies", async () => {
    expectRefusal(await desk.orgate("journal", "erase", "--session", session), 2, "--reason is missing");
    expectRefusal(
      await desk.orgate("journal", "erase", "--session", session, "--reason", "x", "--entries", "5-900"),
      2,
      "--entries is `5-900`",
    );
    const erased = await desk.orgate("journal", "erase", "--session", session, "--reason", "request 7");
    expect(erased.stdout).toMatch(/^erased \d+ entries .* can no longer resume/s);
    expect(readFileSync(join(desk.root, ".orgate", "journal.db")).includes("please look")).toBe(false);
    expect((await desk.orgate("sessions", "list")).stdout).not.toContain("please look");
    expect((await desk.json("journal", "verify")) as object).toMatchObject({ verified: true, stillThere: 0 });
    expect((await desk.orgate("sessions", "show", session)).stdout).toContain("erased on request: this session cannot go on");
    expectRefusal(await desk.orgate("sessions", "say", session, "hello"), 1, "was erased on request");
    expect((await desk.orgate("journal", "show", "erasures")).stdout).toContain("request 7");
  });

  test("A-7 V-3 a turn that asks exits 3, its question is listed, and resuming it asks nobody twice", async () => {
    const asking = newDesk();
    asking.write("policies/desk.cedar", POLICIES.replace('@id("tools")', '@id("tools")\n@ask("really\u202e?")'));
    const run = await asking.orgate("run", "desk", "--input", "look");
    expect([run.code, run.stdout.includes("really\\u{202e}?")]).toEqual([3, true]);
    expect(await sessionsOf(asking)).toMatchObject([{ shown: "waiting", openQuestions: 1 }]);
    const session = (await sessionsOf(asking))[0]?.session ?? "";
    const resumed = await asking.orgate("sessions", "resume", session, "--json");
    expect([resumed.code, JSON.parse(resumed.stdout).questions.length]).toEqual([3, 1]);
    expect((await asking.orgate("sessions", "show", session)).stdout).toMatch(
      /open approval requests\n {2}\? a_\w+ on 1\.0: really\\u\{202e\}\? \(desk\/tools\)/,
    );
    expect(asking.has("effects.txt")).toBe(false);
  });

  test("a reader that goes away early is no error", async () => {
    const { child, ended } = desk.start(["journal", "show", "keys"]);
    child.stdout?.destroy();
    expect(await ended).toMatchObject({ stderr: "" });
  });
});

describe("sessions as a whole", () => {
  const desk = newDesk();
  let session = "";

  test("A-9 H-6 a fresh project lists none; an own id opens a session, goes on in it, and is known wherever an id is", async () => {
    expect(await desk.orgate("sessions", "list")).toMatchObject({
      code: 0,
      stdout: 'no sessions yet: `orgate run AGENT --input "…"` opens one\n',
    });
    ({ session } = (await desk.json("run", "desk", "--input", "one", "--id", "ticket 17")) as { session: string });
    const second = (await desk.json("run", "desk", "--input", "two", "--id", "ticket 17")) as { session: string; conversation: unknown[] };
    expect([second.session, second.conversation.length]).toEqual([session, 4]);
    expect((await desk.orgate("sessions", "show", "ticket 17")).stdout).toContain("id ticket 17, agent desk, 2 turns");
    expect((await desk.orgate("sessions", "list")).stdout).toMatch(/^session .* id .*\n.* ticket 17/);
  });

  test("H-10 a fork goes on from an entry, under an id of its own", async () => {
    const shown = (await desk.json("sessions", "show", "ticket 17")) as { entries: { seq: number; event: { kind: string } }[] };
    const end = shown.entries.find((e) => e.event.kind === "turn.ended")?.seq ?? 0;
    const forked = await desk.orgate("sessions", "fork", "ticket 17", "--at", String(end), "--id", "another way");
    expect(forked.stdout).toMatch(new RegExp(`^s_\\w+ forked from ${session}, what was said up to entry ${end}\n`));
    const went = (await desk.json("run", "desk", "--input", "three", "--session", "another way")) as {
      conversation: unknown[];
      output: string;
    };
    expect([went.output, went.conversation.length]).toEqual(["You said: three", 4]);
  });

  test("H-9 a closed one takes no turn; what cannot be is refused", async () => {
    expect(await desk.json("sessions", "close", "another way", "--reason", "tried")).toMatchObject({ state: "closed" });
    await expectRefusals(desk, [
      [["run", "desk", "--input", "x", "--id", "another way"], 1, "is closed"],
      [["run", "desk", "--input", "x", "--id", " "], 2, "cannot be a session's own id"],
      [["run", "desk", "--input", "x", "--id", "a", "--session", "ticket 17"], 2, "both name a session"],
      [["sessions", "fork", "ticket 17", "--at", "999"], 2, "has no entry 999"],
      [["sessions", "fork", "ticket 18"], 1, "there is no session `ticket 18`"],
    ]);
  });
});
