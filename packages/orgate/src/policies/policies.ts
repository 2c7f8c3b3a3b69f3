/** The policies in force: loaded, and replaced while sessions run. */
import {
  type Action,
  type Agent,
  type Digest,
  type Facts,
  FaultError,
  type Gate,
  type RecordFieldType,
  type Surface,
  UTC,
} from "@orgate/core";
import type { Engine, Explanation, PolicyProblem } from "@orgate/core/gate";
import type { Config, Groups } from "../config/config.ts";
import { isTimeZone } from "../config/time-zone.ts";
import { openCheckedCache } from "../files/checked-cache.ts";
import { type FileCache, NO_FILE_CACHE } from "../files/file-cache.ts";
import { listDraftsBelow } from "../files/file-overlay.ts";
import { aList, assertArguments, objectWith, text } from "../node/argument-checks.ts";
import { codeFiles } from "../node/code-files.ts";
import { version } from "../node/version.ts";
import { cedarEngine } from "./cedar-engine.ts";
import { type AppliedSet, appliedSetMissing, denyAllSet, waitForAppliedSet } from "./policy-applied.ts";
import { NO_POLICY_CACHE, type PolicyTextCache } from "./policy-cache.ts";
import type { SetFile } from "./policy-digests.ts";
import type { PolicyFolderPath } from "./policy-files.ts";

import {
  type FolderLoad,
  type LoadedFolder,
  loadFolder,
  loadOrThrow,
  NO_GROUPS,
  type PolicyOptions,
  toPolicyWorld,
} from "./policy-load.ts";

export type ReloadOutcome = Readonly<
  | { kind: "same" }
  | { kind: "loaded"; loaded: LoadedFolder }
  | { kind: "refused"; problems: readonly PolicyProblem[]; files: Digest | null }
  /** Refused where going on with the old set would be wrong: nothing is permitted from now on (G-15). */
  | { kind: "closed"; problems: readonly PolicyProblem[]; files: Digest | null; loaded: LoadedFolder }
>;
/** Called with a change before it is in force; an error that it throws stops the change. */
export type Recorder = (change: Exclude<ReloadOutcome, { kind: "same" }>) => Promise<void>;

export type Policies = Gate &
  Readonly<{
    current(): LoadedFolder;
    explain(action: Action, facts: Facts): Explanation;
    /** Reads the folder again. One at a time; a set that does not load changes nothing. */
    reload(): Promise<ReloadOutcome>;
    /** The same for a set that was applied, here or by another process: if it does not load, nothing is permitted until one does (G-15). */
    takeUp(applied: AppliedSet): Promise<ReloadOutcome>;
    /** Calls `told` with the result of each set that another process applied. Returns the way to stop. */
    onTakenUp(told: (reloaded: ReloadOutcome) => void): () => void;
    /** Returns the way to stop. */
    recordedBy(recorder: Recorder): () => void;
    place: PolicyFolderPath;
  }>;

export const policyFolderPath = ({ policies, root, drafts = [] }: Pick<Config, "root" | "policies" | "drafts">): PolicyFolderPath => ({
  folder: policies,
  label: "policies",
  within: root,
  ...(drafts.length === 0 ? {} : { drafts: listDraftsBelow("policies", drafts) }),
});

/** Throws `policies-missing` or `policies-refused`. */
export function openPolicies(
  config: Pick<Config, "root" | "policies" | "groups" | "journal" | "drafts">,
  agents: readonly Agent[],
  surface: Surface,
  { only, remembered = NO_FILE_CACHE }: Readonly<{ only?: ReadonlySet<string> | undefined; remembered?: FileCache | undefined }> = {},
): Policies {
  const place = policyFolderPath(config);
  const engine = cedarEngine();
  const checked = openCheckedCache(config.journal.directory, [version(), engine.version(), codeFiles(["gate"])].join("\n"));
  const options = { place, agents, groups: config.groups, surface, checked, ...(only === undefined ? {} : { only }) };
  return policiesOf(options, engine, { remembered, cedar: engine.version() });
}

export type CedarPoliciesOptions = Readonly<{
  /** A folder of policies, laid out like a project's. */
  directory: string;
  agents: readonly Agent[];
  groups?: Partial<Pick<Groups, "agents" | "users">>;
  surface?: Surface;
  /** Whose clocks `context.now` shows; UTC unless said. */
  timezone?: string;
  /** Attributes that callers give the subject of a session, by name, beside those that tools declare. */
  subject?: Readonly<Record<string, RecordFieldType>>;
}>;

