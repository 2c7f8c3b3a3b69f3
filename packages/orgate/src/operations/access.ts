/** Callers, the acts that they ask for, and the permissions that decide them. Nothing here knows a key, a cookie or a policy. */
import type { Millis, Principal } from "@orgate/core";
import type { ActName, ActOn } from "@orgate/protocol";
import type { Person } from "../store/keyring.ts";

/** Limits of a key or a sign-in; null: no limit beyond the policies. */
export type AccessScope = Readonly<{ agents: readonly string[] | null; actions: readonly string[] | null; expiresAt: Millis | null }>;
/** `person` signs the caller's intents. */
export type Caller = Readonly<{ principal: Principal; person: Person; scope: AccessScope }>;

/** An act to be decided. A field is null where it does not apply. */
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
  /** Of an approval request: everything in it is for the requester to answer. */
  forRequester: boolean;
}>;
export const act = (kind: ActName, on: ActOn, about: Partial<Omit<Act, "kind" | "on">> = {}): Act => ({
  agent: null,
  session: null,
  id: null,
  tool: null,
  requester: null,
  forRequester: false,
  ...about,
  kind,
  on,
});

export type Permissions = Readonly<{
  /** Null if allowed, otherwise the reason for the refusal. */
  mayDo(caller: Caller, act: Act): string | null;
  /** `ended` is called once, with the reason, when the access has ended or ends. Returns how to stop watching. */
  watch(caller: Caller, ended: (why: string) => void): () => void;
}>;
