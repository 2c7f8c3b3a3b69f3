import { defineTool } from "eve/tools";
import * as z from "zod";
import { pauseAt, work } from "../lib/server.ts";

export default defineTool({
  description: "Looks a thing up.",
  inputSchema: z.strictObject({ n: z.number().int(), path: z.string(), query: z.string() }),
  async execute(args) {
    await pauseAt(args.n);
    return work.effect(args);
  },
});
