/**
 * Identity: who sends a request, and what they may do. An API key, the cookie of a sign-in or a ticket stands for a person; the policies decide each time
 * what that person may see and do; the limits of the access come on top.
 *
 * W-6 An act is done only if the access still counts, its limits cover the act, and the policies allow it; any error refuses.
 * W-13 Limited access cannot talk to an agent that acts for its operator: through it, it would reach what its limits leave out.
 * W-15 Credentials that last are read from a header or a cookie, never from an address; a socket may show a ticket.
 * W-15 The one exception is a setting: `/ws/chat` takes an API key at `?token=`, and reports each use.
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
import { AdmittedCallers } from "./admitted-callers.ts";
import { createTickets, type Tickets } from "./auth-tickets.ts";
import { type Access, type IncomingRequest, isChatKey } from "./authentication.ts";
import { type Operators, openOperators } from "./operators.ts";
import { openSecretChecks, type SecretChecks, type SecretChecksOptions } from "./secret-checks.ts";

export type IdentityOptions = Readonly<{
  place: Pick<OpenProjectStore, "store" | "keyring" | "keys">;
  /** `.orgate` of the project. */
  directory: string;
  gate: Pick<Gate, "decideFor">;
  now: () => Millis;
  /** Addresses of this server (`http://127.0.0.1:4680`), the preferred one first. Read each time: a port may be known late. */
  origins(): readonly string[];
  /** Agents that act for the person who talks to them. */
  coordinators: readonly string[];
  /** Given where `/ws/chat` takes an API key at `?token=`, as clients of the older chat protocol send it: called with the person whose key was used. */
  chatKeyUsed?(person: string): void;
  guesses?: SecretChecksOptions;
}>;

export type Ticket = Readonly<{ ticket: string; expiresAt: Millis }>;
const UNLIMITED: AccessScope = { agents: null, actions: null, expiresAt: null };

export type Identity = Access &
  Readonly<{
    /** A ticket for one socket of this caller; if a page asked for it, only from that page's site. */
    ticket(caller: Caller, origin: string | null): Ticket | Problem;
    /** A caller inside the server that acts for this person, limited by the policies alone: for the tools of an agent that talks to them. */
    operator(name: string): Promise<Caller>;
    /** The same for a person whose key the server holds already; null if it holds none. */
    callerOf(principal: Principal): Caller | null;
    /** Creates a sign-in link: it works once, within a quarter of an hour. */
    link(person: string, by: Principal): Promise<string>;
    /** Exchanges a link for a sign-in, or says why it cannot. */
    signIn(link: string): Promise<SignedIn | Problem>;
    /** Ends the sign-in that the request's cookie stands for. */
    signOut(asking: IncomingRequest): Promise<Problem | null>;
    /** The names of the cookies at the address of this request. */
    cookies(asking: Pick<IncomingRequest, "headers">): CookieNames;
    accesses: AccessStore;
    close(): void;
  }>;
export type SignedIn = Readonly<{ kind: "signed-in"; token: string; person: string; until: Millis }>;

type AccessId = Given["access"];

/** Opens the identity of a server; the accesses and keys that other processes changed are read before each decision. */
export async function openIdentity(options: IdentityOptions): Promise<Identity> {
  const identity = new ServerIdentity(options);
  await identity.start();
  return identity;
}

/** W-6 what is revoked elsewhere cannot be known while the journal cannot be read. */
const UNKNOWN_ACCESS = "it is unknown whether this access is still valid";

/** Public members are fields that can be passed on one by one. */
class ServerIdentity implements Identity {
  readonly accesses: AccessStore;
  readonly #options: IdentityOptions;
  readonly #store: AccessStore;
  readonly #operators: Operators;
  readonly #callers: AdmittedCallers;
  readonly #secretChecks: SecretChecks;
  readonly #tickets: Tickets;
  #unwatch: () => void = () => {};
  #refreshing: Promise<unknown> | null = null;
  #recovering: Promise<void> | null = null;

