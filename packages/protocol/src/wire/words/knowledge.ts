/** Knowledge: the words of their operations. */
import { get, tagged } from "./words.ts";

export const knowledgeWords = tagged("knowledge", {
  knowledge: get({
    path: "/knowledge",
    slash: [
      {
        command: "knowledge",
        summary: "search knowledge, or list the newest items",
        notes: ["As `orgate knowledge search`."],
        args: [{ value: "WORDS", field: "words", help: "what to look for" }],
      },
      {
        command: "memory",
        summary: "search what one agent remembers, or list it",
        notes: ["As `orgate knowledge search --agent`."],
        args: [
          { value: "AGENT", field: "agent", as: "agent", help: "which agent; the addressed one if left out" },
          { value: "WORDS", field: "words", help: "what to look for" },
        ],
      },
    ],
    act: { kind: "read-journal", on: "project" },
    inCommand: "knowledge search",
    summary: "Search knowledge by words, or list the newest items.",
  }),
});
