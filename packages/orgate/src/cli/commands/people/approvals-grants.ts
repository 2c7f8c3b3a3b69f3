/** Grants (remembered approvals): listed, and revoked. */
import { grantId, grantText, type Millis, principalName } from "@orgate/core";
import type { StandingGrant } from "@orgate/core/journal";
import type { OperationOutput } from "@orgate/protocol";
import { ageText, type Cell, EXIT, type RunCommand, table, visible } from "@orgate/shell/terminal";
import { revokeGrant } from "../../../runtime/people/approvals.ts";
import { NODE } from "../../../runtime/ports/outside.ts";
import type { OperationView } from "../../operations/run.ts";
import { certified, deskOf, personOf, projectOf, writingProject } from "../project/project.ts";
import { usage } from "./approvals.ts";

export const grants: OperationView<"grants"> = {
  print: ({ items }, { screen }) => {
    if (items.length === 0) screen.line("no answer is remembered");
    else for (const line of table(HEAD, items.map(rowOf(NODE.clock.now())), screen.paint)) screen.line(line);
  },
};

const HEAD = ["grant", "agent", "for", "covers", "until", "given by", "given", "instead of"];
const rowOf =
  (now: Millis) =>
  (g: OperationOutput<"grants">["items"][number]): readonly Cell[] => [
    g.grant,
    g.agent,
    principalName(g.onBehalfOf),
    g.says,
    lifetimeText(g, now),
    principalName(g.by),
    `${ageText(now - g.givenAt)} ago`,
    g.policies.join(", "),
  ];

function lifetimeText({ until, session, turn }: Pick<StandingGrant, "until" | "session" | "turn">, now: Millis): string {
  if (until !== null) return `in ${ageText(until - now)}`;
  return turn === null ? `the end of ${session ?? "?"}` : `the end of turn ${turn} of ${session ?? "?"}`;
}

export const revokeGrantCommand: RunCommand = async (given, screen) => {
  const reason = given.text("reason");
  if (reason === null || reason.trim() === "") throw usage("--reason is missing", "say why: the journal keeps it");
  const config = projectOf(given);
  const { gate } = await deskOf(config, given.env);
  const person = personOf(given, screen);
  const grant = grantId(given.args[0] ?? "");
  const found = await writingProject(config, async (place) => {
    await certified(given, screen, place, person);
    return revokeGrant({ place, gate, person }, grant, reason);
  });
  if (given.json) screen.line(JSON.stringify({ revoked: found, by: person.name, reason }));
  else screen.line(`revoked ${grant}: ${visible(found.agent)} asks again; it had covered ${grantText(found)}`);
  return EXIT.success;
};
