/** The agent of a project on disk: its tools are known to the counter, its model is the offline one, which counts its requests in a file. */
import { type Agent, defineAgent, defineTool } from "orgate";
import * as z from "zod";
import { effect } from "./effect.ts";

export const DESK = "desk";
/** `look` is permitted; the others ask first, `hurry` not for long. */
const ASKING = ["fire", "ring", "hurry"] as const;

const input = z.strictObject({ n: z.int() });
const say = "done";

export const deskAgent = (log: string): Agent =>
  defineAgent({
    name: DESK,
    instructions: "do as you are told",
    model: "offline/desk",
    tools: [
      defineTool({ name: "look", description: "looks", input, repeat: "read", run: ({ n }, c) => effect("look", n, c) }),
      ...ASKING.map((name) => defineTool({ name, description: name, input, repeat: "once", run: ({ n }, c) => effect(name, n, c) })),
    ],
    modelOptions: {
      log,
      rules: [
        { when: { says: "one" }, calls: [{ tool: "fire", args: { n: 1 } }] },
        {
          when: { says: "two" },
          calls: [
            { tool: "fire", args: { n: 1 } },
            { tool: "ring", args: { n: 2 } },
          ],
        },
        {
          when: { says: "beside" },
          calls: [
            { tool: "look", args: { n: 1 } },
            { tool: "fire", args: { n: 2 } },
          ],
        },
        { when: { says: "hurry" }, calls: [{ tool: "hurry", args: { n: 1 } }] },
        { when: { says: "thrice" }, calls: [{ tool: "fire", args: { n: 1 } }] },
        { when: { says: "thrice", called: ["fire"], result: "fire 1 was" }, calls: [{ tool: "fire", args: { n: 2 } }] },
        { when: { says: "thrice", called: ["fire"], result: "fire 2 was" }, calls: [{ tool: "fire", args: { n: 3 } }] },
        ...["look", ...ASKING].map((tool) => ({ when: { called: [tool] }, say })),
      ],
    },
  });
