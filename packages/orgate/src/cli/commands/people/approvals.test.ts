import { existsSync } from "node:fs";
import { join } from "node:path";
import { approvalId, type Digest, intentId, millis, type SessionId } from "@orgate/core";
import { afterAll, describe, expect, test } from "vitest";
import { signIntent } from "../../../store/keyring.ts";
import { openPersonsAt, openSnapshot } from "../../../store/open-read-only.ts";
import { ASKING_AGENT, ASKING_POLICIES, askingDesk, type Listed, parked, waitingIn, withPeople } from "../fixtures/asking.ts";
import { AGENT, type Desk, expectRefusal, expectRefusals, makeDesk, until } from "../fixtures/desk.ts";

const desks: Desk[] = [];
const newDesk = async (...given: Parameters<typeof askingDesk>): Promise<Desk> => {
  const desk = askingDesk(...given);
  desks.push(desk);
  await withPeople(desk, "ana", "ben", "eve");
  return desk;
};
afterAll(() => {
  for (const desk of desks) desk.remove();
});

describe("one question", () => {
  test("Q-25 it is listed and shown whole: what, on what, why, by whom, until when, how much may be remembered", async () => {
    const desk = await newDesk();
    expect((await desk.orgate("approvals", "list")).stdout).toBe("nothing waits for an answer\n");
    const q = await parked(desk, "pay");
    expect(q).toMatchObject({ tool: "pay", agent: "clerk", resource: { type: "Account", id: "ben" }, expired: false, votes: [] });
    expect(JSON.stringify(q)).not.toContain("CANARY");
    const listed = await desk.orgate("approvals", "list");
    expect(listed.stdout).toMatch(/^id +agent +wants +question +of +expires/);
    expect(listed.stdout).toMatch(/clerk +pay Account::"ben" +May it pay this\? +ops +in 14 min/);
    const { code, stdout } = await desk.orgate("approvals", "show", q.approval.slice(-6));
    expect(code).toBe(0);
    for (const text of [
      /^a_\w+ open\n/,
      /\nwants +pay\ntouches +Account::"ben"\narguments\n {2}\{\n {4}"cents": 500,\n {4}"memo": "CANARY-memo",\n {4}"to": "ben"\n {2}\}\n/,
      /\nagent +clerk, for user:eve\n/,
      /\nasked by +desk\/pays: May it pay this\?\nanswered by somebody of ops\n/,
      /\nexpires +in 14 min, at \d{4}-.*Z; then it is denied\n/,
      /\nremembered +this tool on what it touches here \(resource\), for the session at most\n {2}digest +every later call of pay with exactly these arguments/,
      new RegExp(`\ndigest +${q.digest}\n$`),
    ])
      expect(stdout).toMatch(text);
    expect(await desk.json("approvals", "show", q.approval)).toMatchObject({
      approval: q.approval,
      requester: { kind: "user", id: "eve" },
      args: { to: "ben", cents: 500, memo: "CANARY-memo" },
      widest: { scope: "resource", lifetime: "session" },
      expired: false,
    });
  });

  test("Q-25 V-1 hidden characters are escaped, long values folded, and nothing is left out", async () => {
    const desk = await newDesk();
    const q = await parked(desk, "trick");
    const { stdout } = await desk.orgate("approvals", "show", q.approval);
    expect(stdout).not.toMatch(/[\u001b\u202e]/);
    expect(stdout).toContain('touches     Account::"b\\u{202e}n"'.replace("}n", "}en"));
    expect(stdout.split("\n").every((line) => line.length <= 101)).toBe(true);
    expect(stdout.replaceAll(/\n {2}↪ /g, "")).toContain(`"memo": "${"x".repeat(300)}\\u001b[2Jend"`);
    const answered = await desk.orgate("approvals", "approve", q.approval, "--as", "ana");
    expect(answered.stdout).not.toMatch(/[\u001b\u202e]/);
    expect(answered.stdout).toContain("x".repeat(300));
  });

  test("Q-11 a grant is never wider than @grant, and the refusal says what is allowed", async () => {
    const desk = await newDesk();
    const q = await parked(desk, "pay");
    await expectRefusals(desk, [
      [["approvals", "approve", q.approval, "--grant", "tool", "--as", "ana"], 2, "lets it be remembered for this resource at most"],
      [["approvals", "approve", q.approval, "--grant", "resource", "--for", "8h", "--as", "ana"], 2, "for the session at most"],
      [["approvals", "approve", q.approval, "--grant", "resource", "--for", "ever", "--as", "ana"], 2, "is no lifetime"],
      [["approvals", "approve", q.approval, "--grant", "all", "--as", "ana"], 2, "use digest, resource or tool"],
      [["approvals", "approve", q.approval, "--for", "session", "--as", "ana"], 2, "not what is remembered"],
      [["approvals", "approve", q.approval, "--as", "eve"], 1, "`eve` may not answer it"],
    ]);
    const wide = await desk.orgate("approvals", "approve", q.approval, "--grant", "tool", "--as", "ana");
    expect(wide.stderr).toContain("hint: allowed: this tool on what it touches here (resource), for the session at most");
    expect(await waitingIn(desk)).toHaveLength(1);
  });

  test("Q-9 Q-11 whom the session serves stands in the request, in what a grant would cover, and in the list of grants; a session that serves somebody else is asked", async () => {
    const timed = ASKING_POLICIES.replace('@grant("resource session")', '@grant("resource 8h")');
    const desk = await newDesk(timed);
    const q = await parked(desk, "pay", "--subject", "C-7");
    const shown = await desk.orgate("approvals", "show", q.approval);
    expect(shown.stdout).toMatch(/\nserves +C-7\n/);
    expect(shown.stdout.replaceAll(/\n +↪ /g, "")).toContain("in any session that serves C-7, until");
    expect(await desk.json("approvals", "show", q.approval)).toMatchObject({ subject: "C-7", shown: { subject: "C-7" } });
    const given = await desk.orgate("approvals", "approve", q.approval, "--grant", "resource", "--for", "8h", "--as", "ana");
    expect(given.stdout).toContain("whatever its other arguments, in any session that serves C-7, until");
    expect(given.stdout).toContain("for clerk · serving C-7 · touches");
    expect(await desk.json("approvals", "grants")).toMatchObject([{ subject: "C-7" }]);
    expect((await desk.orgate("approvals", "grants")).stdout).toContain("in any session that serves C-7, until");
    const other = await parked(desk, "pay", "--subject", "C-8");
    expect((await desk.orgate("approvals", "show", other.approval)).stdout.replaceAll(/\n +↪ /g, "")).toMatch(
      /again +an earlier answer does not count: grant g_\S+ was given for another subject than the session serves/,
    );
    expect((await desk.orgate("approvals", "show", other.approval)).stdout).not.toContain("C-7");
  }, 60_000); // many processes, one after the other

  test("Q-11 Q-16 a grant is given, listed, used by the next call, revoked, and then it is asked again", async () => {
    const desk = await newDesk();
    const q = await parked(desk, "pay");
    const given = await desk.orgate("approvals", "approve", q.approval, "--grant", "resource", "--for", "session", "--as", "ana");
    expect(given.code).toBe(0);
    expect(given.stdout).toContain(
      "and remembering it for this resource: every later call of pay on Account ben, whatever its other arguments, in this session",
    );
    const [grant] = (await desk.json("approvals", "grants")) as { grant: string; tool: string; session: string; by: object }[];
    expect(grant).toMatchObject({ tool: "pay", scope: "resource", session: q.session, by: { kind: "user", id: "ana" } });
    expect((await desk.orgate("approvals", "grants")).stdout).toMatch(
      /every later call of pay on Account ben, whatever its other arguments, in this session, .* +the end of s_/,
    );

    const second = (await desk.json("run", "clerk", "--input", "pay", "--session", q.session, "--as", "eve")) as { ending: string };
    expect(second.ending).toBe("completed");
    expect(desk.read("paid.txt").split("\n")).toHaveLength(3);
    expect((await desk.orgate("sessions", "show", q.session)).stdout).toContain(`grant ${grant?.grant} was used`);

    await expectRefusals(desk, [
      [["approvals", "revoke", grant?.grant ?? ""], 2, "--reason is missing"],
      [["approvals", "revoke", "g_none", "--reason", "x", "--as", "ana"], 2, "no grant `g_none` is in force"],
      [["approvals", "revoke", grant?.grant ?? "", "--reason", "x", "--as", "eve"], 1, `\`eve\` may not revoke grant ${grant?.grant}`],
    ]);
    expect(await desk.json("approvals", "revoke", grant?.grant ?? "", "--reason", "over", "--as", "ben")).toEqual(grant);
    expect((await desk.orgate("journal", "show", "grants")).stdout).toMatch(
      /grant\.revoked .*"by":\{"id":"ben","kind":"user"\}.*"reason":"over"/,
    );
    expect((await desk.orgate("approvals", "grants")).stdout).toBe("no answer is remembered\n");
    expect((await desk.orgate("run", "clerk", "--input", "pay", "--session", q.session, "--as", "eve")).code).toBe(3);
    await expectRefusals(desk, [
      [["approvals", "revoke", grant?.grant ?? "", "--reason", "x", "--as", "ana"], 2, "it was revoked, or has ended"],
    ]);
  }, 60_000); // many processes, one after the other

  test("Q-25 edited arguments are checked, shown, and are what runs", async () => {
    const desk = await newDesk();
    const q = await parked(desk, "pay");
    const edit = (args: string) => ["approvals", "edit", q.approval, "--args", args, "--as", "ana"];
    await expectRefusals(desk, [
      [["approvals", "edit", q.approval, "--as", "ana"], 2, "--args is missing"],
      [edit('{"to":"ben","to":"eve"}'), 2, "is not JSON"],
      [edit("[1]"), 2, "is no JSON object"],
    ]);
    const edited = await desk.orgate(...edit('{"to":"ben","cents":5}'));
    expect(edited.stdout).toContain('approving, edited, pay {"cents":5,"to":"ben"}');
    expect([edited.code, desk.read("paid.txt")]).toEqual([0, '{"cents":5,"to":"ben"}\n']);
  });

  test("Q-25 edited arguments that do not fit are refused by whoever holds the session, and the question stays", async () => {
    const desk = await newDesk();
    const q = await parked(desk, "pay");
    const tooMuch = await desk.orgate("approvals", "edit", q.approval, "--args", '{"to":"ben","cents":5000}', "--as", "ana");
    expect([tooMuch.code, tooMuch.stderr]).toEqual([1, expect.stringMatching(/refused: .*do not fit/)]);
    expect(await waitingIn(desk)).toMatchObject([{ approval: q.approval }]);
    expect(desk.has("paid.txt")).toBe(false);
  });

  test("Q-25 Q-8 two people have to say yes: how many and who is shown to the one who answers and in lists, one of them twice is refused", async () => {
    const desk = await newDesk(ASKING_POLICIES.replace('@expires("15m")', '@quorum("2")'));
    const q = await parked(desk, "pay");
    expect((await desk.orgate("approvals", "list")).stdout).toContain("0 of 2");
    const first = await desk.orgate("approvals", "approve", q.approval, "--as", "ana");
    expect([first.code, first.stdout]).toEqual([3, expect.stringContaining("1 of 2 have said yes (user:ana); one more is needed")]);
    expect((await desk.orgate("approvals", "list")).stdout).toContain("1 of 2: user:ana");
    expect((await desk.orgate("approvals", "show", q.approval)).stdout).toContain("1 of 2 have said yes (user:ana); one more is needed");
    expect(await waitingIn(desk)).toMatchObject([{ approval: q.approval, votes: [{ by: "user:ana" }] }]);
    const shown = await desk.orgate("approvals", "show", q.approval);
    expect(shown.stdout).toContain("answered by 2 different people: somebody of ops; yes so far: user:ana");
    expect(shown.stdout).toMatch(/expires +never/);
    const twice = await desk.orgate("approvals", "approve", q.approval, "--as", "ana");
    expect([twice.code, twice.stderr]).toEqual([1, expect.stringContaining("this person has answered it already")]);
    expect((await desk.orgate("approvals", "approve", q.approval, "--as", "ben")).code).toBe(0);
    expect(desk.read("paid.txt").split("\n")).toHaveLength(2);
    expect(await waitingIn(desk)).toEqual([]);
  });

  test("Q-25 by due time a question is expired, also when nobody has recorded it, and an answer comes too late", async () => {
    const desk = await newDesk(ASKING_POLICIES.replace("15m", "1s"));
    const q = await parked(desk, "pay");
    await until(async () => ((await waitingIn(desk))[0]?.expired === true ? true : null));
    expect((await desk.orgate("approvals", "list")).stdout).toContain("expired");
    expect((await desk.orgate("approvals", "show", q.approval)).stdout).toMatch(
      /^a_\w+ expired\n(?:.*\n)*expires +expired at .*: it is denied\n/,
    );
    const late = await desk.orgate("approvals", "approve", q.approval, "--as", "ana");
    expect([late.code, late.stderr]).toEqual([1, expect.stringContaining("had expired")]);
    expect(desk.has("paid.txt")).toBe(false);
    expect(await waitingIn(desk)).toEqual([]);
  });
});

