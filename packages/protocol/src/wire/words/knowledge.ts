/** Knowledge: the words of their operations. */
import { get, tagged } from "./words.ts";

export const knowledgeWords = tagged("knowledge", {
  knowledge: get({
    path: "/knowledge",
    act: { kind: "read-journal", on: "project" },
    inCommand: "knowledge search",
    summary: "Search knowledge by words, or list the newest items.",
  }),
});
