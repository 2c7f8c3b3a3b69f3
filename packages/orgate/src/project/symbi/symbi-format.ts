/** `.symbi` and `.dsl` files as an agent format: agents with policies, labels, schedules and webhooks. Y-4, A-3: all files or none. */

import { relative } from "node:path";
import type { Agent } from "@orgate/core";
import type { AgentDraft, Compiled, SymbiFile, UnknownTools } from "@orgate/symbi";
import { isUnusableTool } from "../../tools/unusable-tool.ts";
import type { AgentAbout, AgentFormat, AgentSource, FinishedAgent, FormatAgent, FormatContext, NamedTools } from "../formats/format.ts";
import { findProcedureDoubts, findPublicDelegates, finishAgent, hasMissingParts, PRIVATE } from "./project-symbi.ts";
import { openSymbiCache, type SymbiCache } from "./symbi-cache.ts";
import { buildAgent, isSymbi, readSymbiFiles, problemAt as symbiProblemAt } from "./symbi-files.ts";
import { type SymbiInputs, toSymbiInputs } from "./symbi-inputs.ts";
import type { SymbiOrigin, SymbiSource } from "./symbi-origin.ts";

export const symbiFormat: AgentFormat = {
  name: "symbi",
  matches: isSymbi,
  load: (patterns, context) => new SymbiLoading(context).load(patterns),
};

/** A source whose whole file can be looked at. */
type SymbiAgentSource = AgentSource & Readonly<{ symbi: SymbiFile }>;
const isSymbiSource = (source: AgentSource): source is SymbiAgentSource => "symbi" in source;

/** `file`: below the project's folder. */
export const findSymbiFile = (sources: readonly AgentSource[], file: string): SymbiFile | null =>
  sources.filter(isSymbiSource).find(({ symbi }) => symbi.file === file)?.symbi ?? null;

function describeDraft(draft: AgentDraft, position: (at: number) => { line: number }): AgentAbout {
  const { description, version, author, license, tags, procedure, input, isPrivate } = draft;
  return {
    description,
    version,
    author,
    license,
    tags,
    procedure: procedure === null ? null : { text: procedure.text, line: position(procedure.at).line },
    input,
    labels: isPrivate ? [PRIVATE] : [],
  };
}

const NOTHING_MADE: Compiled = { kind: "compiled", policies: [], files: [] };

class SymbiLoading {
  readonly #context: FormatContext;
  readonly #memory: SymbiCache;
  readonly #origins = new Map<string, SymbiOrigin>();
  /** Files of which a block is missing. */
  readonly #torn = new Set<SymbiSource>();

  constructor(context: FormatContext) {
    this.#context = context;
    this.#memory = openSymbiCache(context.cache);
  }

