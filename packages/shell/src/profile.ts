/**
 * `--profile NAME`: who one is in this shell, apart from who one is otherwise.
 * A profile is a home of its own below the person's: its keys, its sign-ins, its lines. Nothing of another profile's is read or written.
 */
import { homedir } from "node:os";
import { join } from "node:path";
import { FaultError } from "@orgate/core/vocab";
import type { Given } from "./terminal/command.ts";

export function withProfile(given: Given): Given {
  const name = given.text("profile");
  if (name === null) return given;
  if (!/^[a-z0-9][a-z0-9_-]{0,31}$/.test(name))
    throw new FaultError({ kind: "usage", detail: `--profile is \`${name}\``, hint: "use 1 to 32 of a-z, 0-9, _ and -" });
  const home = given.env.ORGATE_HOME || join(homedir(), ".orgate");
  return { ...given, env: { ...given.env, ORGATE_HOME: join(home, "profiles", name) } };
}
