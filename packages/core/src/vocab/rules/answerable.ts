/**
 * G-9 whether there is anybody who could answer what is asked: a question for a group that nobody is in, or for more people than there are, would wait until it
 * expires, and be found out then. Groups are all that is known of people, so a question that names none may be answered by anybody.
 */
import { suggestNearest } from "../text/nearest.ts";
import { type ApprovalTerms, REQUESTER } from "../verdict.ts";

export type UserGroups = Readonly<Record<string, readonly string[]>>;
/** `isRefused`: it could never be approved. Else one of several groups is empty, and the others are enough. */
export type UnanswerableTerms = Readonly<{ of: "approvers" | "quorum"; isRefused: boolean; detail: string; hint: string }>;

export function findUnanswerable(
  { approvers, quorum }: Pick<ApprovalTerms, "approvers" | "quorum">,
  groups: UserGroups,
): readonly UnanswerableTerms[] {
  if (approvers.length === 0) return [];
  const known = [REQUESTER, ...Object.keys(groups).filter((group) => group !== REQUESTER && (groups[group] ?? []).length > 0)];
  const membersOf = (group: string): readonly string[] => (group === REQUESTER ? [REQUESTER] : (groups[group] ?? []));
  const people = new Set(known.flatMap((group) => (approvers.includes(group) ? membersOf(group) : []))).size;
  if (people > 0 && people < quorum) {
    const called = approvers.map((group) => `\`${group}\``).join(" or ");
    const detail = `${quorum} people have to say yes, but ${people} ${people === 1 ? "is" : "are"} in ${called}: it could never be approved`;
    return [{ of: "quorum", isRefused: true, detail, hint: `ask for ${people}, or name more people under [groups.users] in orgate.toml` }];
  }
  return approvers
    .filter((group) => !known.includes(group))
    .map((group) => ({
      of: "approvers",
      isRefused: people === 0,
      detail: `nobody is in the group of users \`${group}\`${people === 0 ? ": it could never be answered" : ""}`,
      hint: known.length === 1 ? "say who is in it under [groups.users] in orgate.toml" : suggestNearest(group, known),
    }));
}
