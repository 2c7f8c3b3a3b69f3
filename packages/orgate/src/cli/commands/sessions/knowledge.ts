/** Knowledge as it is: search, one item, numbers. */

import type { Scope, StoredItem } from "@orgate/core";
import { extractTerms, itemText } from "@orgate/core/knowledge";
import { ageText, count, EXIT, type RunCommand, table, visible, visibleLines } from "@orgate/shell/terminal";
import { embedderFor } from "../../../models/embedding.ts";
import { readModelSettings } from "../../../models/env.ts";
import { NODE } from "../../../runtime/ports/outside.ts";
import { loadCommandProject, openGivenProject, positive } from "../project/project.ts";
import { mayHaveKnowledge, missingItem, mustHaveAgent, readItemId, readKnowledge, readScope } from "./knowledge-access.ts";

export const searchKnowledge: RunCommand = async (given, screen) => {
  const config = openGivenProject(given);
  const [query = ""] = given.args;
  const limit = Math.min(50, positive(given.text("limit") ?? "10", "--limit"));
  const agent = given.text("agent") ?? "";
  if (agent !== "") mustHaveAgent((await loadCommandProject(config, given.env)).agents, agent);
  const scope = readScope(given) === "agent" && agent === "" ? "project" : ((given.text("scope") as Scope | null) ?? "shared");
  const { embedding } = config.knowledge;
  const embedder = embedding === null ? null : embedderFor(embedding, readModelSettings(given.env, config.root));
  const vector =
    embedder === null || !mayHaveKnowledge(config) ? null : ((await embedder.embed([query], new AbortController().signal))[0] ?? null);
  const found = await readKnowledge(given, config, (store) =>
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
      hits.map(({ item, relevance }) => [
        item.id,
        item.body.kind,
        relevance.toFixed(2),
        ownerText(item),
        item.labels.join(" "),
        briefText(item),
      ]),
      screen.paint,
    ))
      screen.line(line);
  if (found?.trouble != null && !given.json) screen.aside(visible(found.trouble));
  return EXIT.success;
};

const ownerText = ({ scope, agent }: StoredItem): string => (scope === "agent" ? `agent ${agent ?? ""}` : scope);
const briefText = ({ body }: StoredItem): string => {
  const text = itemText(body).replace(/\s+/g, " ");
  return text.length > 70 ? `${text.slice(0, 69)}…` : text;
};

export const showKnowledge: RunCommand = async (given, screen) => {
  const item = await readKnowledge(given, openGivenProject(given), async (store) => store.get(readItemId(given.args[0] ?? "")));
  if (item === null) throw missingItem(given.args[0] ?? "");
  if (given.json) {
    screen.line(JSON.stringify(item));
    return EXIT.success;
  }
  const now = NODE.clock.now();
  const rows: readonly (readonly [string, string])[] = [
    ["kind", item.body.kind],
    ["scope", ownerText(item)],
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

export const showKnowledgeStats: RunCommand = async (given, screen) => {
  const config = openGivenProject(given);
  const found = await readKnowledge(given, config, async (store) => ({ ...(await store.stats()), list: await store.documents() }));
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
