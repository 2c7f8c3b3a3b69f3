/** `orgate shell`: the shell of `@orgate/shell`, with a local server in a thread of this process. */
import { shellCommand } from "@orgate/shell/start";

export const shell = shellCommand(async (given, screen, ask) =>
  (await import("./local-server-thread.ts")).startLocalServerThread(given, screen, ask),
);
