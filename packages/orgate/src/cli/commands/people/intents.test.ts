import { readdirSync } from "node:fs";
import { join } from "node:path";
import { type Entry, epoch, type JournalEvent, millis, seq, sessionId, writerId } from "@orgate/core";
import { afterAll, describe, expect, test } from "vitest";
import { type Desk, expectRefusals, holding, makeDesk, sessionsOf, until } from "../fixtures/desk.ts";
import { wasHeldAfter } from "./intents.ts";

const desks: Desk[] = [];
const newDesk = (below = ""): Desk => {
  const desk = makeDesk(below);
  desks.push(desk);
  return desk;
};
afterAll(() => {
  for (const desk of desks) desk.remove();
});

/** A holder may take a wish and end just before its sender, who saw it untaken, takes the session up. */
test("W-1 a turn that another process ended is not told as driven here: its entry lies before the hold that came after it", async () => {
  const session = sessionId("s_wishes000001");
  const taken: JournalEvent = { kind: "hold.taken", epoch: epoch(2), writer: writerId("w2"), powerCut: "lose-nothing" };
  const cancelled: JournalEvent = {
    kind: "turn.cancel-asked",
    by: { kind: "user", id: "ana" },
    reason: "enough",
    intent: null,
    all: false,
  };
  const journalOf = (...events: readonly JournalEvent[]) => ({
    read: async (_: unknown, after: number): Promise<readonly Entry[]> =>
      events.map((event, i) => ({ stream: session, seq: seq(i + 1), at: millis(0), event })).filter((entry) => entry.seq > after),
  });
  expect(await wasHeldAfter(journalOf(cancelled, taken), session, seq(1))).toBe(true);
  expect(await wasHeldAfter(journalOf(taken, cancelled), session, seq(2))).toBe(false);
});

