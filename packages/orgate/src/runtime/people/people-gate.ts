/**
 * The gate for acts on the project or on a person: trust, keys, alarms, access. It is made of the policies alone and reads neither agents, nor
 * tools, nor the journal: a person who trusts a server whose tools the policies name, or acknowledges an alarm of the journal, cannot wait for these
 * to load. Policies about tools are not checked here, and none of them can decide what a person does.
 */
import { FaultError, type Gate } from "@orgate/core";
import { cedarGate, loadPolicies } from "@orgate/core/gate";
import type { Config } from "../../config/config.ts";
import { sha256 } from "../../node/crypto.ts";
import { cedarEngine } from "../../policies/cedar-engine.ts";
import { policyFolderPath } from "../../policies/policies.ts";
import { readPolicyFolder } from "../../policies/policy-files.ts";
import { toPolicyWorld } from "../../policies/policy-load.ts";

/** Throws `policies-missing` or `policies-refused`. */
export function openPeopleGate(config: Pick<Config, "root" | "policies" | "groups" | "drafts">): Pick<Gate, "decideFor"> {
  const place = policyFolderPath(config);
  const read = readPolicyFolder(place);
  if (read.kind === "refused") throw new FaultError({ kind: "policies-refused", problems: read.problems });
  const files = read.folder.policies.filter(({ surface }) => surface === null || surface === "cli");
  if (!files.some(({ shadow }) => !shadow)) throw new FaultError({ kind: "policies-missing", folder: place.label });
  const cast = toPolicyWorld([], config.groups, { agents: true, tools: { more: true, named: [] } });
  const engine = cedarEngine();
  const load = loadPolicies(files, cast, engine);
  if (load.kind === "refused") throw new FaultError({ kind: "policies-refused", problems: load.problems });
  return cedarGate(load.set, engine, sha256);
}
