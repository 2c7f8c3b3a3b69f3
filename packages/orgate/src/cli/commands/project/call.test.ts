import { OPERATION_NAMES, OPERATIONS } from "@orgate/protocol";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Desk, holding, makeDesk, until } from "../fixtures/desk.ts";

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

  test("fields are words NAME=VALUE, as in the shell; quotes that arrive are part of the value", async () => {
    expect(await desk.json("call", "agentStatus", "agent=desk", "--as", "ana")).toMatchObject({ agent: "desk" });
    expect(await desk.json("call", "sessions", "limit=5", "--arg", "agent=desk", "--as", "ana")).toMatchObject({
      items: [{ agent: "desk" }],
    });
    expect((await desk.orgate("call", "agentStatus", "agent='desk'", "--as", "ana")).stderr).toContain("'desk'");
    expect(await desk.orgate("call", "agentStatus", "desk", "--as", "ana")).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("a field is `desk`"),
    });
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

  test("with a key for the project's server, calls and commands go through it, and Ctrl-C leaves it", async () => {
    const own = makeDesk();
    await own.orgate("keys", "create", "ana");
    const server = own.start(["up", "--port", "0", "--json"]);
    try {
      await until(() => (server.stdout().includes("\n") ? server.stdout() : null));
      const { token } = (await own.json("keys", "create", "ana", "--api")) as { token: string };
      const remote = { ORGATE_API_KEY: token, ORGATE_HOME: own.root }; // a home without keys: nobody could do it in this process
      const through = async (...args: readonly string[]): Promise<unknown> => {
        const { code, stdout, stderr } = await own.within(remote, [...args, "--json"]);
        return code === 0 ? JSON.parse(stdout) : stderr;
      };
      expect(await through("call", "whoami")).toMatchObject({ principal: { kind: "user", id: "ana" } });
      expect(await through("schedules", "add", "nightly", "--agent", "desk", "--cron", "0 3 * * *")).toMatchObject({
        schedule: "nightly",
        spec: { owner: "ana" },
      });
      expect(await through("schedules", "list")).toMatchObject([{ schedule: "nightly", state: "active" }]);
      expect(await through("schedules", "pause", "none")).toContain("there is no schedule `none`");
      const denied = await own.within({ ...remote, ORGATE_API_KEY: "orgate_none" }, ["call", "whoami"]);
      expect([denied.code, denied.stdout]).toEqual([1, ""]);
      const held = own.start(["call", "execute", "--input", '{"agent":"desk","input":"hold"}'], undefined, remote);
      await holding(own);
      held.kill("SIGINT");
      expect(await held.ended).toMatchObject({ code: 130, stderr: expect.stringContaining("interrupted before the server answered") });
      own.write("go", "");
    } finally {
      server.kill("SIGTERM");
      await server.ended;
      own.remove();
    }
  }, 120_000);
});
