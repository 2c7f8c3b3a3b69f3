import { sessionId } from "@orgate/core";
import { afterAll, expect, test } from "vitest";
import { openProject } from "../../../config/project-toml.ts";
import { openPolicies } from "../../../policies/policies.ts";
import { loadProject } from "../../../project/load.ts";
import { createRuntime } from "../../../runtime/runtime.ts";
import { withPeople } from "../fixtures/asking.ts";
import { type Desk, expectRefusals, holding, makeDesk, until } from "../fixtures/desk.ts";
import { driveToResult } from "./schedules.ts";

const POLICIES = `@id("work")
permit(principal, action in [Action::"model", Action::"respond", Action::"read"], resource);
@id("ops")
permit(principal in UserGroup::"ops", action in [Action::"observe", Action::"run", Action::"edit-schedule", Action::"run-schedule"], resource);
`;
const TOML = '[project]\nname = "desk"\n[groups.users]\nops = ["ana"]\n';
const desks: Desk[] = [];
async function newDesk(schedules = ""): Promise<Desk> {
  const desk = makeDesk();
  desks.push(desk);
  desk.write("orgate.toml", `${TOML}${schedules}`);
  desk.write("policies/desk.cedar", POLICIES);
  await withPeople(desk, "ana", "eve");
  return desk;
}
afterAll(() => {
  for (const desk of desks) desk.remove();
});
const PATIENCE = { timeout: 120_000 };
type View = Readonly<{
  schedule: string;
  state: string;
  nextAt: number | null;
  from: string | null;
  fired: number;
  spec: { owner: string };
}>;

test(
  "Z-8 schedules are listed, added, paused, resumed, fired and removed by whom the policies let, and their past is told",
  PATIENCE,
  async () => {
    const desk = await newDesk(
      '[schedules.nightly]\nagent = "desk"\ncron = "0 2 * * *"\ntimezone = "Europe/Berlin"\ninput = "look"\nowner = "ana"\n',
    );
    const as = (who: string, ...args: readonly string[]) => desk.json("schedules", ...args, "--as", who);
    expect(await as("ana", "list")).toMatchObject([
      { schedule: "nightly", state: "active", from: "orgate.toml", fired: 0, spec: { owner: "ana" } },
    ]);
    expect((await desk.orgate("schedules", "list", "--as", "ana")).stdout).toMatch(
      /nightly +active +0 2 \* \* \* Europe\/Berlin +desk +ana/,
    );
    expect(((await as("ana", "next", "nightly", "--limit", "3")) as { next: number[] }).next).toHaveLength(3);
    expect(await as("ana", "add", "hourly", "--agent", "desk", "--cron", "0 * * * *", "--input", "look")).toMatchObject({
      schedule: "hourly",
      from: null,
      spec: { owner: "ana" },
    });
    expect(await as("ana", "pause", "hourly", "--reason", "a holiday")).toMatchObject({ state: "paused", nextAt: null });
    expect(await as("ana", "run", "nightly")).toMatchObject({ schedule: "nightly", ending: "completed" });
    expect(desk.read("effects.txt")).toBe("look\n");
    expect(await as("ana", "resume", "hourly")).toMatchObject({ state: "active" });
    const past = (await as("ana", "history", "hourly")) as { event: { kind: string; reason?: string } }[];
    expect(past.map(({ event }) => event.kind)).toEqual(["schedule.resumed", "schedule.paused", "schedule.declared"]);
    expect((await desk.orgate("schedules", "history", "hourly", "--as", "ana")).stdout).toContain("paused by user:ana: a holiday");
    expect(await as("ana", "remove", "hourly")).toMatchObject({ state: "removed" });
    expect(((await as("ana", "list")) as View[]).map(({ schedule }) => schedule)).toEqual(["nightly"]);
    await expectRefusals(desk, [
      [["schedules", "pause", "nightly", "--as", "eve"], 1, "`eve` may not pause schedule nightly"],
      [["schedules", "run", "nightly", "--as", "eve"], 1, "`eve` may not run schedule nightly"],
      [["schedules", "add", "x", "--agent", "desk", "--cron", "* * * * *", "--as", "eve"], 1, "`eve` may not add schedule x"],
      [["schedules", "remove", "nightly", "--as", "ana"], 2, "declared in orgate.toml"],
      [["schedules", "pause", "nothing", "--as", "ana"], 2, "there is no schedule `nothing`"],
      [["schedules", "add", "x", "--agent", "desk", "--cron", "0 0 30 2 *", "--as", "ana"], 2, "never comes"],
      [["schedules", "add", "x", "--agent", "desk", "--at", "2001-01-01T00:00:00Z", "--as", "ana"], 2, "that time has passed"],
      [["schedules", "add", "x", "--agent", "nobody", "--cron", "* * * * *", "--as", "ana"], 1, "there is no agent `nobody`"],
      [["schedules", "add", "x", "--agent", "desk", "--cron", "* * * * *", "--overlap", "twice", "--as", "ana"], 2, "--overlap"],
      [["schedules", "add", "x/y", "--agent", "desk", "--cron", "* * * * *", "--as", "ana"], 2, "cannot name a schedule"],
    ]);
  },
);

