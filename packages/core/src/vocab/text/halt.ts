import { type Principal, principalName } from "../principal.ts";

type HaltFacts = Readonly<{ scope: string; by: Principal; reason: string }>;

/** A halt in words: its scope, who ordered it and why. */
export const haltText = ({ scope, by, reason }: HaltFacts): string =>
  `${scope === "all" ? "all work" : scope.replace(":", " ")} is halted by ${principalName(by)} (${reason}), and what is approved waits with it`;

/** The command that lifts a halt, in backticks. */
export const liftText = ({ scope }: Pick<HaltFacts, "scope">): string => `\`orgate resume-work ${scope.replace(":", " ")} --reason "…"\``;
