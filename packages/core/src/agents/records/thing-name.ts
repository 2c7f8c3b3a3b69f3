/** Names of trusted sets and of kinds of things. */
import type { FaultError } from "../../vocab/index.ts";

export const SET_NAME = /^[a-z][a-z0-9_-]{0,63}$/;

export function readThingName(given: unknown, field: string, refuse: (detail: string) => FaultError): string {
  if (typeof given !== "string" || !SET_NAME.test(given))
    throw refuse(`\`${field}\`: \`${String(given)}\` is no name: use a-z, 0-9, _ and -, a letter first`);
  return given;
}
