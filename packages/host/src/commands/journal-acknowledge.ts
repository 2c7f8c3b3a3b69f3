/** J303 an operator who has looked lets work go on; what is still bad stays refused. */
import { userInfo } from "node:os";
import { FaultError } from "@orgate/core";
import { problemName, verify } from "@orgate/core/journal";
import { EXIT, type Run } from "../cli/command.ts";
import { count } from "../cli/table.ts";
import { visible } from "../cli/visible.ts";
import { NODE, proof, rootPublicKey } from "../compose.ts";
import { looking } from "./project.ts";

export const acknowledge: Run = (given, screen) =>
  looking(given, async (look, config) => {
    const reason = given.text("reason")?.trim() ?? "";
    if (reason === "")
      throw new FaultError({ kind: "usage", detail: "--reason is missing", hint: "say what you found and did about it: it is kept" });
    const standing = look.alarms.standing();
    if (standing.length === 0) {
      screen.line(given.json ? JSON.stringify({ acknowledged: [] }) : "there is no alarm: nothing to acknowledge");
      return EXIT.success;
    }
    const root = rootPublicKey(config.journal.directory);
    const { firstBad } = verify({ records: look.records, root, ports: proof, head: null, progress: () => {}, torn: null });
    const [row] = firstBad === null ? look.wrongRows(NODE.clock.now()) : [];
    const bad = firstBad === null ? (row ?? null) : `${problemName(firstBad)}: ${firstBad.reason}`;
    if (bad !== null && !given.flag("as-is"))
      throw new FaultError({
        kind: "journal-doubted",
        what: "it still does not verify",
        detail: `${bad} (--as-is acknowledges it like that)`,
      });
    const by = given.text("as") ?? (given.env.ORGATE_USER || userInfo().username);
    const acknowledged = look.alarms.acknowledge({ by, reason });
    if (given.json) screen.line(JSON.stringify({ acknowledged, verified: bad === null }));
    else {
      screen.line(`acknowledged ${count(acknowledged.length, "alarm")}: work may go on`);
      for (const { what, detail } of acknowledged) screen.line(`  ${visible(what)}: ${visible(detail)}`);
      if (bad !== null) screen.line(screen.paint("warn", `still bad, and refused: ${visible(bad)}`));
    }
    return EXIT.success;
  });
