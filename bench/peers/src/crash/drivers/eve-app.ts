/** The app that eve's driver starts: built once per matrix, copied for every run, because its store lies in its folder. */
import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";

const EVE = join(import.meta.dirname, "../../../eve");
export const EVE_BIN = join(EVE, "node_modules/eve/bin/eve.js");
const BUILD_MS = 120_000;

/** Returns what victims find it by. */
export function buildApp(scratch: string): Readonly<Record<string, string>> {
  const app = join(scratch, "eve-app");
  mkdirSync(app);
  for (const part of ["agent", "package.json"]) cpSync(join(EVE, "crash", part), join(app, part), { recursive: true });
  symlinkSync(join(EVE, "node_modules"), join(app, "node_modules"));
  const built = spawnSync(process.execPath, [EVE_BIN, "build"], {
    cwd: app,
    encoding: "utf8",
    timeout: BUILD_MS,
    env: { ...process.env, EVE_TELEMETRY_DISABLED: "1" },
  });
  if (!existsSync(join(app, ".output"))) throw new Error(`eve could not be built: ${built.stdout}${built.stderr}`);
  return { CRASH_EVE_APP: app };
}

/** As its CLI page has it: source, output and dependencies together; the folder may differ from where it was built. */
export function copyApp(folder: string): string {
  const built = process.env.CRASH_EVE_APP;
  if (built === undefined) throw new Error("eve's app was not built");
  const app = join(folder, "app");
  if (existsSync(app)) return app;
  mkdirSync(app);
  for (const part of ["agent", "package.json", ".output"]) cpSync(join(built, part), join(app, part), { recursive: true });
  symlinkSync(join(EVE, "node_modules"), join(app, "node_modules"));
  return app;
}
