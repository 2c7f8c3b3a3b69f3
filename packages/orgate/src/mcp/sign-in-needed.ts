/** By name: a run does not load the client to look at an error of another. */
export const isSignInNeeded = (error: unknown): boolean => {
  for (let at: unknown = error, i = 0; i < 4 && at instanceof Error; at = at.cause, i += 1)
    if (at.name === "UnauthorizedError" || at.name === "InsufficientScopeError" || at.constructor.name === "UnauthorizedError") return true;
  return false;
};
