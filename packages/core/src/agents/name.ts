/** Names of agents and tools: policies, approvals and terminals show them, so nothing that looks like something else. */
const NAME = /^[A-Za-z0-9_-]{1,64}$/;
export const NAME_RULE = "1 to 64 of A-Z, a-z, 0-9, _ and -";
export const isName = (value: unknown): value is string => typeof value === "string" && NAME.test(value);

/** The first field that the definition does not know: a misspelt `timeoutMs` must not mean "no time-out". */
export const findUnknownKey = (given: object, known: readonly string[]): string | null =>
  Object.keys(given).find((key) => !known.includes(key)) ?? null;