describe("wishes", () => {
  test.each([
    ["socket", ""],
    ["row", "a-long-way-down/".repeat(6)],
  ])("W-1 a holder is steered and cancelled by another process, by %s", async (way, below) => {
    const desk = newDesk(below);
    const run = desk.start(["run", "desk", "--input", "hold on", "--json"]);
    const session = await holding(desk);
    expect(readdirSync(join(desk.root, ".orgate")).includes("run")).toBe(way === "socket");
    expect(await sessionsOf(desk)).toMatchObject([{ shown: "running", holder: { writer: "w1" } }]);
    const steered = (await desk.json("sessions", "steer", session, "gently")) as object;
    expect(steered).toMatchObject({ state: "taken", event: { kind: "input.steered", text: "gently" }, result: null });
    await expectRefusals(desk, [
      [["sessions", "say", session, "hello"], 1, "a turn is in progress"],
      [["journal", "erase", "--session", session, "--reason", "x"], 1, "is held by writer `w1`"],
      [["sessions", "resume", session], 1, "is held by writer `w1`"],
    ]);
    const cancelled = await desk.orgate("sessions", "cancel", session, "--reason", "enough");
    expect(cancelled).toMatchObject({ code: 0, stdout: expect.stringMatching(/^entry \d+ of s_\w+: cancel, by user:\S+: enough\n$/) });
    const ended = await run.ended;
    expect(ended.code).toBe(1);
    expect(JSON.parse(ended.stdout)).toMatchObject({ ending: "cancelled", unknowns: [{ tool: "hold" }] });
    const shown = await desk.orgate("sessions", "show", session);
    expect(shown.stdout).toMatch(
      /unknown outcomes\n {2}\? hold 1\.0 on Tool::hold: cancelled, .*\n {4}entry \d+: started 1 time, action [0-9a-f]{64}/,
    );
    expect((await desk.orgate("journal", "verify")).code).toBe(0);
  });

  test("W-2 with no holder the session is taken up here: after a kill, cancel and say are driven by whoever sent them", async () => {
    const desk = newDesk();
    const run = desk.start(["run", "desk", "--input", "hold on"]);
    const session = await holding(desk);
    run.kill("SIGKILL");
    await run.ended;
    expect(await sessionsOf(desk)).toMatchObject([{ shown: "interrupted", state: "running", holder: null }]);
    expect(await desk.json("sessions", "list", "--state", "interrupted")).toMatchObject([{ shown: "interrupted" }]);
    expect(await desk.json("sessions", "list", "--state", "halted")).toEqual([]);
    expect((await desk.orgate("sessions", "show", session)).stdout).toContain("its process ended in the middle of a turn");
    const cancelled = (await desk.orgate("sessions", "cancel", session, "--json")) as { code: number; stdout: string };
    expect(cancelled.code).toBe(1); // the turn did not complete
    expect(JSON.parse(cancelled.stdout)).toMatchObject({
      state: "taken",
      event: { kind: "turn.cancel-asked" },
      result: { ending: "cancelled" },
    });
    expect(desk.read("effects.txt")).toBe("hold\n");
    const said = await desk.orgate("sessions", "say", session, "and now?");
    expect(said).toMatchObject({ code: 0, stdout: expect.stringContaining("You said: and now?") });
    await expectRefusals(desk, [
      [["sessions", "steer", session, "left"], 1, "there is no turn to steer"],
      [["sessions", "cancel", session], 1, "there is no turn to cancel"],
      [["sessions", "say", session, ""], 2, "is empty"],
    ]);
  });

  test("L-20 `say --after` waits for the end of the turn, in order; `cancel --all` drops what waits", async () => {
    const desk = newDesk();
    const run = desk.start(["run", "desk", "--input", "hold on", "--json"]);
    const session = await holding(desk);
    for (const text of ["first", "second"])
      expect(await desk.json("sessions", "say", session, text, "--after")).toMatchObject({
        state: "taken",
        event: { kind: "input.queued", text },
      });
    desk.write("go", "");
    const ended = await run.ended;
    expect([ended.code, JSON.parse(ended.stdout).output]).toEqual([0, "You said: second"]);
    const shown = await desk.orgate("sessions", "show", session);
    expect(shown.stdout).toMatch(/I held on\.[\s\S]*You said: first[\s\S]*You said: second/);
    const alone = await desk.orgate("sessions", "say", session, "third", "--after");
    expect(alone).toMatchObject({ code: 0, stdout: expect.stringContaining("You said: third") });
    await expectRefusals(desk, [[["sessions", "cancel", session, "--all"], 1, "there is nothing to cancel"]]);
  });

  test("L-20 what a halt left in its place is shown as such, told without the result of a turn long ended, and taken up by `resume`", async () => {
    const desk = newDesk();
    await desk.orgate("run", "desk", "--input", "one");
    const [{ session } = { session: "" }] = await sessionsOf(desk);
    await desk.orgate("halt", "--reason", "fire");
    const said = await desk.orgate("sessions", "say", session, "two", "--after");
    expect(said).toMatchObject({ code: 0, stdout: expect.stringMatching(/^entry \d+ of s_\w+: for after the turn, user:\S+: two\n$/) });
    expect((await desk.orgate("sessions", "show", session)).stdout).toContain("said for after the turn, and not begun\n  › user:");
    await desk.orgate("resume-work", "--reason", "out");
    const resumed = await desk.orgate("sessions", "resume", session);
    expect(resumed).toMatchObject({ code: 0, stdout: expect.stringContaining("You said: two") });
    expect((await desk.orgate("sessions", "resume", session)).stdout).toContain("nothing to resume");
  });

  test("A-13 Ctrl-C cancels the turn, the journal says so, and the socket is gone", async () => {
    const desk = newDesk();
    const run = desk.start(["run", "desk", "--input", "hold on"]);
    const session = await holding(desk);
    run.kill("SIGINT");
    const ended = await run.ended;
    expect(ended).toMatchObject({ code: 1, signal: null });
    expect(ended.stdout).toContain("The turn was cancelled.");
    expect((await desk.orgate("sessions", "show", session)).stdout).toContain("Ctrl-C");
    expect(readdirSync(join(desk.root, ".orgate", "run"))).toEqual([]);
  });

  test("A-13 Ctrl-C ends a turn whose tool does not listen, and nobody waits for that tool", async () => {
    const desk = newDesk();
    const run = desk.start(["run", "desk", "--input", "stuck now", "--json"]);
    await until(() => (desk.has("effects.txt") ? true : null));
    run.kill("SIGINT");
    const ended = await run.ended;
    expect([ended.code, JSON.parse(ended.stdout).ending]).toEqual([1, "cancelled"]);
  });
});
