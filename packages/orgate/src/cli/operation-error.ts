/**
 * An operation that failed for another reason than its input, in the words of the server or of this process. `kind` is a fault's or a problem's, so that
 * a command fails alike wherever its operation runs.
 */
export class OperationError extends Error {
  override readonly name = "OperationError";
  readonly kind: string;
  readonly hint: string;

  constructor({ kind, detail, hint }: Readonly<{ kind: string; detail: string; hint: string }>, cause?: unknown) {
    super(detail, { cause });
    this.kind = kind;
    this.hint = hint;
  }
}
