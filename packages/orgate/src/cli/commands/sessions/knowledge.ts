/** What is known: added, searched, shown, forgotten, exported and imported. */

import { existsSync, writeFileSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import {
  type Agent,
  FaultError,
  KNOWLEDGE,
  type KnowledgeId,
  type KnowledgeStore,
  type Label,
  label,
  SCOPES,
  type Scope,
  type StoredItem,
  seq,
} from "@orgate/core";
import { extractTerms, isKnowledgeId, itemText, toLine } from "@orgate/core/knowledge";
import type { Screen } from "@orgate/shell/terminal";
import { ageText, count, EXIT, type Given, type RunCommand, table, visible, visibleLines } from "@orgate/shell/terminal";
import type { Config } from "../../../config/config.ts";
import { readTextFile } from "../../../files/text-file.ts";
import { hasKnowledge, openKnowledge } from "../../../knowledge/sqlite.ts";
import { embedderFor } from "../../../models/embedding.ts";
import { readModelSettings } from "../../../models/env.ts";
import { errorMessage } from "../../../node/error-message.ts";
import { findForgetReach } from "../../../runtime/people/forget-reach.ts";
import {
  addDocuments,
  embedMissing,
  forgetItems,
  importItems,
  type KnowledgeEditor,
  type KnowledgePlacement,
} from "../../../runtime/people/knowledge.ts";
import { NODE } from "../../../runtime/ports/outside.ts";
import type { OpenProjectStore } from "../../../runtime/ports/project-store.ts";
import type { ReadOnlyStore } from "../../../store/open-read-only.ts";
import { certified, deskOf, looking, lookingIfAny, personOf, positive, projectOf, writingProject } from "../project/project.ts";
import { documentsAt } from "./knowledge-files.ts";

const usage = (detail: string, hint: string): FaultError => new FaultError({ kind: "usage", detail, hint });

/** Reads, and closes whatever happens; null where nothing was ever stored. A store that is gone is no empty one (A-12). */
async function reading<T>(given: Given, config: Config, work: (store: KnowledgeStore) => T): Promise<T | null> {
  const { directory } = config.journal;
  if (!hasKnowledge(directory)) {
    const stored = ({ journal }: ReadOnlyStore) => journal.read(KNOWLEDGE, seq(0), 1);
    if ((await lookingIfAny(given, stored, () => [])).length === 0) return null;
    throw new FaultError({
      kind: "file-bad",
      file: join(directory, "knowledge.db"),
      line: null,
      column: null,
      detail: "it is gone, and the journal says that there was knowledge in it",
      hint: "put a copy of it back, or begin again with `orgate knowledge add`",
    });
  }
  const store = openKnowledge(directory);
  try {
    return work(store);
  } finally {
    store.close();
  }
}

async function editing<T>(given: Given, screen: Screen, work: (editor: KnowledgeEditor, config: Config) => Promise<T>): Promise<T> {
  const config = projectOf(given);
  const { gate, agents } = await deskOf(config, given.env);
  mustHaveAgent(agents, given.text("agent"));
  const person = personOf(given, screen);
  return writingProject(config, async (place: OpenProjectStore) => {
    await certified(given, screen, place, person);
    return work({ place, gate, person, now: NODE.clock.now }, config);
  });
}

/** What is kept for an agent that does not exist is recalled by nobody. */
function mustHaveAgent(agents: readonly Agent[], agent: string | null): void {
  if (agent === null || agents.some(({ name }) => name === agent)) return;
  throw new FaultError({ kind: "agent-missing", agent, known: agents.map(({ name }) => name) });
}

function scopeIn(given: Given): Scope {
  const scope = given.text("scope") ?? (given.text("agent") === null ? "project" : "agent");
  return SCOPES.find((one) => one === scope) ?? "project";
}

function placingOf(given: Given): KnowledgePlacement {
  const scope = scopeIn(given);
  const agent = given.text("agent");
  if (scope === "agent" && agent === null) throw usage("--agent is missing", "say whose it is with --agent NAME");
  const wrong = given.texts("label").find((one) => !/^[a-z][a-z0-9:_-]{0,63}$/.test(one));
  if (wrong !== undefined) throw usage(`--label is \`${wrong}\``, "use a-z, 0-9, :, _ and -, a letter first");
  const verified = given.flag("trusted");
  const labels: readonly Label[] = [...new Set([...given.texts("label"), ...(verified ? [] : ["untrusted"])])].map(label);
  return { scope, agent: scope === "agent" ? agent : null, labels, verified };
}

/** On a terminal, one line that fills up. */
function bar(screen: Screen, what: string, all: number): (done: number) => void {
  const width = 24;
  return (done) => {
    const filled = all === 0 ? width : Math.round((width * done) / all);
    screen.progress(done >= all ? "" : `${what} [${"█".repeat(filled)}${"░".repeat(width - filled)}] ${done}/${all}`);
  };
}

export const addKnowledge: RunCommand = async (given, screen) => {
  const placing = placingOf(given);
  const { added, skipped } = await editing(given, screen, async (editor, config) => {
    const found = documentsAt(given.args.length === 0 ? [shelfOf(config.root)] : given.args, given.cwd, config.root);
    const store = editor.place.knowledgeStore();
    const now = new Set(found.documents.map(({ path }) => path));
    const isIn = (path: string): boolean => found.folders.some((folder) => folder === "" || path.startsWith(`${folder}/`));
    const gone = store
      .documents()
      .filter((one) => one.scope === placing.scope && one.agent === placing.agent && one.chunks > 0 && isIn(one.path) && !now.has(one.path))
      .map(({ path }) => path);
    const total = await addDocuments(
      editor,
      placing,
      { documents: found.documents, gone },
      bar(screen, "adding", found.documents.length + gone.length),
    );
    await embedNew(given, screen, config, store);
    return { added: total, skipped: found.skipped };
  });
  screen.progress("");
  if (given.json) screen.line(JSON.stringify({ ...added, skipped }));
  else {
    screen.line(
      `${count(added.documents, "document")} read in, ${added.unchanged} unchanged: ${count(added.added, "piece")} added, ${added.kept} kept, ${added.gone} superseded`,
    );
    for (const { path, why } of skipped.slice(0, 20)) screen.aside(`passed over ${visible(path)}: ${visible(why)}`);
    if (skipped.length > 20) screen.aside(`and ${skipped.length - 20} more`);
  }
  const isNothing = added.documents + added.unchanged + added.gone === 0 && skipped.length > 0;
  return isNothing || skipped.some(({ named }) => named) ? EXIT.failure : EXIT.success;
};

/** What a project keeps for its agents to know lies in a folder of its own. */
function shelfOf(root: string): string {
  const folder = join(root, "knowledge");
  if (existsSync(folder)) return folder;
  throw usage(
    "there is no folder `knowledge` in this project",
    "put documents there, or name files or a folder: `orgate knowledge add docs`",
  );
}

async function embedNew(given: Given, screen: Screen, config: Config, store: KnowledgeStore): Promise<number> {
  const { embedding } = config.knowledge;
  if (embedding === null) return 0;
  const embedder = embedderFor(embedding, readModelSettings(given.env, config.root));
  const told = (done: number) => screen.progress(`embedding ${done}`);
  const done = await embedMissing(store, embedder, told, new AbortController().signal);
  screen.progress("");
  return done;
}

export const embed: RunCommand = async (given, screen) => {
  const done = await editing(given, screen, async (editor, config) => {
    if (config.knowledge.embedding === null)
      throw usage("the project names no embedding model", 'write `[knowledge]` and `embedding = "provider/model"` into orgate.toml');
    const store = editor.place.knowledgeStore();
    if (given.flag("again")) store.dropVectors();
    return embedNew(given, screen, config, store);
  });
  if (given.json) screen.line(JSON.stringify({ embedded: done }));
  else screen.line(`${count(done, "item")} embedded`);
  return EXIT.success;
};

export const search: RunCommand = async (given, screen) => {
  const config = projectOf(given);
  const [query = ""] = given.args;
  const limit = Math.min(50, positive(given.text("limit") ?? "10", "--limit"));
  const agent = given.text("agent") ?? "";
  if (agent !== "") mustHaveAgent((await deskOf(config, given.env)).agents, agent);
  const scope = scopeIn(given) === "agent" && agent === "" ? "project" : ((given.text("scope") as Scope | null) ?? "shared");
  const { embedding } = config.knowledge;
  const embedder = embedding === null ? null : embedderFor(embedding, readModelSettings(given.env, config.root));
  const vector =
    embedder === null || !hasKnowledge(config.journal.directory)
      ? null
      : ((await embedder.embed([query], new AbortController().signal))[0] ?? null);
  const found = await reading(given, config, (store) =>
    store.search(
      {
        agent,
        scope,
        terms: extractTerms(query),
        text: query,
        directory: null,
        most: { memory: limit, knowledge: limit, all: limit },
        threshold: 0,
        now: NODE.clock.now(),
      },
      vector === null || embedder === null ? null : { model: embedder.model, values: vector },
    ),
  );
  const hits = found?.hits ?? [];
  if (given.json)
    screen.line(JSON.stringify({ hits: hits.map(({ item, relevance }) => ({ relevance, ...item })), trouble: found?.trouble ?? null }));
  else if (hits.length === 0) screen.line(`nothing is known about ${visible(JSON.stringify(query))}`);
  else
    for (const line of table(
      ["id", "kind", "relevance", "scope", "labels", "text"],
      hits.map(({ item, relevance }) => [item.id, item.body.kind, relevance.toFixed(2), whose(item), item.labels.join(" "), brief(item)]),
      screen.paint,
    ))
      screen.line(line);
  if (found?.trouble != null && !given.json) screen.aside(visible(found.trouble));
  return EXIT.success;
};

const whose = ({ scope, agent }: StoredItem): string => (scope === "agent" ? `agent ${agent ?? ""}` : scope);
const brief = ({ body }: StoredItem): string => {
  const text = itemText(body).replace(/\s+/g, " ");
  return text.length > 70 ? `${text.slice(0, 69)}…` : text;
};

export const showKnowledge: RunCommand = async (given, screen) => {
  const item = await reading(given, projectOf(given), (store) => store.get(idIn(given.args[0] ?? "")));
  if (item === null) throw nothingAs(given.args[0] ?? "");
  if (given.json) {
    screen.line(JSON.stringify(item));
    return EXIT.success;
  }
  const now = NODE.clock.now();
  const rows: readonly (readonly [string, string])[] = [
    ["kind", item.body.kind],
    ["scope", whose(item)],
    ["confidence", `${item.confidence.toFixed(2)}${item.verified ? ", a person stands for it" : ""}`],
    ["source", item.source],
    ["labels", item.labels.join(" ") || "none"],
    ["from", item.from === null ? "nowhere in this journal" : `${item.from.stream} ${item.from.seq}`],
    ["directory", item.directory ?? "none"],
    ["created", `${ageText(now - item.created)} ago`],
    ["used", item.usedAt === null ? "never" : `${item.uses} times, last ${ageText(now - item.usedAt)} ago`],
    [
      "holds",
      `${item.validFrom === null ? "always" : `from ${new Date(item.validFrom).toISOString()}`}${item.validTo === null ? "" : ` until ${new Date(item.validTo).toISOString()}`}`,
    ],
    ["superseded by", item.supersededBy ?? "nothing"],
  ];
  for (const [name, value] of rows) screen.line(`${screen.paint("dim", name.padEnd(14))} ${visible(value)}`);
  screen.line();
  for (const line of visibleLines(itemText(item.body)).split("\n")) screen.line(line);
  return EXIT.success;
};

const nothingAs = (id: string): FaultError => usage(`nothing is known as \`${id}\``, "`orgate knowledge search` tells ids");

function idIn(text: string): KnowledgeId {
  if (isKnowledgeId(text)) return text;
  throw usage(`\`${text}\` is no id of an item`, "ids begin with k_; `orgate knowledge search` tells them");
}

/** Ids, or every piece of a document. */
function idsOf(given: Given, store: KnowledgeStore): readonly KnowledgeId[] {
  const document = given.text("document");
  if (document === null) {
    if (given.args.length === 0) throw usage("nothing is named", "name ids, or a document with --document PATH");
    return given.args.map(idIn);
  }
  const known = store.documents(document);
  if (known.length === 0) throw usage(`there is no document \`${document}\``, "`orgate knowledge stats` lists them");
  return known.flatMap((one) => store.piecesOf(one));
}

export const forget: RunCommand = async (given, screen) => {
  const reason = given.text("reason")?.trim() ?? "";
  if (reason === "") throw usage("--reason is missing", "say why: the journal keeps it");
  const erase = given.flag("erase");
  const config = projectOf(given);
  const ids = (await reading(given, config, (store) => idsOf(given, store))) ?? [];
  if (ids.length === 0) throw usage("nothing is known yet", "`orgate knowledge add` puts something into it");
  if (erase && !given.flag("yes")) return tellFirst(given, screen, config, ids);
  const done = await editing(given, screen, (editor) => forgetItems(editor, { ids, reason, erase }));
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

/** Nothing is done yet. */
async function tellFirst(given: Given, screen: Screen, config: Config, ids: readonly KnowledgeId[]): Promise<number> {
  const store = openKnowledge(config.journal.directory);
  const missing = ids.find((id) => store.get(id) === null && !store.isForgotten(id));
  if (missing !== undefined) {
    store.close();
    throw nothingAs(missing);
  }
  const reach = await looking(given, ({ journal }) => findForgetReach(journal, store, ids)).finally(() => store.close());
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

export const exportAll: RunCommand = async (given, screen) => {
  const [file] = given.args;
  const config = projectOf(given);
  const all = await reading(given, config, (store) => {
    const lines: string[] = [];
    for (let after: KnowledgeId | null = null; ; ) {
      const page: readonly StoredItem[] = store.list({ after, most: 1_000 });
      lines.push(...page.map(toLine));
      after = page.at(-1)?.id ?? null;
      if (page.length < 1_000) return lines;
    }
  });
  const lines = all ?? [];
  if (file === undefined) screen.write(lines.join(""));
  else {
    const path = resolve(given.cwd, file);
    if (existsSync(path)) throw usage(`\`${file}\` is there already`, "name another file");
    written(path, file, lines.join(""));
    if (given.json) screen.line(JSON.stringify({ file, items: lines.length }));
    else screen.line(`${count(lines.length, "item")} written to ${visible(file)}`);
  }
  return EXIT.success;
};

function written(path: string, file: string, text: string): void {
  try {
    writeFileSync(path, text, { mode: 0o600, flag: "wx" });
  } catch (error) {
    const detail = `cannot be written: ${errorMessage(error)}`;
    throw new FaultError({ kind: "file-bad", file, line: null, column: null, detail, hint: "name another file" }, error);
  }
}

const MOST_BYTES = 1024 * 1024 * 1024;

function exported(path: string, file: string): string {
  try {
    return readTextFile(path, MOST_BYTES);
  } catch (error) {
    const detail = errorMessage(error);
    throw new FaultError(
      { kind: "file-bad", file, line: null, column: null, detail, hint: "name what `orgate knowledge export` wrote" },
      error,
    );
  }
}

export const importAll: RunCommand = async (given, screen) => {
  const [file = ""] = given.args;
  const text = exported(resolve(given.cwd, file), file);
  const done = await editing(given, screen, async (editor, config) => {
    const lines = text.split("\n").length - 1;
    const total = await importItems(editor, { name: basename(file), text }, given.flag("trusted"), bar(screen, "importing", lines));
    await embedNew(given, screen, config, editor.place.knowledgeStore());
    return total;
  });
  screen.progress("");
  if (given.json) screen.line(JSON.stringify(done));
  else screen.line(`${count(done.stored, "item")} imported, ${done.known} were there, ${done.forgotten} stay forgotten`);
  return EXIT.success;
};

export const stats: RunCommand = async (given, screen) => {
  const config = projectOf(given);
  const found = await reading(given, config, (store) => ({ ...store.stats(), list: store.documents() }));
  if (found === null) {
    screen.line(given.json ? JSON.stringify(null) : "nothing is known yet");
    return EXIT.success;
  }
  const { list, ...numbers } = found;
  if (given.json) {
    screen.line(JSON.stringify({ ...numbers, list, embedding: config.knowledge.embedding }));
    return EXIT.success;
  }
  const counts = (of: Readonly<Record<string, number | undefined>>): string =>
    Object.entries(of)
      .map(([name, n]) => `${n ?? 0} ${name}`)
      .join(", ");
  screen.line(`${count(numbers.items, "item")} (${counts(numbers.kinds)}); ${counts(numbers.scopes)}`);
  screen.line(`${numbers.superseded} superseded, ${numbers.forgotten} forgotten, ${Math.ceil(numbers.bytes / 1024)} KiB`);
  screen.line(
    numbers.vectors === null
      ? "no vectors: found by words alone"
      : `${numbers.vectors.count} vectors of ${numbers.vectors.model}, ${numbers.vectors.dimension} dimensions`,
  );
  for (const { path, chunks, scope } of list) screen.line(`  ${visible(path)}  ${count(chunks, "piece")}  ${scope}`);
  return EXIT.success;
};
