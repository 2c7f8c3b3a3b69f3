import { OPERATION_NAMES, OPERATION_WORDS } from "@orgate/protocol/words";
import { expect, test } from "vitest";
import type { Shell } from "../contract.ts";
import { plain } from "../terminal/paint.ts";
import { textWidth } from "../terminal/visible.ts";
import { OPERATION_COMMANDS, parseLine, RENDERERS, SHELL_COMMANDS } from "./commands.ts";
import { COMMAND_GROUPS } from "./groups.ts";
import { CALL_COMMAND } from "./operation-command.ts";
import { readArguments } from "./slash-arguments.ts";

async function helped(rest: string, columns: number): Promise<readonly string[]> {
  const lines: string[] = [];
  const ui = { look: () => ({ columns, paint: plain, showThinking: false }), print: (more: readonly string[]) => lines.push(...more) };
  const read = parseLine(`/help ${rest}`);
  // only what it prints on is looked at
  if (read.kind === "command") await read.command.run(read.rest, { ui, say: (text: string) => lines.push(text) } as unknown as Shell);
  return lines;
}

test("every command is in one group; help of all is one screen, of a group says what each is for, and nothing is wider than the screen", async () => {
  expect(COMMAND_GROUPS.flatMap(({ commands }) => commands).sort()).toEqual(SHELL_COMMANDS.map(({ name }) => name).sort());
  const all = await helped("", 80);
  expect(all.length).toBeLessThanOrEqual(20);
  for (const { name } of SHELL_COMMANDS) expect(all.join(" ")).toContain(`/${name}`);
  for (const columns of [60, 80, 120])
    for (const asked of ["", "all", "orchestration", "approvals", "shell"])
      expect(Math.max(...(await helped(asked, columns)).map(textWidth))).toBeLessThanOrEqual(columns);
  expect((await helped("approvals", 80)).join("\n")).toMatch(
    /list what waits for a person, and answer it\n[\s\S]*\/deny ID REASON +deny an action; the agent reads why/,
  );
  expect(await helped("nonsense", 80)).toEqual(["there is no command and no group `nonsense`: `/help` lists them"]);
  const said = SHELL_COMMANDS.map(({ summary }) => summary);
  expect(new Set(said).size).toBe(said.length); // none is described by another
});

test("S-13 what begins with a slash and a name is a command or is refused with the nearest; a path is neither", () => {
  expect(parseLine("/agents")).toMatchObject({ kind: "command", command: { name: "agents" }, rest: "" });
  expect(parseLine("/deny a_1  no, not\nnow ")).toMatchObject({ kind: "command", command: { name: "deny" }, rest: "a_1  no, not\nnow" });
  expect(parseLine("/agnets")).toMatchObject({ kind: "unknown", said: expect.stringContaining("`/agents`") });
  for (const text of ["/quit", "/exit", "/q"]) expect(parseLine(text)).toMatchObject({ kind: "command", command: { name: "quit" } });
  for (const text of ["hello", "/", "/usr/bin is full", "a /quit"]) expect(parseLine(text)).toEqual({ kind: "message" });
});

test.each(SHELL_COMMANDS.map(({ name }) => [name]))("S-20 /%s has help, in three ways", (name) => {
  for (const way of ["help", "--help", "-h"])
    expect(parseLine(`/${name} ${way}`)).toMatchObject({ kind: "command", command: { name: "help" }, rest: name });
  expect(SHELL_COMMANDS.filter((one) => one.name === name)).toHaveLength(1);
});

test("a command is derived from the table of operations, or says in one line why it is written by hand", () => {
  for (const command of SHELL_COMMANDS) {
    if (command.byHand === null) expect(command.operations.length, command.name).toBeGreaterThan(0);
    else expect(command.byHand, command.name).toMatch(/^it \S.{5,100}$/);
  }
  const described = new Set(OPERATION_NAMES.flatMap((name) => (OPERATION_WORDS[name].slash ?? []).map(({ command }) => command)));
  expect(OPERATION_COMMANDS.map(({ name }) => name).sort()).toEqual([...described].sort());
});

test("every operation that needs no open connection is a slash command, or is reached by /call", () => {
  const [callable] = CALL_COMMAND.takes ?? [];
  const own = OPERATION_COMMANDS.flatMap((command) => (command.byHand === null ? command.operations : []));
  for (const name of OPERATION_NAMES) {
    const { onlyConnected } = OPERATION_WORDS[name];
    if (onlyConnected === undefined) expect(callable).toContain(name);
    else expect(own).not.toContain(name);
  }
});

test("every operation with `slash` words has a renderer, or columns for a table", () => {
  const lacking = OPERATION_NAMES.flatMap((name) =>
    (OPERATION_WORDS[name].slash ?? []).flatMap(({ columns }) =>
      RENDERERS[name] === undefined && columns === undefined
        ? [
            `${name}: the RENDERERS of a file in shell/commands/ need a line \`${name}: (result) => lines\`, or its \`slash\` words need \`columns\``,
          ]
        : [],
    ),
  );
  expect(lacking).toEqual([]);
});