test("Q-24 an answer that cannot be carried out here is not sent: what somebody was told failed does not count later", async () => {
  const desk = await newDesk();
  const q = await parked(desk, "pay");
  desk.write("agents/desk.ts", ASKING_AGENT.replace("offline/clerk", "anthropic/claude-sonnet-5"));
  expectRefusal(await desk.orgate("approvals", "approve", q.approval, "--as", "ana"), 1, "cannot be used");
  desk.write("agents/desk.ts", ASKING_AGENT);
  expect((await desk.orgate("sessions", "resume", q.session)).code).toBe(3); // it still waits
  const denied = await desk.orgate("approvals", "deny", q.approval, "--reason", "changed my mind", "--as", "ana");
  expect(denied.code).toBe(0);
  expect(denied.stdout).toContain("Not paid");
  expect(existsSync(join(desk.root, "paid.txt"))).toBe(false);
});

test("Q-20 a resumed session whose call nobody can tell of prints the command that resolves it", async () => {
  const desk = await newDesk();
  const going = desk.start(["run", "clerk", "--input", "charge", "--as", "eve"]);
  await until(async () => (desk.has("charged.txt") ? true : null));
  going.kill("SIGKILL");
  await going.ended;
  const [session] = (await desk.json("sessions", "list")) as readonly { session: string }[];
  const resumed = await desk.orgate("sessions", "resume", session?.session ?? "");
  expect(resumed.stdout).toMatch(
    new RegExp(
      `charge 1\\.0: nobody knows whether it took effect \\(not-reconciled\\)\n.*orgate sessions resolve ${session?.session}/1\\.0.* happened, did-not-happen, reconcile or abandon\n`,
    ),
  );
});

