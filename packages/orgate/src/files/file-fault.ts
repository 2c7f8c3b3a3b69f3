import { FaultError } from "@orgate/core/vocab";

/** Something is wrong with a file; `at`: where in it, if known. */
export type FileProblemAt = Readonly<{
  file: string;
  at?: Readonly<{ line: number; column: number | null }> | null;
  detail: string;
  hint: string;
}>;

export const fileFault = ({ file, at = null, detail, hint }: FileProblemAt, cause?: unknown): FaultError =>
  new FaultError({ kind: "file-bad", file, line: at?.line ?? null, column: at?.column ?? null, detail, hint }, cause);
