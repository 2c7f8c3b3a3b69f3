/** Commands as data: plain table. */
import type { CommandSpec } from "@orgate/shell/terminal";
import { AS, KNOWLEDGE_PLACE } from "./options.ts";

export const knowledgeCommands: readonly CommandSpec[] = [
  {
    name: "knowledge add",
    summary: "Add documents to the knowledge store: markdown, text, HTML, code",
    args: [
      { name: "PATH", required: false, help: "a file, or a folder with all below it (default: the project's `knowledge/`)", many: true },
    ],
    options: {
      ...KNOWLEDGE_PLACE,
      label: { type: "string", value: "LABEL", help: "what it carries, and gives to every session that recalls it", many: true },
      trusted: { type: "boolean", help: "you stand for it: it is not `untrusted`, and nothing an agent learns supersedes it" },
      as: AS,
    },
    notes: [
      "Cut by its structure, addressed by its content: what has not changed is not read in again, what is gone from a folder is superseded.",
      'Journalled. Decided by policy as Action::"edit-knowledge" on Scope::"SCOPE".',
    ],
    examples: [
      "orgate knowledge add",
      "orgate knowledge add docs",
      "orgate knowledge add CONVENTIONS.md --trusted",
      "orgate knowledge add notes.txt --agent clerk",
    ],
    load: async () => (await import("../commands/sessions/knowledge-add.ts")).addKnowledge,
  },
  {
    name: "knowledge search",
    summary: "Search the knowledge store, with the relevance of each hit",
    args: [{ name: "QUERY", required: true, help: "words, or a question" }],
    options: { ...KNOWLEDGE_PLACE, limit: { type: "string", value: "N", help: "how many at most (default 10)" } },
    notes: ["With --agent what that agent keeps for itself is searched too."],
    examples: ['orgate knowledge search "how do we deploy"', "orgate knowledge search billing --agent clerk --json"],
    load: async () => (await import("../commands/sessions/knowledge.ts")).searchKnowledge,
  },
  {
    name: "knowledge show",
    summary: "Show one item: its text, where it came from, its labels",
    args: [{ name: "ID", required: true, help: "k_…" }],
    options: {},
    notes: [],
    examples: ["orgate knowledge show k_0123456789abcdef01234567"],
    load: async () => (await import("../commands/sessions/knowledge.ts")).showKnowledge,
  },
  {
    name: "knowledge forget",
    summary: "Forget an item: it leaves the store, and the journal has a tombstone",
    args: [{ name: "ID", required: false, help: "k_…", many: true }],
    options: {
      document: { type: "string", value: "PATH", help: "all pieces of this document, as `orgate knowledge stats` names it" },
      erase: { type: "boolean", help: "also from the journal: sessions that hold it are erased from there on, and can no longer resume" },
      yes: { type: "boolean", help: "go on: without it --erase only says which sessions these are" },
      reason: { type: "string", required: true, value: "TEXT", help: "why; the journal keeps it" },
      as: AS,
    },
    notes: ['Journalled before anything is gone. Decided by policy as Action::"edit-knowledge" on Scope::"SCOPE".'],
    examples: [
      'orgate knowledge forget k_0123456789abcdef01234567 --reason "wrong"',
      'orgate knowledge forget --document docs/people.md --erase --yes --reason "asked for"',
    ],
    load: async () => (await import("../commands/sessions/knowledge-forget.ts")).forgetKnowledge,
  },
  {
    name: "knowledge export",
    summary: "Export the knowledge store as lines of JSON, with labels and history",
    args: [{ name: "FILE", required: false, help: "a new file; without it, to stdout" }],
    options: {},
    notes: ["Vectors are not in it: they are made again."],
    examples: ["orgate knowledge export backup.jsonl"],
    load: async () => (await import("../commands/sessions/knowledge-add.ts")).exportKnowledge,
  },
  {
    name: "knowledge import",
    summary: "Import what was exported",
    args: [{ name: "FILE", required: true, help: "what `orgate knowledge export` wrote" }],
    options: { trusted: { type: "boolean", help: "as it stands: without it everything is `untrusted`, and nobody stands for it" }, as: AS },
    notes: ["Checked whole before anything is stored. What was forgotten here stays forgotten."],
    examples: ["orgate knowledge import backup.jsonl --trusted"],
    load: async () => (await import("../commands/sessions/knowledge-add.ts")).importKnowledge,
  },
  {
    name: "knowledge embed",
    summary: "Compute missing vectors with the project's embedding model",
    args: [],
    options: { again: { type: "boolean", help: "recompute all of them, after the model was changed" }, as: AS },
    notes: ["Vectors of two models are never mixed."],
    examples: ["orgate knowledge embed", "orgate knowledge embed --again"],
    load: async () => (await import("../commands/sessions/knowledge-add.ts")).embedKnowledge,
  },
  {
    name: "knowledge stats",
    summary: "Count what is known, by kind and document",
    args: [],
    options: {},
    notes: [],
    examples: ["orgate knowledge stats --json"],
    load: async () => (await import("../commands/sessions/knowledge.ts")).showKnowledgeStats,
  },
];
