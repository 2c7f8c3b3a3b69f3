import { defineTool } from "eve/tools";
import * as z from "zod";

export default defineTool({
  description: "Does one step.",
  inputSchema: z.object({ n: z.int() }),
  async execute({ n }) {
    const response = await fetch(`${process.env.CRASH_COUNTER}/effect`, { method: "POST", body: JSON.stringify({ tool: "step", n }) });
    const { text } = z.object({ text: z.string() }).parse(await response.json());
    return text;
  },
});
