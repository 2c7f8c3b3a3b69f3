/** The Cedar engine as `core` needs it: passed in by the host, so that `core` depends on no WebAssembly. Shapes as in the official JSON formats. */
export type Uid = Readonly<{ type: string; id: string }>;
export type CedarValue =
  | boolean
  | number
  | string
  | readonly CedarValue[]
  | Readonly<{ __entity: Uid }>
  | Readonly<{ __extn: { fn: string; arg: string } }>
  | { readonly [key: string]: CedarValue };
export type CedarRecord = { readonly [key: string]: CedarValue };
export type CedarEntity = Readonly<{ uid: Uid; attrs: CedarRecord; parents: readonly Uid[] }>;

export type EngineScope = Readonly<{
  op: string;
  entity?: unknown;
  entities?: readonly unknown[];
  entity_type?: string;
  in?: unknown;
  slot?: string;
}>;
/** A policy in its JSON form. Conditions stay as the engine gave them: they are walked, never written. */
export type PolicyJson = Readonly<{
  effect: "permit" | "forbid";
  principal: EngineScope;
  action: EngineScope;
  resource: EngineScope;
  conditions: readonly Readonly<{ kind: string; body: unknown }>[];
  annotations?: Readonly<Record<string, string | null>>;
}>;

export type CedarError = Readonly<{
  message: string;
  help: string | null;
  sourceLocations?: readonly Readonly<{ start: number; end: number }>[];
}>;

export type EngineAnswer =
  | Readonly<{ type: "failure"; errors: readonly CedarError[] }>
  | Readonly<{
      type: "success";
      response: {
        readonly decision: "allow" | "deny";
        readonly diagnostics: {
          readonly reason: readonly string[];
          readonly errors: readonly Readonly<{ policyId: string; error: CedarError }>[];
        };
      };
    }>;

export type EngineQuestion = Readonly<{
  principal: Uid;
  action: Uid;
  resource: Uid;
  context: CedarRecord;
  entities: readonly CedarEntity[];
}>;

/** A set that the engine holds. Worth nothing to another engine; forgotten with its last reference. */
export type PreparedPolicies = Readonly<{ policies: Readonly<Record<string, PolicyJson>> }>;

export type Engine = Readonly<{
  /** How many policies a whole file holds, as the engine itself sees it; null when it does not parse. */
  count(file: string): number | null;
  parse(policy: string): Readonly<{ type: "success"; json: PolicyJson } | { type: "failure"; errors: readonly CedarError[] }>;
  validate(
    schema: unknown,
    policies: Readonly<Record<string, string | PolicyJson>>,
  ): Readonly<
    | { type: "failure"; errors: readonly CedarError[] }
    | {
        type: "success";
        validationErrors: readonly Readonly<{ policyId: string; error: CedarError }>[];
        validationWarnings: readonly Readonly<{ policyId: string; error: CedarError }>[];
      }
  >;
  keep(
    policies: PreparedPolicies["policies"],
  ): Readonly<{ type: "success"; kept: PreparedPolicies } | { type: "failure"; errors: readonly CedarError[] }>;
  decide(kept: PreparedPolicies, question: EngineQuestion): EngineAnswer;
}>;
