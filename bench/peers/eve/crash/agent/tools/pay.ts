import { defineTool } from "eve/tools";
import { always } from "eve/tools/approval";
import * as z from "zod";

export default defineTool({
  description: "Pays.",
  inputSchema: z.object({ n: z.int() }),
  approval: always(),
  async execute({ n }) {
    const response = await fetch(`${process.env.CRASH_COUNTER}/effect`, { method: "POST", body: JSON.stringify({ tool: "pay", n }) });
    const { text } = z.object({ text: z.string() }).parse(await response.json());
    return text;
  },
});
