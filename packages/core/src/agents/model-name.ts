/** Names of models: `provider/name`. */
import { FaultError } from "../vocab/index.ts";

/** The model of an agent that names none. */
export const DEFAULT_MODEL = "offline/echo";
const MODEL = /^[a-z0-9][a-z0-9-]*\/[\x21-\x7e]{1,128}$/;

/** Warning of an agent that has neither a model nor rules for the offline one. */
export const NO_MODEL_NAMED = `it names no model, so ${DEFAULT_MODEL} answers, which follows fixed rules; name one (\`anthropic/NAME\`, \`ollama/NAME\`) as \`model\`, or for all agents as \`[models] default\` in orgate.toml`;

/** Throws unless it reads `provider/name`. */
export function checkModelName(model: unknown, where: string): void {
  if (isModelName(model)) return;
  throw new FaultError({
    kind: "agent-invalid",
    where,
    detail: `\`model\` is ${JSON.stringify(model) ?? "missing"}`,
    hint: "name it `provider/name`; `offline/echo` needs no key",
  });
}
export const isModelName = (model: unknown): model is string => typeof model === "string" && MODEL.test(model);
