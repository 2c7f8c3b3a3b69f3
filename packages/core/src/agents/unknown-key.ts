/** The first field that the definition does not know: a misspelt `timeoutMs` must not mean "no time-out". */
export const findUnknownKey = (given: object, known: readonly string[]): string | null =>
  Object.keys(given).find((key) => !known.includes(key)) ?? null;
