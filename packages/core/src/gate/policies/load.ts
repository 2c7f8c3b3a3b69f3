/**
 * From policy files to a set that can decide: all of them, or none (one bad file fails the whole set, and what ran before goes on).
 * Rule: G-9.
 */
import { countNoun, DEFAULT_TERMS, findUnanswerable, type UserGroups } from "../../vocab/index.ts";
import type { CedarType } from "../arguments/arg-types.ts";
import type { PolicySet } from "../cedar.ts";
import { type Parsed, type PolicyFile, type PolicyProblem, problemText } from "../problem.ts";
import { findUnknownNames, suggestMember } from "../strange-words.ts";
import { checkPolicies, isCertain } from "./check.ts";
import type { Engine } from "./engine.ts";
import { refuseTooDeep } from "./nesting.ts";
import { findAnnotation, type PolicyPiece, readDuties, splitPolicies, toPlace, utf8Length } from "./policy-text.ts";
import { isUnder } from "./reach.ts";
import { collectReads, UntraceablePolicy } from "./slice.ts";
import { buildVocabulary, type PolicyWorld } from "./vocabulary.ts";

export type { PolicyFile, PolicyProblem } from "../problem.ts";

export type LoadedSet = Readonly<
  | { kind: "set"; set: PolicySet; warnings: readonly PolicyProblem[] }
  | { kind: "refused"; problems: readonly [PolicyProblem, ...PolicyProblem[]] }
>;

export function loadPolicies(files: readonly PolicyFile[], cast: PolicyWorld, engine: Engine): LoadedSet {
  const vocabulary = buildVocabulary(cast);
  const problems: PolicyProblem[] = [];
  const warnings: PolicyProblem[] = [];
  const parsed = files.flatMap((file) => {
    if (file.idle !== undefined) return [];
    const found = splitPolicies(file.text);
    const seen = engine.count(file.text);
    if (seen !== null && seen !== found.length) problems.push(miscounted(file, found.length, seen));
    return found.flatMap((piece) => parse(file, piece, engine, problems));
  });
  uniqueIds(parsed, problems);
  const certain = parsed.filter((p) => isCertain(p, cast));
  const checked = checkPolicies(certain, files, engine, { vocabulary, cast });
  problems.push(...checked.problems);
  warnings.push(...checked.warnings);
  const people = groupsIn(cast);
  for (const p of parsed) {
    if (certain.includes(p)) problems.push(...redactions(p, cast, vocabulary.args));
    warnings.push(...strangers(p, cast), ...findUnknownNames(p, cast, (type) => existing(type, cast)));
    for (const { of, isRefused, detail, hint } of findUnanswerable(p.policy.duties.ask?.terms ?? DEFAULT_TERMS, people))
      (isRefused ? problems : warnings).push({ file: p.file.path, ...toPlace(p.file.text, annotated(p, of)), detail, hint });
  }
  const [first, ...rest] = problems.sort((a, b) => (a.file < b.file ? -1 : a.file > b.file ? 1 : a.line - b.line || a.column - b.column));
  if (first !== undefined) return { kind: "refused", problems: [first, ...rest] };
  const policies = parsed.map((p) => p.policy);
  return { kind: "set", set: { policies, vocabulary, cast, ...idleIn(files, parsed) }, warnings };
}

const groupsIn = ({ users }: PolicyWorld): UserGroups =>
  Object.fromEntries(
    [...new Set(users.flatMap(({ groups }) => groups))].map((group) => [
      group,
      users.flatMap(({ name, groups }) => (groups.includes(group) ? [name] : [])),
    ]),
  );

/** In the order of the files, as if all of them had been read: a process that reads more of them gets the same digest. */
function idleIn(files: readonly PolicyFile[], parsed: readonly Parsed[]): Pick<PolicySet, "idle" | "named"> {
  const named = files.flatMap((file) =>
    file.idle === undefined
      ? parsed.flatMap((p) => (p.file === file ? [{ id: p.policy.id, text: p.policy.text, shadow: file.shadow }] : []))
      : file.idle.pieces.map(({ id, text }) => ({ id, text, shadow: file.shadow })),
  );
  return { idle: new Set(files.flatMap((file) => file.idle?.agent ?? [])), named };
}

/** A text that the engine itself cannot stand is refused like any other. */
function understood(text: string, engine: Engine): ReturnType<Engine["parse"]> {
  try {
    const answer = engine.parse(text);
    if (answer.type === "success") collectReads([answer.json]);
    const deep = answer.type === "success" ? refuseTooDeep(answer.json, engine) : null;
    return deep === null ? answer : { type: "failure", errors: [deep] };
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    const help = error instanceof UntraceablePolicy ? error.hint : "write it in a simpler form";
    const big = error instanceof UntraceablePolicy ? text.search(/\d{16,}/) : -1;
    const start = utf8Length(text.slice(0, Math.max(0, big)));
    return { type: "failure", errors: [{ message, help, sourceLocations: [{ start, end: start }] }] };
  }
}

