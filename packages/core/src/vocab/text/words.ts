/** The two things that every message does with words. */

/** `1 file`, `2 files`; `1 entry`, `2 entries`. The one place where a plural is made. */
export const countNoun = (n: number, one: string, many = `${one}s`): string => `${n} ${n === 1 ? one : many}`;

/** A message of somebody else's, as the middle of one of ours. Names and quoted values in it stay as they are. */
export const lowerFirst = (text: string): string => text.charAt(0).toLowerCase() + text.slice(1);
