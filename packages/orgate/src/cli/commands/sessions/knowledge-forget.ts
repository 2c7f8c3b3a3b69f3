/** `orgate knowledge forget`: items go, and with `--erase` the sessions that hold them. */

import type { KnowledgeId, KnowledgeStore } from "@orgate/core";
import { usageFault } from "@orgate/core/vocab";
import { count, EXIT, type Given, type RunCommand, type Screen, visible } from "@orgate/shell/terminal";
import type { Config } from "../../../config/config.ts";
import { openProjectKnowledge } from "../../../knowledge/open.ts";
import { type ForgetReach, findForgetReach } from "../../../runtime/people/forget-reach.ts";
import { forgetItems } from "../../../runtime/people/knowledge.ts";
import { openGivenProject, withReadOnlyStore } from "../project/project.ts";
import { editKnowledge, missingItem, readItemId, readKnowledge } from "./knowledge-access.ts";

export const forgetKnowledge: RunCommand = async (given, screen) => {
  const reason = given.text("reason")?.trim() ?? "";
  if (reason === "") throw usageFault("--reason is missing", "say why: the journal keeps it");
  const erase = given.flag("erase");
  const config = openGivenProject(given);
  const ids = (await readKnowledge(given, config, (store) => readItemIds(given, store))) ?? [];
  if (ids.length === 0) throw usageFault("nothing is known yet", "`orgate knowledge add` puts something into it");
  if (erase && !given.flag("yes")) return previewErasure(given, screen, config, ids);
  const done = await editKnowledge(given, screen, (editor) => forgetItems(editor, { ids, reason, erase }));
  if (given.json) screen.line(JSON.stringify(done));
  else {
    screen.line(`${count(done.gone, "item")} forgotten; the journal has a tombstone`);
    if (erase) screen.line(`${count(done.sessions.length, "session")} erased from the journal; the chain still verifies`);
    for (const { session, why } of done.left) screen.line(`  ${session} is left: ${visible(why)}`);
    if (done.left.length > 0)
      screen.line(
        `it is not gone from ${count(done.left.length, "session")}: \`orgate knowledge forget ${ids[0]} --erase --yes --reason "…"\` goes on from here`,
      );
    if (!done.clean)
      screen.line(
        `a reader was in the way: old pages go when it ends${erase ? `. \`orgate knowledge forget ${ids.join(" ")} --erase --yes --reason "…"\` makes sure of it` : ""}`,
      );
  }
  return done.left.length === 0 && done.clean ? EXIT.success : EXIT.failure;
};

/** Ids, or every piece of a document. */
async function readItemIds(given: Given, store: KnowledgeStore): Promise<readonly KnowledgeId[]> {
  const document = given.text("document");
  if (document === null) {
    if (given.args.length === 0) throw usageFault("nothing is named", "name ids, or a document with --document PATH");
    return given.args.map(readItemId);
  }
  const known = await store.documents(document);
  if (known.length === 0) throw usageFault(`there is no document \`${document}\``, "`orgate knowledge stats` lists them");
  return (await Promise.all(known.map((one) => store.piecesOf(one)))).flat();
}

async function findReach(given: Given, store: KnowledgeStore, ids: readonly KnowledgeId[]): Promise<ForgetReach> {
  for (const id of ids) if ((await store.get(id)) === null && !(await store.isForgotten(id))) throw missingItem(id);
  return withReadOnlyStore(given, ({ journal }) => findForgetReach(journal, store, ids));
}

/** Without `--yes` nothing is erased: the sessions that it would reach are listed. */
async function previewErasure(given: Given, screen: Screen, config: Config, ids: readonly KnowledgeId[]): Promise<number> {
  const store = openProjectKnowledge(config.journal);
  const reach = await findReach(given, store, ids).finally(() => store.close());
  const { sessions } = reach;
  const also = reach.ids.slice(ids.length);
  if (given.json) screen.line(JSON.stringify({ forgotten: false, wouldErase: sessions, alsoForgotten: also }));
  else {
    screen.line(`these sessions hold it, and can no longer resume once it is erased:${sessions.length === 0 ? " none" : ""}`);
    for (const { session, first, last, why } of sessions) screen.line(`  ${session}  entries ${first}-${last}  ${why}`);
    if (also.length > 0) screen.line(`what they have stored goes too: ${also.join(" ")}`);
    screen.line("nothing was done: give --yes to go on");
  }
  return EXIT.usage;
}
