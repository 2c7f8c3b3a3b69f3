/** The parts of a shell, for programs that show one their own way. The command is `@orgate/shell/start`. */
export { AUTHOR, carryOver, coversConsent, type UsedConsents } from "./auto-approve.ts";
export { APPROVAL_COMMANDS } from "./commands/approvals.ts";
export { OPERATION_COMMANDS } from "./commands/commands.ts";
export { CONVERSATION_COMMANDS } from "./commands/conversation.ts";
export { FLEET_COMMANDS } from "./commands/fleet.ts";
export { ORCHESTRATE_COMMANDS } from "./commands/orchestrate.ts";
export { RECORD_COMMANDS } from "./commands/records.ts";
export { resumeNamed, SESSION_COMMANDS } from "./commands/session.ts";
export { connectTo, type ServerConnection } from "./connection.ts";
export type { Shell } from "./contract.ts";
export { connectToServer, openServerSwitch, type ServerSwitch, type ShellSetup, type StartLocalServer } from "./server-switch.ts";
export { openShell } from "./shell.ts";
export { openPlainUi, type PlainUi } from "./ui/plain-ui.ts";
export type { TerminalEvents } from "./ui/terminal.ts";
export { openTerminalUi } from "./ui/terminal-ui.ts";
export type { ShellUi } from "./ui/ui.ts";
