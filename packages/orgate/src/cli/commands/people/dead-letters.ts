/** Dead letters: listed without reading a session, shown whole, dismissed. */
import { callId, type Millis } from "@orgate/core";
import type { ListedDeadLetter } from "@orgate/core/journal";
import { resourceText } from "@orgate/protocol/view";
import { ageText, type Cell, count, EXIT, foldText, type RunCommand, shorten, table, visible } from "@orgate/shell/terminal";
import { assertMayAct } from "../../../runtime/people/approvals.ts";
import { allDeadLetters, viewDeadLetter } from "../../../runtime/people/dead-letters.ts";
import { NODE } from "../../../runtime/ports/outside.ts";
import type { ReadOnlyStore } from "../../../store/open-read-only.ts";
import type { OperationView } from "../../operations/run.ts";
import { findCaller, loadCommandProject, withReadOnlyStore } from "../project/project.ts";
import { usage } from "./approvals.ts";
import { sendWish } from "./intents.ts";

export const listDeadLetters: OperationView<"deadLetters"> = {
  print: ({ items, next }, { screen }) => {
    if (items.length === 0) screen.line("nothing was set aside");
    else for (const line of table(HEAD, items.map(rowOf(NODE.clock.now())), screen.paint)) screen.line(line);
    if (next !== null) screen.line(screen.paint("warn", `there are more than these ${items.length}: --limit N shows more`));
  },
};

const HEAD = ["call", "agent", "wanted", "failed with", "set aside"];
const WIDE = 60;
const rowOf =
  (now: Millis) =>
  (d: ListedDeadLetter): readonly Cell[] => [
    `${d.session}/${d.call}`,
    d.agent,
    shorten(`${visible(d.tool)} ${resourceText(d.resource)}`, WIDE),
    shorten(visible(d.error), WIDE),
    `${ageText(now - d.at)} ago`,
  ];

export const showDeadLetter: RunCommand = (given, screen) =>
  withReadOnlyStore(given, async (look) => {
    const { session, call } = await letterOf(look, given.args[0] ?? "");
    const view = await viewDeadLetter(look.journal, session, call);
    if (view === null) throw usage(`call \`${call}\` was seen to meanwhile`, "`orgate dead-letters list` shows what is left");
    if (given.json) {
      screen.line(JSON.stringify(view));
      return EXIT.success;
    }
    const line = (name: string, text: string): void => {
      for (const [i, part] of foldText(text, screen.columns - 14).entries())
        screen.line(`${i === 0 ? screen.paint("dim", name.padEnd(12)) : " ".repeat(12)}${part}`);
    };
    screen.line(screen.paint("strong", `${session}/${call}`));
    line("wanted", `${view.tool} on ${resourceText(view.resource)}`);
    line("arguments", JSON.stringify(view.args, null, 2));
    line("failed with", view.error);
    line("started", `${count(view.starts, "time")}; done about it: ${view.strategies.join(", ")}`);
    line("agent", view.agent);
    return EXIT.success;
  });

export const dismiss: RunCommand = (given, screen) =>
  withReadOnlyStore(given, async (look, config) => {
    const { session, call, agent, tool } = await letterOf(look, given.args[0] ?? "");
    const person = findCaller(given, screen);
    const { gate } = await loadCommandProject(config, given.env);
    assertMayAct(gate, person, { kind: "resolve", call, agent, tool }, "dismiss it");
    return sendWish(given, screen, { look, config, session, agent, person }, { kind: "dismiss", call, note: given.text("note") ?? "" });
  });

/** SESSION/CALL, or the call's id alone where that means one. */
async function letterOf(look: ReadOnlyStore, text: string): Promise<ListedDeadLetter> {
  const slash = text.lastIndexOf("/");
  const [of, call] = [text.slice(0, Math.max(0, slash)), callId(text.slice(slash + 1))];
  const all = await allDeadLetters(look.journal);
  const found = all.filter((d) => d.call === call && (of === "" || d.session.startsWith(of) || d.session.endsWith(of)));
  const names = (some: readonly ListedDeadLetter[]): string => some.map((d) => `${d.session}/${d.call}`).join(", ");
  const [one, ...others] = found;
  if (one === undefined)
    throw usage(`no call \`${text}\` is set aside`, all.length === 0 ? "nothing was set aside" : `there are: ${names(all.slice(0, 20))}`);
  if (others.length > 0) throw usage(`\`${text}\` means ${found.length} calls`, `say which: ${names(found.slice(0, 20))}`);
  return one;
}
