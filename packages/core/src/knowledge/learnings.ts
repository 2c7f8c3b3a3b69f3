/** The text that a completed turn is remembered by: what the assistant said in it, cut (K10). Grows by what is said, and no further than it is kept. */
export const MAX_LEARNINGS = 2_000;
const BETWEEN = "\n---\n";

export function appendLearning(learnt: string, said: string): string {
  if (said.trim() === "" || learnt.length > MAX_LEARNINGS) return learnt;
  return (learnt === "" ? said : `${learnt}${BETWEEN}${said}`).slice(0, MAX_LEARNINGS + 1);
}

/** Null: nothing was said. At most 2,000 characters, and never half of one. */
export function toLearnings(learnt: string): string | null {
  if (learnt.trim() === "") return null;
  if (learnt.length <= MAX_LEARNINGS) return learnt.toWellFormed();
  const cut = learnt.slice(0, MAX_LEARNINGS - 1);
  return `${/[\ud800-\udbff]$/.test(cut) ? cut.slice(0, -1) : cut}…`;
}
