import { OPERATION_NAMES, OPERATIONS } from "@orgate/protocol";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Desk, makeDesk } from "../fixtures/desk.ts";

describe("operations by name", () => {
  let desk: Desk;
  beforeAll(async () => {
    desk = makeDesk();
    await desk.orgate("keys", "create", "ana");
    await desk.json("run", "desk", "--input", "look", "--as", "ana");
  }, 60_000);
  afterAll(() => desk.remove());

  test("an operation without a command of its own is done in this process, as the person who calls it", async () => {
    expect(await desk.json("call", "agentStatus", "--arg", "agent=desk", "--as", "ana")).toMatchObject({
      agent: "desk",
      sessions: { idle: 1 },
    });
    expect(await desk.json("call", "whoami", "--as", "ana")).toMatchObject({ principal: { kind: "user", id: "ana" } });
  });

  test("what changes something is done once for a key", async () => {
    const add = [
      "call",
      "addSchedule",
      "--input",
      '{"schedule":"nightly","agent":"desk","cron":"0 3 * * *","timezone":"UTC"}',
      "--key",
      "k1",
      "--as",
      "ana",
    ];
    const first = await desk.json(...add);
    expect(first).toMatchObject({ schedule: "nightly", state: "active" });
    expect(await desk.json(...add)).toEqual(first);
    expect(await desk.json("schedules", "list")).toHaveLength(1);
  });

  test("an export through a call is the export, hidden characters and all", async () => {
    const [called, exported] = [await desk.orgate("call", "export", "--as", "ana"), await desk.orgate("journal", "export")];
    expect(called.stdout).toContain("\u202e");
    expect(called.stdout.split("\n").slice(0, 40)).toEqual(exported.stdout.split("\n").slice(0, 40));
  });

  test("what a call begins is held by the project's own middleware", async () => {
    const own = makeDesk();
    try {
      own.write("orgate.toml", '[project]\nname = "desk"\n[ports]\nmodule = "ports.ts"\n');
      own.write(
        "ports.ts",
        'import { defineMiddleware } from "orgate";\nexport default { middleware: [defineMiddleware({ name: "closed", beforeTool: () => ({ kind: "block", reason: "closed today" }) })] };\n',
      );
      await own.orgate("keys", "create", "ana");
      const { session } = (await own.json("call", "execute", "--input", '{"agent":"desk","input":"look"}', "--as", "ana")) as {
        session: string;
      };
      expect((await own.orgate("sessions", "show", session)).stdout).toContain("closed today");
      expect(own.has("effects.txt")).toBe(false);
    } finally {
      own.remove();
    }
  }, 60_000);

  test("every operation can be called by name, but for streams and tickets of connections", () => {
    const without = OPERATION_NAMES.filter((name) => ["events", "ui-stream"].includes(OPERATIONS[name].answers.kind) || name === "ticket");
    expect(without.sort()).toEqual(["follow", "followAll", "ticket", "uiChat"]);
  });
});
