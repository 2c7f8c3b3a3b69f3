import { expect, test } from "vitest";
import type { Shell } from "../contract.ts";
import { plain } from "../terminal/paint.ts";
import { textWidth } from "../terminal/visible.ts";
import { parseLine, SHELL_COMMANDS } from "./commands.ts";
import { COMMAND_GROUPS } from "./groups.ts";

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
  expect((await helped("approvals", 80)).join("\n")).toMatch(/what waits for a person\n[\s\S]*\/deny ID REASON +no; the agent is told why/);
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
