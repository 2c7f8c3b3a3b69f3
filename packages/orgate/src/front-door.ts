/**
 * Functions of the front door that answer with a promise. The code behind each is loaded by its first call: a module that defines a tool imports `orgate`
 * too, and needs none of it.
 */
import type * as Symbi from "./project/symbi/symbi-agents.ts";
import type * as Knowledge from "./runtime/people/knowledge.ts";
import type * as Opening from "./runtime/runtime.ts";

const runtime = () => import("./runtime/runtime.ts");
const knowledge = () => import("./runtime/people/knowledge.ts");
const symbi = () => import("./project/symbi/symbi-agents.ts");

export const createRuntimeLater: typeof Opening.createRuntime = async (...given) => (await runtime()).createRuntime(...given);
export const symbiAgentsLater: typeof Symbi.symbiAgents = async (...given) => (await symbi()).symbiAgents(...given);
export const addDocumentsLater: typeof Knowledge.addDocuments = async (...given) => (await knowledge()).addDocuments(...given);
export const embedMissingLater: typeof Knowledge.embedMissing = async (...given) => (await knowledge()).embedMissing(...given);
export const importItemsLater: typeof Knowledge.importItems = async (...given) => (await knowledge()).importItems(...given);
export const forgetItemsLater: typeof Knowledge.forgetItems = async (...given) => (await knowledge()).forgetItems(...given);
