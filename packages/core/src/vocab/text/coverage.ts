/** The scope of a grant, in words: the same sentence before it is given, in the journal, and in the list of grants. */
import type { GrantFacts } from "../events/system-event.ts";
import type { GrantRequest } from "../intent.ts";
import type { Targets } from "../targets.ts";
import type { Resource } from "../tool.ts";
import { escapeHidden } from "./hidden.ts";

/** The parts of a call that an approver saw, beside its digest. */
export type Coverage = Readonly<{
  tool: string;
  /** The resource that the tool declares; the tool itself where it declares none. */
  resource: Resource;
  /** Null: not known, or more than can be shown. */
  targets: Targets | null;
  /** The session's labels when it was asked. */
  labels: readonly string[];
  /** Labels that may join later, because every policy that asks says so. */
  survives: readonly string[];
  /** Whom the session serves; null: nobody. */
  subject: string | null;
}>;

/** Q-9 Where a tool declares neither a resource nor targets, all that was shown is the call with its arguments: nothing else is covered. */
export const coversOnlyExactCall = ({ tool, resource, targets }: Pick<Coverage, "tool" | "resource" | "targets">): boolean =>
  targets === null || (resource.type === "Tool" && resource.id === tool && Object.values(targets).every((values) => values.length === 0));

/** `every later call of send_mail with to = ana@x.org, whatever its other arguments, in this session, while no new label joins it`. */
export function coverageText(shown: Coverage, { scope, until }: GrantRequest): string {
  const what = `every later call of ${escapeHidden(shown.tool)}${extent(shown, scope)}`;
  return `${what}, ${whenText(shown, until)}, ${labelsText(shown)}`;
}

/** Q-9 A session that begins to serve somebody, or somebody else, is asked again; that it serves nobody goes without saying. */
function whenText({ subject }: Coverage, until: GrantRequest["until"]): string {
  const served = subject === null ? "" : ` serves ${escapeHidden(subject)}`;
  if (typeof until === "number") return `in any session${served === "" ? "" : ` that${served}`}, until ${new Date(until).toISOString()}`;
  return `in this ${until}${served === "" ? "" : ` while ${until === "session" ? "it" : "the session"}${served}`}`;
}

function extent(shown: Coverage, scope: GrantRequest["scope"]): string {
  if (scope === "tool") return ", whatever its arguments";
  if (scope === "digest" || coversOnlyExactCall(shown)) return " with exactly these arguments";
  const { resource, targets, tool } = shown;
  const isOwn = resource.type === "Tool" && resource.id === tool;
  const on = isOwn ? "" : ` on ${escapeHidden(`${resource.type} ${resource.id}`)}`;
  const names = Object.entries(targets ?? {}).map(([name, values]) =>
    values.length === 0 ? `no ${name}` : `${name} = ${values.map(escapeHidden).join(", ")}`,
  );
  return `${on}${names.length === 0 ? "" : ` with ${names.join(" and ")}`}, whatever its other arguments`;
}

function labelsText({ labels, survives }: Coverage): string {
  const has = labels.length === 0 ? "" : ` (it has ${labels.map(escapeHidden).join(", ")})`;
  const but = survives.length === 0 ? "" : ` other than ${survives.map(escapeHidden).join(", ")}`;
  return `while no new label${but} joins the session${has}`;
}

/** Of a grant that stands. One from before these facts were kept covers the very same call, in a session without labels. */
export const grantText = (g: GrantFacts): string =>
  coverageText(toCoverage(g), {
    scope: g.scope,
    until: g.turn !== null ? "turn" : g.session !== null ? "session" : (g.until ?? "session"),
  });

export const toCoverage = ({ tool, resource, targets = null, labels = [], survives = [], subject = null }: GrantFacts): Coverage => ({
  tool,
  resource,
  targets,
  labels,
  survives,
  subject,
});