/** As when the process that gave the answer is killed right after it was durable. */
async function leaveAnswer(desk: Desk, q: Listed, name: string): Promise<void> {
  const look = openSnapshot(join(desk.root, ".orgate"));
  const wish = { kind: "answer", approval: approvalId(q.approval), digest: q.digest as Digest, answer: { kind: "approve" } } as const;
  const person = openPersonsAt(desk.home).open(name);
  await look.inbox.put(signIntent(person, { id: intentId("i_left"), session: q.session as SessionId, at: millis(Date.now()), wish }));
  await look.close();
}

test("Q-23 an answer that nobody has taken up is shown as such; the same person repeats it with success, and the call runs once", async () => {
  const desk = await newDesk();
  const q = await parked(desk, "pay");
  await leaveAnswer(desk, q, "ana");
  const says = `answered by user:ana (approve), not taken up yet: \`orgate sessions resume ${q.session}\``;
  expect((await desk.orgate("approvals", "show", q.approval)).stdout).toContain(`\n${says}\n`);
  expect((await desk.orgate("sessions", "show", q.session)).stdout).toContain(`    ${says}\n`);
  const pending = [{ approval: q.approval, by: "user:ana", answer: { kind: "approve" }, intent: "i_left" }];
  expect(await desk.json("approvals", "show", q.approval)).toMatchObject({ pending });
  expect(await desk.json("sessions", "show", q.session)).toMatchObject({ pending });
  const again = await desk.orgate("approvals", "approve", q.approval, "--as", "ana");
  expect([again.code, again.stderr]).toEqual([0, ""]);
  expect(again.stdout).toContain("you have answered it so already, as i_left: it is taken up now\n");
  expect(desk.read("paid.txt").split("\n")).toHaveLength(2);
  expect((await desk.orgate("approvals", "show", q.approval)).stdout).not.toContain("not taken up yet");
});

