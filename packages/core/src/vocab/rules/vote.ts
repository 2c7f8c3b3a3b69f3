/** A person's yes to a question, and when there are enough of them. The loop and the journal's list of open questions both ask this. */
import type { PolicyId } from "../ids.ts";
import type { GrantRequest } from "../intent.ts";
import type { Ask } from "../verdict.ts";

/** `grant`: what this person would have remembered; null: this once. */
export type Vote = Readonly<{ by: string; counts: readonly PolicyId[]; grant: GrantRequest | null }>;

/** Every question has its quorum of different people. */
export function hasQuorum(asks: readonly Ask[], votes: readonly Vote[]): boolean {
  return asks.every(({ policy, terms }) => new Set(votes.filter((v) => v.counts.includes(policy)).map((v) => v.by)).size >= terms.quorum);
}
