import { defineAgent } from "orgate";
import { readLog, restartService } from "../tools/services.ts";

export default defineAgent({
  name: "operations",
  instructions: "You look after services. Read the log before you do anything; restart only what you are asked to restart.",
  // It runs on `[models] default` of orgate.toml. Until there is one the offline model answers, by the rules below: only that one reads them.
  modelOptions: {
    rules: [
      { when: { says: "why is (?<service>[a-z-]+)" }, calls: [{ tool: "read_log", args: { service: "{{service}}" } }] },
      { when: { says: "restart (?<service>[a-z-]+)" }, calls: [{ tool: "restart_service", args: { service: "{{service}}" } }] },
      { when: { called: ["read_log"] }, say: "The log says: {{result}}" },
      { when: { called: ["restart_service"], failed: false }, say: "It is restarted." },
      { when: { called: ["restart_service"], failed: true }, say: "I was not allowed to restart it." },
    ],
  },
  tools: [readLog, restartService],
});
