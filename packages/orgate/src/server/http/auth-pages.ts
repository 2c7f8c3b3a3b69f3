/**
 * Signing in and out with a browser. The link's secret stands behind `#`, so that no server, log or other site ever sees it; a page of ours sends it on.
 *
 * W-11 a link signs in only from this site's own page; what comes back is a cookie, the page keeps nothing, and signing out ends the sign-in itself.
 */
import type { Millis } from "@orgate/core";
import { PROBLEM_MEDIA_TYPE, type Problem, wireProblem } from "@orgate/protocol";
import type { Identity } from "../identity/auth.ts";
import type { IncomingRequest } from "../identity/authentication.ts";
import { findCrossSite, toSetCookie } from "./auth-site.ts";
import { renderPage, STYLE, toCspSource } from "./page-style.ts";

export type PageReply = Readonly<{ status: number; headers: Readonly<Record<string, string | readonly string[]>>; body: string }>;
/** Null: not one of ours. `body` is the request's, as text. */
export type AuthPages = (asking: IncomingRequest, body: string) => Promise<PageReply | null>;

export const SIGN_IN_PATH = "/sign-in";
export const SIGN_OUT_PATH = "/sign-out";
const MOST_BODY = 1_000;

type Door = Pick<Identity, "signIn" | "signOut" | "cookies"> & Readonly<{ origins(): readonly string[]; now(): Millis }>;

export function authPages(door: Door): AuthPages {
  return async (asking, body) => {
    const { path, method } = asking;
    if (path !== SIGN_IN_PATH && path !== SIGN_OUT_PATH) return null;
    if (path === SIGN_IN_PATH && (method === "GET" || method === "HEAD")) return html(PAGE);
    if (method !== "POST")
      return problem(wireProblem("method-not-allowed", `\`${path}\` does not take ${method}`, "open the link in a browser"));
    return path === SIGN_IN_PATH ? signIn(door, asking, body) : signOut(door, asking);
  };
}

async function signIn(door: Door, asking: IncomingRequest, body: string): Promise<PageReply> {
  const foreign = findCrossSite(asking, door.origins()); // nobody is signed in as somebody else by another site's page
  if (foreign !== null) return problem(foreign);
  if (body.length > MOST_BODY) return problem(wireProblem("too-large", "that is no link", "open the link in a browser"));
  const came = await door.signIn(linkIn(body));
  if ("status" in came) return problem(came);
  const seconds = Math.floor((came.until - door.now()) / 1_000);
  return { status: 204, headers: { ...PRIVATE, "set-cookie": toSetCookie(door.cookies(asking), came.token, seconds) }, body: "" };
}

/** As it is, or the whole address that was pasted. */
const linkIn = (body: string): string => body.trim().split("#").at(-1) ?? "";

async function signOut(door: Door, asking: IncomingRequest): Promise<PageReply> {
  const wrong = await door.signOut(asking);
  if (wrong !== null) return problem(wrong);
  return { status: 204, headers: { ...PRIVATE, "set-cookie": toSetCookie(door.cookies(asking), "", 0) }, body: "" };
}

const PRIVATE = { "cache-control": "no-store", "referrer-policy": "no-referrer" } as const;

const problem = (found: Problem): PageReply => ({
  status: found.status,
  headers: { ...PRIVATE, "content-type": PROBLEM_MEDIA_TYPE },
  body: JSON.stringify(found),
});

const SCRIPT = `
const say = (text) => { document.getElementById("said").textContent = text; };
async function signIn(link) {
  history.replaceState(null, "", location.pathname);
  const came = await fetch("/sign-in", { method: "POST", body: link, headers: { "content-type": "text/plain" } });
  if (came.ok) return location.replace("/");
  const problem = await came.json();
  say(problem.detail + ". " + problem.hint);
}
document.getElementById("form").addEventListener("submit", (event) => {
  event.preventDefault();
  signIn(document.getElementById("link").value);
});
if (location.hash.length > 1) signIn(location.hash.slice(1));
`;
const PAGE = renderPage(
  "Orgate: sign in",
  `<main class="narrow"><h1>Sign in</h1><p id="said" role="status">Open the link that the server printed, or paste it here.</p>
<form id="form"><label for="link">Link</label><input id="link" autocomplete="off" autocapitalize="off" spellcheck="false" required><button>Sign in</button></form>
<p class="dim">A link is good once, for a quarter of an hour. Another one: <code>orgate keys create NAME --link</code></p></main><script>${SCRIPT}</script>`,
);
/** Nothing but this script and this style, and no other page around it. */
const CONTENT_POLICY = `default-src 'none'; script-src ${toCspSource(SCRIPT)}; style-src ${toCspSource(STYLE)}; connect-src 'self'; form-action 'none'; frame-ancestors 'none'; base-uri 'none'`;

const html = (body: string): PageReply => ({
  status: 200,
  headers: {
    ...PRIVATE,
    "content-type": "text/html; charset=utf-8",
    "content-security-policy": CONTENT_POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
  },
  body,
});
