/**
 * The one way a person changes policies on record: validated, gated as `edit-policy`, shown as a difference, journalled, then put in place.
 *
 * G40 a candidate that does not load, or that the person may not apply by the policies in force, changes nothing, and the refusal is journalled.
 *     It is read once: what was checked is what is put in place, whatever happens to the folder meanwhile.
 */
import { basename, resolve } from "node:path";
import { FaultError, type FileChange, type Principal } from "@orgate/core";
import { diffLines, withContext } from "@orgate/core/journal/view";
import { EXIT, type Given, type Run } from "../cli/command.ts";
import type { Screen } from "../cli/screen.ts";
import { count } from "../cli/table.ts";
import { visible } from "../cli/visible.ts";
import { mendPolicies, NODE, type PolicyFolder, readPolicyFolder, stagePolicies } from "../compose.ts";
import { digestsOf, mustLoad, type PolicyProblem, tryRead } from "../policies.ts";
import { changesBetween, deniedFor, folderOf, surfacesOf, textsOf } from "../policy-changes.ts";
import { recordApplied, recordRefused } from "../policy-record.ts";
import { optionsOf, printProblem } from "./policy.ts";
import { certified, personOf, projectOf, writing } from "./project.ts";

export const apply: Run = async (given, screen) => {
  const config = projectOf(given);
  mendPolicies(config.root);
  const options = await optionsOf(config, given.env);
  const folder = resolve(given.cwd, given.args[0] ?? "");
  const candidatePlace = { folder, label: basename(folder), within: folder }; // no path of this machine goes into the journal
  if (folder === config.policies) throw usage("that is the folder of policies itself", "name the folder that is to replace it");
  const present = readPolicyFolder(options.place);
  const inForce = mustLoad(tryRead(present, options)); // by these it is decided who may
  const now = folderOf(present);
  const read = readPolicyFolder(candidatePlace); // once: what is checked is what is put in place
  const loading = tryRead(read, { ...options, place: candidatePlace });
  const person = personOf(given, screen);
  const by: Principal = { kind: "user", id: person.name };

  return writing(config, async (place) => {
    await certified(given, screen, place, person);
    const where = { journal: place.store.journal, now: NODE.clock.now };
    const refuse = async (problems: readonly [PolicyProblem, ...PolicyProblem[]], files: Parameters<typeof recordRefused>[2]["files"]) => {
      await recordRefused(where, by, { problems, files });
      if (!given.json && problems.length > 1) for (const problem of problems.slice(1)) printProblem(screen, "bad", problem);
      throw new FaultError({ kind: "policies-refused", problems });
    };
    if (loading.kind === "none") mustLoad(loading);
    if (loading.kind === "refused") return refuse(loading.problems, loading.files);
    const next = folderOf(read);
    const { filesDigest } = digestsOf(next);
    const changes = changesBetween(now, next);
    const denied = deniedFor(inForce, person.name, surfacesOf(changes));
    if (denied !== null) return refuse([{ file: candidatePlace.label, line: 1, column: 1, ...denied }], filesDigest);
    if (given.flag("dry-run") || changes.length === 0) {
      if (!given.json) show(screen, now, next, changes);
      return told(given, screen, { changes, filesDigest, applied: false });
    }
    const staged = stagePolicies(
      config.root,
      [...next.policies, ...next.tables].map(({ below, text }) => ({ below, text })),
    );
    try {
      if (!given.json) show(screen, now, next, changes);
      await recordApplied(where, by, { files: filesDigest, before: inForce.filesDigest, changes });
      staged.swap();
    } finally {
      staged.drop();
    }
    return told(given, screen, { changes, filesDigest, applied: true });
  });
};

function show(screen: Screen, before: PolicyFolder, after: PolicyFolder, changes: readonly FileChange[]): void {
  const [old, next] = [textsOf(before), textsOf(after)];
  for (const { path, change } of changes) {
    screen.line(screen.paint("strong", `${change} ${visible(path)}`));
    for (const line of withContext(diffLines(old.get(path) ?? "", next.get(path) ?? ""), 2)) {
      if (line === null) screen.line(screen.paint("dim", "  …"));
      else if (line.kind === "same") screen.line(`    ${visible(line.text)}`);
      else
        screen.line(screen.paint(line.kind === "added" ? "good" : "bad", `  ${line.kind === "added" ? "+" : "-"} ${visible(line.text)}`));
    }
  }
}

type Done = Readonly<{ changes: readonly FileChange[]; filesDigest: string; applied: boolean }>;

function told(given: Given, screen: Screen, { changes, filesDigest, applied }: Done): number {
  if (given.json) screen.line(JSON.stringify({ applied, files: filesDigest, changes }));
  else if (changes.length === 0) screen.line("nothing to change");
  else
    screen.line(
      `${applied ? screen.paint("good", "applied") : "not applied"}: ${count(changes.length, "file")}, digest ${filesDigest.slice(0, 12)}`,
    );
  return EXIT.success;
}

const usage = (detail: string, hint: string): FaultError => new FaultError({ kind: "usage", detail, hint });
