/** How the commands about knowledge open its store, to read or to change it. */

import { join } from "node:path";
import { type Agent, FaultError, KNOWLEDGE, type KnowledgeId, type KnowledgeStore, SCOPES, type Scope, seq } from "@orgate/core";
import { isKnowledgeId } from "@orgate/core/knowledge";
import { usageFault } from "@orgate/core/vocab";
import type { Given, Screen } from "@orgate/shell/terminal";
import type { Config } from "../../../config/config.ts";
import { openProjectKnowledge } from "../../../knowledge/open.ts";
import { hasKnowledge } from "../../../knowledge/sqlite.ts";
import { embedderFor } from "../../../models/embedding.ts";
import { readModelSettings } from "../../../models/env.ts";
import { embedMissing, type KnowledgeEditor } from "../../../runtime/people/knowledge.ts";
import { NODE } from "../../../runtime/ports/outside.ts";
import type { OpenProjectStore } from "../../../runtime/ports/project-store.ts";
import type { ReadOnlyStore } from "../../../store/open-read-only.ts";
import {
  certifyIfNeeded,
  findCaller,
  loadCommandProject,
  openGivenProject,
  withReadOnlyStoreIfAny,
  writingProject,
} from "../project/project.ts";

/** A database is asked when it is opened. */
export const mayHaveKnowledge = ({ journal }: Config): boolean => journal.cluster !== null || hasKnowledge(journal.directory);

/** Opens the store, reads, and closes it; null where nothing was ever stored. A store that is gone is not an empty one. */
export async function readKnowledge<T>(given: Given, config: Config, work: (store: KnowledgeStore) => T | Promise<T>): Promise<T | null> {
  const { directory } = config.journal;
  if (!mayHaveKnowledge(config)) {
    const stored = ({ journal }: ReadOnlyStore) => journal.read(KNOWLEDGE, seq(0), 1);
    if ((await withReadOnlyStoreIfAny(given, stored, () => [])).length === 0) return null;
    throw new FaultError({
      kind: "file-bad",
      file: join(directory, "knowledge.db"),
      line: null,
      column: null,
      detail: "it is gone, and the journal says that there was knowledge in it",
      hint: "put a copy of it back, or begin again with `orgate knowledge add`",
    });
  }
  const store = openProjectKnowledge(config.journal);
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}

export async function editKnowledge<T>(
  given: Given,
  screen: Screen,
  work: (editor: KnowledgeEditor, config: Config) => Promise<T>,
): Promise<T> {
  const config = openGivenProject(given);
  const { gate, agents } = await loadCommandProject(config, given.env);
  mustHaveAgent(agents, given.text("agent"));
  const person = findCaller(given, screen);
  return writingProject(config, (place: OpenProjectStore) =>
    work({ place, gate, person, now: NODE.clock.now, certify: () => certifyIfNeeded(given, screen, place, person) }, config),
  );
}

/** An item for an agent that does not exist would never be recalled. */
export function mustHaveAgent(agents: readonly Agent[], agent: string | null): void {
  if (agent === null || agents.some(({ name }) => name === agent)) return;
  throw new FaultError({ kind: "agent-missing", agent, known: agents.map(({ name }) => name) });
}

export function readScope(given: Given): Scope {
  const scope = given.text("scope") ?? (given.text("agent") === null ? "project" : "agent");
  return SCOPES.find((one) => one === scope) ?? "project";
}

export const missingItem = (id: string): FaultError => usageFault(`nothing is known as \`${id}\``, "`orgate knowledge search` tells ids");

export function readItemId(text: string): KnowledgeId {
  if (isKnowledgeId(text)) return text;
  throw usageFault(`\`${text}\` is no id of an item`, "ids begin with k_; `orgate knowledge search` tells them");
}

export async function embedNewItems(given: Given, screen: Screen, config: Config, store: KnowledgeStore): Promise<number> {
  const { embedding } = config.knowledge;
  if (embedding === null) return 0;
  const embedder = embedderFor(embedding, readModelSettings(given.env, config.root));
  const show = (done: number) => screen.progress(`embedding ${done}`);
  const done = await embedMissing(store, embedder, show, new AbortController().signal);
  screen.progress("");
  return done;
}

/** On a terminal, one line that fills up. */
export function progressBar(screen: Screen, what: string, all: number): (done: number) => void {
  const width = 24;
  return (done) => {
    const filled = all === 0 ? width : Math.round((width * done) / all);
    screen.progress(done >= all ? "" : `${what} [${"█".repeat(filled)}${"░".repeat(width - filled)}] ${done}/${all}`);
  };
}