test(
  "Z-4 Z-7 who may not is refused before anything is on record; whose it is does not change with who looks or acts; all tell the same times",
  PATIENCE,
  async () => {
    const desk = await newDesk(
      '[schedules.free]\nagent = "desk"\ncron = "0 2 * * *"\njitter = "1h"\n[schedules.past]\nagent = "desk"\nat = "2001-01-01T00:00:00Z"\n',
    );
    const as = (who: string, ...args: readonly string[]) => desk.json("schedules", ...args, "--as", who);
    await expectRefusals(desk, [[["schedules", "pause", "free", "--as", "eve"], 1, "`eve` may not pause schedule free"]]);
    expect(await as("ana", "history", "free")).toEqual([]);
    expect(await as("ana", "pause", "free")).toMatchObject({ state: "paused", spec: { owner: "ana" } });
    desk.write("policies/more.cedar", '@id("eve")\npermit(principal == User::"eve", action == Action::"run-schedule", resource);\n');
    expect(await as("eve", "run", "free")).toMatchObject({ ending: "completed" });
    expect(await as("ana", "resume", "free")).toMatchObject({ state: "active", spec: { owner: "ana" } });
    const past = (await as("ana", "history", "free")) as { event: { kind: string } }[];
    expect(past.filter(({ event }) => event.kind === "schedule.declared")).toHaveLength(1);
    const listed = (await as("ana", "list")) as View[];
    const { next } = (await as("ana", "next", "free", "--limit", "1")) as { next: number[] };
    expect(next).toEqual([listed[0]?.nextAt]);
    expect(listed[1]).toMatchObject({ schedule: "past", state: "done", nextAt: null });
    await expectRefusals(desk, [
      [["schedules", "retry", "free", "--as", "ana"], 2, "nothing of `free` is set aside"],
      [["schedules", "retry", "free", "--due", "yesterday", "--as", "ana"], 2, "--due is `yesterday`"],
    ]);
  },
);

test("Z-1 A-4 what is wrong with a declaration is told with its place, before anything is opened", PATIENCE, async () => {
  const desk = await newDesk();
  for (const [text, message] of [
    ['[schedules.x]\nagent = "desk"\ncron = "0 0 30 2 *"\n', "`schedules.x`: `0 0 30 2 *` never comes"],
    ['[schedules.x]\nagent = "desk"\ncron = "* * * * *"\ntimezone = "Mars/Base"\n', "there is no time zone `Mars/Base`"],
    ['[schedules.x]\nagent = "nobody"\ncron = "* * * * *"\n', "there is no agent `nobody`"],
    ['[webhooks.x]\nagent = "desk"\npath = "/api/v1"\nprovider = "github"\nsecret = "x"\n', "the server itself answers at `/api/v1`"],
    ['[webhooks.x]\nagent = "desk"\npath = "/hooks/../x"\nprovider = "github"\nsecret = "x"\n', "is no path for a webhook"],
    ['[webhooks.x]\nagent = "desk"\npath = "/hooks/x"\nprovider = "github"\nsecret = "missing"\n', "there is no secret `missing`"],
    [
      '[webhooks.x]\nagent = "desk"\npath = "/hooks/x"\nprovider = "slack"\nsecret = "$HOOK"\nreplay_window = "0s"\n',
      "nothing is in time within `replay_window`",
    ],
  ] as const) {
    desk.write("orgate.toml", `${TOML}${text}`);
    for (const check of [[], ["--check"]]) {
      const { code, stderr } = await desk.orgate("up", "--port", "0", "--as", "ana", ...check);
      expect([code !== 0, stderr]).toEqual([true, expect.stringContaining(message)]);
    }
  }
});

