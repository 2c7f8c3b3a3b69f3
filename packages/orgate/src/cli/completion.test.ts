import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";
import { listStarterSets, readSimulations } from "../starter/starter-files.ts";
import { COMMANDS } from "./commands.ts";
import { bash, fish, zsh } from "./completion.ts";

/** As bash itself would be asked with Tab. */
function completed(...words: string[]): readonly string[] {
  const script = `${bash()}\nCOMP_WORDS=(orgate ${words.map((w) => `'${w}'`).join(" ")}); COMP_CWORD=${words.length}; _orgate; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const { status, stdout, stderr } = spawnSync("bash", ["-c", script], { encoding: "utf8" });
  expect([status, stderr]).toEqual([0, ""]);
  return stdout.split("\n").filter((word) => word !== "");
}

test("A-9 completion offers commands, verbs, options and fixed values", () => {
  expect(completed("ses")).toEqual(["sessions"]);
  expect(completed("sessions", "s")).toEqual(["show", "say", "steer"]);
  expect(completed("journal", "verify", "--h")).toEqual(["--head", "--help"]);
  expect(completed("completion", "")).toEqual(expect.arrayContaining(["bash", "zsh", "fish"]));
  expect(completed("run", "ops", "--in")).toEqual(["--input"]);
  expect(completed("run", "ops", "--su")).toEqual(["--subject"]);
  for (const verb of ["eval", "explain"])
    expect(completed("policy", verb, "--re")).toEqual(expect.arrayContaining(["--records", "--resource"]));
});

test("A-9 completion offers known values of options and of the first argument, those that ship and no others", () => {
  expect(completed("simulate", "")).toEqual(expect.arrayContaining([...listStarterSets(), "--domain"]));
  const domains = readSimulations().flatMap(({ path }) => (path.endsWith(".json") ? [path.slice(0, -5)] : []));
  expect(completed("simulate", "support", "--domain", "")).toEqual(domains);
  expect(completed("simulate", "--domain", "b")).toEqual(["bank"]);
  expect(fish()).toMatch(/-l domain -r -a 'bank chat office service travel'/);
});

test("A-9 every command is in every script", () => {
  for (const { name, options } of COMMANDS) {
    const [group = "", verb = group] = name.split(" ");
    for (const option of Object.keys(options)) {
      expect(bash()).toContain(`--${option}`);
      expect(fish()).toContain(`-l ${option}`);
    }
    expect(bash()).toContain(`"${name}")`);
    expect(fish()).toContain(`-a ${verb}`);
  }
  expect(zsh()).toMatch(/^#compdef orgate\n/);
});
