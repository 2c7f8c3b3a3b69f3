import { FaultError } from "@orgate/core";
import { caseSchema, decideCase, findCoveredAgents, refuseCase } from "@orgate/core/gate";
import { unreadable, wireProblem } from "@orgate/protocol";
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

type Names = "policies" | "policyFiles" | "checkPolicies" | "evaluatePolicies" | "applyPolicies" | "policyHistory" | "policySet";
type Files = readonly Readonly<{ path: string; text: string }>[];

/** The policies of one server: in force, on disk, and as somebody would change them. */
class ServedPolicies {
  readonly #context: OperationContext;

  constructor(context: OperationContext) {
    this.#context = context;
  }

  /** Throws where the server's policies are no files. */
  inForce(): Policies {
    const { gate } = this.#context.runtime.inspect;
    if (!isPolicies(gate))
      throw refusal(wireProblem("unavailable", "this server's policies are not files", "they are where it was put together"));
    return gate;
  }

  project(): Config {
    const { config } = this.#context;
    if (config === null) throw refusal(wireProblem("unavailable", "this server has no project", "start it with `orgate up`"));
    return config;
  }

  options(config: Pick<Config, "root" | "policies" | "groups">): PolicyOptions {
    return {
      place: { folder: config.policies, label: "policies", within: config.root },
      agents: this.#context.runtime.inspect.agents,
      groups: config.groups,
      surface: "api",
    };
  }

  check(input: PolicyCheckInput, caller: Caller, gone: AbortSignal): Promise<CheckedPolicies> {
    this.#context.lanes.take(caller, "check", gone);
    return checkPoliciesInWorker(input, gone);
  }

  /** The files on disk with their problems; files that are in force were checked when they were loaded. */
  async readFiles(caller: Caller, gone: AbortSignal) {
    const options = this.options(this.project());
    const read = readPolicyFolder(options.place);
    const { problems, warnings, cases } = this.#findLoaded(read) ?? (await this.check({ ...options, read }, caller, gone));
    const { policies, tables } = read.kind === "folder" ? read.folder : { policies: [], tables: [] };
    const files = [...policies.map((file) => ({ ...file, table: false })), ...tables.map((file) => ({ ...file, table: true }))]
      .map(({ path, text, surface, shadow, table }) => ({ path, text, surface, shadow, table }))
      .sort((a, b) => (a.path < b.path ? -1 : 1));
    return { files, problems, warnings, cases };
  }

  /** The same steps as `orgate policy apply`; then in force here (G-16). */
  async apply({ files, set, reason }: Candidate, { principal: by, person }: Caller) {
    const config = this.project();
    const candidate = set === undefined ? readFiles(files ?? [], "candidate") : await this.#readCandidate(set);
    const where = { journal: this.#context.runtime.place.store.journal, now: NODE.clock.now };
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

  /** Null if these files are not the ones in force. */
  #findLoaded(read: ReadFolder): CheckedPolicies | null {
    const { gate, agents } = this.#context.runtime.inspect;
    if (!isPolicies(gate) || read.kind !== "folder") return null;
    const { filesDigest, warnings, cases } = gate.current();
    return filesDigest === digestFolder(withAgents(read.folder, agents)).filesDigest ? { ok: true, problems: [], warnings, cases } : null;
  }

  async #readCandidate(set: string): Promise<ReturnType<typeof readFiles>> {
    const { journal } = this.#context.runtime.place.store;
    const known = await findSet(journal, set);
    return readFiles(listAppliableFiles(await readSet(journal, known)), `set ${known.files.slice(0, 12)}`);
  }
}

export function policyHandlers(context: OperationContext): Pick<OperationHandlers, Names> {
  const { journal } = context.runtime.place.store;
  const served = new ServedPolicies(context);
  return {
    policies: async () => {
      const { digest, policies, cast } = served.inForce().current();
      const listAgents = findCoveredAgents(cast);
      const shown = policies.map((p) => ({
        id: p.id,
        file: p.file,
        line: p.line,
        effect: p.json.effect,
        surface: findPolicySurface(p),
        shadow: p.shadow,
        annotations: p.json.annotations ?? {},
        agents: listAgents(p.json),
      }));
      return json({ digest, policies: shown });
    },
    policyFiles: async ({ caller, gone }) => json(await served.readFiles(caller, gone)),
    checkPolicies: async ({ body, caller, gone }) =>
      json(await served.check({ ...served.options(served.project()), ...readFiles(body.files, "policies") }, caller, gone)),
    evaluatePolicies: async ({ body }) => json(evaluate(served.inForce(), body)),
    applyPolicies: async ({ body, caller }) => json(await served.apply(body, caller)),
    policyHistory: async ({ query }) => json(await policyHistory(journal, { before: query.before ?? null, limit: query.limit })),
    policySet: async ({ params }) => {
      const set = await findSet(journal, params.digest);
      const texts = await readSet(journal, set);
      return json({ digest: set.digest, files: set.files, at: set.at, by: set.by, texts, appliable: listAppliableFiles(texts).length });
    },
  };
}

/** Decides a case that somebody writes down, by the policies in force. */
function evaluate(policies: Policies, body: object) {
  const parsed = caseSchema.safeParse({ name: "asked", verdict: "allow", ...body });
  if (!parsed.success) throw refusal(unreadable("the action", parsed.error));
  const c = parsed.data;
  const loaded = policies.current();
  const gate = loaded.gateFor(c.surface);
  if (c.user !== undefined) {
    const { verdict, read } = gate.decideFor(c.user, toUserAct(c));
    return { verdict, read };
  }
  const why = refuseCase(c, loaded.cast);
  if (why !== null) throw refusal(wireProblem("bad-request", why.detail, why.hint));
  const { verdict, read } = decideCase(c, gate, loaded.cast.tools);
  return { verdict, read };
}

type Candidate = Readonly<{ files?: Files; set?: string; reason: string }>;
