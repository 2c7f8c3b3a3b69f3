import type { Screen } from "@orgate/shell/terminal";
import { explainProgramFailure } from "@orgate/toolclad/running";

export async function notePrograms(screen: Screen): Promise<void> {
  const why = await explainProgramFailure();
  if (why !== null) screen.line(`${screen.paint("warn", "!")} ${why}`);
}
