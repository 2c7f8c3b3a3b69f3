/** Labels of a session. To remove one is a person's own act: signed, and gated here and by the session's holder (G-33). */
import { label, readState } from "@orgate/core";
import { EXIT, type RunCommand, visible } from "@orgate/shell/terminal";
import { assertMayAct } from "../../../runtime/people/approvals.ts";
import { findCaller, findSessionByText, loadCommandProject, withReadOnlyStore } from "../project/project.ts";
import { usage } from "./approvals.ts";
import { sendWish } from "./intents.ts";

export const labels: RunCommand = (given, screen) =>
  withReadOnlyStore(given, async (look, config) => {
    const { session, agent } = await findSessionByText(look.journal, given.args[0] ?? "");
    const removed = given.text("remove");
    if (removed === null) {
      if (given.text("why") !== null) throw usage("--why is for --remove, and no label is named", "for example --remove untrusted");
      const { labels: all } = await readState({ journal: look.journal }, session);
      if (given.json) screen.line(JSON.stringify([...all].sort()));
      else
        screen.line(
          all.size === 0
            ? "it carries no label"
            : [...all]
                .sort()
                .map((l) => visible(l))
                .join("\n"),
        );
      return EXIT.success;
    }
    const names = removed.split(",").flatMap((l) => (l.trim() === "" ? [] : [label(l.trim())]));
    const why = given.text("why");
    if (names.length === 0) throw usage("--remove names no label", "for example --remove untrusted");
    if (why === null || why.trim() === "") throw usage("--why is missing", "say why it may be trusted: the journal keeps it");
    const person = findCaller(given, screen);
    const { gate } = await loadCommandProject(config, given.env);
    for (const name of names) assertMayAct(gate, person, { kind: "remove-label", label: name, session, agent }, `take \`${name}\` off`);
    return sendWish(given, screen, { look, config, session, agent, person }, { kind: "unlabel", labels: names, why });
  });
