/**
 * Identity: who is at the door, and what they may do. What somebody shows (an API key, a sign-in's cookie, a ticket) stands for a person; what that person
 * may see and do, the policies say, each time; and what the access is limited to comes on top.
 *
 * W-6 something is done only when the access still counts, its limits cover it, and the policies simply allow it; any error refuses.
 * W-13 limited access does not speak with an agent that acts for its operator: it would reach through it what its limits leave out.
 * W-15 nothing that lasts is taken from an address: only a header or a cookie; a socket may show a ticket.
 * W-15 the one exception is a setting: `/ws/chat` takes an API key at `?token=`, and says so each time.
 * Rule: W-12.
 */
import { type Gate, isFault, type Millis, millis, type Principal } from "@orgate/core";
import type { Access as Given } from "@orgate/core/journal";
import { type Problem, wireProblem } from "@orgate/protocol";
import {
  type AccessStore,
  explainLapse,
  keyWithdrawnText,
  LINK_MS,
  openAccessStore,
  readToken,
  SIGN_IN_MS,
} from "../../identity/access-store.ts";
import { secretPort } from "../../identity/secret-hash.ts";
import type { AccessScope, Act, Caller } from "../../operations/access.ts";
import { agentResource, outOfScope, policyRefusal } from "../../operations/access-limits.ts";
import type { OpenProjectStore } from "../../runtime/ports/project-store.ts";
import type { Person } from "../../store/keyring.ts";
import { type CookieNames, cookieNames, findCrossSite, findForgery, readCookie } from "../http/auth-site.ts";
import { createTickets, type Tickets } from "./auth-tickets.ts";
import { type Access, type IncomingRequest, isChatKey } from "./authentication.ts";
import { openOperators } from "./operators.ts";
import { openSecretChecks, type SecretChecks, type SecretChecksOptions } from "./secret-checks.ts";

export type IdentityOptions = Readonly<{
  place: Pick<OpenProjectStore, "store" | "keyring">;
  /** `.orgate` of the project. */
  directory: string;
  gate: Pick<Gate, "decideFor">;
  now: () => Millis;
  /** What this server is called (`http://127.0.0.1:4680`), the first one first. Asked each time: a port may be known late. */
  origins(): readonly string[];
  /** Agents that act for whoever speaks with them. */
  coordinators: readonly string[];
  /** Where `/ws/chat` takes an API key at `?token=`, as clients of the older chat protocol send it: hears whose was used. */
  chatKeyUsed?(person: string): void;
  guesses?: SecretChecksOptions;
}>;

export type Ticket = Readonly<{ ticket: string; expiresAt: Millis }>;
type Watcher = Readonly<{ caller: Caller; ended(why: string): void }>;
/** Of one timer. */
const LONGEST_MS = 2 ** 31 - 1;
const UNLIMITED: AccessScope = { agents: null, actions: null, expiresAt: null };

export type Identity = Access &
  Readonly<{
    /** For one socket of this caller; where a page asked for it, of that page's site. */
    ticket(caller: Caller, origin: string | null): Ticket | Problem;
    /** Somebody inside who acts for this person, with no limits but the policies: the tools of an agent that speaks with them. */
    operator(name: string): Promise<Caller>;
    /** The same of somebody for whom the server holds a key already; null: they are not known here. */
    callerOf(principal: Principal): Caller | null;
    /** A link to sign in with, once, within a quarter of an hour. */
    link(person: string, by: Principal): Promise<string>;
    /** The token of a sign-in for a link; null when the link is good no more. */
    signIn(link: string): Promise<SignedIn | Problem>;
    /** Ends the sign-in whose cookie this is. */
    signOut(asking: IncomingRequest): Promise<Problem | null>;
    /** What they are called at the address that was asked. */
    cookies(asking: Pick<IncomingRequest, "headers">): CookieNames;
    accesses: AccessStore;
    close(): void;
  }>;
export type SignedIn = Readonly<{ kind: "signed-in"; token: string; person: string; until: Millis }>;

/** How somebody came in: null for what runs inside. */
type Standing = Readonly<{ access: Given["access"] | null }>;

