/** Wrong input of a person or a program: what is wrong, and what to write instead. */
import { FaultError } from "@orgate/core";

export const usageFault = (detail: string, hint: string): FaultError => new FaultError({ kind: "usage", detail, hint });
