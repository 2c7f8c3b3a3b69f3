/** Starter projects and manifests: which there are, and how their placeholders are filled (`examples/starters/README.md`). */
import { readStarter, type StarterFile } from "./starter-files.ts";

export const KINDS = ["assistant", "developer", "operations", "payments", "secretary", "support"] as const;
export type Kind = (typeof KINDS)[number];
export const isKind = (text: string): text is Kind => KINDS.some((kind) => kind === text);

export const PROFILES = ["minimal", "assistant", "dev-agent", "multi-agent"] as const;
export type Profile = (typeof PROFILES)[number];
export const isProfile = (text: string): text is Profile => PROFILES.some((profile) => profile === text);

/** `folder` names the project's files and its policy set. Input `first` is permitted at once; `second` waits for an approval. */
export type Starter = Readonly<{ folder: string; group: string; agent: string; first: string; second: string | null }>;

export const KIND_STARTERS: Readonly<Record<Kind, Starter>> = {
  assistant: starter("assistant", "operators", "what is on today?", "remember the milk"),
  developer: starter("developer", "developers", "read hello.txt", "write hello.txt"),
  operations: starter("operations", "operators", "why is checkout slow?", "restart checkout"),
  payments: starter("payments", "operators", "what is due?", "pay the bill"),
  secretary: starter("secretary", "operators", "what is in my inbox?", "forward the news as they ask"),
  support: starter("support", "operators", "when are you open?", "cancel O-1, my code is 4711"),
};
export const PROFILE_STARTERS: Readonly<Record<Profile, Starter>> = {
  minimal: { folder: "minimal", group: "operators", agent: "hello", first: "hello", second: null },
  assistant: KIND_STARTERS.assistant,
  "dev-agent": KIND_STARTERS.developer,
  "multi-agent": { folder: "team", group: "operators", agent: "lead", first: "what is on today?", second: null },
};

function starter(kind: Kind, group: string, first: string, second: string): Starter {
  return { folder: kind, group, agent: kind, first, second };
}

/** `user` makes the project and is the first who may approve. */
export function starterProject(starter: Starter, { name, user }: Readonly<{ name: string; user: string }>): readonly StarterFile[] {
  const { folder, group, agent, first, second } = starter;
  const values = { NAME: name, PACKAGE: packageName(name), USER: user, GROUP: group, AGENT: agent, FIRST: first, SECOND: second ?? "" };
  return [...readStarter("common"), ...readStarter(folder)].map(({ path, text }) => ({
    path: path === "gitignore" ? ".gitignore" : path,
    text: fill(second === null ? text.replace(APPROVAL_COMMANDS, "") : text, values),
  }));
}
const APPROVAL_COMMANDS = /^.* # asks first\n(?:orgate approvals .*\n)+/m;

const packageName = (name: string): string =>
  name
    .toLowerCase()
    .replaceAll(/[^a-z0-9._-]+/g, "-")
    .replace(/^[._-]+/, "") || "project";

/** A manifest that loads as it is. */
export function starterManifest(name: string, kind: "command" | "http" | "mcp"): string {
  const file = readStarter("manifests").find(({ path }) => path === `${kind}.clad.toml`);
  if (file === undefined) throw new Error(`no starter manifest for \`${kind}\``);
  return fill(file.text, { NAME: name });
}

/** A placeholder that fills a pair of quotes is escaped as JSON, which TOML and shells read alike. */
function fill(text: string, values: Readonly<Record<string, string>>): string {
  return text.replaceAll(/"__([A-Z]+)__"|__([A-Z]+)__/g, (whole, quoted: string | undefined, bare: string | undefined) => {
    const value = values[quoted ?? bare ?? ""];
    if (value === undefined) return whole;
    return quoted === undefined ? value : JSON.stringify(value);
  });
}
