/** What nobody can go below: ask, check the arguments, run, append to a list. No record, no gate, no limits. */
import * as z from "zod";
import type { Open } from "../adapter.ts";
import { argsText, PROMPT, type Work } from "../workload.ts";

const input = z.strictObject({ n: z.number().int(), path: z.string(), query: z.string() });

type Note = (text: string) => void;

export async function loop(work: Work, before: Note, after: Note): Promise<string> {
  const messages: { role: string; text: string }[] = [{ role: "user", text: PROMPT }];
  for (;;) {
    const newest = messages.at(-1);
    const reply = await Promise.resolve(work.ask(newest?.role === "tool" ? newest.text : null));
    if (reply.kind === "text") return reply.text;
    const text = argsText(reply.n);
    before(text);
    messages.push({ role: "assistant", text });
    const result = await Promise.resolve(work.effect(input.parse(JSON.parse(text))));
    after(result);
    messages.push({ role: "tool", text: result });
  }
}

const nothing: Note = () => {};

export const bareLoop: Open = async ({ work }) => ({ run: () => loop(work, nothing, nothing), close: async () => {} });
