import { expect, test } from "vitest";
import { knowledgeContract } from "./knowledge-contract.ts";
import { memoryKnowledge } from "./memory-knowledge.ts";

knowledgeContract(
  "memory",
  () => {
    const store = memoryKnowledge();
    return { open: () => store, dispose: () => {} };
  },
  { test, expect },
);