test("a time is read as on the command line; a bad one is refused with the reason", async () => {
  const said: string[] = [];
  const shell = { say: (text: string) => said.push(text) } as unknown as Shell; // no more of it is read here
  const args = OPERATION_WORDS.retrySchedule.slash?.[0]?.args ?? [];
  const due = "2030-01-31T01:00:00Z";
  expect(await readArguments(args, `nightly ${due}`, shell)).toMatchObject({ fields: { schedule: "nightly", dueAt: Date.parse(due) } });
  expect(await readArguments(args, "nightly", shell)).toMatchObject({ kind: "read", fields: { schedule: "nightly" } });
  expect(await readArguments(args, "nightly soon", shell)).toEqual({ kind: "refused" });
  const wait = [{ value: "WAIT", field: "ms", as: "duration", help: "how long" }] as const;
  expect(await readArguments(wait, "10m", shell)).toMatchObject({ fields: { ms: 600_000 } });
  expect(await readArguments(wait, "10", shell)).toEqual({ kind: "refused" });
  expect(said).toEqual(["DUE is `soon`: write a time like 2030-01-31T08:00:00Z", "WAIT is `10`: write it like 10m or 8h"]);
});

test("words become fields as the table says; a word too few, too many or unfit shows the usage", async () => {
  const slash = (command: string) =>
    OPERATION_NAMES.flatMap((name) => OPERATION_WORDS[name].slash ?? []).filter((one) => one.command === command);
  const shell = { addressee: () => "clerk", current: () => null, say: () => {} } as unknown as Shell; // no more of it is read here
  const read = async (command: string, text: string, verb?: string) => {
    const words = slash(command).find((one) => one.verb === verb);
    const found = await readArguments(words?.args ?? [], text, shell);
    return found.kind === "read" ? found.fields : found.kind;
  };
  expect(await read("halt", "all it is late")).toEqual({ scope: "all", reason: "it is late" });
  expect(await read("halt", "agent clerk it is late")).toEqual({ scope: "agent:clerk", reason: "it is late" });
  expect(await read("halt", "tool:look --anyway wrong")).toEqual({ scope: "tool:look", anyway: true, reason: "wrong" });
  expect(await read("pause", "clerk --anyway\ntoo fast")).toEqual({ scope: "agent:clerk", anyway: true, reason: "too fast" });
  expect(await read("pause", "clerk --anywayish")).toEqual({ scope: "agent:clerk", reason: "--anywayish" });
  for (const text of ["", "all", "agent", "agent clerk", "agents clerk why", "agent clerk --anyway"])
    expect(await read("halt", text)).toBe("missing");
  expect(await read("breakers", "tool:look it fails", "open")).toEqual({ breaker: "tool:look", reason: "it fails" });
  expect(await read("breakers", "tool:look", "open")).toBe("missing");
  expect(await read("sessions", "")).toEqual({});
  expect(await read("sessions", "waiting")).toEqual({ state: "waiting" });
  expect(await read("sessions", "asleep")).toBe("missing");
  expect(await read("tools", "")).toEqual({ agent: "clerk" });
  expect(await read("memory", "desk two words")).toEqual({ agent: "desk", words: "two words" });
  expect(await read("halts", "now")).toBe("missing");
  expect(await read("clear", "")).toBe("refused"); // there is no conversation yet
  expect(await read("debug", "")).toBe("refused");
});

test("/call takes a value in quotes as text, one that is JSON as that, and JSON may have blanks", async () => {
  const sent: unknown[] = [];
  const client = { call: async (_: string, input: Readonly<{ body: unknown }>) => sent.push(input.body) };
  // no more of it is looked at
  const shell = {
    connection: { client },
    say: (text: string) => sent.push(text),
    unwrap: async (called: Promise<unknown>) => called.then(() => null),
  } as unknown as Shell;
  const call = async (text: string): Promise<unknown> => {
    sent.length = 0;
    await CALL_COMMAND.run(text, shell);
    return sent[0];
  };
  expect(await call('addSchedule reason="2024"')).toEqual({ reason: "2024" });
  expect(await call('addSchedule reason="true" at=2024')).toEqual({ reason: "true", at: 2024 });
  expect(await call('addSchedule reason="a holiday" agent=desk')).toEqual({ reason: "a holiday", agent: "desk" });
  expect(await call('addSchedule args={"a": 1, "b": "x y"} agent=desk')).toEqual({ args: { a: 1, b: "x y" }, agent: "desk" });
  expect(await call("addSchedule list=[1, 2] agent='two words' cron=\"0 3 * * *\"")).toEqual({
    list: [1, 2],
    agent: "two words",
    cron: "0 3 * * *",
  });
  expect(await call('addSchedule reason="c:\\dir x" x={oops y=1')).toEqual({ reason: "c:\\dir x", x: "{oops", y: 1 });
  expect(await call("addSchedule reason= word")).toContain("`word` is not NAME=VALUE");
});
