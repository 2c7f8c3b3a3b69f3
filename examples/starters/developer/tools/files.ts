import { join } from "node:path";
import { defineTool, folderFiles } from "orgate";
import * as z from "zod";

// Nothing outside of src/ is read or written: a name that leads out of it is refused before anybody is asked.
const files = folderFiles({ root: join(import.meta.dirname, ".."), folder: "src" });

export const readFile = defineTool({
  name: "read_file",
  description: "Reads a file in src/.",
  input: z.strictObject({ path: z.string().refine(files.mayRead, files.rule) }),
  effects: ["read"],
  repeat: "read",
  resource: ({ path }) => ({ type: "File", id: files.path(path) }),
  resourceTypes: ["File"],
  run: ({ path }) => files.read(path),
});

export const writeFile = defineTool({
  name: "write_file",
  description: "Writes a file in src/.",
  input: z.strictObject({ path: z.string().refine(files.mayWrite, files.rule), text: z.string() }),
  effects: ["write"],
  resource: ({ path }) => ({ type: "File", id: files.path(path) }),
  resourceTypes: ["File"],
  run({ path, text }) {
    files.write(path, text);
    return `written: ${files.path(path)}`;
  },
});
