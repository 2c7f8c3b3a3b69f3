import type { Screen } from "../../../terminal/screen.ts";
import { whyProgramsFail } from "../../../toolclad/program-warnings.ts";

export async function notePrograms(screen: Screen): Promise<void> {
  const why = await whyProgramsFail();
  if (why !== null) screen.line(`${screen.paint("warn", "!")} ${why}`);
}
