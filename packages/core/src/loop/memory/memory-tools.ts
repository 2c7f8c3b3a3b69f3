/**
 * The two tools, bound to the session that calls them: whose they are, what it carries, where in the journal it stands. Their model never says any of that (N-4).
 */
import { CONVENTIONS, recallArgs, storeArgs, toRecallScope } from "../../agents/agent-knowledge.ts";
import { shortenItem, toKnowledgeLine } from "../../knowledge/block.ts";
import { findConventions, toProjectFolder } from "../../knowledge/conventions.ts";
import { deriveKnowledgeId, experience, itemText } from "../../knowledge/item.ts";
import type { Search, SearchResult } from "../../knowledge/port.ts";
import { extractTerms } from "../../knowledge/terms.ts";
import {
  DEFAULT_KNOWLEDGE,
  type Json,
  type JsonObject,
  knowledgeAction,
  type Label,
  RECALL_KNOWLEDGE,
  type Seq,
  type Tool,
  type ToolContext,
} from "../../vocab/index.ts";
import type { EffectContext } from "../effect-context.ts";
import { sanitisedText } from "../model/sanitise.ts";

/** `startedAt`: the entry that says that it has started. Any other tool is what it was. */
export function bindMemoryTool(c: EffectContext, tool: Tool, startedAt: () => Seq): Tool {
  if (knowledgeAction(tool.name) === null) return tool;
  const labels: Label[] = []; // of what it brings: the session gets them with its outcome
  const run = tool.name === RECALL_KNOWLEDGE ? recall(c, labels) : store(c, startedAt);
  return { ...tool, labels, run };
}

type Run = (args: JsonObject, context: ToolContext) => Promise<Json>;

const recall =
  ({ p, s }: EffectContext, labels: Label[]): Run =>
  async (args, { signal }) => {
    const { query, limit, directory, scope } = recallArgs(args);
    const folder = directory === undefined ? null : toProjectFolder(directory);
    if (directory !== undefined && folder === null) throw new Error(`\`${shortenItem(directory)}\` is no folder of the project`);
    const search: Search = {
      agent: s.agent.name,
      scope: toRecallScope(scope, s.agent.knowledge?.scope ?? DEFAULT_KNOWLEDGE.scope),
      terms: extractTerms(query),
      text: query,
      directory: folder === null ? null : { path: folder, how: "below" },
      most: { memory: limit, knowledge: limit, all: limit },
      threshold: 0,
      now: s.at,
    };
    const found: SearchResult =
      scope === CONVENTIONS && folder !== null
        ? await findConventions((one) => p.knowledge.search(one, signal), search, folder, limit)
        : await p.knowledge.search(search, signal);
    for (const { item } of found.hits) labels.push(...item.labels.filter((one) => !labels.includes(one)));
    p.knowledge.used(
      found.hits.map(({ item }) => item.id),
      s.at,
    );
    const lines = found.hits.map(({ item: { id, body, confidence, labels: own }, relevance }) =>
      toKnowledgeLine({
        id,
        kind: body.kind,
        relevance,
        confidence,
        labels: own,
        text: sanitisedText(itemText(body).slice(0, LONGEST_TOLD), "clean"),
      }),
    );
    const trouble = found.trouble === null ? [] : [`(${found.trouble})`];
    return [...(lines.length === 0 ? [nothingSaid(query, directory, scope)] : lines), ...trouble].join("\n");
  };

/** Of one item, to a model that asked for it. */
const LONGEST_TOLD = 4_000;

/** A sentence of its own for each way of looking: nothing found is no error. */
function nothingSaid(query: string, directory: string | undefined, scope: string | undefined): string {
  const what = JSON.stringify(query);
  if (scope === CONVENTIONS) return `No conventions for ${what} are known in ${JSON.stringify(directory)} or above it.`;
  if (directory !== undefined) return `Nothing is known about ${what} in ${JSON.stringify(directory)} or below it.`;
  return scope === undefined ? `Nothing is known about ${what}.` : `Nothing is known about ${what} in the scope ${scope}.`;
}

const store =
  ({ p, s }: EffectContext, startedAt: () => Seq): Run =>
  async (args, { key, signal }) => {
    const fact = storeArgs(args);
    const scope = s.agent.knowledge?.store ?? DEFAULT_KNOWLEDGE.store;
    const id = deriveKnowledgeId(p.hash, key);
    const origin = { agent: s.agent.name, labels: [...s.labels], from: { stream: s.session, seq: startedAt() }, at: s.at };
    const put = await p.knowledge.put(experience(id, fact, scope, origin), signal);
    const said = `${JSON.stringify(itemText({ kind: "fact", ...fact }))} (confidence ${fact.confidence.toFixed(2)})`;
    if (put.kind === "forgotten") return `Not stored: ${id} was forgotten on request, and does not come back.`;
    const instead = put.kind === "stored" && put.superseded !== null ? ` It takes the place of ${put.superseded}.` : "";
    return `Stored ${said} as ${id}.${instead}`;
  };
