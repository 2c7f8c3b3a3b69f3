import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, isAbsolute, join } from "node:path";
import { FaultError } from "@orgate/core";
import { actionOf, agentsFor, caseSchema, factsOf } from "@orgate/core/gate";
import { unreadable, wireProblem } from "@orgate/core/wire";
import { surfaceOf, userAct } from "../../commands/policy.ts";
import { mendPolicies, NODE, type ReadFolder, readPolicyFolder, stagePolicies } from "../../compose.ts";
import type { Config } from "../../config.ts";
import { digestsOf, isPolicies, mustLoad, type Policies, type PolicyOptions, tryRead, withAgents } from "../../policies.ts";
import { type CheckedPolicies, checkAside, type ToCheck } from "../../policies-aside.ts";
import { changesBetween, deniedFor, folderOf, surfacesOf } from "../../policy-changes.ts";
import { recordApplied, recordRefused } from "../../policy-record.ts";
import type { Caller } from "../access.ts";
import { refusal } from "../answering.ts";
import type { Handlers } from "../api.ts";
import type { Front } from "./front.ts";
import { json } from "./paging.ts";

type Names = "policies" | "policyFiles" | "checkPolicies" | "evaluatePolicies" | "applyPolicies";
type Files = readonly Readonly<{ path: string; text: string }>[];

export function policyHandlers(front: Front): Pick<Handlers, Names> {
  const { runtime } = front;
  const inForce = (): Policies => {
    const { gate } = runtime.inspect;
    if (!isPolicies(gate))
      throw refusal(wireProblem("unavailable", "this server's policies are not files", "they are where it was put together"));
    return gate;
  };
  const options = (config: Pick<Config, "root" | "policies" | "groups">): PolicyOptions => ({
    place: { folder: config.policies, label: "policies", within: config.root },
    agents: runtime.inspect.agents,
    groups: config.groups,
    surface: "api",
  });
  const project = (): Config => {
    if (front.config === null) throw refusal(wireProblem("unavailable", "this server has no project", "start it with `orgate up`"));
    return front.config;
  };

  const check = (given: ToCheck, caller: Caller, gone: AbortSignal): Promise<CheckedPolicies> => {
    front.lanes.take(caller, "check", gone);
    return checkAside(given, gone);
  };
  /** What is known of these very files, where they are in force; null: they have to be looked at. */
  const inForceAs = (read: ReadFolder): CheckedPolicies | null => {
    const { gate, agents } = runtime.inspect;
    if (!isPolicies(gate) || read.kind !== "folder") return null;
    const { filesDigest, warnings, cases } = gate.current();
    return filesDigest === digestsOf(withAgents(read.folder, agents)).filesDigest ? { ok: true, problems: [], warnings, cases } : null;
  };

  return {
    policies: async () => {
      const { digest, policies, cast } = inForce().current();
      const speaksOf = agentsFor(cast);
      const shown = policies.map((p) => ({
        id: p.id,
        file: p.file,
        line: p.line,
        effect: p.json.effect,
        surface: surfaceOf(p),
        shadow: p.shadow,
        annotations: p.json.annotations ?? {},
        agents: speaksOf(p.json),
      }));
      return json({ digest, policies: shown });
    },
    policyFiles: async ({ caller, gone }) => {
      const at = options(project());
      const read = readPolicyFolder(at.place);
      const { problems, warnings, cases } = inForceAs(read) ?? (await check({ ...at, read }, caller, gone));
      const { policies, tables } = read.kind === "folder" ? read.folder : { policies: [], tables: [] };
      const shown = [...policies.map((file) => ({ ...file, table: false })), ...tables.map((file) => ({ ...file, table: true }))]
        .map(({ path, text, surface, shadow, table }) => ({ path, text, surface, shadow, table }))
        .sort((a, b) => (a.path < b.path ? -1 : 1));
      return json({ files: shown, problems, warnings, cases });
    },
    checkPolicies: async ({ body, caller, gone }) => {
      return withFolder(body.files, async (folder) => {
        const place = { folder, label: "policies", within: folder };
        return json(await check({ ...options(project()), read: readPolicyFolder(place), place }, caller, gone));
      });
    },
    evaluatePolicies: async ({ body }) => {
      const read = caseSchema.safeParse({ name: "asked", verdict: "allow", ...body });
      if (!read.success) throw refusal(unreadable("the action", read.error));
      const c = read.data;
      const loaded = inForce().current();
      const gate = loaded.gateFor(c.surface);
      if (c.user !== undefined) {
        const { verdict, read: seen } = gate.decideFor(c.user, userAct(c));
        return json({ verdict, read: seen });
      }
      const { action, refused } = actionOf(c, loaded.cast.tools);
      const { verdict, read: seen } = gate.decide(action, factsOf(c, loaded.cast.tools));
      return json({ verdict: refused ?? verdict, read: seen });
    },
    applyPolicies: async ({ body, caller }) => withFolder(body.files, async (folder) => json(await apply(folder, caller))),
  };

  /** The same steps as `orgate policy apply`: checked, decided, journalled, put in place; then in force here (G40). */
  async function apply(folder: string, { principal, person }: Caller): Promise<unknown> {
    const config = project();
    mendPolicies(config.root);
    const at = options(config);
    const candidate = { folder, label: "candidate", within: folder };
    const [present, read] = [readPolicyFolder(at.place), readPolicyFolder(candidate)];
    const now = mustLoad(tryRead(present, at));
    const loading = tryRead(read, { ...at, place: candidate });
    const where = { journal: runtime.place.store.journal, now: NODE.clock.now };
    if (loading.kind === "none") mustLoad(loading);
    if (loading.kind === "refused") {
      await recordRefused(where, principal, { problems: loading.problems, files: loading.files });
      throw new FaultError({ kind: "policies-refused", problems: loading.problems });
    }
    const next = folderOf(read);
    const { filesDigest } = digestsOf(next);
    const changes = changesBetween(folderOf(present), next);
    const denied = deniedFor(now, person.name, surfacesOf(changes));
    if (denied !== null) {
      await recordRefused(where, principal, { problems: [{ file: candidate.label, line: 1, column: 1, ...denied }], files: filesDigest });
      throw new FaultError({ kind: "not-permitted", user: person.name, what: "edit policies", reason: denied.detail });
    }
    if (changes.length > 0) {
      const staged = stagePolicies(
        config.root,
        [...next.policies, ...next.tables].map(({ below, text }) => ({ below, text })),
      );
      try {
        await recordApplied(where, principal, { files: filesDigest, before: now.filesDigest, changes });
        staged.swap();
      } finally {
        staged.drop();
      }
      await inForce().reload();
    }
    return { digest: inForce().current().digest, changes };
  }
}

/** Files as a folder that is read like any other, and gone afterwards. */
async function withFolder<T>(files: Files, work: (folder: string) => T | Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), "orgate-policies-"));
  try {
    for (const { path, text } of files) {
      if (isAbsolute(path) || path.split(/[\\/]/).includes("..") || path.includes("\0"))
        throw refusal(wireProblem("bad-request", `\`${path}\` is no path below the policies`, "name files as they lie below `policies/`"));
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      writeFileSync(join(folder, path), text, { mode: 0o600 });
    }
    return await work(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
