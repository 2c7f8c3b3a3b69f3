/** Items: what they say as a text, what they are called, and which of them supersedes which. */
import {
  type Hash,
  type JournalPlace,
  type KnowledgeBody,
  type KnowledgeId,
  type KnowledgeItem,
  knowledgeId,
  LAST_SUMMARY,
  type Label,
  type Millis,
  type Scope,
  toCanonicalJson,
} from "../vocab/index.ts";
import { toPlainName } from "./words.ts";

/** The text that is shown and searched. */
export function itemText(body: KnowledgeBody): string {
  switch (body.kind) {
    case "fact":
      return `${body.subject} ${body.predicate} ${body.object}`;
    case "working":
      return body.text;
    case "procedure":
    case "pattern":
    case "episode":
    case "chunk":
      return body.title === "" ? body.text : `${body.title}: ${body.text}`;
  }
}

/** N-9 of one key, or about one subject and predicate, there is one that counts: in one scope, of one agent. Null: it stands for itself. */
export function toSlot({ body, scope, agent }: Pick<KnowledgeItem, "body" | "scope" | "agent">): string | null {
  const whose = scope === "project" ? "" : (agent ?? "");
  switch (body.kind) {
    case "fact":
      return toCanonicalJson(["fact", scope, whose, toPlainName(body.subject), toPlainName(body.predicate)]);
    case "working":
      return toCanonicalJson(["working", scope, whose, body.key]);
    case "procedure":
    case "pattern":
    case "episode":
    case "chunk":
      return null;
  }
}

/** N-9 what a person stands for is not superseded by what an agent has learnt: both stay. */
export const maySupersede = (fresh: Pick<KnowledgeItem, "verified">, old: Pick<KnowledgeItem, "verified">): boolean =>
  fresh.verified || !old.verified;

type Timed = Pick<KnowledgeItem, "id" | "verified" | "created">;

/**
 * N-9 where what comes from elsewhere stands among those that are current in its slot: who is older and may be superseded is, unless a newer one
 * supersedes it. Of two of one time the one that is there stays; where one of them has a person's word, both do.
 */
export function findSupersession(
  item: Timed,
  there: readonly Timed[],
): Readonly<{ by: KnowledgeId | null; supersedes: readonly KnowledgeId[] }> {
  const by = there.find(
    (one) => (one.created > item.created && maySupersede(one, item)) || (one.created === item.created && one.verified === item.verified),
  );
  if (by !== undefined) return { by: by.id, supersedes: [] };
  return { by: null, supersedes: there.filter((one) => one.created < item.created && maySupersede(item, one)).map(({ id }) => id) };
}

/** Whose it is to give: `agent` is the only scope with an owner; what is shared is everybody's who looks that wide. */
export const toRealm = ({ scope, agent }: Pick<KnowledgeItem, "scope" | "agent">): string => (scope === "agent" ? (agent ?? "") : "");

/** The same from the same: what makes a repeated write the same write. */
export const deriveKnowledgeId = (hash: Hash, ...parts: readonly string[]): KnowledgeId =>
  knowledgeId(`k_${hash(toCanonicalJson(["orgate-knowledge-1", ...parts])).slice(0, 24)}`);

export const isKnowledgeId = (text: string): text is KnowledgeId => /^k_[0-9a-f]{24}$/.test(text);

/** An item that a session stores, and its place in the journal. */
export type ItemOrigin = Readonly<{ agent: string; labels: readonly Label[]; from: JournalPlace; at: Millis }>;

export type Fact = Readonly<{ subject: string; predicate: string; object: string; confidence: number }>;

export const experience = (id: KnowledgeId, { confidence, ...said }: Fact, scope: Scope, origin: ItemOrigin): KnowledgeItem => ({
  ...plain(id, { kind: "fact", ...said }, scope, origin),
  confidence,
});

/** The result of a turn. */
export const lastSummary = (id: KnowledgeId, text: string, origin: ItemOrigin): KnowledgeItem =>
  plain(id, { kind: "working", key: LAST_SUMMARY, text }, "agent", origin);

const plain = (id: KnowledgeId, body: KnowledgeBody, scope: Scope, { agent, labels, from, at }: ItemOrigin): KnowledgeItem => ({
  id,
  body,
  scope,
  agent,
  directory: null,
  confidence: 1,
  source: "experience",
  labels: [...labels].sort(),
  verified: false,
  from,
  created: at,
  validFrom: null,
  validTo: null,
});

export const holdsAt = ({ validFrom, validTo }: Pick<KnowledgeItem, "validFrom" | "validTo">, now: Millis): boolean =>
  (validFrom === null || validFrom <= now) && (validTo === null || now < validTo);
