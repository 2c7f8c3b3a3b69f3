/**
 * Authentication of requests: the seam between the server and identity.
 *
 * W-6 Nothing is done unless `authenticate` names the caller and `mayDo` does not object; an error of either is a refusal.
 * W-12 A caller whose access ends while connected is cut off: `watch` reports it for as long as something is open.
 */
import type { IncomingHttpHeaders } from "node:http";
import { errorMessage } from "@orgate/core/vocab";
import { type Problem, wireProblem } from "@orgate/protocol";
import type { Caller, Permissions } from "../../operations/access.ts";

/** A request as identity sees it, without its body: nobody is authenticated by a body. */
export type IncomingRequest = Readonly<{
  via: "http" | "socket";
  method: string;
  /** Without its query. */
  path: string;
  query: URLSearchParams;
  headers: IncomingHttpHeaders;
  /** The other end's address. */
  remote: string;
}>;

/** An API key in the address of `/ws/chat`, and nothing else: whether it is taken is a setting. */
export const isChatKey = ({ via, path, query }: IncomingRequest): boolean =>
  via === "socket" && path === "/ws/chat" && query.getAll("token").length === 1 && (query.get("token") ?? "").startsWith("ogk_");

export type Access = Permissions & Readonly<{ authenticate(asking: IncomingRequest): Promise<Caller | Problem> }>;

export const isProblem = (one: Caller | Problem): one is Problem => "status" in one;

/** The identity of a server that was started without one. */
export const DENY_EVERYBODY: Access = Object.freeze({
  authenticate: async () => wireProblem("unauthenticated", "nobody is known here", "this server was started without identities"),
  mayDo: () => "nothing is allowed here",
  watch: (_, ended) => {
    ended("nobody is known here");
    return () => {};
  },
});

/** An error of identity is a refusal, never a way in. */
export function refuseOnError({ authenticate, mayDo, watch }: Access): Access {
  return {
    watch,
    async authenticate(asking) {
      try {
        return await authenticate(asking);
      } catch {
        return wireProblem("unauthenticated", "it is unknown who is asking", "try again; the server's log has the details");
      }
    },
    mayDo(caller, wanted) {
      try {
        return mayDo(caller, wanted);
      } catch (error) {
        return `it could not be decided: ${errorMessage(error)}`;
      }
    },
  };
}

/** Null while the access counts, otherwise why it does not. */
export function findAccessEnd({ watch }: Pick<Access, "watch">, caller: Caller): string | null {
  let why: string | null = null;
  watch(caller, (reason) => {
    why = reason;
  })();
  return why;
}
