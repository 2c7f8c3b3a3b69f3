import { explainProgramFailure } from "@orgate/toolclad/running";
import type { Screen } from "../../../terminal/screen.ts";

export async function notePrograms(screen: Screen): Promise<void> {
  const why = await explainProgramFailure();
  if (why !== null) screen.line(`${screen.paint("warn", "!")} ${why}`);
}