export async function openIdentity(options: IdentityOptions): Promise<Identity> {
  const { place, gate, now, origins } = options;
  const book = openAccessStore({ journal: place.store.journal, secrets: secretPort, now });
  const operators = openOperators(options.directory, place.keyring);
  const guesses: SecretChecks = openSecretChecks(options.guesses);
  const waiting: Tickets<Readonly<{ caller: Caller; access: Given["access"] | null; origin: string | null }>> = createTickets(
    now,
    secretPort.newSecret,
  );
  const callers = new WeakMap<Caller, Standing>(); // a caller that was not let in here is nobody
  const watchers = new Set<Watcher>();
  let alarm: Readonly<{ at: number; timer: NodeJS.Timeout }> | null = null;
  let trouble: string | null = null;

  /** What other processes gave, revoked or withdrew is known before the next decision. */
  async function look(): Promise<void> {
    try {
      await book.refresh();
      await place.keyring.refresh();
      trouble = null;
    } catch (error) {
      trouble = "it cannot be told whether this access still counts";
      throw error;
    } finally {
      lookAfter();
    }
  }
  await look();
  const stopWatching = place.store.inbox.watchChanges(() => void look().catch(() => {}));

  function admit(person: Person, scope: AccessScope, access: Given["access"] | null): Caller {
    const caller: Caller = Object.freeze({ principal: { kind: "user", id: person.name }, person, scope });
    callers.set(caller, { access });
    return caller;
  }

  let asked: Promise<unknown> | null = null;
  /** One read for all who wait for one: however many show what nobody knows, the journal is asked once at a time. */
  function refreshOnce(): Promise<unknown> {
    asked ??= new Promise((resolve) => setImmediate(resolve)).then(() => {
      asked = null; // whoever comes from now on may know of something newer
      return book.refresh();
    });
    return asked;
  }

  /** The access that a token is of, or why it is of none. A wrong one and an unknown one are told alike. */
  async function prove(token: string, means: readonly Given["means"][]): Promise<Given | Problem> {
    const read = readToken(token);
    if (read === null || !means.includes(read.means)) return unknown();
    const known = (): Given | null => {
      const one = book.all().get(read.access);
      return one?.means === read.means ? one : null;
    };
    if (known() === null) await refreshOnce(); // another process may have given it
    const kept = known()?.check ?? secretPort.nobodys;
    const fits = secretPort.fitsSecret(read.secret, kept);
    const found = fits ?? (await guesses.check(token, read.access, () => secretPort.fitsSlowly(read.secret, kept)));
    if (found === "later") return wireProblem("too-many", "too many wrong keys of this name were shown", "try again in a minute");
    const given = known();
    if (found === false || found === "wrong" || given === null) return unknown();
    const why = explainLapse(given, given.means, now());
    return why === null ? given : wireProblem("unauthenticated", why, HINT);
  }

  async function enter(given: Given | Problem): Promise<Caller | Problem> {
    if ("status" in given) return given;
    const { access, person, agents, actions, until } = given;
    const opened = await operatorFor(person);
    return "status" in opened ? opened : admit(opened, { agents, actions, expiresAt: until }, access);
  }

  /** W-12 who holds up a key of a person whose key was withdrawn is told so. */
  async function operatorFor(person: string): Promise<Person | Problem> {
    try {
      return await operators.open(person);
    } catch (error) {
      if (isFault(error, "key-bad") && operators.isWithdrawn(person)) return wireProblem("unauthenticated", keyWithdrawnText(person), HINT);
      throw error;
    }
  }

  const cookies = ({ headers: { host } }: Pick<IncomingRequest, "headers">): CookieNames =>
    cookieNames(origins().find((one) => new URL(one).host === host?.toLowerCase()) ?? firstOf(origins()));

  async function byCookie(asking: IncomingRequest): Promise<Caller | Problem> {
    const token = readCookie(asking.headers, cookies(asking).signIn);
    if (token === null) return wireProblem("unauthenticated", "nothing says who is asking", HINT);
    const foreign = findCrossSite(asking, origins()) ?? findForgery(asking, token);
    return foreign ?? enter(await prove(token, ["sign-in"]));
  }

  async function authenticate(asking: IncomingRequest): Promise<Caller | Problem> {
    const { authorization } = asking.headers;
    if (authorization !== undefined) {
      const [, token = ""] = /^Bearer ([^\s]+)$/i.exec(authorization) ?? [];
      return enter(await prove(token, ["key"]));
    }
    const shown = asking.query.getAll("token");
    if (asking.via !== "socket" || shown.length === 0) return byCookie(asking);
    const [ticket = "", ...more] = shown;
    if (isChatKey(asking)) return byChatKey(ticket);
    const found = more.length > 0 ? null : waiting.redeem(ticket);
    if (found === null)
      return wireProblem("unauthenticated", "this ticket is good no more", "a ticket opens one socket, within seconds: get another");
    const foreign = elsewhere(asking, found);
    if (foreign !== null) return foreign;
    const caller = admit(found.caller.person, found.caller.scope, found.access);
    const why = counts(caller);
    return why === null ? caller : wireProblem("unauthenticated", why, HINT);
  }

  /** W-15. */
  async function byChatKey(key: string): Promise<Caller | Problem> {
    if (options.chatKeyUsed === undefined)
      return wireProblem(
        "unauthenticated",
        "keys are not taken from an address",
        "send it as `Authorization: Bearer`, or set `chat_keys_in_url`",
      );
    const caller = await enter(await prove(key, ["key"]));
    if (!("status" in caller)) options.chatKeyUsed(caller.person.name);
    return caller;
  }

  /** A page's ticket is that page's: of a sign-in this site's own, of a key the site's that asked for it. */
  function elsewhere(
    asking: IncomingRequest,
    { access, origin }: Readonly<{ access: Given["access"] | null; origin: string | null }>,
  ): Problem | null {
    const isPages = access !== null && book.all().get(access)?.means === "sign-in";
    if (isPages) return findCrossSite(asking, origins());
    if (origin === null || asking.headers.origin === origin) return null;
    return wireProblem("cross-site", "this ticket was given to another site", "get one where it is used");
  }

  /** Why this caller counts no more; null while they do. */
  function counts(caller: Caller): string | null {
    const standing = callers.get(caller);
    if (standing === undefined) return "nobody let this caller in";
    if (trouble !== null) return trouble;
    const given = standing.access === null ? null : (book.all().get(standing.access) ?? null);
    if (standing.access !== null && given === null) return "this access is not known any more";
    const why = given === null ? null : explainLapse(given, "access", now());
    if (why !== null) return why;
    return operators.isGood(caller.person) ? null : keyWithdrawnText(caller.person.name);
  }

  /** Cuts off whoever does not count any more, and sets the alarm for the next whose time will be up. */
  function lookAfter(): void {
    let next = Number.POSITIVE_INFINITY;
    for (const one of [...watchers]) {
      const why = counts(one.caller);
      if (why === null) next = Math.min(next, one.caller.scope.expiresAt ?? next);
      else if (watchers.delete(one)) one.ended(why);
    }
    clearTimeout(alarm?.timer);
    alarm = null;
    if (next !== Number.POSITIVE_INFINITY) setAlarm(next);
  }
  function setAlarm(at: number): void {
    clearTimeout(alarm?.timer);
    alarm = { at, timer: setTimeout(lookAfter, Math.min(Math.max(1, at - now()), LONGEST_MS)).unref() };
  }

  function watch(caller: Caller, ended: (why: string) => void): () => void {
    const why = counts(caller);
    if (why !== null) {
      ended(why);
      return () => {};
    }
    const one: Watcher = { caller, ended };
    watchers.add(one);
    const { expiresAt } = caller.scope;
    if (expiresAt !== null && (alarm === null || expiresAt < alarm.at)) setAlarm(expiresAt);
    return () => void watchers.delete(one);
  }

  function mayDo(caller: Caller, act: Act): string | null {
    const why = counts(caller) ?? outOfScope(caller.scope, act) ?? throughDesk(caller.scope, act, options.coordinators);
    if (why !== null) return why;
    return policyRefusal(gate, caller.person.name, act);
  }

  return {
    authenticate,
    mayDo,
    watch,
    accesses: {
      ...book,
      async revoke(access, by, reason) {
        const revoked = await book.revoke(access, by, reason);
        lookAfter(); // what this process does itself it is not told of
        return revoked;
      },
    },
    ticket(caller, origin) {
      const why = counts(caller);
      if (why !== null) return wireProblem("unauthenticated", why, HINT);
      const access = callers.get(caller)?.access ?? null;
      return (
        waiting.issue({ caller, access, origin }) ??
        wireProblem("too-many", "too many tickets are waiting to be used", "try again in a minute")
      );
    },
    operator: async (name) => admit(await operators.open(name), UNLIMITED, null),
    callerOf(principal) {
      const person = principal.kind === "user" ? operators.known(principal.id) : null;
      return person === null ? null : admit(person, UNLIMITED, null);
    },
    async link(person, by) {
      await operators.open(person);
      const until = millis(now() + LINK_MS);
      const { token } = await book.give({ means: "link", person, agents: null, actions: null, until, note: "", by });
      return `${firstOf(origins())}/sign-in#${token}`;
    },
    async signIn(link) {
      const given = await prove(link, ["link"]);
      if ("status" in given) return given;
      const opened = await operatorFor(given.person);
      if ("status" in opened) return opened;
      const until = millis(now() + SIGN_IN_MS);
      const made = await book.exchange(given.access, until);
      if (made === null) return wireProblem("unauthenticated", "this link was used", HINT);
      return { kind: "signed-in", token: made.token, person: given.person, until };
    },
    async signOut(asking) {
      const caller = await byCookie(asking);
      if ("status" in caller) return caller;
      const access = callers.get(caller)?.access ?? null;
      if (access !== null) await book.revoke(access, caller.principal, "signed out");
      lookAfter();
      return null;
    },
    cookies,
    close() {
      stopWatching();
      clearTimeout(alarm?.timer);
    },
  };
}

const HINT = "`orgate keys create NAME --api` makes an API key, `orgate keys create NAME --link` a link to sign in with";
const unknown = (): Problem => wireProblem("unauthenticated", "nobody is known by this", HINT);

/** W-13. */
const SPEAKS: ReadonlySet<Act["kind"]> = new Set(["run", "open", "say", "steer", "approve", "deny", "withdraw"]);
function throughDesk({ agents, actions }: AccessScope, act: Act, desks: readonly string[]): string | null {
  if ((agents === null && actions === null) || !SPEAKS.has(act.kind)) return null;
  const agent = agentResource(act);
  return agent !== null && desks.includes(agent) ? `\`${agent}\` acts for whoever speaks with it, and this access is limited` : null;
}

function firstOf(origins: readonly string[]): string {
  const [first] = origins;
  if (first === undefined) throw new Error("a server is called something");
  return first;
}