/** For those who embed the runtime: policies from a folder, as the gate of `createRuntime`. */
export function cedarPolicies(options: CedarPoliciesOptions): Policies {
  const hint = 'such as { directory: "policies", agents: [agent] }';
  assertArguments("cedarPolicies", { options: objectWith({ directory: text(hint), agents: aList(hint) }, hint) }, options);
  const { directory, agents, groups = {}, surface = "library", timezone = UTC, subject = {} } = options;
  if (!isTimeZone(timezone))
    throw new FaultError({
      kind: "usage",
      detail: `there is no time zone \`${timezone}\``,
      hint: "use an IANA name, such as Europe/Berlin",
    });
  const place = { folder: directory, label: "policies", within: directory };
  return policiesOf({ place, agents, groups: { ...NO_GROUPS, ...groups, world: { zone: timezone, subject } }, surface });
}

export const isPolicies = (gate: Gate): gate is Policies => "recordedBy" in gate && "reload" in gate;

/** `read`: for the first load alone; a long-lived process does not hold the whole cache of a project. */
function policiesOf(options: PolicyOptions, engine: Engine = cedarEngine(), read: PolicyTextCache = NO_POLICY_CACHE): Policies {
  const load = (): FolderLoad => loadFolder(options, engine);
  let inForce = loadOrThrow(loadFolder({ ...options, read }, engine));
  const recorders = new Set<Recorder>();
  const listeners = new Set<(reloaded: ReloadOutcome) => void>();
  let lastRefusal = "";
  let queue: Promise<unknown> = Promise.resolve();

  async function putInForce(change: ReloadOutcome): Promise<ReloadOutcome> {
    if (change.kind === "same") {
      lastRefusal = "";
      return change;
    }
    const refusal = change.kind === "loaded" ? "" : JSON.stringify(change.problems);
    if (refusal === "" || refusal !== lastRefusal) for (const record of recorders) await record(change);
    lastRefusal = refusal;
    if (change.kind !== "refused") inForce = change.loaded;
    return change;
  }
  async function takeUp(applied: AppliedSet): Promise<ReloadOutcome> {
    const found = await waitForAppliedSet(options.place, applied, inForce.folderDigest);
    if (found === "other") return { kind: "same" };
    const change = found === "there" ? changeOf(load(), inForce) : appliedSetMissing(applied.files);
    const became = await putInForce(change.kind === "refused" ? closedBy(change, options, engine) : change);
    if (became.kind !== "same") for (const told of listeners) told(became);
    return became;
  }
  function inTurn(work: () => Promise<ReloadOutcome>): Promise<ReloadOutcome> {
    const turn = queue.then(work);
    queue = turn.catch(() => {});
    return turn;
  }

  return {
    get digest() {
      return inForce.digest;
    },
    get lately() {
      return inForce.lately;
    },
    place: options.place,
    decide: (action, facts) => inForce.gateFor(facts.surface).decide(action, facts),
    decideFor: (user, act) => inForce.gateFor(options.surface).decideFor(user, act),
    groupsOf: (user) => inForce.gateFor(options.surface).groupsOf(user),
    explain: (action, facts) => inForce.gateFor(facts.surface).explain(action, facts),
    current: () => inForce,
    reload: () => inTurn(async () => putInForce(changeOf(load(), inForce))),
    takeUp: (applied) => inTurn(() => takeUp(applied)),
    recordedBy(recorder) {
      recorders.add(recorder);
      return () => recorders.delete(recorder);
    },
    onTakenUp(told) {
      listeners.add(told);
      return () => listeners.delete(told);
    },
  };
}

function changeOf(loading: FolderLoad, before: LoadedFolder): ReloadOutcome {
  switch (loading.kind) {
    case "loaded":
      return loading.loaded.digest === before.digest && loading.loaded.filesDigest === before.filesDigest
        ? { kind: "same" }
        : { kind: "loaded", loaded: loading.loaded };
    case "refused":
      return { kind: "refused", problems: loading.problems, files: loading.files };
    case "none":
      return {
        kind: "refused",
        problems: [{ file: loading.folder, line: 1, column: 1, detail: "there is no policy left in it", hint: "halt the work to stop it" }],
        files: null,
      };
  }
}

function closedBy({ problems, files }: Extract<ReloadOutcome, { kind: "refused" }>, options: PolicyOptions, engine: Engine): ReloadOutcome {
  const cast = toPolicyWorld(options.agents, options.groups, options.unread);
  return { kind: "closed", problems, files, loaded: denyAllSet(cast, problems, engine) };
}

export type { Explanation as Explained, PolicyProblem, SetFile };
