/**
 * Who is at the door, and what they may do: the seam between the server and identity. Nothing here knows a key, a cookie or a policy.
 *
 * W61 nobody is let in and nothing is done unless `authenticate` names the caller and `mayDo` has no objection; an error of either is a refusal.
 * W185 whoever is connected when their access ends is cut off: `watch` tells, for as long as something is open.
 */

import type { IncomingHttpHeaders } from "node:http";
import type { Millis, Principal } from "@orgate/core";
import { type ActName, type ActOn, type Problem, wireProblem } from "@orgate/core/wire";
import { errorMessage } from "../../node/error-message.ts";
import type { Person } from "../../store/keyring.ts";

/** What a key or a sign-in is limited to; null: whatever the policies let the person see and do. */
export type AccessScope = Readonly<{ agents: readonly string[] | null; actions: readonly string[] | null; expiresAt: Millis | null }>;
/** `person` signs what they ask of sessions. */
export type Caller = Readonly<{ principal: Principal; person: Person; scope: AccessScope }>;

/** A request as identity sees it. No body: nobody is known by what they say. */
export type Asking = Readonly<{
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
export const isChatKey = ({ via, path, query }: Asking): boolean =>
  via === "socket" && path === "/ws/chat" && query.getAll("token").length === 1 && (query.get("token") ?? "").startsWith("ogk_");

/** What is to be decided. A field is null where there is no such thing about it. */
export type Act = Readonly<{
  kind: ActName;
  on: ActOn;
  agent: string | null;
  session: string | null;
  /** Of the approval, grant, call, breaker or scope. */
  id: string | null;
  tool: string | null;
  /** On whose behalf the session runs. */
  requester: string | null;
}>;
export const act = (kind: ActName, on: ActOn, about: Partial<Omit<Act, "kind" | "on">> = {}): Act => ({
  agent: null,
  session: null,
  id: null,
  tool: null,
  requester: null,
  ...about,
  kind,
  on,
});

export type Access = Readonly<{
  authenticate(asking: Asking): Promise<Caller | Problem>;
  /** Null when nothing speaks against it; else why not. */
  mayDo(caller: Caller, act: Act): string | null;
  /** `ended` is called once, with why, when the access counts no more; also where it does not by now. Returns how to stop watching. */
  watch(caller: Caller, ended: (why: string) => void): () => void;
}>;

export const isProblem = (one: Caller | Problem): one is Problem => "status" in one;

/** In force where there is no other. */
export const NOBODY: Access = Object.freeze({
  authenticate: async () => wireProblem("unauthenticated", "nobody is known here", "this server was started without identities"),
  mayDo: () => "nothing is allowed here",
  watch: (_, ended) => {
    ended("nobody is known here");
    return () => {};
  },
});

/** What identity throws is a refusal, not a way in. */
export function strict({ authenticate, mayDo, watch }: Access): Access {
  return {
    watch,
    async authenticate(asking) {
      try {
        return await authenticate(asking);
      } catch {
        return wireProblem("unauthenticated", "it could not be told who is asking", "try again; the server's log has the details");
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

/** Why the access counts no more; null while it does. */
export function endedNow({ watch }: Pick<Access, "watch">, caller: Caller): string | null {
  let why: string | null = null;
  watch(caller, (reason) => {
    why = reason;
  })();
  return why;
}

/** On whose behalf a session runs, as the policies are told: nobody who is no person is taken for one of the same name. */
export const requesterOf = ({ kind, id }: Principal): string => (kind === "user" ? id : `${kind}:${id}`);
