import { expect, test } from "vitest";
import { commandIn, SHELL_COMMANDS } from "./table.ts";

test("S51 what begins with a slash and a name is a command or is refused with the nearest; a path is neither", () => {
  expect(commandIn("/agents")).toMatchObject({ kind: "command", command: { name: "agents" }, rest: "" });
  expect(commandIn("/deny a_1  no, not\nnow ")).toMatchObject({ kind: "command", command: { name: "deny" }, rest: "a_1  no, not\nnow" });
  expect(commandIn("/agnets")).toMatchObject({ kind: "unknown", said: expect.stringContaining("`/agents`") });
  for (const text of ["hello", "/", "/usr/bin is full", "a /quit"]) expect(commandIn(text)).toEqual({ kind: "message" });
});

test.each(SHELL_COMMANDS.map(({ name }) => [name]))("S52 /%s has help, in three ways", (name) => {
  for (const way of ["help", "--help", "-h"])
    expect(commandIn(`/${name} ${way}`)).toMatchObject({ kind: "command", command: { name: "help" }, rest: name });
  expect(SHELL_COMMANDS.filter((one) => one.name === name)).toHaveLength(1);
});
