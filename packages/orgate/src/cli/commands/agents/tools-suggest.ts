/** `orgate tools suggest`: what tools should declare, for a developer to confirm. It writes nothing. */
import { FaultError, type JsonObject, type Tool } from "@orgate/core";
import { EXIT, type RunCommand, type Screen, visible } from "@orgate/shell/terminal";
import { loadProject } from "../../../project/load.ts";
import { type Declaration, type Suggestion, suggestDeclaration } from "../../../tools/suggest/suggest-declaration.ts";
import { openGivenProject } from "../project/project.ts";

const FIELDS = ["effects", "targets", "outgoing", "labels", "records"] as const;

export const suggestTools: RunCommand = async (given, screen) => {
  const [name] = given.args;
  if ((name === undefined) === !given.flag("all"))
    throw new FaultError({ kind: "usage", detail: "name one tool, or say --all", hint: "`orgate tools list` lists them" });
  const { agents } = await loadProject(openGivenProject(given), { env: given.env });
  const tools = new Map(agents.flatMap(({ agent }) => agent.tools.map((tool) => [tool.name, tool] as const)));
  const chosen = name === undefined ? [...tools.values()].sort((a, b) => (a.name < b.name ? -1 : 1)) : [toolNamed(tools, name)];
  const suggestions = chosen.map((tool) => ({ ...suggestDeclaration(tool), declared: declaredBy(tool) }));
  if (given.json) screen.line(JSON.stringify(suggestions));
  else for (const [i, one] of suggestions.entries()) printSuggestion(one, one.declared, screen, i === 0);
  return EXIT.success;
};

function toolNamed(tools: ReadonlyMap<string, Tool>, name: string): Tool {
  const found = tools.get(name);
  if (found !== undefined) return found;
  const names = [...tools.keys()].sort().join(", ");
  throw new FaultError({
    kind: "usage",
    detail: `no agent has the tool \`${name}\``,
    hint: names === "" ? "no agent has a tool" : `there are: ${names}`,
  });
}

/** In the form in which a definition has it. */
const declaredBy = ({ effects, targets, outgoing, labels, records }: Tool): JsonObject => ({
  effects,
  targets: Object.fromEntries(Object.entries(targets).map(([at, { kind, of }]) => [at, of === null ? kind : { kind, of }])),
  outgoing,
  labels,
  records: records.map(({ type }) => type),
});

function printSuggestion({ tool, declaration, remarks }: Suggestion, declared: JsonObject, screen: Screen, isFirst: boolean): void {
  if (!isFirst) screen.line();
  screen.line(screen.paint("strong", visible(tool)));
  for (const field of FIELDS) {
    if (isEmpty(declaration[field])) continue;
    screen.line(`  ${field}: ${visible(printed(declaration[field]))},`);
    for (const { field: of, about, sure, because } of remarks)
      if (of === field) screen.line(`    ${screen.paint("dim", `// ${visible(about)}: ${sure}, ${visible(because)}`)}`);
  }
  const now = FIELDS.filter((field) => !isEmpty(declared[field]) && !isSameDeclaration(field, declaration, declared));
  if (now.length > 0) screen.line(`  ${screen.paint("warn", "it declares now:")}`);
  for (const field of now) screen.line(`  ${field}: ${visible(printed(declared[field]))},`);
}

const isEmpty = (value: unknown): boolean => typeof value !== "object" || value === null || Object.keys(value).length === 0;

/** Effects and labels in any order; of targets their places and kinds. */
function isSameDeclaration(field: keyof Declaration, { [field]: proposed }: Declaration, { [field]: now }: JsonObject): boolean {
  const plain = (value: unknown): string => {
    if (Array.isArray(value))
      return JSON.stringify(value.map((one) => (typeof one === "string" ? one : (one as { type?: string }).type)).sort());
    const entries = Object.entries(value as object).map(([at, one]) => [nameOf(at), typeof one === "string" ? one : one.kind]);
    return JSON.stringify(entries.sort());
  };
  return plain(proposed) === plain(now);
}
const nameOf = (at: string): string => at.replaceAll("[]", "").replaceAll(".", "_");

/** As it is written in TypeScript: names without quotes where none are needed. */
function printed(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(printed).join(", ")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const entries = Object.entries(value);
  if (entries.length === 0) return "{}";
  const [only] = entries;
  if (entries.length === 1 && only?.[0] === "kind") return JSON.stringify(only[1]);
  return `{ ${entries.map(([name, one]) => `${/^\w+$/.test(name) ? name : JSON.stringify(name)}: ${printed(one)}`).join(", ")} }`;
}
