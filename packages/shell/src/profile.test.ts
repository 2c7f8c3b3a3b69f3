import { join } from "node:path";
import { expect, test } from "vitest";
import { withProfile } from "./profile.ts";
import type { Given } from "./terminal/command.ts";

const given = (texts: Readonly<Record<string, string>>): Given => ({
  args: [],
  text: (name) => texts[name] ?? null,
  texts: () => [],
  flag: () => false,
  json: false,
  project: null,
  cwd: ".",
  env: { ORGATE_HOME: "home", PATH: "x" },
});

test("a profile is a home of its own below the person's; without one everything is as it was", () => {
  const plain = given({});
  expect(withProfile(plain)).toBe(plain);
  expect(withProfile(given({ profile: "work" })).env).toEqual({ ORGATE_HOME: join("home", "profiles", "work"), PATH: "x" });
  for (const profile of ["", "..", "a/b", "Work", "-x"]) expect(() => withProfile(given({ profile }))).toThrow("--profile is");
});
