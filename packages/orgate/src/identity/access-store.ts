/**
 * Keys and sign-ins that stand for people: given, revoked and used up in the journal, so that every process knows them and everybody can see who gave what.
 *
 * W-11 a sign-in link is good once, also when two use it at the same time or the process dies in between: it is used up in the transaction that gives the sign-in.
 * Rule: W-10.
 */
import {
  ACCESS,
  type AccessId,
  type AccessMeans,
  accessId,
  FaultError,
  type Journal,
  type Millis,
  type Principal,
  type Seq,
  type SystemEvent,
  seq,
} from "@orgate/core";
import { type Access, accessEnd, entryPages, foldAccess, isPersonName, USED_LINK } from "@orgate/core/journal";
import { appendPlanned } from "../store/stream-end.ts";

export type SecretPort = Readonly<{ newSecret(): string; newName(): string; hashSecret(secret: string): Promise<string> }>;

/** A new access for a person. Null limits: the policies alone limit it. */
export type NewAccess = Readonly<{
  means: AccessMeans;
  person: string;
  agents: readonly string[] | null;
  actions: readonly string[] | null;
  until: Millis | null;
  note: string;
  by: Principal;
}>;
/** `token` is shown to its owner once; it cannot be recovered. */
export type IssuedAccess = Readonly<{ access: Access; token: string }>;

export type AccessStore = Readonly<{
  /** As of the last refresh. */
  all(): ReadonlyMap<AccessId, Access>;
  refresh(): Promise<ReadonlyMap<AccessId, Access>>;
  give(giving: NewAccess): Promise<IssuedAccess>;
  /** Revoked twice is revoked once. Throws where there is no such access. */
  revoke(access: AccessId, by: Principal, reason: string): Promise<Access>;
  /** All that still counts for this person is revoked: their key was withdrawn. Tells what was. */
  revokeAll(person: string, by: Principal): Promise<readonly AccessId[]>;
  /** A sign-in for a link, which is used up; null when it is good no more. */
  exchange(link: AccessId, until: Millis): Promise<IssuedAccess | null>;
}>;

export type AccessPorts = Readonly<{ journal: Pick<Journal, "read" | "append">; secrets: SecretPort; now: () => Millis }>;

/** How long a link can be used, and how long what it signs in counts. */
export const LINK_MS = 15 * 60_000;
export const SIGN_IN_MS = 12 * 3_600_000;

const KEY_WITHDRAWN = "the person's key was withdrawn";
/** Null while the access counts, otherwise why it does not. */
export function explainLapse(access: Access, what: string, now: Millis): string | null {
  const why = accessEnd(access, now);
  if (why === null) return null;
  if (access.revoked?.reason === KEY_WITHDRAWN) return keyWithdrawnText(access.person);
  return `this ${what} ${why === "used" ? "was used: it is good once" : `is ${why}`}`;
}
export const keyWithdrawnText = (person: string): string => `the key that stands for \`${person}\` was withdrawn`;

/** Whether this person has ever signed in. */
export const hasSignedIn = (all: ReadonlyMap<AccessId, Access>, person: string): boolean =>
  [...all.values()].some((one) => one.person === person && one.means === "sign-in");

export function openAccessStore({ journal, secrets, now }: AccessPorts): AccessStore {
  let all: ReadonlyMap<AccessId, Access> = new Map();
  let through: Seq = seq(0);
  let reading: Promise<unknown> = Promise.resolve();

  /** One at a time: what is folded twice would still be right, but `through` must not go back. */
  function refresh(): Promise<ReadonlyMap<AccessId, Access>> {
    const mine = reading.then(readOn, readOn);
    reading = mine;
    return mine;
  }
  async function readOn(): Promise<ReadonlyMap<AccessId, Access>> {
    for await (const entries of entryPages(journal, ACCESS, through)) {
      all = foldAccess(all, entries);
      through = entries.at(-1)?.seq ?? through;
    }
    return all;
  }

  /** Appends the events that `plan` wants. False if it wants none. */
  async function change(plan: () => readonly SystemEvent[]): Promise<boolean> {
    const read = async () => {
      await refresh();
      return { after: through, events: plan() };
    };
    const first = await appendPlanned({ journal, stream: ACCESS, now, plan: read });
    if (first === null) return false;
    await refresh();
    return true;
  }

  async function prepare(giving: NewAccess, from: AccessId | null) {
    if (!isPersonName(giving.person)) throw usage(`\`${giving.person}\` cannot name a person`, "use at most 32 of a-z, 0-9, `_` and `-`");
    const name = secrets.newName();
    const secret = secrets.newSecret();
    const access = accessId(`x_${name}`);
    const event = { kind: "access.given", access, ...giving, check: await secrets.hashSecret(secret), from } as const;
    const token = `${PREFIXES[giving.means]}_${name}_${secret}`;
    return { event, token, given: (): IssuedAccess => ({ access: must(access), token }) };
  }

  function must(access: AccessId): Access {
    const found = all.get(access);
    if (found === undefined) throw usage(`there is no access \`${access}\``, "`orgate keys list` shows those there are");
    return found;
  }

  return {
    all: () => all,
    refresh,
    async give(giving) {
      const { event, given } = await prepare(giving, null);
      await change(() => [event]);
      return given();
    },
    async revoke(access, by, reason) {
      await change(() => (must(access).revoked === null ? [{ kind: "access.revoked", access, by, reason: reason.toWellFormed() }] : []));
      return must(access);
    },
    async revokeAll(person, by) {
      let gone: readonly AccessId[] = [];
      await change(() => {
        gone = [...all.values()].flatMap((one) => (one.person === person && accessEnd(one, now()) === null ? [one.access] : []));
        return gone.map((access) => ({ kind: "access.revoked", access, by, reason: KEY_WITHDRAWN }));
      });
      return gone;
    },
    async exchange(link, until) {
      const found = (await refresh()).get(link);
      if (found === undefined || found.means !== "link") return null;
      const { person, agents, actions, note } = found;
      const by: Principal = { kind: "user", id: person };
      const { event, given } = await prepare({ means: "sign-in", person, agents, actions, note, until, by }, link);
      const usedUp: SystemEvent = { kind: "access.revoked", access: link, by, reason: USED_LINK };
      return (await change(() => (accessEnd(must(link), now()) === null ? [event, usedUp] : []))) ? given() : null;
    },
  };
}

const PREFIXES: Readonly<Record<AccessMeans, string>> = { key: "ogk", link: "ogl", "sign-in": "ogs" };
const MEANS: ReadonlyMap<string, AccessMeans> = new Map(Object.entries(PREFIXES).map(([means, prefix]) => [prefix, means as AccessMeans]));
const TOKEN = /^(og[kls])_([0-9a-f]{16})_([A-Za-z0-9_-]{43})$/;

/** The parts of a token; null if the text is no token. */
export function readToken(token: string): Readonly<{ means: AccessMeans; access: AccessId; secret: string }> | null {
  const [, prefix = "", name, secret] = TOKEN.exec(token) ?? [];
  const means = MEANS.get(prefix);
  return means === undefined || name === undefined || secret === undefined ? null : { means, access: accessId(`x_${name}`), secret };
}

const usage = (detail: string, hint: string): FaultError => new FaultError({ kind: "usage", detail, hint });
