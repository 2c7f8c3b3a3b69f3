/** The driver behind the front door, loaded by the first session that is driven: a process that only defines agents or reads sessions does not load it. */
import type * as Driver from "./drive.ts";

let driver: typeof Driver | null = null;

export const driveLater: typeof Driver.drive = async (...given) => {
  driver ??= await import("./drive.ts");
  return driver.drive(...given);
};