/** Whatever the cause, a policy that the engine sees and we do not would not be in force: the set is refused. */
const miscounted = (file: PolicyFile, ours: number, theirs: number): PolicyProblem => ({
  file: file.path,
  line: 1,
  column: 1,
  detail: `${countNoun(ours, "policy is", "policies are")} found in it, but Cedar finds ${theirs}`,
  hint: "look for odd characters near comments and strings",
});

function parse(file: PolicyFile, piece: PolicyPiece, engine: Engine, problems: PolicyProblem[]): readonly Parsed[] {
  const answer = understood(piece.text, engine);
  if (answer.type === "failure") {
    for (const error of answer.errors) problems.push(problemText({ file, piece }, error));
    return [];
  }
  const { json } = answer;
  const here = toPlace(file.text, piece.offset);
  const own = json.annotations?.["id"] ?? null;
  const id = `${file.name}/${own ?? here.line}`;
  const read = readDuties(id, json.effect, json.annotations ?? {});
  if (read.kind === "wrong") {
    problems.push({ file: file.path, ...toPlace(file.text, annotated({ piece }, read.annotation)), detail: read.detail, hint: read.hint });
    return [];
  }
  return [
    { file, piece, policy: { id, file: file.path, line: here.line, text: piece.text, json, duties: read.duties, shadow: file.shadow } },
  ];
}

function uniqueIds(parsed: readonly Parsed[], problems: PolicyProblem[]): void {
  const seen = new Map<string, Parsed>();
  for (const p of parsed) {
    const other = seen.get(p.policy.id);
    if (other !== undefined)
      problems.push({
        file: p.file.path,
        ...toPlace(p.file.text, p.piece.offset),
        detail: `two policies are named \`${p.policy.id}\``,
        hint: `the other stands in line ${other.policy.line}: give each an @id of its own`,
      });
    seen.set(p.policy.id, p);
  }
}

const annotated = ({ piece }: Pick<Parsed, "piece">, name: string): number => piece.offset + findAnnotation(piece.text, name);

/** A redacted argument must be a text of some tool under this policy. */
function redactions({ file, piece, policy }: Parsed, cast: PolicyWorld, args: ReadonlyMap<string, CedarType>): readonly PolicyProblem[] {
  const covered = cast.tools.filter((t) => isUnder(policy.json, t));
  return policy.duties.edits.flatMap(({ path }) => {
    if (covered.some((t) => typeAt(args.get(t.name), path)?.kind === "string")) return [];
    return [
      {
        file: file.path,
        ...toPlace(file.text, annotated({ piece }, "redact")),
        detail: `no tool under this policy takes a text \`args.${path.join(".")}\``,
        hint: "redact a text argument of a tool that the policy permits",
      },
    ];
  });
}

function typeAt(type: CedarType | undefined, path: readonly string[]): CedarType | undefined {
  return path.reduce<CedarType | undefined>((t, name) => (t?.kind === "record" ? t.fields.get(name)?.type : undefined), type);
}

/** Cedar does not know who exists; we know agents and groups. People need be in none, so nobody has a list of them. A policy about nobody is most often a typing error. */
function strangers({ file, piece, policy }: Parsed, cast: PolicyWorld): readonly PolicyProblem[] {
  const { entity, in: within } = policy.json.principal;
  const uid = (entity ?? (within as { entity?: unknown } | undefined)?.entity) as { type?: string; id?: string } | undefined;
  const there = uid?.type === undefined ? undefined : existing(uid.type, cast);
  if (uid?.id === undefined || there === undefined || there.names.includes(uid.id)) return [];
  const place = toPlace(file.text, piece.offset);
  return [{ file: file.path, ...place, detail: `there is no ${there.called} \`${uid.id}\``, hint: suggestMember(uid.id, there.names) }];
}

function existing(
  type: string,
  { agents, users }: PolicyWorld,
): { readonly called: string; readonly names: readonly string[] } | undefined {
  const groups = (of: PolicyWorld["agents"]) => [...new Set(of.flatMap((one) => one.groups))];
  if (agents.length === 0) return undefined; // a set that is looked at by itself
  if (type === "Agent") return { called: "agent", names: agents.map((a) => a.name) };
  if (type === "AgentGroup") return { called: "group of agents", names: groups(agents) };
  return type === "UserGroup" ? { called: "group of users", names: groups(users) } : undefined;
}
