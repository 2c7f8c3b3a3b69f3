import { defineAgent } from "orgate";
import { cancelOrder, getOrder, readHours, signIn } from "../tools/shop.ts";

export default defineAgent({
  name: "support",
  instructions: "You serve one customer of the shop. Identify them first, and read an order before you change it.",
  // It runs on `[models] default` of orgate.toml. Until there is one the offline model answers, by the rules below: only that one reads them.
  modelOptions: {
    rules: [
      { when: { says: "open" }, calls: [{ tool: "read_hours", args: {} }] },
      { when: { says: "code is (?<code>\\d+)" }, calls: [{ tool: "sign_in", args: { code: "{{code}}" } }] },
      {
        when: { says: "cancel (?<order>O-\\d+)", called: ["sign_in"], notCalled: ["get_order"] },
        calls: [{ tool: "get_order", args: { order: "{{order}}" } }],
      },
      {
        when: { says: "cancel (?<order>O-\\d+)", called: ["get_order"], notCalled: ["cancel_order"] },
        calls: [{ tool: "cancel_order", args: { order: "{{order}}" } }],
      },
      { when: { called: ["cancel_order"], failed: false }, say: "It is cancelled." },
      { when: { called: ["cancel_order"], failed: true }, say: "I was not allowed to cancel it." },
      { when: { called: ["read_hours"] }, say: "We are open: {{result}}" },
    ],
  },
  tools: [readHours, signIn, getOrder, cancelOrder],
});
