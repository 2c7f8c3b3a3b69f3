/**
 * Who acted. A person is known by a key or a sign-in, an agent by its name. `system` is the runtime itself; its id is the id of the writer (a process), or
 * the part that decided: `repeats` (the same call too often), `expiry` (an approval request unanswered), `unknown` (the sender cannot be read).
 */
export type Principal =
  | { readonly kind: "user"; readonly id: string }
  | { readonly kind: "agent"; readonly id: string }
  | { readonly kind: "system"; readonly id: string };

/** Where a session was opened; `policies/<surface>/` joins the set for its sessions. */
export const SURFACES = ["cli", "library", "coordinator", "shell", "api", "schedule", "webhook", "mcp"] as const;
export type Surface = (typeof SURFACES)[number];

export const principalName = (p: Principal): string => `${p.kind}:${p.id}`;