test("Q-23 another answer than the one that nobody has taken up is refused, and the hint holds when the turn has ended", async () => {
  const desk = await newDesk();
  const q = await parked(desk, "pay");
  await leaveAnswer(desk, q, "ana");
  const other = await desk.orgate("approvals", "deny", q.approval, "--reason", "no", "--as", "ben");
  expect([other.code, other.stderr]).toEqual([1, expect.stringContaining("is answered already")]);
  expect(other.stderr).toContain("sessions show` shows what happened and what the session waits for");
  expect(desk.read("paid.txt").split("\n")).toHaveLength(2);
});

test("Q-23 an answer to a request that is not open any more says who answered it, when, and what the call came to; show works for it too", async () => {
  const desk = await newDesk();
  const q = await parked(desk, "pay");
  expect((await desk.orgate("approvals", "approve", q.approval, "--as", "ana")).code).toBe(0);
  const late = (who: string, ...verb: string[]) => desk.orgate("approvals", verb[0] ?? "", q.approval, ...verb.slice(1), "--as", who);
  const at = /is not open any more \(\d{4}-.*Z\): /;
  for (const verb of [["approve"], ["deny", "--reason", "x"], ["withdraw", "--reason", "x"], ["edit", "--args", "{}"]]) {
    const said = await late("ben", ...verb);
    expectRefusal(said, 2, "Ana approved it. The call ran.");
    expect(said.stderr).toMatch(at);
  }
  const again = await late("ana", "approve");
  expect([again.code, again.stdout]).toEqual([0, "it was answered so already: You approved it. The call ran.\n"]);
  expectRefusal(await late("ana", "deny", "--reason", "x"), 2, "You approved it. The call ran.");
  expect(desk.read("paid.txt").split("\n")).toHaveLength(2);
  const shown = await desk.orgate("approvals", "show", q.approval.slice(-6), "--as", "ben");
  expect([shown.code, shown.stdout]).toEqual([
    0,
    expect.stringMatching(/^a_\w+ approved\nanswer +Ana approved it\. The call ran\.\n +\d{4}-.*Z Ana approved it\.\nwanted +pay/),
  ]);
  expect(await desk.json("approvals", "show", q.approval, "--as", "ana")).toMatchObject({
    approval: q.approval,
    session: q.session,
    state: "approved",
    says: "You approved it. The call ran.",
    answeredAt: expect.any(Number),
  });
  const other = await parked(desk, "pay");
  expect((await desk.orgate("approvals", "deny", other.approval, "--reason", "not today", "--as", "ben")).code).toBe(0);
  expectRefusal(
    await desk.orgate("approvals", "approve", other.approval, "--as", "ana"),
    2,
    "Ben denied it: not today. The call did not run.",
  );
  expectRefusal(
    await desk.orgate("approvals", "show", "a_nothing"),
    2,
    "there is no open approval request `a_nothing`, nor an answered one",
  );
}, 60_000); // many commands, one after the other

