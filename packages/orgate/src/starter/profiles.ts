/** Projects to start from, by how much there is to begin with. Each is what `orgate init --profile` writes; its policies lie in `policies/starter/`. */
import { type Kind, NOTES, notesAgent, projectBasics, type StarterFile, starterFiles } from "./project.ts";

export const PROFILES = ["minimal", "assistant", "dev-agent", "multi-agent"] as const;
export type Profile = (typeof PROFILES)[number];
export const isProfile = (text: string): text is Profile => PROFILES.some((profile) => profile === text);

/** Which folder of `policies/starter/` it takes, which agent is run first, and what is said to it. */
export const PROFILE_FACTS: Readonly<Record<Profile, Readonly<{ policies: string; agent: string; first: string; kind: Kind | null }>>> = {
  minimal: { policies: "minimal", agent: "hello", first: "hello", kind: null },
  assistant: { policies: "assistant", agent: "assistant", first: "what is on today?", kind: "assistant" },
  "dev-agent": { policies: "developer", agent: "developer", first: "read hello.txt", kind: "developer" },
  "multi-agent": { policies: "team", agent: "lead", first: "what is on today?", kind: null },
};

export function profileFiles(profile: Profile, name: string, user: string): readonly StarterFile[] {
  const { kind, agent, first } = PROFILE_FACTS[profile];
  if (kind !== null) return starterFiles(kind, name, user);
  return [...projectBasics({ name, user, group: "operators", agent, first }), ...(profile === "minimal" ? MINIMAL : TEAM)];
}

const MINIMAL: readonly StarterFile[] = [
  {
    path: "agents/hello.symbi",
    text: `// An agent is a file that people review: what it is for, what it may touch, when it runs.
metadata {
  description = "You answer what you are asked, briefly."
  version = "0.1.0"
}

agent hello {
  policy talk {
    allow: [model, respond]
  }

  // It runs on \`[models] default\` of orgate.toml; until there is one the offline model says back what it was told.
  with iterations = 3 {}
}
`,
  },
];

const TEAM: readonly StarterFile[] = [
  {
    path: "agents/lead.toml",
    text: `# Hands work to the others and answers for it. It has no tools of its own.
name = "lead"
instructions = "You lead a small team. Have the researcher look things up and the writer put them into words; answer with what they found."
delegates = ["researcher", "writer"]

[[modelOptions.rules]]
when = { says = "write (?<what>.+)", notCalled = ["delegate"] }
say = "I will ask the writer."
calls = [{ tool = "delegate", args = { agent = "writer", task = "{{what}}" } }]

[[modelOptions.rules]]
when = { notCalled = ["delegate"] }
say = "I will ask the researcher."
calls = [{ tool = "delegate", args = { agent = "researcher", task = "{{input}}" } }]

[[modelOptions.rules]]
when = { called = ["delegate"] }
say = "The team says: {{results.delegate}}"
`,
  },
  { path: "agents/researcher.toml", text: notesAgent("researcher", "You look things up in the notes and report what they say.") },
  {
    path: "agents/writer.symbi",
    text: `metadata {
  description = "You put what you are given into one short paragraph."
}

agent writer {
  // It runs on \`[models] default\` of orgate.toml; until there is one the offline model says back what it was told.
  with iterations = 3 {}
}
`,
  },
  { path: "tools/notes.ts", text: NOTES },
  { path: "notes/today", text: "Call Ana about the contract." },
];
