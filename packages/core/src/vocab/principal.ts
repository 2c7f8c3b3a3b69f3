/** Who. A person is known by a key pair (step 8 adds sign-in on top); an agent by its name; `system` is the runtime itself. */
export type Principal =
  | { readonly kind: "user"; readonly id: string }
  | { readonly kind: "agent"; readonly id: string }
  | { readonly kind: "system"; readonly id: string };

/** Where a session was opened; `policies/<surface>/` joins the set for its sessions. */
export const SURFACES = ["cli", "library", "coordinator", "shell", "api", "schedule", "webhook", "mcp"] as const;
export type Surface = (typeof SURFACES)[number];

export const principalName = (p: Principal): string => `${p.kind}:${p.id}`;
