/** Names of agents and tools: policies, approvals and terminals show them, so no character that looks like another. */
const NAME = /^[A-Za-z0-9_-]{1,64}$/;
export const NAME_RULE = "1 to 64 of A-Z, a-z, 0-9, _ and -";
export const isName = (value: unknown): value is string => typeof value === "string" && NAME.test(value);
