import { FaultError } from "@orgate/core";
import { caseSchema, decideCase, findCoveredAgents, refuseCase } from "@orgate/core/gate";
import { unreadable, wireProblem } from "@orgate/protocol";
import type { OperationGroups } from "@orgate/protocol/words";
import type { Config } from "../../config/config.ts";
import { isPolicies, type Policies } from "../../policies/policies.ts";
import { type CheckedPolicies, checkPoliciesInWorker, type PolicyCheckInput } from "../../policies/policies-worker.ts";
import { findPolicySurface, toUserAct } from "../../policies/policy-cases.ts";
import { applyChange, planChange, readFiles } from "../../policies/policy-changes.ts";
import { digestFolder } from "../../policies/policy-digests.ts";
import { type ReadFolder, readPolicyFolder } from "../../policies/policy-files.ts";
import { findSet, listAppliableFiles, policyHistory, readSet } from "../../policies/policy-history.ts";
import { type PolicyOptions, withAgents } from "../../policies/policy-load.ts";
import { NODE } from "../../runtime/ports/outside.ts";
import type { Caller } from "../access.ts";
import type { OperationContext } from "../context.ts";
import type { OperationHandlers } from "../execute.ts";
import { refusal } from "../refusal.ts";
import { json } from "../result.ts";

type Group = OperationGroups["policies"];
type Files = readonly Readonly<{ path: string; text: string }>[];
type Candidate = Readonly<{ files?: Files; set?: string; reason: string }>;

/** The policies of the server's project: those in force, their files, and a change of them. */
class ServedPolicies {
  readonly #context: OperationContext;

  constructor(context: OperationContext) {
    this.#context = context;
  }

  inForce(): Policies {
    const { gate } = this.#context.runtime.inspect;
    if (!isPolicies(gate))
      throw refusal(wireProblem("unavailable", "this server's policies are not files", "they are where it was put together"));
    return gate;
  }

  options({ policies, root, groups }: Pick<Config, "root" | "policies" | "groups"> = this.#project()): PolicyOptions {
    const { agents } = this.#context.runtime.inspect;
    return { place: { folder: policies, label: "policies", within: root }, agents, groups, surface: "api" };
  }

  check(input: PolicyCheckInput, caller: Caller, gone: AbortSignal): Promise<CheckedPolicies> {
    this.#context.lanes.take(caller, "check", gone);
    return checkPoliciesInWorker(input, gone);
  }

  /** The result of an earlier check of the same files, if they are in force; null if they have to be checked. */
  checkedInForce(read: ReadFolder): CheckedPolicies | null {
    const { gate, agents } = this.#context.runtime.inspect;
    if (!isPolicies(gate) || read.kind !== "folder") return null;
    const { filesDigest, warnings, cases } = gate.current();
    return filesDigest === digestFolder(withAgents(read.folder, agents)).filesDigest ? { ok: true, problems: [], warnings, cases } : null;
  }

  /** The same steps as `orgate policy apply`; then in force here (G-16). */
  async apply({ files, set, reason }: Candidate, { principal: by, person }: Caller): Promise<unknown> {
    const config = this.#project();
    const candidate = set === undefined ? readFiles(files ?? [], "candidate") : await this.#readCandidate(set);
    const where = { journal: this.#journal, now: NODE.clock.now };
    const plan = await planChange(where, this.options(config), candidate, { by, user: person.name });
    if (plan.kind === "refused") throw new FaultError({ kind: "policies-refused", problems: plan.problems });
    if (plan.kind === "denied")
      throw new FaultError({ kind: "not-permitted", user: person.name, what: "edit policies", reason: plan.problems[0].detail });
    if (plan.changes.length > 0) {
      await applyChange(where, config.root, plan, { by, reason });
      await this.inForce().reload();
    }
    return { digest: this.inForce().current().digest, changes: plan.changes };
  }

  get #journal() {
    return this.#context.runtime.place.store.journal;
  }

  #project(): Config {
    const { config } = this.#context;
    if (config === null) throw refusal(wireProblem("unavailable", "this server has no project", "start it with `orgate up`"));
    return config;
  }

  async #readCandidate(set: string): Promise<ReturnType<typeof readFiles>> {
    const known = await findSet(this.#journal, set);
    return readFiles(listAppliableFiles(await readSet(this.#journal, known)), `set ${known.files.slice(0, 12)}`);
  }
}

export function policyHandlers(context: OperationContext): Required<Pick<OperationHandlers, Group>> {
  const { journal } = context.runtime.place.store;
  const served = new ServedPolicies(context);

  return {
    policies: async () => {
      const { digest, policies, cast } = served.inForce().current();
      const speaksOf = findCoveredAgents(cast);
      const shown = policies.map((p) => ({
        id: p.id,
        file: p.file,
        line: p.line,
        effect: p.json.effect,
        surface: findPolicySurface(p),
        shadow: p.shadow,
        annotations: p.json.annotations ?? {},
        agents: speaksOf(p.json),
      }));
      return json({ digest, policies: shown });
    },
    policyFiles: async ({ caller, gone }) => {
      const at = served.options();
      const read = readPolicyFolder(at.place);
      const { problems, warnings, cases } = served.checkedInForce(read) ?? (await served.check({ ...at, read }, caller, gone));
      const { policies, tables } = read.kind === "folder" ? read.folder : { policies: [], tables: [] };
      const shown = [...policies.map((file) => ({ ...file, table: false })), ...tables.map((file) => ({ ...file, table: true }))]
        .map(({ path, text, surface, shadow, table }) => ({ path, text, surface, shadow, table }))
        .sort((a, b) => (a.path < b.path ? -1 : 1));
      return json({ files: shown, problems, warnings, cases });
    },
    checkPolicies: async ({ body, caller, gone }) =>
      json(await served.check({ ...served.options(), ...readFiles(body.files, "policies") }, caller, gone)),
    evaluatePolicies: async ({ body }) => {
      const read = caseSchema.safeParse({ name: "asked", verdict: "allow", ...body });
      if (!read.success) throw refusal(unreadable("the action", read.error));
      const c = read.data;
      const loaded = served.inForce().current();
      const gate = loaded.gateFor(c.surface);
      if (c.user !== undefined) {
        const { verdict, read: seen } = gate.decideFor(c.user, toUserAct(c));
        return json({ verdict, read: seen });
      }
      const why = refuseCase(c, loaded.cast);
      if (why !== null) throw refusal(wireProblem("bad-request", why.detail, why.hint));
      const { verdict, read: seen } = decideCase(c, gate, loaded.cast.tools);
      return json({ verdict, read: seen });
    },
    applyPolicies: async ({ body, caller }) => json(await served.apply(body, caller)),
    policyHistory: async ({ query }) => json(await policyHistory(journal, { before: query.before ?? null, limit: query.limit })),
    policySet: async ({ params }) => {
      const set = await findSet(journal, params.digest);
      const files = await readSet(journal, set);
      return json({
        digest: set.digest,
        files: set.files,
        at: set.at,
        by: set.by,
        texts: files,
        appliable: listAppliableFiles(files).length,
      });
    },
  };
}
