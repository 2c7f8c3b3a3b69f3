/** The policies of the project on disk. */

/** How long the question about `hurry` may wait. */
export const HURRY_MS = 6_000;

export const DESK_POLICIES = `@id("think")
permit(principal, action == Action::"model", resource);
@id("speak")
permit(principal, action == Action::"respond", resource);
@id("looking")
permit(principal, action == Action::"tool:look", resource);
@id("firing")
@ask("fire it?")
@grant("tool 8h")
@grantSurvives("untrusted")
permit(principal, action == Action::"tool:fire", resource);
@id("ringing")
@ask("ring it?")
permit(principal, action == Action::"tool:ring", resource);
@id("hurrying")
@ask("now?")
@expires("${HURRY_MS / 1_000}s")
permit(principal, action == Action::"tool:hurry", resource);
@id("people")
permit(principal is User, action, resource);
`;
