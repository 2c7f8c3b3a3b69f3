/**
 * The official Cedar engine, as WebAssembly. What it once kept it never lets go, and after a panic nothing in it can be trusted:
 * so it is replaced by a fresh one after a certain amount of work, and after any exception. Sets are handed to the fresh one when they are next asked for.
 */
import { createRequire } from "node:module";
import type * as CedarWasm from "@cedar-policy/cedar-wasm/nodejs";
import type { Engine, PreparedPolicies } from "@orgate/core/gate";

const ENTRY = "@cedar-policy/cedar-wasm/nodejs"; // the CommonJS build: the root entry prints a warning about experimental WebAssembly imports

/** How much one instance does before it is replaced (which takes about 20 ms). A set that is kept costs about 3 kB, for ever. */
export type EngineLimits = Readonly<{ decisions: number; sets: number }>;
const WEAR: EngineLimits = { decisions: 250_000, sets: 4_000 };

export function cedarEngine(wear: EngineLimits = WEAR): Engine & Readonly<{ renewals(): number; version(): string }> {
  let cedar = instantiate();
  let names = new WeakMap<PreparedPolicies, string>();
  const used = { decisions: 0, sets: 0, renewals: 0 };

  function renew(): void {
    cedar = instantiate();
    names = new WeakMap();
    Object.assign(used, { decisions: 0, sets: 0, renewals: used.renewals + 1 });
  }
  function fresh<T>(use: () => T): T {
    try {
      return use();
    } catch (error) {
      renew();
      throw error;
    }
  }
  function keep(kept: PreparedPolicies): CedarWasm.CheckParseAnswer {
    if (used.sets >= wear.sets) renew();
    used.sets += 1;
    const name = String(used.sets);
    const policies = kept.policies as unknown as Record<string, CedarWasm.PolicyJson>;
    const answer = cedar.preparsePolicySet(name, { staticPolicies: policies });
    if (answer.type === "success") names.set(kept, name);
    return answer;
  }

  return {
    count(file) {
      try {
        const answer = fresh(() => cedar.policySetTextToParts(file));
        return answer.type === "success" ? answer.policies.length + answer.policy_templates.length : null;
      } catch {
        return null; // each piece is parsed by itself, and tells what is wrong with it
      }
    },
    parse: (policy) => fresh(() => cedar.policyToJson(policy) as ReturnType<Engine["parse"]>),
    validate: (schema, policies) =>
      fresh(
        () =>
          cedar.validate({
            schema: schema as CedarWasm.Schema,
            policies: { staticPolicies: policies as unknown as Record<string, CedarWasm.Policy> },
          }) as ReturnType<Engine["validate"]>,
      ),
    keep: (policies) =>
      fresh(() => {
        const kept: PreparedPolicies = { policies };
        const answer = keep(kept);
        return answer.type === "success" ? { type: "success", kept } : answer;
      }),
    decide: (kept, { principal, action, resource, context, entities }) =>
      fresh(() => {
        if (used.decisions >= wear.decisions) renew();
        used.decisions += 1;
        if (!names.has(kept)) {
          const answer = keep(kept);
          if (answer.type === "failure") return answer as ReturnType<Engine["decide"]>;
        }
        return cedar.statefulIsAuthorized({
          principal,
          action,
          resource,
          context: context as CedarWasm.Context,
          preparsedPolicySetId: names.get(kept) ?? "",
          entities: entities as unknown as CedarWasm.Entities,
        }) as ReturnType<Engine["decide"]>;
      }),
    renewals: () => used.renewals,
    version: () => fresh(() => cedar.getCedarSDKVersion()),
  };
}

/** The package makes its one instance when it is loaded; loaded afresh, it makes another, and the last one can be collected. */
function instantiate(): typeof CedarWasm {
  const require = createRequire(import.meta.url); // one per instance: it holds on to what it loaded
  delete require.cache[require.resolve(ENTRY)];
  return require(ENTRY) as typeof CedarWasm;
}
