/** What is done when a tool fails: run again, another tool, a person, an old result; and what keeps failing is left alone. */
import { join } from "node:path";
import { createRuntime, defineAgent, defineTool, sha256, tableGate } from "orgate";
import * as z from "zod";
import { temporaryFolder } from "./temporary-folder.ts";

let weather = 0;
const forecast = defineTool({
  name: "forecast",
  description: "The weather at a place.",
  input: z.strictObject({ place: z.string() }),
  repeat: "read", // only what may be repeated is ever run again
  effects: ["network"],
  recover: [{ kind: "retry", times: 2, backoffMs: 10 }, { kind: "fallback", tool: "almanac" }, "ask-model"],
  breaker: { failures: 6, openMs: 60_000 },
  run: () => {
    weather += 1;
    throw new Error("503");
  },
});

const almanac = defineTool({
  name: "almanac",
  description: "What the weather usually is.",
  input: z.strictObject({ place: z.string() }),
  repeat: "read",
  effects: ["read"],
  run: ({ place }) => `usually mild in ${place}`,
});

const guide = defineAgent({
  name: "guide",
  instructions: "Say what to wear.",
  model: "offline/guide",
  modelOptions: {
    rules: [
      { when: { notCalled: ["forecast"] }, calls: [{ tool: "forecast", args: { place: "Graz" } }] },
      { when: {}, say: "{{result}}" },
    ],
  },
  tools: [forecast, almanac],
  recover: ({ error }) => (error.includes("denied") ? "stop" : "ask-model"), // for tools that do not say themselves
});

const runtime = await createRuntime({
  directory: join(temporaryFolder(), ".orgate"),
  agents: [guide],
  gate: tableGate([{ id: "all", action: "*", verdict: "allow" }], sha256),
  principal: { kind: "user", id: "ada" },
});

const first = await runtime.complete("guide", "what shall I wear?");
const done = first.events.flatMap(({ event }) => (event.kind === "recovery.applied" ? [event.strategy] : []));
console.log(done.join(", "), "|", first.output);

await runtime.complete("guide", "and tomorrow?"); // three more failures: now it is left alone
const third = await runtime.complete("guide", "and then?");
const [breaker] = await runtime.breakers.list();
console.log(breaker?.breaker, breaker?.state, "| calls:", weather, "|", third.ending);
await runtime.close();