  async load(patterns: readonly string[]) {
    const found = await this.#read(patterns);
    const sources: readonly SymbiAgentSource[] = found.map(({ path, symbi }) => ({
      path,
      symbi,
      schedules: symbi.schedules,
      webhooks: symbi.webhooks,
    }));
    const drafts = found.flatMap((source) => source.symbi.agents.map((draft) => ({ source, draft })));
    if (drafts.length === 0) return { agents: [], sources };
    const tools = await this.#context.tools();
    const agents = drafts.flatMap((origin) => this.#define(origin, tools));
    for (const { origin, problem } of findPublicDelegates(this.#origins)) this.#context.refuse(origin.source.path, [problem]);
    return { agents, sources };
  }

  async #read(patterns: readonly string[]): Promise<readonly SymbiSource[]> {
    const { refuse, markUnread } = this.#context;
    const reads = await readSymbiFiles(patterns, this.#context, this.#memory);
    return reads.flatMap((read) => {
      if (read.kind === "source") return [read.source];
      refuse(read.path, read.problems);
      if (!read.isWhole) markUnread("agents");
      if (read.part !== null && !read.isWhole) this.#torn.add(read.part);
      return read.part === null ? [] : [read.part];
    });
  }

  #define(origin: SymbiOrigin, tools: NamedTools): readonly FormatAgent[] {
    const { source, draft } = origin;
    const { root, refuse, collect, markUnread } = this.#context;
    const at = (place: number, detail: string, hint: string) => symbiProblemAt(source.symbi, place, detail, hint);
    const other = this.#origins.get(draft.name);
    if (other !== undefined) {
      const there = symbiProblemAt(other.source.symbi, other.draft.at, "", "");
      const detail = `agent \`${draft.name}\` is already defined in ${there.file}:${there.line}`;
      refuse(source.path, [at(draft.at, detail, "rename one of them")]);
      return [];
    }
    this.#origins.set(draft.name, origin);
    const built = buildAgent(source, draft, tools);
    if (built.kind === "problems") refuse(source.path, built.problems, built.cause);
    const { agent, unfit } = built;
    collect(
      unfit.map(({ tool, at: place, file, line, detail, hint }) =>
        at(place, `tool \`${tool}\` cannot be used: ${detail}`, `mend ${relative(root, file)}:${line}: ${hint}`),
      ),
    );
    if (agent === null) markUnread("agents");
    const position = (place: number) => {
      const { line, column } = at(place, "", "");
      return { line, column };
    };
    const locate = (setting: string, name?: string) => {
      const named = setting === "delegates" ? draft.delegates.find((one) => one.name === name)?.at : undefined;
      return position(named ?? draft.places.get(setting) ?? draft.at);
    };
    const finish = (whole: Agent) => this.#finish(whole, origin);
    const about = describeDraft(draft, position);
    return agent === null
      ? []
      : [{ agent, file: source.path, unfit, isUnfitReported: true, about, at: position(draft.at), locate, finish }];
  }

  async #finish(agent: Agent, origin: SymbiOrigin): Promise<FinishedAgent> {
    const made = await this.#compile(agent, origin);
    if (made.kind === "problems") this.#context.refuse(origin.source.path, made.problems);
    const finished = made.kind === "agent" ? { agent: made.agent, rules: made.policies } : { agent, rules: [] };
    return { ...finished, warnings: () => findProcedureDoubts(finished.agent, origin) };
  }

  async #compile(agent: Agent, origin: SymbiOrigin) {
    const { groups, isCollecting } = this.#context;
    const seen = () => toSymbiInputs(agent, groups);
    const unknown = isCollecting ? this.#unknownTo(agent, origin) : null;
    if (unknown !== null) {
      const part = (await import("./symbi-compile.ts")).compileAgent(origin, seen(), unknown);
      if (part.kind === "problems") return part;
      if (!hasMissingParts(agent)) return { kind: "agent", agent, policies: [] } as const;
    }
    const made = hasMissingParts(agent) ? NOTHING_MADE : await this.#compileOnce(origin, seen());
    return finishAgent(agent, origin, () => made);
  }

  async #compileOnce(origin: SymbiOrigin, seen: SymbiInputs): Promise<Compiled> {
    const known = this.#memory.compiled(origin, seen);
    if (known !== null) return known;
    const made = (await import("./symbi-compile.ts")).compileAgent(origin, seen);
    if (made.kind === "compiled") this.#memory.keepCompiled(origin, seen, made);
    return made;
  }

  /** Null if all tools of the agent are known. */
  #unknownTo(agent: Agent, { source, draft: { tools, delegates, definition } }: SymbiOrigin): UnknownTools | null {
    const isSilent = tools.length + delegates.length + (definition.skills?.length ?? 0) + (definition.mcp?.length ?? 0) === 0;
    const more = agent.missing.length + agent.missingServers.length > 0 || (this.#torn.has(source) && isSilent);
    const named = agent.tools.filter(isUnusableTool).map(({ name }) => name);
    return more || named.length > 0 || hasMissingParts(agent) ? { more, named } : null;
  }
}
