/**
 * The one way a person changes policies on record: validated, gated as `edit-policy`, shown as a difference, journalled, then put in place (G-16).
 * G-16 it is never done without a reason.
 * G-21 an earlier set is applied again like any other: `--set DIGEST` takes its texts from the journal.
 */
import { basename, resolve } from "node:path";
import { FaultError, type FileChange, type Principal } from "@orgate/core";
import { usageFault } from "@orgate/core/vocab";
import { diffLines, withContext } from "@orgate/protocol/view";
import { count, EXIT, type Given, type RunCommand, type Screen, visible } from "@orgate/shell/terminal";
import type { Config } from "../../../config/config.ts";
import { applyChange, listFileTexts, planChange, readFiles } from "../../../policies/policy-changes.ts";
import { readPolicyFolder } from "../../../policies/policy-files.ts";
import { findSet, listAppliableFiles, readSet } from "../../../policies/policy-history.ts";
import { NODE } from "../../../runtime/ports/outside.ts";
import { certifyIfNeeded, findCaller, openGivenProject, withReadOnlyStore, writingProject } from "../project/project.ts";
import { loadPolicyOptions, printProblem } from "./policy.ts";

export const apply: RunCommand = async (given, screen) => {
  const config = openGivenProject(given);
  if ((given.args[0] === undefined) === (given.text("set") === null))
    throw usageFault("it takes either a folder or --set", "`orgate policy apply DIR`, or `orgate policy apply --set DIGEST`");
  const reason = given.text("reason")?.trim() ?? "";
  if (reason === "" && !given.flag("dry-run"))
    throw usageFault("--reason is missing", "say why: `orgate policy history` shows it; --dry-run needs none");
  const options = await loadPolicyOptions(config, given.env);
  const candidate = await candidateOf(given, config);
  const person = findCaller(given, screen);
  const by: Principal = { kind: "user", id: person.name };

  return writingProject(config, async (place) => {
    await certifyIfNeeded(given, screen, place, person);
    const where = { journal: place.store.journal, now: NODE.clock.now };
    const plan = await planChange(where, options, candidate, { by, user: person.name });
    if (plan.kind !== "change") {
      if (!given.json) for (const problem of plan.problems.slice(1)) printProblem(screen, "bad", problem);
      throw new FaultError({ kind: "policies-refused", problems: plan.problems });
    }
    const show = () => (given.json ? undefined : showChanges(screen, listFileTexts(plan.now), listFileTexts(plan.next), plan.changes));
    const applied = !given.flag("dry-run") && plan.changes.length > 0;
    if (applied) await applyChange(where, config.root, plan, { by, reason, show });
    else show();
    return told(given, screen, { changes: plan.changes, filesDigest: plan.files, set: plan.set, applied });
  });
};

/** Read once: what is checked is what is put in place. */
async function candidateOf(given: Given, config: Config): Promise<ReturnType<typeof readFiles>> {
  const [dir] = given.args;
  const set = given.text("set");
  if (set !== null)
    return withReadOnlyStore(given, async ({ journal }) => {
      const known = await findSet(journal, set);
      return readFiles(listAppliableFiles(await readSet(journal, known)), `set ${known.files.slice(0, 12)}`);
    });
  const folder = resolve(given.cwd, dir ?? "");
  if (folder === config.policies) throw usageFault("that is the folder of policies itself", "name the folder that is to replace it");
  const place = { folder, label: basename(folder), within: folder }; // no path of this machine goes into the journal
  return { place, read: readPolicyFolder(place) };
}

type Texts = ReadonlyMap<string, string>;

export function showChanges(screen: Screen, old: Texts, next: Texts, changes: readonly FileChange[]): void {
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

type Done = Readonly<{ changes: readonly FileChange[]; filesDigest: string; set: string; applied: boolean }>;

function told(given: Given, screen: Screen, { changes, filesDigest, set, applied }: Done): number {
  if (given.json) screen.line(JSON.stringify({ applied, set, files: filesDigest, changes }));
  else if (changes.length === 0) screen.line("nothing to change");
  else
    screen.line(
      `${applied ? screen.paint("good", "applied") : "not applied"}: ${count(changes.length, "file")}, set ${set.slice(0, 12)}, files ${filesDigest.slice(0, 12)}`,
    );
  return EXIT.success;
}
