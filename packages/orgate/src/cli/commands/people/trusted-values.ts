/** Trusted sets of the project: listed, and edited with a reason. */

import { type Agent, type FaultError, listAgentTools, SET_NAME } from "@orgate/core";
import { eachRow, type TrustedValue } from "@orgate/core/journal";
import { findNearestWord } from "@orgate/core/vocab";
import type { Screen } from "@orgate/shell/terminal";
import { ageText, EXIT, type Given, type RunCommand, table, visible } from "@orgate/shell/terminal";
import { assertMayAct } from "../../../runtime/people/approvals.ts";
import { editTrustedValues } from "../../../runtime/people/trusted-values.ts";
import { NODE } from "../../../runtime/ports/outside.ts";
import {
  certifyIfNeeded,
  findCaller,
  loadCommandProject,
  openGivenProject,
  withReadOnlyStoreIfAny,
  writingProject,
} from "../project/project.ts";
import { usage } from "./approvals.ts";

export const listTrustedValues: RunCommand = async (given, screen) => {
  const set = given.args[0] ?? null;
  const now = NODE.clock.now();
  const all: TrustedValue[] = [];
  await withReadOnlyStoreIfAny(
    given,
    async ({ journal }) => {
      for await (const one of eachRow<TrustedValue>((after, most) => journal.known({ set, after, most }))) all.push(one);
      return all;
    },
    () => [],
  );
  if (set !== null && all.length === 0) await mustBeASet(given, set);
  if (given.json) screen.line(JSON.stringify(all));
  else if (all.length === 0) screen.line(set === null ? "nothing is known yet" : `nothing is in ${visible(set)}`);
  else {
    const rows = all.map((k) => [k.set, k.value, k.from === "known" ? "a person" : k.from, ageText(now - k.at)]);
    for (const line of table(["set", "value", "from", "since"], rows, screen.paint)) screen.line(line);
  }
  return EXIT.success;
};

/** The sets that tools read: a value in any other set would make nothing trusted. */
const USUAL = ["payees", "people", "domains", "paths"];
const setsOf = (agents: readonly Agent[]): readonly string[] => {
  const tools = agents.flatMap(listAgentTools);
  const named = tools.flatMap(({ targets, learns }) => [
    ...Object.values(targets).flatMap((one) => one.known),
    ...learns.map((one) => one.set),
  ]);
  return [...new Set([...USUAL, ...named])];
};

function noSuchSet(set: string, sets: readonly string[]): FaultError {
  const near = findNearestWord(set, sets);
  return usage(
    `no tool of this project looks anything up in a set \`${set}\``,
    `${near === null ? "" : `did you mean \`${near}\`? `}the sets are: ${sets.join(", ")}`,
  );
}

async function mustBeASet(given: Given, set: string): Promise<void> {
  const sets = setsOf((await loadCommandProject(openGivenProject(given), given.env)).agents);
  if (!sets.includes(set)) throw noSuchSet(set, sets);
}

export const addTrustedValue: RunCommand = (given, screen) => edit(given, screen, "known.added");
export const removeTrustedValue: RunCommand = (given, screen) => edit(given, screen, "known.removed");

async function edit(given: Given, screen: Screen, kind: "known.added" | "known.removed"): Promise<number> {
  const [set = "", value = ""] = given.args;
  const why = given.text("why");
  if (why === null || why.trim() === "") throw usage("--why is missing", "say why: the journal keeps it");
  const config = openGivenProject(given);
  const { gate, agents } = await loadCommandProject(config, given.env);
  const sets = setsOf(agents);
  if (kind === "known.added" && SET_NAME.test(set) && !sets.includes(set)) throw noSuchSet(set, sets);
  const person = findCaller(given, screen);
  assertMayAct(gate, person, { kind: "edit-known", set }, `edit the set ${set}`); // before anything is recorded, their key included
  await writingProject(config, async (place) => {
    await certifyIfNeeded(given, screen, place, person);
    await editTrustedValues({ place, gate, person }, kind, { set, value, why }, NODE.clock.now);
  });
  if (given.json) screen.line(JSON.stringify({ set, value, known: kind === "known.added", by: person.name, why }));
  else screen.line(`${visible(value)} is ${kind === "known.added" ? "in" : "not in"} ${visible(set)} from now on, in every process`);
  return EXIT.success;
}