  constructor(options: IdentityOptions) {
    const { place, directory, now } = options;
    this.#options = options;
    this.#store = openAccessStore({ journal: place.store.journal, secrets: secretPort, now });
    this.#operators = openOperators(directory, place.keyring);
    this.#callers = new AdmittedCallers({ accesses: this.#store, operators: this.#operators, now });
    this.#secretChecks = openSecretChecks(options.guesses);
    this.#tickets = createTickets({ key: place.keys.blobKey, used: place.store.requests, now });
    this.accesses = { ...this.#store, revoke: this.#revoke };
  }

  async start(): Promise<void> {
    await this.#refresh();
    this.#unwatch = this.#options.place.store.inbox.watchChanges(() => void this.#refresh().catch(() => {}));
  }

  readonly close = (): void => {
    this.#unwatch();
    this.#callers.close();
  };

  readonly watch: Identity["watch"] = (caller, ended) => this.#callers.watch(caller, ended);

  readonly mayDo: Identity["mayDo"] = (caller, act) => {
    const { gate, coordinators } = this.#options;
    const why = this.#callers.findEnd(caller) ?? outOfScope(caller.scope, act) ?? refuseThroughCoordinator(caller.scope, act, coordinators);
    return why ?? policyRefusal(gate, caller.person.name, act);
  };

  readonly authenticate: Identity["authenticate"] = async (request) => {
    const { authorization } = request.headers;
    if (authorization !== undefined) {
      const [, token = ""] = /^Bearer ([^\s]+)$/i.exec(authorization) ?? [];
      return this.#enter(await this.#prove(token, ["key"]));
    }
    const shown = request.query.getAll("token");
    if (request.via !== "socket" || shown.length === 0) return this.#byCookie(request);
    const [token = "", ...more] = shown;
    if (isChatKey(request)) return this.#byChatKey(token);
    return this.#byTicket(request, more.length > 0 ? null : token);
  };

  readonly ticket: Identity["ticket"] = (caller, origin) => {
    const why = this.#callers.findEnd(caller);
    if (why !== null) return wireProblem("unauthenticated", why, HINT);
    return this.#tickets.issue({ person: caller.person.name, scope: caller.scope, access: this.#callers.accessOf(caller), origin });
  };

  readonly operator: Identity["operator"] = async (name) => this.#callers.admit(await this.#operators.open(name), UNLIMITED, null);

  readonly callerOf: Identity["callerOf"] = (principal) => {
    const person = principal.kind === "user" ? this.#operators.known(principal.id) : null;
    return person === null ? null : this.#callers.admit(person, UNLIMITED, null);
  };

  readonly link: Identity["link"] = async (person, by) => {
    const { now, origins } = this.#options;
    await this.#operators.open(person);
    const until = millis(now() + LINK_MS);
    const { token } = await this.#store.give({ means: "link", person, agents: null, actions: null, until, note: "", by });
    return `${firstOf(origins())}/sign-in#${token}`;
  };

  readonly signIn: Identity["signIn"] = async (link) => {
    const given = await this.#prove(link, ["link"]);
    if ("status" in given) return given;
    const opened = await this.#openOperator(given.person);
    if ("status" in opened) return opened;
    const until = millis(this.#options.now() + SIGN_IN_MS);
    const made = await this.#store.exchange(given.access, until);
    if (made === null) return wireProblem("unauthenticated", "this link was used", HINT);
    return { kind: "signed-in", token: made.token, person: given.person, until };
  };

  readonly signOut: Identity["signOut"] = async (request) => {
    const caller = await this.#byCookie(request);
    if ("status" in caller) return caller;
    const access = this.#callers.accessOf(caller);
    if (access !== null) await this.#store.revoke(access, caller.principal, "signed out");
    this.#callers.recheck();
    return null;
  };

  readonly cookies: Identity["cookies"] = ({ headers: { host } }) => {
    const origins = this.#options.origins();
    return cookieNames(origins.find((one) => new URL(one).host === host?.toLowerCase()) ?? firstOf(origins));
  };

  /** The store reports changes of other processes only, so a change made here is checked here. */
  readonly #revoke: AccessStore["revoke"] = async (access, by, reason) => {
    const revoked = await this.#store.revoke(access, by, reason);
    this.#callers.recheck();
    return revoked;
  };

  /** Reads what other processes gave, revoked or withdrew. */
  async #refresh(): Promise<void> {
    let trouble: string | null = UNKNOWN_ACCESS;
    try {
      await this.#store.refresh();
      await this.#options.place.keyring.refresh();
      trouble = null;
    } finally {
      this.#callers.recheckWith(trouble);
    }
  }

