/** A problem of a file, its place and the remedy. Places are paths here; the host turns them into lines and columns. */
import type * as z from "zod";

export type ManifestIssue = Readonly<{ path: readonly PropertyKey[]; detail: string; hint: string }>;

/** Every unknown setting is reported by its own name, one by one. */
export function toIssues(error: z.ZodError, hint: string): readonly ManifestIssue[] {
  return error.issues.flatMap((issue): readonly ManifestIssue[] => {
    if (issue.code === "unrecognized_keys")
      return issue.keys.map((key) => ({
        path: [...issue.path, key],
        detail: `there is no setting \`${[...issue.path, key].map(String).join(".")}\``,
        hint,
      }));
    const name = issue.path.map(String).join(".");
    const message = issue.message.charAt(0).toLowerCase() + issue.message.slice(1);
    const missing = issue.code === "invalid_type" && message.endsWith("received undefined");
    return [{ path: issue.path, detail: missing ? `\`${name}\` is missing` : name === "" ? message : `\`${name}\`: ${message}`, hint }];
  });
}