test(
  "Z-2 in orgate.toml, beside an agent in TOML and in TypeScript, and in a .symbi file a schedule means the same, said or left out",
  PATIENCE,
  async () => {
    const said = {
      timezone: "Europe/Berlin",
      input: "look",
      jitter: "30s",
      overlap: "queue",
      missed: "all",
      session: "shared",
      retries: 1,
    };
    const toml = Object.entries(said)
      .map(([key, value]) => `${key} = ${JSON.stringify(value)}\n`)
      .join("");
    const desk = await newDesk(
      `[schedules.project]\nagent = "desk"\ncron = "0 2 * * *"\n${toml}[schedules.project-bare]\nagent = "desk"\ncron = "0 2 * * *"\n`,
    );
    const agent = 'name = "t"\nmodel = "offline/echo"\ninstructions = "x"\n';
    desk.write("agents/t.toml", `${agent}[schedules.toml]\ncron = "0 2 * * *"\n${toml}[schedules.toml-bare]\ncron = "0 2 * * *"\n`);
    desk.write(
      "agents/c.ts",
      `import { defineAgent } from "orgate";\nexport default defineAgent({ name: "c", model: "offline/echo", instructions: "x", schedules: { code: { cron: "0 2 * * *", ...${JSON.stringify(said)} }, "code-bare": { cron: "0 2 * * *" } } });\n`,
    );
    const keys = Object.entries(said).map(
      ([key, value]) => `  ${key}: ${["timezone", "input"].includes(key) ? JSON.stringify(value) : value}\n`,
    );
    desk.write(
      "agents/s.symbi",
      `metadata { description = "x" }\nagent s {\n  with model = "offline/echo" {}\n}\nschedule symbi {\n  cron: "0 2 * * *"\n  agent: s\n${keys.join("")}}\nschedule symbi_bare {\n  cron: "0 2 * * *"\n  agent: s\n  input: "It is time."\n}\n`,
    );
    const listed = (await desk.json("schedules", "list", "--as", "ana")) as { schedule: string; state: string; spec: object }[];
    const meant = (bare: boolean) =>
      listed
        .filter(({ schedule }) => /.bare$/.test(schedule) === bare)
        .map(({ state, spec }) => ({ state, ...spec, agent: "", owner: "" }));
    for (const bare of [false, true]) {
      expect(meant(bare)).toHaveLength(4);
      expect(new Set(meant(bare).map((one) => JSON.stringify(one))).size).toBe(1);
    }
    expect(meant(false)[0]).toMatchObject({
      jitterMs: 30_000,
      overlap: "queue",
      missed: "all",
      session: "shared",
      retries: 1,
      graceMs: 60_000,
    });
  },
);

test("A-7 a turn that another process drives is waited for, and its ending is the command's", { timeout: 60_000 }, async () => {
  const desk = makeDesk();
  try {
    const driving = desk.start(["run", "desk", "--input", "hold"]);
    const session = sessionId(await holding(desk));
    const config = openProject(desk.root, desk.root);
    const agents = (await loadProject(config)).agents.map(({ agent }) => agent);
    const gate = openPolicies(config, agents, "cli");
    const { directory } = config.journal;
    const runtime = await createRuntime({ directory, agents, gate, principal: { kind: "user", id: "ana" }, surface: "schedule" });
    const told: string[] = [];
    const waited = driveToResult((text) => told.push(text), runtime, session);
    await until(() => (told.length === 0 ? null : told));
    desk.write("go", "");
    expect(await waited).toMatchObject({ session, state: "ended", ending: "completed", output: "I held on." });
    expect(told).toEqual([expect.stringContaining("is driven by another process: waiting for its turn to end")]);
    await runtime.close();
    expect((await driving.ended).code).toBe(0);
  } finally {
    desk.remove();
  }
});