test("Q-25 watch shows what waits, then each new question as it is asked, and ends with Ctrl-C", async () => {
  const desk = await newDesk();
  const first = await parked(desk, "pay");
  const [watch, json] = [desk.start(["approvals", "watch"]), desk.start(["approvals", "watch", "--json"])];
  await until(() => (watch.stdout().includes(first.approval) && json.stdout().includes(first.approval) ? true : null));
  const second = await parked(desk, "pay");
  await until(() => (watch.stdout().includes(second.approval) && json.stdout().includes(second.approval) ? true : null));
  for (const one of [watch, json]) one.kill("SIGINT");
  expect((await watch.ended).code).toBe(0);
  expect(watch.stdout()).toMatch(/^\? a_\w+ clerk wants pay Account::"ben": May it pay this\?, 14 min left\n\? a_/);
  const lines = (await json.ended).stdout.trimEnd().split("\n");
  expect(lines.map((line) => (JSON.parse(line) as { approval: string }).approval)).toEqual([first.approval, second.approval]);
});

const ASKS_TO_SEND = `permit(principal, action in [Action::"model", Action::"respond"], resource);
@ask("May it send?")
permit(principal, action == Action::"tool:send", resource);
permit(principal is User, action, resource);
`;
test("Q-24 a question of an agent that is gone is denied, withdrawn or cancelled without it, and nothing is run", async () => {
  const desk = makeDesk();
  try {
    desk.write("policies/desk.cedar", ASKS_TO_SEND);
    for (const how of ["deny", "withdraw", "cancel"] as const) {
      desk.write("agents/desk.ts", AGENT);
      const asked = JSON.parse((await desk.orgate("run", "desk", "--input", "send", "--json")).stdout) as {
        session: string;
        questions: { approval: string }[];
      };
      const approval = asked.questions[0]?.approval ?? "";
      desk.write("agents/desk.ts", AGENT.replace('name: "desk"', 'name: "another"'));
      const yes = await desk.orgate("approvals", "approve", approval);
      expect([yes.code, yes.stderr]).toEqual([1, expect.stringContaining(`then \`orgate sessions close ${asked.session}\``)]);
      const no = await (how === "cancel"
        ? desk.orgate("sessions", "cancel", asked.session, "--reason", "gone", "--json")
        : desk.orgate("approvals", how, approval, "--reason", "gone", "--json"));
      expect([no.stderr, JSON.parse(no.stdout)]).toMatchObject([
        expect.not.stringContaining("error"),
        { state: "taken", result: { ending: "cancelled", calls: 0 } },
      ]);
      expect(await desk.json("approvals", "list")).toEqual([]);
      expect((await desk.orgate("sessions", "close", asked.session)).code).toBe(0);
    }
    expect(desk.has("effects.txt")).toBe(false);
  } finally {
    desk.remove();
  }
});
