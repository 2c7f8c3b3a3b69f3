/**
 * The one way from a host in a scope to an address that is connected to; HTTP tools and the programs of a sandbox go the same way.
 * Rule: T-30.
 */
import { lookup } from "node:dns/promises";
import { isIP, type LookupFunction } from "node:net";
import { type AddressScope, asciiName } from "./addresses.ts";

export type Address = Readonly<{ address: string; family: number }>;
/** The DNS seam: all addresses of a name. */
export type ResolveHost = (host: string) => Promise<readonly Address[]>;

export const systemResolve: ResolveHost = (host) => lookup(host, { all: true });

export type ResolvedHost = Readonly<{ kind: "reached"; addresses: readonly Address[] } | { kind: "refused"; reason: string }>;

/** `hostname` as a URL gives it: brackets around IPv6, numbers of any base already made into an address. */
export async function resolveInScope(scope: AddressScope, hostname: string, port: number, resolve: ResolveHost): Promise<ResolvedHost> {
  const refused = (reason: string): ResolvedHost => ({ kind: "refused", reason });
  const literal = hostname.replace(/^\[|\]$/g, "");
  const host = isIP(literal) === 0 ? asciiName(literal) : literal;
  if (host === null) return refused(`\`${hostname}\` is no host`);
  const outOfScope = scope.objection(host, port);
  if (outOfScope !== null) return refused(outOfScope);
  let addresses: readonly Address[];
  try {
    addresses = isIP(host) === 0 ? await resolve(host) : [{ address: host, family: isIP(host) }];
  } catch (error) {
    return refused(`\`${host}\` cannot be resolved (${error instanceof Error && "code" in error ? String(error.code) : "no answer"})`);
  }
  if (addresses.length === 0) return refused(`\`${host}\` has no address`);
  // one bad answer among good ones is how a name is made to lead inside at the second try
  for (const { address } of addresses) {
    const inside = scope.objectionTo(address, host, port);
    if (inside !== null) return refused(inside);
  }
  return { kind: "reached", addresses };
}

/** For `net.connect` and what is built on it: answers with what was checked, whatever is asked. */
export function pinnedLookup(addresses: readonly Address[]): LookupFunction {
  return (_host, options, done) => {
    const [first] = addresses;
    if (options.all === true) done(null, [...addresses]);
    else if (first === undefined) done(new Error("no address"), "", 4);
    else done(null, first.address, first.family);
  };
}
