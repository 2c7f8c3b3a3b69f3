/** Arguments, options and notes that several commands share. */
import type { OptionSpec } from "@orgate/shell/terminal";

export const COMMON: Readonly<Record<string, OptionSpec>> = {
  project: { type: "string", value: "DIR", help: "the project's folder (default: the nearest orgate.toml upward)" },
  json: { type: "boolean", help: "one JSON value on stdout, errors as JSON on stderr" },
  help: { type: "boolean", help: "this page" },
};

export const AS: OptionSpec = {
  type: "string",
  value: "NAME",
  help: "who you are (default: $ORGATE_USER, else your only key, else one is made for you)",
};
export const FILE: OptionSpec = {
  type: "string",
  value: "PATH",
  help: "show this file too: an image, a PDF or a text; may be given again",
  many: true,
};
export const SESSION = { name: "ID", required: true, help: "a session's id, or enough of its beginning or end" } as const;
export const APPROVAL = {
  name: "ID",
  required: true,
  help: "as `orgate approvals list` shows it, or enough of its beginning or end",
} as const;
export const DIGEST: OptionSpec = { type: "string", value: "DIGEST", help: "only if it is about this (at least 8 characters)" };
export const AGENT = { name: "AGENT", required: true, help: "its name" } as const;
export const SCOPE = [
  { name: "WHAT", required: false, help: "all (default), agent or tool", choices: ["all", "agent", "tool"] },
  { name: "NAME", required: false, help: "of the agent or the tool" },
] as const;
export const LETTER = { name: "CALL", required: true, help: "SESSION/CALL as `orgate dead-letters list` shows it" } as const;
export const MANIFESTS_ONLY =
  "For tools of manifests (tools/*.clad.toml) only. Tools that code or an MCP server defines: `orgate tools list`.";
export const TOOL = { name: "TOOL", required: true, help: "its name" } as const;
export const ARG: OptionSpec = { type: "string", value: "NAME=VALUE", help: "an argument", many: true };
export const ARGS: OptionSpec = { type: "string", value: "JSON", help: "all arguments, as JSON" };
export const PASSPHRASES =
  "The passphrase is $ORGATE_SECRETS_PASSPHRASE, else what the file $ORGATE_SECRETS_KEY_FILE holds, else you are asked.";
export const EXITS = "Exits 0 when the turn completed, 3 when it waits for a person, 1 on any other ending or error, 2 on wrong usage.";
export const DELIVERY =
  "It goes to the process that drives the session; when there is none, the session is taken up and driven here, to its end.";

export const REQUEST: Readonly<Record<string, OptionSpec>> = {
  action: {
    type: "string",
    value: "ACTION",
    help: "model, respond or tool:NAME; with --user what a person does: observe, run, open, say, approve, halt, read-journal, …",
  },
  agent: { type: "string", value: "NAME", help: "which agent" },
  user: { type: "string", value: "NAME", help: "a person, for what people do themselves" },
  args: { type: "string", value: "JSON", help: "the arguments of the call" },
  labels: { type: "string", value: "A,B", help: "labels of the session" },
  media: { type: "string", value: "A,B", help: "media types of files that were shown: image/png" },
  resource: { type: "string", value: "T::ID", help: "what it touches, where the tool does not say" },
  effects: { type: "string", value: "A,B", help: "for a tool that the project does not have: read, write, execute, network, spend" },
  tool: { type: "string", value: "JSON", help: `what the definition of such a tool says: '{"riskTier":"low"}'` },
  calls: { type: "string", value: "JSON", help: `counters: '{"save_note":{"turn":5,"hour":20}}'` },
  facts: { type: "string", value: "JSON", help: `facts about arguments: '{"to":{"inRequest":true}}'` },
  targets: { type: "string", value: "JSON", help: `of all targets together: '{"known":true}'` },
  values: { type: "string", value: "JSON", help: `of all plain texts and numbers together: '{"inRequest":true}'` },
  outgoing: { type: "string", value: "JSON", help: `of all text that leaves: '{"links":["https://…"]}'` },
  amount: { type: "string", value: "JSON", help: `of what is paid to a target: '{"value":"12.50","total":{"day":"90"}}'` },
  spent: { type: "string", value: "JSON", help: `tokens: '{"session":500000}'` },
  records: {
    type: "string",
    value: "JSON",
    help: `records of things, a list for several: '{"order":{"status":"pending","owner":"C-7","ageSeconds":30}}'`,
  },
  subject: { type: "string", value: "JSON", help: `whom the session serves: '{"id":"C-7","tier":"gold"}'` },
  now: { type: "string", value: "TIME", help: "when it is decided: 2030-01-31T08:00:00Z" },
  approval: { type: "string", value: "JSON", help: `the approval it has got: '{"ageSeconds":60}'` },
  for: { type: "string", value: "NAME", help: "on whose behalf" },
  surface: { type: "string", value: "NAME", help: "where the session was opened (default cli)" },
};

export const KNOWLEDGE_PLACE: Readonly<Record<string, OptionSpec>> = {
  scope: {
    type: "string",
    value: "SCOPE",
    help: "agent, project or shared (default: project; agent with --agent)",
    choices: ["agent", "project", "shared"],
  },
  agent: { type: "string", value: "NAME", help: "the agent whose own it is" },
};

export const LOG: OptionSpec = {
  type: "string",
  value: "LEVEL",
  help: "debug, info, warn or error, as lines of JSON on stderr (default: warn on a terminal, else info)",
  choices: ["debug", "info", "warn", "error"],
};

export const SERVING: Readonly<Record<string, OptionSpec>> = {
  host: { type: "string", value: "HOST", help: "where it listens (default: `server.host` of orgate.toml, else 127.0.0.1)" },
  port: { type: "string", value: "PORT", help: "on which port; 0 takes a free one (default: `server.port`, else 4680)" },
  watch: { type: "boolean", help: "reload the policies when their files change; a set that does not load changes nothing" },
  check: { type: "boolean", help: "only look whether it would start, and say what is wrong and where" },
  link: { type: "boolean", help: "print a link to sign in with, also when you have signed in before" },
  log: LOG,
  as: AS,
};
