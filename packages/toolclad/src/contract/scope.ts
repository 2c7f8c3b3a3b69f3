/**
 * `scope/scope.toml`: whom tools may be pointed at. What is not in it is out of scope; without it everything is.
 *
 * T-19 a host is in scope when a target or domain covers it and nothing excluded meets it; a range is only when all of it is. `*.example.com`
 *     means what lies below it, not itself.
 */
import { lazily } from "@orgate/core/vocab";
import * as z from "zod";
import { type Host, hostCovers, hostsOverlap, readHost, readTarget } from "./hosts.ts";
import { type ManifestIssue, toIssues } from "./issue.ts";

/** `below`: names that end with this, the dot included. */
type Pattern = Readonly<{ kind: "host"; host: Host }> | Readonly<{ kind: "below"; suffix: string }>;

export type TargetScope = Readonly<{ targets: readonly Pattern[]; exclude: readonly Pattern[]; texts: readonly string[] }>;
export const NO_SCOPE: TargetScope = Object.freeze({ targets: [], exclude: [], texts: [] });

const listSchema = lazily(() => z.array(z.string()).default([]));
const fieldsSchema = lazily(() => z.strictObject({ targets: listSchema(), domains: listSchema(), exclude: listSchema() }));
const scopeSchema = lazily(() => z.union([z.strictObject({ scope: fieldsSchema() }), fieldsSchema()]));

export type ReadScope = Readonly<{ kind: "scope"; scope: TargetScope }> | Readonly<{ kind: "refused"; issues: readonly ManifestIssue[] }>;

export function decodeScope(value: unknown): ReadScope {
  const inTable = typeof value === "object" && value !== null && "scope" in value;
  const read = (inTable ? z.strictObject({ scope: fieldsSchema() }) : scopeSchema()).safeParse(value);
  if (!read.success) {
    const whole = (inTable ? z.strictObject({ scope: fieldsSchema() }) : fieldsSchema()).safeParse(value);
    return { kind: "refused", issues: whole.success ? [] : toIssues(whole.error, HINT) };
  }
  const at = inTable ? ["scope"] : [];
  const { targets, domains, exclude } = "scope" in read.data ? read.data.scope : read.data;
  const issues: ManifestIssue[] = [];
  const patterns = (texts: readonly string[], field: string): readonly Pattern[] =>
    texts.flatMap((text, i) => {
      const pattern = readPattern(text);
      if (typeof pattern !== "string") return [pattern];
      issues.push({ path: [...at, field, i], detail: `\`${text}\` ${pattern}`, hint: HINT });
      return [];
    });
  const allowed = [...patterns(targets, "targets"), ...patterns(domains, "domains")];
  const excluded = patterns(exclude, "exclude");
  if (issues.length > 0) return { kind: "refused", issues };
  return { kind: "scope", scope: { targets: allowed, exclude: excluded, texts: [...targets, ...domains] } };
}
const HINT =
  "targets and exclude hold names, addresses and ranges (10.0.0.0/8), domains hold names, `*.example.com` for what lies below one";

function readPattern(text: string): Pattern | string {
  const below = text.startsWith("*.");
  const read = below ? readHost(text.slice(2)) : readTarget(text);
  if (read.kind === "bad") return read.why;
  if (!below) return { kind: "host", host: read.host };
  return read.host.kind === "name" ? { kind: "below", suffix: `.${read.host.text}` } : "puts a star before an address";
}

const isCovered = (host: Host) => (pattern: Pattern) =>
  pattern.kind === "host" ? hostCovers(pattern.host, host) : host.kind === "name" && host.text.endsWith(pattern.suffix);
const isMet = (host: Host) => (pattern: Pattern) =>
  pattern.kind === "host" ? hostsOverlap(pattern.host, host) : host.kind === "name" && host.text.endsWith(pattern.suffix);

/** Null: in scope. */
export function refuseOutOfScope(host: Host, scope: TargetScope): string | null {
  if (scope.targets.length === 0) return "is out of scope: scope/scope.toml names nothing";
  if (!scope.targets.some(isCovered(host))) return "is out of scope (scope/scope.toml)";
  return scope.exclude.some(isMet(host)) ? "is excluded from the scope (scope/scope.toml)" : null;
}
