// The table of operations in docs/guide/protocol.md, from the words of the operations. `node scripts/operations-table.ts --write` writes it.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { OPERATION_NAMES, OPERATION_WORDS } from "@orgate/protocol/words";
import { readText } from "./tree.ts";

const ROOT = join(import.meta.dirname, "..");
export const PAGE = "docs/guide/protocol.md";
const [BEGIN, END] = ["<!-- operations -->", "<!-- /operations -->"];

export function operationsTable(): string {
  const rows = OPERATION_NAMES.map((name) => {
    const { method, path, cli, alsoCli = [], inCommand, onlyConnected } = OPERATION_WORDS[name];
    const own = [cli, ...alsoCli].flatMap((one) => (one === undefined ? [] : [one.command]));
    const commands = [...own, ...(inCommand === undefined ? [] : [inCommand])].map((command) => `\`orgate ${command}\``);
    const none = onlyConnected === undefined ? `\`orgate call ${name}\`` : `none: ${onlyConnected}`;
    return `| \`${name}\` | \`${method} ${path}\` | ${commands.length === 0 ? none : commands.join(", ")} |`;
  });
  return ["| operation | route below `/api/v1` | command |", "|---|---|---|", ...rows].join("\n");
}

/** The page with the table as it has to be. */
export function pageWithTable(page: string): string {
  const [before = "", rest = ""] = page.split(BEGIN);
  const [, after = ""] = rest.split(END);
  return `${before}${BEGIN}\n${operationsTable()}\n${END}${after}`;
}

if (process.argv.includes("--write")) writeFileSync(join(ROOT, PAGE), pageWithTable(readText(ROOT, PAGE)));
