/** Views of a fork and of a closed session: the lines that people read. */
import { seq } from "@orgate/core";
import { count, nextCommand, visible } from "@orgate/shell/terminal";
import type { OperationView } from "../../operations/run.ts";
import { withReadOnlyStore } from "../project/read-only.ts";

export const viewFork: OperationView<"fork"> = {
  print: async ({ session, agent }, { given, screen }) => {
    const [, entry] = await withReadOnlyStore(given, ({ journal }) => journal.read(session, seq(0), 2));
    if (entry?.event.kind !== "session.forked") throw new Error(`session \`${session}\` does not begin as a fork`);
    const { from, at, unknown } = entry.event;
    screen.line(`${screen.paint("strong", session)} forked from ${from}, what was said up to entry ${at}`);
    if (unknown.length > 0)
      screen.line(
        screen.paint("warn", `${count(unknown.length, "call")} (${unknown.join(", ")}) had no outcome there, and the agent is told so`),
      );
    screen.line(screen.paint("dim", `go on: ${nextCommand(given, `run ${visible(agent)} --session ${session} --input "…"`)}`));
  },
};

export const viewClosed: OperationView<"close"> = {
  print: ({ session }, { screen }) => screen.line(`closed ${session}: it takes no turn any more; \`orgate sessions fork\` goes on from it`),
};
