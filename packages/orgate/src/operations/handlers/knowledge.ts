import type { KnowledgeId, StoredItem } from "@orgate/core";
import { extractTerms, itemText } from "@orgate/core/knowledge";
import { millis } from "@orgate/core/vocab";
import type { OperationContext } from "../context.ts";
import type { OperationHandlers } from "../execute.ts";
import { json } from "../result.ts";

const PAGE = 500;
/** Most items read for the newest: a larger store is searched by words. */
const MOST = 10_000;
const MOST_TEXT = 500;

export function knowledgeHandlers({ runtime, now }: OperationContext): Pick<OperationHandlers, "knowledge"> {
  const store = () => runtime.place.knowledgeStore();
  const view = (item: StoredItem, relevance: number | null) => ({
    id: item.id,
    kind: item.body.kind,
    scope: item.scope,
    agent: item.agent,
    text: itemText(item.body).slice(0, MOST_TEXT).toWellFormed(),
    labels: item.labels,
    verified: item.verified,
    createdAt: item.created,
    uses: item.uses,
    relevance,
  });
  return {
    knowledge: async ({ query }) => {
      const { agent, words, limit } = query;
      if (words !== undefined) {
        const { hits } = await store().search(
          {
            agent: agent ?? "",
            scope: agent === undefined ? "shared" : "agent",
            terms: extractTerms(words),
            text: words,
            directory: null,
            most: { memory: limit, knowledge: limit, all: limit },
            threshold: 0,
            now: millis(now()),
          },
          null, // by words alone: a look costs nobody a model call
        );
        return json({ items: hits.map(({ item, relevance }) => view(item, relevance)) });
      }
      const items: StoredItem[] = [];
      let after: KnowledgeId | null = null;
      for (let seen = 0; seen < MOST; seen += PAGE) {
        const page: readonly StoredItem[] = await store().list({ after, most: PAGE });
        items.push(...page.filter((one) => one.supersededBy === null && (agent === undefined || one.agent === agent)));
        after = page.at(-1)?.id ?? null;
        if (page.length < PAGE || after === null) break;
      }
      const newest = items.sort((a, b) => b.created - a.created).slice(0, limit);
      return json({ items: newest.map((item) => view(item, null)) });
    },
  };
}
