/** The agents of the chaos project: their model and every effect of their tools are outside (`outside.ts`). */
import { type Agent, defineAgent, defineTool, type Tool, type ToolContext } from "orgate";
import * as z from "zod";
import { TOOLS, type ToolName } from "./plan.ts";

const outside = (): string => process.env.ORGATE_LAB_OUTSIDE ?? "";
const input = z.strictObject({ n: z.int() });

async function takeEffect(tool: ToolName, n: number, { session, key, start, signal }: ToolContext): Promise<string> {
  const body = JSON.stringify({ session, key, tool, n, start });
  const answer = await fetch(`${outside()}/effects`, { method: "POST", body, signal });
  return z.object({ text: z.string() }).parse(await answer.json()).text;
}

const tools: readonly Tool[] = (["look", "put", "send", "fire", "wire"] as const).map((name) =>
  defineTool({
    name,
    description: `${name} it`,
    input,
    repeat: TOOLS[name],
    // Each call is about a thing of its own: one unknown outcome makes no other call ask.
    resource: ({ n }) => ({ type: "Thing", id: String(n) }),
    resourceTypes: ["Thing"],
    run: ({ n }, context) => takeEffect(name, n, context),
    ...(TOOLS[name] === "reconcile" ? { reconcile } : {}),
  }),
);

async function reconcile(
  { n }: Readonly<{ n: number }>,
  { key, signal }: Pick<ToolContext, "key" | "signal">,
): Promise<Readonly<{ kind: "happened"; output: string } | { kind: "did-not-happen" }>> {
  const answer = await fetch(`${outside()}/happened?key=${encodeURIComponent(key)}`, { signal });
  const { happened } = z.object({ happened: z.boolean() }).parse(await answer.json());
  return happened ? { kind: "happened", output: `send ${n} was done` } : { kind: "did-not-happen" };
}

const agent = (name: string, delegates: readonly string[] = []): Agent =>
  defineAgent({
    name,
    instructions: "do as the plan says",
    model: "openai-compatible/outside",
    tools,
    delegates,
    limits: { iterations: 20, tokens: 1_000_000 },
  });

export const boss: Agent = agent("boss", ["hand"]);
export const hand: Agent = agent("hand");
export const clerk: Agent = agent("clerk");
