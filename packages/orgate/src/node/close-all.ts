/** Closes one after the other, whatever fails: the journal comes last, and must not stay open because something before it could not be closed. Throws the first error. */
export async function closeAll(steps: readonly (() => unknown)[]): Promise<void> {
  const errors: unknown[] = [];
  for (const close of steps)
    try {
      await close();
    } catch (error) {
      errors.push(error);
    }
  if (errors.length > 0) throw errors[0];
}
