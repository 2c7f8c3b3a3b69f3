/**
 * How a call may be repeated after its outcome was lost: `read` and `idempotent` run again with the same key,
 * `reconcile` asks the tool what happened, `once` is never repeated.
 */
export type Repeat = "read" | "idempotent" | "reconcile" | "once";
