import { expect, test } from "vitest";
import { CSRF_HEADER, cookieNames, csrfToken, findCrossSite, findForgery, readCookie, type SiteRequest, toSetCookie } from "./auth-site.ts";

const HERE = "http://127.0.0.1:4680";
const ORIGINS = [HERE, "http://localhost:4680"];
const HOST = "127.0.0.1:4680";

test("W-14 a cookie is for this host and no script, other ports have other names, https binds it", () => {
  const [signIn = "", csrf = ""] = toSetCookie(cookieNames(HERE), "ogs_token", 60);
  expect(signIn).toBe("orgate-4680=ogs_token; Path=/; SameSite=Strict; Max-Age=60; HttpOnly");
  expect(csrf).toBe(`orgate-csrf-4680=${csrfToken("ogs_token")}; Path=/; SameSite=Strict; Max-Age=60`);
  expect(csrf).not.toContain("ogs_token");
  expect(cookieNames("http://127.0.0.1:4681").signIn).not.toBe(cookieNames(HERE).signIn);
  for (const cookie of toSetCookie(cookieNames("https://desk.example"), "t", 60)) {
    expect(cookie).toMatch(/^__Host-orgate/);
    expect(cookie).toContain("; Secure");
    expect(cookie).not.toContain("Domain");
  }
});

test("W-14 a cookie that comes twice counts as none", () => {
  expect(readCookie({ cookie: "a=1; orgate-4680=x; b=2" }, "orgate-4680")).toBe("x");
  expect(readCookie({ cookie: "orgate-4680=x; orgate-4680=y" }, "orgate-4680")).toBeNull();
  expect(readCookie({ cookie: "xorgate-4680=x" }, "orgate-4680")).toBeNull();
  expect(readCookie({}, "orgate-4680")).toBeNull();
});

test("W-14 where a request comes from: what is another site's, or does not say, is refused", () => {
  const allowed: readonly Partial<SiteRequest>[] = [
    { headers: { host: HOST } },
    { headers: { host: HOST, "sec-fetch-site": "none" } },
    { headers: { host: HOST, "sec-fetch-site": "same-origin" } },
    { headers: { host: "localhost:4680", origin: "http://localhost:4680" } },
    { method: "POST", headers: { host: HOST, origin: HERE } },
    { method: "POST", headers: { host: HOST, "sec-fetch-site": "same-origin" } },
    { via: "socket", headers: { host: HOST, origin: HERE } },
  ];
  const refused: readonly Partial<SiteRequest>[] = [
    { headers: {} },
    { headers: { host: "evil.example:4680" } }, // a name that was made to lead here
    { headers: { host: "evil.example:4680", origin: "http://evil.example:4680" } },
    { headers: { host: HOST, origin: "http://evil.example" } },
    { headers: { host: HOST, origin: "http://localhost:4680" } }, // another site to the browser
    { headers: { host: HOST, origin: "null" } },
    { headers: { host: HOST, "sec-fetch-site": "cross-site" } },
    { headers: { host: HOST, "sec-fetch-site": "same-site" } },
    { method: "POST", headers: { host: HOST } },
    { method: "POST", headers: { host: HOST, "sec-fetch-site": "none" } },
    { method: "POST", headers: { host: HOST, origin: HERE, "sec-fetch-site": "cross-site" } },
    { via: "socket", headers: { host: HOST } },
    { via: "socket", headers: { host: HOST, "sec-fetch-site": "same-origin" } },
    { via: "socket", headers: { host: HOST, origin: "http://evil.example" } },
  ];
  const found = (one: Partial<SiteRequest>) => findCrossSite({ via: "http", method: "GET", headers: {}, ...one }, ORIGINS)?.kind ?? null;
  for (const one of allowed) expect([one, found(one)]).toEqual([one, null]);
  for (const one of refused) expect([one, found(one)]).toEqual([one, "cross-site"]);
});

test("W-14 a change carries the word of its own sign-in", () => {
  const post = (word: string | undefined): SiteRequest => ({ via: "http", method: "POST", headers: { [CSRF_HEADER]: word } });
  expect(findForgery(post(csrfToken("mine")), "mine")).toBeNull();
  for (const word of [undefined, "", "x", csrfToken("another"), `${csrfToken("mine")}x`])
    expect(findForgery(post(word), "mine")?.kind).toBe("cross-site");
  expect(findForgery({ via: "http", method: "GET", headers: {} }, "mine")).toBeNull();
});
