/** The part of Standard Schema (v1) that a definition uses. Any library that speaks it may describe a tool's input. */
export type StandardSchema<Input = unknown, Output = Input> = Readonly<{
  "~standard": Readonly<{
    version: 1;
    vendor: string;
    validate: (value: unknown) => StandardResult<Output> | Promise<StandardResult<Output>>;
    types?: Readonly<{ input: Input; output: Output }> | undefined;
    jsonSchema?: Readonly<{ input: DescribeSchema; output: DescribeSchema }> | undefined;
  }>;
}>;

type DescribeSchema = (options: { readonly target: "draft-2020-12" }) => Readonly<Record<string, unknown>>;

export type StandardResult<Output> = Readonly<{ value: Output; issues?: undefined }> | Readonly<{ issues: readonly StandardIssue[] }>;

export type StandardIssue = Readonly<{
  message: string;
  path?: readonly (PropertyKey | Readonly<{ key: PropertyKey }>)[] | undefined;
}>;

export const isStandardSchema = (value: unknown): value is StandardSchema =>
  (typeof value === "object" || typeof value === "function") &&
  value !== null &&
  "~standard" in value &&
  typeof value["~standard"] === "object" &&
  value["~standard"] !== null &&
  "validate" in value["~standard"] &&
  typeof value["~standard"].validate === "function";

const MAX_ISSUES = 10;

/** `path: what is wrong`, at most ten, each on one line. */
export function issueLines(issues: readonly StandardIssue[]): readonly string[] {
  const lines = issues.slice(0, MAX_ISSUES).map(issueLine);
  const more = issues.length - lines.length;
  return more > 0 ? [...lines, `and ${more} more`] : lines;
}

function issueLine(issue: StandardIssue): string {
  const message = issue.message.replace(/\s+/g, " ").slice(0, 300);
  const said = message.charAt(0).toLowerCase() + message.slice(1);
  const at = (issue.path ?? []).map((step) => (typeof step === "object" ? step.key : step));
  return at.length === 0 ? said : `${pathText(at)}: ${said}`;
}

/** `to[0].name`, as one would write it in code. */
export const pathText = (path: readonly PropertyKey[]): string =>
  path.map((step, i) => (typeof step === "number" ? `[${step}]` : `${i === 0 ? "" : "."}${String(step)}`)).join("");
