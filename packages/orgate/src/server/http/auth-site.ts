/**
 * Cookies and origin of a request, which a browser sends by itself. Pure.
 *
 * W-14 a sign-in's cookie is for this host alone, not for scripts, not for other sites; under https it is sent nowhere else.
 * W-14 with a cookie, what comes from another site is refused, and what changes something or opens a socket must say that it comes from this one; a
 *      change carries the word that only this site's pages can read. It is refused before anything is done.
 */
import { createHash, timingSafeEqual } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import { type Problem, wireProblem } from "@orgate/protocol";

export const CSRF_HEADER = "x-orgate-csrf";

export type CookieNames = Readonly<{ signIn: string; csrf: string; secure: boolean }>;

/** Cookies do not know ports: two servers on one host must not take each other's. */
export function cookieNames(origin: string): CookieNames {
  const { protocol, port } = new URL(origin);
  if (protocol === "https:") return { signIn: "__Host-orgate", csrf: "__Host-orgate-csrf", secure: true };
  return { signIn: `orgate-${port || "80"}`, csrf: `orgate-csrf-${port || "80"}`, secure: false };
}

/** A name that comes twice is nobody's: which one counts would depend on who put it there. */
export function readCookie(headers: IncomingHttpHeaders, name: string): string | null {
  const found = (headers.cookie ?? "").split(";").flatMap((pair) => {
    const at = pair.indexOf("=");
    return at !== -1 && pair.slice(0, at).trim() === name ? [pair.slice(at + 1).trim()] : [];
  });
  return found.length === 1 ? (found[0] ?? null) : null;
}

/** Cookies that a sign-in sets and a sign-out clears. */
export function toSetCookie(names: CookieNames, token: string, maxAgeS: number): readonly string[] {
  const common = `Path=/; SameSite=Strict; Max-Age=${maxAgeS}${names.secure ? "; Secure" : ""}`;
  return [
    `${names.signIn}=${token}; ${common}; HttpOnly`,
    `${names.csrf}=${token === "" ? "" : csrfToken(token)}; ${common}`, // read by this site's pages, and sent back in a header
  ];
}

/** Derived from the sign-in: without that nobody can make it up. */
export const csrfToken = (token: string): string => createHash("sha256").update(`orgate-csrf-1\n${token}`).digest("base64url");

export type SiteRequest = Readonly<{ via: "http" | "socket"; method: string; headers: IncomingHttpHeaders }>;

const SAFE: ReadonlySet<string> = new Set(["GET", "HEAD"]);
export const isSafe = ({ via, method }: Pick<SiteRequest, "via" | "method">): boolean => via === "http" && SAFE.has(method.toUpperCase());

/** Null when it comes from this site. `origins`: what this server is called. */
export function findCrossSite(coming: SiteRequest, origins: readonly string[]): Problem | null {
  const { host = "", origin } = coming.headers;
  const from = coming.headers["sec-fetch-site"];
  const own = origins.flatMap((one) => (new URL(one).host === host.toLowerCase() ? [new URL(one).origin] : []));
  if (own.length === 0) return foreign("the request is for a host that this server is not called");
  if (origin !== undefined && !own.includes(origin.toLowerCase())) return foreign("the request comes from another site");
  if (from !== undefined && from !== "same-origin" && !(from === "none" && isSafe(coming)))
    return foreign("the request comes from another site");
  if (isSafe(coming)) return null;
  const isSaid = origin !== undefined || (coming.via === "http" && from === "same-origin");
  return isSaid ? null : foreign("the request does not say which site it comes from");
}

/** Null when the word is the one of this sign-in, or none is needed. */
export function findForgery(coming: SiteRequest, token: string): Problem | null {
  if (isSafe(coming) || coming.via === "socket") return null; // a socket has its origin
  const given = coming.headers[CSRF_HEADER];
  const wanted = Buffer.from(csrfToken(token));
  const found = Buffer.from(typeof given === "string" ? given : "");
  return found.length === wanted.length && timingSafeEqual(found, wanted)
    ? null
    : foreign(`the header \`${CSRF_HEADER}\` is missing or not this sign-in's`);
}

const foreign = (detail: string): Problem =>
  wireProblem("cross-site", detail, "sign in on this server's own address; programs use an API key");
