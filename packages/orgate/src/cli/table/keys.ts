/** Commands as data: plain table. */
import type { CommandSpec } from "@orgate/shell/terminal";
import { AS } from "./options.ts";

export const keysCommands: readonly CommandSpec[] = [
  {
    name: "keys create",
    summary: "Create a key for a person: a key pair, an API key for programs, or a sign-in link",
    args: [{ name: "NAME", required: true, help: "a-z, 0-9, _ and -" }],
    options: {
      api: { type: "boolean", help: "an API key that stands for this person at the server; shown once" },
      link: { type: "boolean", help: "a link that signs this person in at the server, once, within 15 minutes" },
      agents: { type: "string", value: "NAMES", help: "limited to these agents (with --api or --link)" },
      actions: { type: "string", value: "NAMES", help: "limited to these actions, such as observe,run (with --api or --link)" },
      expires: { type: "string", value: "TIME", help: "how long an API key counts: 12h, 90d (default), or never" },
      note: { type: "string", value: "TEXT", help: "what it is for (with --api or --link)" },
      url: { type: "string", value: "URL", help: "where the server is, for a link (default: as `[server]` of orgate.toml says)" },
      as: AS,
    },
    notes: [
      "The private key of a pair lies in $ORGATE_HOME/keys (default ~/.orgate/keys) and never leaves it.",
      "API keys and links need the policies' permission to `give-access`, and are in the journal; their secrets are not.",
    ],
    examples: ["orgate keys create ana", "orgate keys create ana --api --agents ops --actions observe,run --expires 30d"],
    load: async () => (await import("../commands/project/keys.ts")).create,
  },
  {
    name: "keys list",
    summary: "List the people whose signatures count in this project, and their API keys and sign-ins",
    args: [],
    options: { all: { type: "boolean", help: "access that is revoked, used or expired too" } },
    notes: [],
    examples: ["orgate keys list"],
    load: async () => (await import("../commands/project/keys.ts")).listKeys,
  },
  {
    name: "keys withdraw",
    summary: "Withdraw a lost or stolen key, and with a person's key all access of that person",
    args: [{ name: "KEYID", required: true, help: "as `orgate keys list` shows it" }],
    options: { reason: { type: "string", required: true, value: "TEXT", help: "why; the journal keeps it" }, as: AS },
    notes: [
      "With a person's key go their API keys, links and sign-ins, and the key that the server holds for them: at once, in every process.",
      "Other key pairs of the same person go on counting; they are named.",
      "Everybody may withdraw their own key. Somebody else's takes the policies' permission to `give-access` to them, a writer's that to `manage-keys`.",
    ],
    examples: ['orgate keys withdraw k_3f2a --reason "laptop stolen"'],
    load: async () => (await import("../commands/project/keys.ts")).withdrawKey,
  },
  {
    name: "keys revoke",
    summary: "Revoke an API key, sign-in link or sign-in immediately, everywhere",
    args: [{ name: "ACCESS", required: true, help: "as `orgate keys list` shows it, or enough of its beginning" }],
    options: { reason: { type: "string", required: true, value: "TEXT", help: "why; the journal keeps it" }, as: AS },
    notes: [],
    examples: ['orgate keys revoke x_1f00 --reason "the build is gone"'],
    load: async () => (await import("../commands/project/keys-access.ts")).revokeAccess,
  },
];
