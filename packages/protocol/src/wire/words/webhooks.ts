/** Webhooks: the words of their operations. */
import { get, tagged } from "./words.ts";

export const webhookWords = tagged("webhooks", {
  webhooks: get({
    path: "/webhooks",
    act: { kind: "list", on: "listing" },
    summary: "List the webhooks of agents that the caller may see: path, provider, and how many deliveries came since the server started.",
  }),
  deliveries: get({
    path: "/agents/{agent}/webhooks/{webhook}/deliveries",
    act: { kind: "observe", on: "agent" },
    summary:
      "List the latest deliveries of a webhook, newest first: those that opened a session (from the journal) and the others since the server started.",
  }),
});
