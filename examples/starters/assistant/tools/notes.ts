import { join } from "node:path";
import { defineTool, folderFiles } from "orgate";
import * as z from "zod";

// Nothing outside of notes/ is read or written: a name that leads out of it is refused before anybody is asked.
const files = folderFiles({ root: join(import.meta.dirname, ".."), folder: "notes" });

export const readNote = defineTool({
  name: "read_note",
  description: "Reads a note of the person.",
  input: z.strictObject({ name: z.string().refine(files.mayRead, files.rule) }),
  effects: ["read"],
  repeat: "read",
  resource: ({ name }) => ({ type: "File", id: files.path(name) }),
  resourceTypes: ["File"],
  run: ({ name }) => files.read(name),
});

export const saveNote = defineTool({
  name: "save_note",
  description: "Saves a note for the person.",
  input: z.strictObject({ name: z.string().refine(files.mayWrite, files.rule), text: z.string() }),
  effects: ["write"],
  resource: ({ name }) => ({ type: "File", id: files.path(name) }),
  resourceTypes: ["File"],
  run({ name, text }) {
    files.write(name, text);
    return `written: ${files.path(name)}`;
  },
});
