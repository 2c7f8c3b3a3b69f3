import { defineAgent } from "orgate";
import { readNote, saveNote } from "../tools/notes.ts";

export default defineAgent({
  name: "assistant",
  instructions: "You keep a person's notes. Read before you answer; save only what you are asked to save.",
  // It runs on `[models] default` of orgate.toml. Until there is one the offline model answers, by the rules below: only that one reads them.
  modelOptions: {
    rules: [
      { when: { says: "what.*today" }, calls: [{ tool: "read_note", args: { name: "today" } }] },
      { when: { says: "remember (?<what>.+)" }, calls: [{ tool: "save_note", args: { name: "reminder", text: "{{what}}" } }] },
      { when: { called: ["read_note"] }, say: "Your notes say: {{result}}" },
      { when: { called: ["save_note"], failed: false }, say: "I have saved it." },
      { when: { called: ["save_note"], failed: true }, say: "I was not allowed to save it." },
    ],
  },
  tools: [readNote, saveNote],
});
