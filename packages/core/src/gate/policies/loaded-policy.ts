import type { PolicyJson } from "./engine.ts";
import type { Duties } from "./policy-text.ts";

/** A policy that loaded: parsed, validated against the tools, its annotations understood. */
export type LoadedPolicy = Readonly<{
  id: string;
  file: string;
  line: number;
  text: string;
  json: PolicyJson;
  duties: Duties;
  shadow: boolean;
}>;