  /** W-6 a journal that is back may have nothing to tell: whoever asks then finds out. */
  #recover(): Promise<void> {
    this.#recovering ??= this.#refresh()
      .catch(() => {})
      .finally(() => {
        this.#recovering = null;
      });
    return this.#recovering;
  }

  /** W-12 what another process has revoked a moment ago lets nobody in, also before this one is told of it. False: it cannot be known. */
  async #isCurrent(): Promise<boolean> {
    if (this.#callers.isInTrouble()) await this.#recover();
    else await this.#refreshOnce().catch(() => this.#callers.recheckWith(UNKNOWN_ACCESS));
    return !this.#callers.isInTrouble();
  }

  /** One read for all that wait for one: however many ask, the journal is read once at a time. */
  #refreshOnce(): Promise<unknown> {
    this.#refreshing ??= new Promise((resolve) => setImmediate(resolve)).then(() => {
      this.#refreshing = null; // a later request may be about something newer
      return Promise.all([this.#store.refresh(), this.#options.place.keyring.refresh()]);
    });
    return this.#refreshing;
  }

  /** The access that a token stands for, or why there is none. A wrong token and an unknown one get the same answer. */
  async #prove(token: string, means: readonly Given["means"][]): Promise<Given | Problem> {
    const read = readToken(token);
    if (read === null || !means.includes(read.means)) return unknown();
    const find = (): Given | null => {
      const one = this.#store.all().get(read.access);
      return one?.means === read.means ? one : null;
    };
    if (find() === null) await this.#refreshOnce(); // another process may have given it
    const hash = find()?.check ?? secretPort.nobodys;
    const fits = secretPort.fitsSecret(read.secret, hash);
    const found = fits ?? (await this.#secretChecks.check(token, read.access, () => secretPort.fitsSlowly(read.secret, hash)));
    if (found === "later") return wireProblem("too-many", "too many wrong keys of this name were shown", "try again in a minute");
    const given = find();
    if (found === false || found === "wrong" || given === null) return unknown();
    const why = explainLapse(given, given.means, this.#options.now());
    return why === null ? given : wireProblem("unauthenticated", why, HINT);
  }

  async #enter(given: Given | Problem): Promise<Caller | Problem> {
    if ("status" in given) return given;
    if (!(await this.#isCurrent())) return wireProblem("unavailable", UNKNOWN_ACCESS, "the journal cannot be read: try again in a moment");
    const { access, person, agents, actions, until } = given;
    const why = explainLapse(this.#store.all().get(access) ?? given, given.means, this.#options.now());
    if (why !== null) return wireProblem("unauthenticated", why, HINT);
    const opened = await this.#openOperator(person);
    return "status" in opened ? opened : this.#callers.admit(opened, { agents, actions, expiresAt: until }, access);
  }

  /** W-12 If the person's key was withdrawn, the answer says so. */
  async #openOperator(person: string): Promise<Person | Problem> {
    try {
      return await this.#operators.open(person);
    } catch (error) {
      if (isFault(error, "key-bad") && this.#operators.isWithdrawn(person))
        return wireProblem("unauthenticated", keyWithdrawnText(person), HINT);
      throw error;
    }
  }

  async #byCookie(request: IncomingRequest): Promise<Caller | Problem> {
    const token = readCookie(request.headers, this.cookies(request).signIn);
    if (token === null) return wireProblem("unauthenticated", "nothing says who is asking", HINT);
    const foreign = findCrossSite(request, this.#options.origins()) ?? findForgery(request, token);
    return foreign ?? this.#enter(await this.#prove(token, ["sign-in"]));
  }

  async #byTicket(request: IncomingRequest, ticket: string | null): Promise<Caller | Problem> {
    const found = ticket === null ? null : await this.#tickets.redeem(ticket);
    if (found === null)
      return wireProblem("unauthenticated", "this ticket is good no more", "a ticket opens one socket, within seconds: get another");
    const foreign = this.#findOtherSite(request, found);
    if (foreign !== null) return foreign;
    await this.#isCurrent(); // another server may have given it, or revoked it
    const opened = await this.#openOperator(found.person);
    if ("status" in opened) return opened;
    const caller = this.#callers.admit(opened, found.scope, found.access);
    const why = this.#callers.findEnd(caller);
    return why === null ? caller : wireProblem("unauthenticated", why, HINT);
  }

  /** W-15. */
  async #byChatKey(key: string): Promise<Caller | Problem> {
    const { chatKeyUsed } = this.#options;
    if (chatKeyUsed === undefined)
      return wireProblem(
        "unauthenticated",
        "keys are not taken from an address",
        "send it as `Authorization: Bearer`, or set `chat_keys_in_url`",
      );
    const caller = await this.#enter(await this.#prove(key, ["key"]));
    if (!("status" in caller)) chatKeyUsed(caller.person.name);
    return caller;
  }

  /** The ticket of a sign-in is for this site alone; that of a key for the site that asked for it. */
  #findOtherSite(
    request: IncomingRequest,
    { access, origin }: Readonly<{ access: AccessId | null; origin: string | null }>,
  ): Problem | null {
    const isSignIn = access !== null && this.#store.all().get(access)?.means === "sign-in";
    if (isSignIn) return findCrossSite(request, this.#options.origins());
    if (origin === null || request.headers.origin === origin) return null;
    return wireProblem("cross-site", "this ticket was given to another site", "get one where it is used");
  }
}

const HINT = "`orgate keys create NAME --api` makes an API key, `orgate keys create NAME --link` a link to sign in with";
const unknown = (): Problem => wireProblem("unauthenticated", "nobody is known by this", HINT);

/** Acts by which a person talks to an agent (W-13). */
const TALKING: ReadonlySet<Act["kind"]> = new Set(["run", "open", "say", "steer", "approve", "deny", "withdraw"]);
function refuseThroughCoordinator({ agents, actions }: AccessScope, act: Act, coordinators: readonly string[]): string | null {
  if ((agents === null && actions === null) || !TALKING.has(act.kind)) return null;
  const agent = agentResource(act);
  return agent !== null && coordinators.includes(agent)
    ? `\`${agent}\` acts for the person who talks to it, and this access is limited`
    : null;
}

function firstOf(origins: readonly string[]): string {
  const [first] = origins;
  if (first === undefined) throw new Error("the server has no address");
  return first;
}
