/** File tools that stay in the project, and a program in a sandbox: what is allowed happens, and the evidence shows what changed. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  createRuntime,
  defineAgent,
  defineTool,
  fileTools,
  hostRunning,
  listDecisions,
  pathGuard,
  sha256,
  tableGate,
  toFileEdit,
} from "orgate";
import * as z from "zod";
import { temporaryFolder } from "./temporary-folder.ts";

const root = temporaryFolder();
mkdirSync(join(root, "policies"));
writeFileSync(join(root, "notes.txt"), "buy appels\n");

const files = fileTools({ root });

const running = hostRunning({ protection: { ...pathGuard({ root, also: [] }), hidden: [join(root, ".orgate"), join(root, ".env")] } });
const words = defineTool({
  name: "count_words",
  description: "How many words a file of the project has.",
  input: z.strictObject({ path: z.string() }),
  repeat: "read",
  effects: ["execute"],
  run: async ({ path }, { signal, note }) => {
    const ran = await running.run(
      {
        kind: "process",
        argv: ["wc", "-w", "--", path], // item by item: there is no shell
        cwd: root,
        env: {},
        stdin: null,
        network: null, // none at all
        paths: [{ path: root, access: "read" }],
        tier: "process",
        limits: { memoryBytes: 64e6, processes: 8, fileBytes: 1e6, openFiles: 64, timeMs: 10_000, outputBytes: 10_000 },
      },
      { signal, onOutput: (piece) => note("output", piece) },
    );
    if (ran.kind === "exited" && ran.code === 0) return Number.parseInt(ran.stdout, 10);
    throw new Error(ran.kind === "refused" ? `${ran.reason} (${ran.hint})` : JSON.stringify(ran));
  },
});

const editor = defineAgent({
  name: "editor",
  instructions: "Mend what people write.",
  model: "offline/editor",
  modelOptions: {
    rules: [
      { when: { notCalled: ["count_words"] }, calls: [{ tool: "count_words", args: { path: "notes.txt" } }] },
      {
        when: { called: ["count_words"], notCalled: ["edit_file"] },
        calls: [{ tool: "edit_file", args: { path: "notes.txt", old_string: "appels", new_string: "apples" } }],
      },
      {
        when: { called: ["edit_file"], notCalled: ["write_file"] },
        calls: [{ tool: "write_file", args: { path: "policies/mine.cedar", text: "permit" } }],
      },
      { when: { called: ["write_file"] }, say: "Mended, in {{results.count_words}} words." },
    ],
  },
  tools: [...files, words],
});

const runtime = await createRuntime({
  directory: join(root, ".orgate"),
  agents: [editor],
  gate: tableGate([{ id: "all", action: "*", verdict: "allow" }], sha256),
  principal: { kind: "user", id: "ada" },
});
const { output, events } = await runtime.complete("editor", "Mend my notes.");
console.log(output, readFileSync(join(root, "notes.txt"), "utf8").trim());

const [edit] = events.flatMap(({ event }) => {
  const tool = files.find(({ name }) => name === "edit_file");
  const shown = event.kind === "act.ended" && tool !== undefined ? toFileEdit(tool, null, event.evidence.proof) : null;
  return shown === null ? [] : [shown];
});
console.log(`- ${edit?.before?.trim()} + ${edit?.after.trim()}`);

// Whatever is permitted: what decides is not for tools to write.
for (const { event } of listDecisions(events)) {
  if (event.action.kind === "call" && event.action.tool === "write_file") console.log(event.verdict.kind);
}
await runtime.close();
