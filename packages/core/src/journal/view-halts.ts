/** Halts in words, for every surface that tells of one. */
import { principalName } from "../vocab/index.ts";
import type { StandingHalt } from "./orders.ts";

/** A halt in words: what, by whom, why. */
export const haltText = ({ scope, by, reason }: StandingHalt): string =>
  `${scope === "all" ? "all work" : scope.replace(":", " ")} is halted by ${principalName(by)} (${reason}), and what is approved waits with it`;

/** The command that lifts it, in backticks. */
export const liftText = ({ scope }: Pick<StandingHalt, "scope">): string =>
  `\`orgate resume-work ${scope.replace(":", " ")} --reason "…"\``;
