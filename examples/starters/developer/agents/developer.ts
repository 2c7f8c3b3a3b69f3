import { defineAgent } from "orgate";
import { readFile, writeFile } from "../tools/files.ts";

export default defineAgent({
  name: "developer",
  instructions: "You work on the files in src/. Read before you write, and keep changes small.",
  // It runs on `[models] default` of orgate.toml. Until there is one the offline model answers, by the rules below: only that one reads them.
  modelOptions: {
    rules: [
      { when: { says: "read (?<file>[\\w./-]+)" }, calls: [{ tool: "read_file", args: { path: "{{file}}" } }] },
      { when: { says: "write (?<file>[\\w./-]+)" }, calls: [{ tool: "write_file", args: { path: "{{file}}", text: "Hello, world.\n" } }] },
      { when: { called: ["read_file"] }, say: "It says: {{result}}" },
      { when: { called: ["write_file"], failed: false }, say: "I have written it." },
      { when: { called: ["write_file"], failed: true }, say: "I was not allowed to write it." },
    ],
  },
  tools: [readFile, writeFile],
});
