/** Pages of a server beside its API: docs, console, sign-in and sign-out; and the handler of tickets. Each page lists its routes (W-7). */
import { millis } from "@orgate/core";
import type { OperationHandlers } from "../../operations/execute.ts";
import { refusal } from "../../operations/refusal.ts";
import { json } from "../../operations/result.ts";
import type { Identity } from "../identity/auth.ts";
import { authPages, SIGN_IN_PATH, SIGN_OUT_PATH } from "./auth-pages.ts";
import { consolePage } from "./console-page.ts";
import { docsPage } from "./docs-page.ts";
import { readBody } from "./limits.ts";
import type { ServedPage } from "./server.ts";

const MOST_LINK = 1_000;

export const sitePages = (identity: Identity, origins: () => readonly string[], version: string): readonly ServedPage[] => [
  docsPage(version),
  consolePage(),
  signingPage(identity, origins),
];

function signingPage(identity: Identity, origins: () => readonly string[]): ServedPage {
  const signing = authPages({ ...identity, origins, now: () => millis(Date.now()) });
  return {
    ways: [`GET ${SIGN_IN_PATH}`, `POST ${SIGN_IN_PATH}`, `POST ${SIGN_OUT_PATH}`],
    async answer(asking, message) {
      if (asking.path !== SIGN_IN_PATH && asking.path !== SIGN_OUT_PATH) return null;
      const read = await readBody(message, MOST_LINK);
      if (read.kind === "refused") throw refusal(read.problem);
      const reply = await signing(asking, read.bytes.toString());
      if (reply === null) return null;
      const { "content-type": type = "text/html; charset=utf-8", ...headers } = reply.headers;
      return { status: reply.status, answer: { kind: "text", mediaType: String(type), text: reply.body, headers } };
    },
  };
}

/** Handlers of the operations that belong to identity. */
export const identityHandlers = (identity: Pick<Identity, "ticket">): Pick<OperationHandlers, "ticket"> => ({
  ticket: async ({ caller, connection }) => {
    const ticket = identity.ticket(caller, connection.origin);
    if ("status" in ticket) throw refusal(ticket);
    return json(ticket);
  },
});
