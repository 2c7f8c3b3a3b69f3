/** The official Cedar engine, as WebAssembly. One instance per process; sets are kept under names, and a name used again replaces its set. */
import { createRequire } from "node:module";
import type * as CedarWasm from "@cedar-policy/cedar-wasm/nodejs";
import type { Engine } from "@orgate/core/gate";

// The CommonJS build: the root entry prints a warning about experimental WebAssembly imports.
const require = createRequire(import.meta.url);

export function cedarEngine(): Engine {
  const cedar = require("@cedar-policy/cedar-wasm/nodejs") as typeof CedarWasm;
  return {
    parse: (policy) => cedar.policyToJson(policy) as ReturnType<Engine["parse"]>,
    validate: (schema, policies) =>
      cedar.validate({ schema: schema as CedarWasm.Schema, policies: { staticPolicies: { ...policies } } }) as ReturnType<
        Engine["validate"]
      >,
    checkSchema: (schema) => cedar.checkParseSchema(schema as CedarWasm.Schema),
    keep: (name, policies) =>
      cedar.preparsePolicySet(name, { staticPolicies: policies as unknown as Record<string, CedarWasm.PolicyJson> }),
    decide: (name, { principal, action, resource, context, entities }) =>
      cedar.statefulIsAuthorized({
        principal,
        action,
        resource,
        context: context as CedarWasm.Context,
        preparsedPolicySetId: name,
        entities: entities as unknown as CedarWasm.Entities,
      }) as ReturnType<Engine["decide"]>,
  };
}
