/** MCP: a server's tools are tools like any other, as they were accepted; what it changes later is refused. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { compareMcpCatalogues, createRuntime, defineAgent, listOfferedTools, type McpCatalogue, openMcp, sha256, tableGate } from "orgate";
import { temporaryFolder } from "./temporary-folder.ts";

const folder = temporaryFolder();
mkdirSync(folder, { recursive: true });
writeFileSync(join(folder, "orders.txt"), "o-1 bolts\n");
const program = join(import.meta.dirname, "../../node_modules/@modelcontextprotocol/server-filesystem/dist/index.js");

// as `.mcp.json` has it; `npx -y @modelcontextprotocol/server-filesystem DIR` elsewhere
const files = {
  command: process.execPath,
  args: [program, folder],
  orgate: { tools: { read_text_file: { repeat: "read", effects: ["read"], resource: { type: "File", arg: "path" } } } },
};

// somebody looks at this once, and it is kept beside the code
const offered = await listOfferedTools("files", files);
console.log(`${offered.tools.length} tools offered`);

async function run(accepted: McpCatalogue): Promise<string> {
  const mcp = openMcp({ servers: { files }, accepted: { files: accepted } });
  const clerk = defineAgent({
    name: "clerk",
    instructions: "Serve customers.",
    model: "offline/clerk",
    tools: mcp.tools("files"), // files__read_text_file, files__write_file, …
    modelOptions: {
      rules: [
        {
          when: { notCalled: ["files__read_text_file"] },
          calls: [{ tool: "files__read_text_file", args: { path: join(folder, "orders.txt") } }],
        },
        {
          when: { called: ["files__read_text_file"], notCalled: ["files__write_file"] },
          calls: [{ tool: "files__write_file", args: { path: join(folder, "orders.txt"), content: "" } }],
        },
        { when: { called: ["files__write_file"] }, say: "Done." },
      ],
    },
  });
  const runtime = await createRuntime({
    directory: temporaryFolder(),
    agents: [clerk],
    gate: tableGate(
      [
        { id: "reading", action: "tool:files__read_text_file", verdict: "allow" },
        { id: "no-tools", action: "tool:*", verdict: "deny", say: "only reading" },
        { id: "the-rest", action: "*", verdict: "allow" },
      ],
      sha256,
    ),
    principal: { kind: "user", id: "ada" },
  });
  const { events } = await runtime.complete("clerk", "What is in order o-1?");
  await runtime.close();
  await mcp.close();
  return events
    .flatMap(({ event }) => {
      if (event.kind === "act.ended") return [event.outcome.kind === "failed" ? event.outcome.error : JSON.stringify(event.outcome)];
      return event.kind === "gate.decided" && event.verdict.kind === "deny" ? [`denied: ${event.verdict.reason}`] : [];
    })
    .join(" | ");
}

console.log(await run(offered));

// what was accepted said something else: the server has changed since
const earlier = { ...offered, tools: offered.tools.map((tool) => ({ ...tool, description: `${tool.description} (v1)` })) };
console.log(`${compareMcpCatalogues(earlier, offered).length} differences`);
console.log(await run(earlier));
