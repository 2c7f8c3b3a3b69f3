/** An agent that takes a turn by itself. `orgate up` fires it; the words are the owner's, and the policies decide each time. */
import { defineAgent } from "orgate";

const reporter = defineAgent({
  name: "reporter",
  instructions: "You write the report.",
  schedules: {
    nightly: { cron: "0 2 * * *", timezone: "Europe/Berlin", input: "write the report", jitter: "5m" },
  },
});

console.log(Object.keys(reporter.definition.schedules ?? {}).join(", "));
