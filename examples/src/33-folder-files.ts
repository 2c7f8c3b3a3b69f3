/** A tool whose file names come from a model: confined to one folder, refused before a policy decides. */
import { join } from "node:path";
import { createRuntime, defineAgent, defineTool, folderFiles, sha256, tableGate } from "orgate";
import * as z from "zod";
import { temporaryFolder } from "./temporary-folder.ts";

const notes = folderFiles({ root: join(import.meta.dirname, ".."), folder: "notes" });

export const readNote = defineTool({
  name: "read_note",
  description: "Reads a note.",
  input: z.strictObject({ name: z.string().refine(notes.mayRead, notes.rule) }),
  effects: ["read"],
  repeat: "read",
  resource: ({ name }) => ({ type: "File", id: notes.path(name) }),
  resourceTypes: ["File"],
  run: ({ name }) => notes.read(name),
});

const reader = (name: string) =>
  defineAgent({
    name: "reader",
    instructions: "Read what you are asked for.",
    model: "offline/reader",
    tools: [readNote],
    modelOptions: {
      rules: [{ when: { notCalled: ["read_note"] }, calls: [{ tool: "read_note", args: { name } }] }, { say: "{{result}}" }],
    },
  });

for (const name of ["today.md", "../package.json"]) {
  const runtime = await createRuntime({
    directory: temporaryFolder(),
    agents: [reader(name)],
    gate: tableGate([{ id: "all", action: "*", verdict: "allow" }], sha256),
    principal: { kind: "user", id: "ada" },
  });
  const { output } = await runtime.complete("reader", "read it");
  console.log(name, /contract/.test(String(output)) ? "was read" : "was refused");
  await runtime.close();
}
