/** Knowledge that goes in and out: documents, embeddings, exported files. */

import { existsSync, writeFileSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { FaultError, type KnowledgeId, type Label, label, type StoredItem } from "@orgate/core";
import { toLine } from "@orgate/core/knowledge";
import { errorMessage, usageFault } from "@orgate/core/vocab";
import { count, EXIT, type Given, type RunCommand, visible } from "@orgate/shell/terminal";
import { readTextFile } from "../../../files/text-file.ts";
import { addDocuments, importItems, type KnowledgePlacement } from "../../../runtime/people/knowledge.ts";
import { openGivenProject } from "../project/project.ts";
import { editKnowledge, embedNewItems, progressBar, readKnowledge, readScope } from "./knowledge-access.ts";
import { documentsAt } from "./knowledge-files.ts";

export const addKnowledge: RunCommand = async (given, screen) => {
  const placement = readPlacement(given);
  const { added, skipped } = await editKnowledge(given, screen, async (editor, config) => {
    const found = documentsAt(given.args.length === 0 ? [findShelf(config.root)] : given.args, given.cwd, config.root);
    const store = editor.place.knowledgeStore();
    const now = new Set(found.documents.map(({ path }) => path));
    const isIn = (path: string): boolean => found.folders.some((folder) => folder === "" || path.startsWith(`${folder}/`));
    const gone = (await store.documents())
      .filter(
        (one) => one.scope === placement.scope && one.agent === placement.agent && one.chunks > 0 && isIn(one.path) && !now.has(one.path),
      )
      .map(({ path }) => path);
    const total = await addDocuments(
      editor,
      placement,
      { documents: found.documents, gone },
      progressBar(screen, "adding", found.documents.length + gone.length),
    );
    await embedNewItems(given, screen, config, store);
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

function readPlacement(given: Given): KnowledgePlacement {
  const scope = readScope(given);
  const agent = given.text("agent");
  if (scope === "agent" && agent === null) throw usageFault("--agent is missing", "say whose it is with --agent NAME");
  const wrong = given.texts("label").find((one) => !/^[a-z][a-z0-9:_-]{0,63}$/.test(one));
  if (wrong !== undefined) throw usageFault(`--label is \`${wrong}\``, "use a-z, 0-9, :, _ and -, a letter first");
  const verified = given.flag("trusted");
  const labels: readonly Label[] = [...new Set([...given.texts("label"), ...(verified ? [] : ["untrusted"])])].map(label);
  return { scope, agent: scope === "agent" ? agent : null, labels, verified };
}

/** The folder for documents that a project keeps for its agents. */
function findShelf(root: string): string {
  const folder = join(root, "knowledge");
  if (existsSync(folder)) return folder;
  throw usageFault(
    "there is no folder `knowledge` in this project",
    "put documents there, or name files or a folder: `orgate knowledge add docs`",
  );
}

export const embedKnowledge: RunCommand = async (given, screen) => {
  const done = await editKnowledge(given, screen, async (editor, config) => {
    if (config.knowledge.embedding === null)
      throw usageFault("the project names no embedding model", 'write `[knowledge]` and `embedding = "provider/model"` into orgate.toml');
    const store = editor.place.knowledgeStore();
    if (given.flag("again")) await store.dropVectors();
    return embedNewItems(given, screen, config, store);
  });
  if (given.json) screen.line(JSON.stringify({ embedded: done }));
  else screen.line(`${count(done, "item")} embedded`);
  return EXIT.success;
};

export const exportKnowledge: RunCommand = async (given, screen) => {
  const [file] = given.args;
  const config = openGivenProject(given);
  const all = await readKnowledge(given, config, async (store) => {
    const lines: string[] = [];
    for (let after: KnowledgeId | null = null; ; ) {
      const page: readonly StoredItem[] = await store.list({ after, most: 1_000 });
      lines.push(...page.map(toLine));
      after = page.at(-1)?.id ?? null;
      if (page.length < 1_000) return lines;
    }
  });
  const lines = all ?? [];
  if (file === undefined) screen.write(lines.join(""));
  else {
    const path = resolve(given.cwd, file);
    if (existsSync(path)) throw usageFault(`\`${file}\` is there already`, "name another file");
    writeNewFile(path, file, lines.join(""));
    if (given.json) screen.line(JSON.stringify({ file, items: lines.length }));
    else screen.line(`${count(lines.length, "item")} written to ${visible(file)}`);
  }
  return EXIT.success;
};

function writeNewFile(path: string, file: string, text: string): void {
  try {
    writeFileSync(path, text, { mode: 0o600, flag: "wx" });
  } catch (error) {
    const detail = `cannot be written: ${errorMessage(error)}`;
    throw new FaultError({ kind: "file-bad", file, line: null, column: null, detail, hint: "name another file" }, error);
  }
}

const MOST_BYTES = 1024 * 1024 * 1024;

function readExport(path: string, file: string): string {
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

export const importKnowledge: RunCommand = async (given, screen) => {
  const [file = ""] = given.args;
  const text = readExport(resolve(given.cwd, file), file);
  const done = await editKnowledge(given, screen, async (editor, config) => {
    const lines = text.split("\n").length - 1;
    const total = await importItems(editor, { name: basename(file), text }, given.flag("trusted"), progressBar(screen, "importing", lines));
    await embedNewItems(given, screen, config, editor.place.knowledgeStore());
    return total;
  });
  screen.progress("");
  if (given.json) screen.line(JSON.stringify(done));
  else screen.line(`${count(done.stored, "item")} imported, ${done.known} were there, ${done.forgotten} stay forgotten`);
  return EXIT.success;
};
