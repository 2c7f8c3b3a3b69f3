import { FaultError, type UserAct } from "@orgate/core";
import { type Case, type LoadedPolicy, readUserAct } from "@orgate/core/gate";
import { type PolicyFolderPath, readPolicyFolder } from "./policy-files.ts";

/** Reads the cases of the decision tables beside policies. */
export function readCases(place: PolicyFolderPath): readonly Case[] {
  const read = readPolicyFolder(place);
  return read.kind === "refused" ? [] : read.folder.tables.filter((t) => !t.shadow).flatMap((t) => t.cases.map(({ case: c }) => c));
}

export function findPolicySurface({ file, shadow }: LoadedPolicy): string | null {
  if (!file.startsWith("policies/")) return null; // an agent's own, wherever it lies
  const folders = file.split("/").slice(1, -1);
  return (shadow ? folders[1] : folders[0]) ?? null;
}

export function toUserAct(c: Case): UserAct {
  const act = readUserAct(c);
  if (typeof act === "string")
    throw wrongCase(`--action is \`${c.action}\`: ${act}`, "write what it is done to as in a policy: --resource 'Session::\"s_1\"'");
  return act;
}

const wrongCase = (detail: string, hint: string): FaultError => new FaultError({ kind: "usage", detail, hint });
