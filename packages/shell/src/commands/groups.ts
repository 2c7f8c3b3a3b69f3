/** Which commands belong together, in the order in which a newcomer needs them. Every command is in one group. */
export const COMMAND_GROUPS: readonly Readonly<{ name: string; about: string; commands: readonly string[] }>[] = [
  {
    name: "conversation",
    about: "what is said, to whom, and what the model is shown of it",
    commands: [
      "ask",
      "send",
      "run",
      "steer",
      "stop",
      "new",
      "clear",
      "compact",
      "context",
      "model",
      "cost",
      "tokens",
      "history",
      "sessions",
      "resume",
      "branch",
      "snapshot",
      "export",
    ],
  },
  {
    name: "agents",
    about: "who there is, what each is doing, and whether it may",
    commands: ["agents", "agent", "monitor", "tools", "skills", "pause", "resume-agent", "halt", "resume-work", "cron"],
  },
  { name: "authoring", about: "agents, policies and tools, described in words", commands: ["spawn", "policy", "tool", "behavior", "init"] },
  { name: "orchestration", about: "several agents under one budget", commands: ["chain", "parallel", "race", "debate"] },
  {
    name: "approvals",
    about: "what waits for a person, and what was remembered",
    commands: ["approvals", "why", "approve", "deny", "withdraw", "resolve", "grants", "revoke"],
  },
  {
    name: "knowledge",
    about: "what is kept, and what happened",
    commands: ["memory", "knowledge", "logs", "audit", "debug", "verify", "call"],
  },
  {
    name: "this shell",
    about: "the shell itself, and the server it is in front of",
    commands: ["help", "status", "doctor", "mcp", "secrets", "attach", "detach", "theme", "quit"],
  },
];
