/**
 * By what an entry can be found: `agent`, `kind`, `tool`, `verdict`, `policy`, `label`, `person`, `webhook`. Structure only, never what anybody said.
 * V-4 an entry is found by each of its facets, and by all of several together; what is erased is found by none of what was in it.
 */
import { DELEGATE, type Entry, eventsIn, type JournalEvent, type Principal, type Verdict } from "@orgate/core/vocab";

export const FACETS = ["webhook", "policy", "label", "person", "tool", "verdict", "kind", "agent"] as const; // the rarest first
export type Facet = (typeof FACETS)[number];
export type FacetQuery = Readonly<Partial<Record<Facet, string>>>;

export const facetTerm = (facet: Facet, value: string): string => `${facet}:${value}`;
export const toFacetTerms = (sought: FacetQuery): readonly string[] =>
  FACETS.flatMap((facet) => {
    const value = sought[facet];
    return value === undefined ? [] : [facetTerm(facet, value)];
  });

/** `agent` as of this entry; null for streams that belong to no session. */
export function listFacets({ event: e }: Pick<Entry, "event">, agent: string | null): readonly string[] {
  const terms = eventsIn(e).flatMap((one) => [facetTerm("kind", one.kind), ...own(one)]); // found by the decisions that are part of it, too
  return [...new Set(agent === null ? terms : [...terms, facetTerm("agent", agent)])];
}

const person = (by: Principal): readonly string[] => (by.kind === "user" ? [facetTerm("person", by.id)] : []);
const policies = (ids: readonly string[]): readonly string[] => ids.map((id) => facetTerm("policy", id));
const labels = (names: readonly string[]): readonly string[] => names.map((name) => facetTerm("label", name));
const decided = (v: Verdict): readonly string[] => [facetTerm("verdict", v.kind), ...policies(v.because)];

/** A delegate's session is no delivery of its own. */
const delivery = ({ origin, parent }: Extract<JournalEvent, { kind: "session.opened" }>): readonly string[] =>
  origin?.kind === "webhook" && parent === null ? [facetTerm("webhook", origin.webhook)] : [];

function own(e: JournalEvent): readonly string[] {
  switch (e.kind) {
    case "session.opened":
      return [...person(e.principal), ...labels(e.labels), ...delivery(e)];
    case "gate.decided":
      return [
        ...decided(e.verdict),
        ...(e.action.kind === "call" ? [facetTerm("tool", e.action.tool)] : []),
        ...(e.action.kind === "delegate" ? [facetTerm("tool", DELEGATE)] : []),
      ];
    case "approval.asked":
      return policies(e.asks.map(({ policy }) => policy));
    case "approval.answered":
      return [...person(e.by), ...policies(e.counts)];
    case "act.started":
      return [facetTerm("tool", e.tool)];
    case "labels.added":
      return labels(e.labels);
    case "labels.removed":
      return [...labels(e.labels), ...person(e.by)];
    case "grant.given":
      return [...person(e.by), ...policies(e.policies), facetTerm("tool", e.tool), facetTerm("agent", e.agent)];
    default:
      return "by" in e && typeof e.by === "object" && e.by !== null ? person(e.by) : [];
  }
}
