import type { JsonObject } from "@orgate/core/vocab";
import { describe, expect, test } from "vitest";
import { built, contract, issues, type Table } from "./fixtures/manifests.ts";

const free = { type: "string", sanitize: ["text"] };
const args = { a: free, n: { type: "integer" }, host: { type: "scope_target" }, page: { type: "url", scope_check: true } };
const httpOf = (http: Table) => contract({ args, http: { method: "GET", url: "https://example.com/", ...http } });
const requestOf = (http: Table, given: JsonObject) => {
  const one = built(httpOf(http), given);
  if (one.kind !== "invocation") return one;
  if (one.invocation.kind !== "http") throw new Error("no request");
  const { url, headers, body, allow } = one.invocation;
  return { url, headers, body, allow };
};
const urlOf = (url: string, given: JsonObject): unknown => {
  const one = requestOf({ url }, given);
  return "url" in one ? one.url : one;
};

describe("requests", () => {
  test.each([
    [
      "https://example.com/{a}/x?q={a}",
      { a: "b/../c?d=e&f#g" },
      "https://example.com/b%2F..%2Fc%3Fd%3De%26f%23g/x?q=b%2F..%2Fc%3Fd%3De%26f%23g",
    ],
    ["https://example.com/{a}", { a: "@evil.org/" }, "https://example.com/%40evil.org%2F"],
    ["https://{host}/x", { host: "a.example.com" }, "https://a.example.com/x"],
    ["http://{host}:8080/x", { host: "10.0.0.2" }, "http://10.0.0.2:8080/x"],
    ["{page}", { page: "https://example.com/a?b" }, "https://example.com/a?b"],
    ["https://example.com/{n}", { n: 5 }, "https://example.com/5"],
    ["https://example.com?q={a}", { a: "x y" }, "https://example.com/?q=x%20y"],
  ])("T-20 %s with %j is %s", (url, given, expected) => expect(urlOf(url, given)).toBe(expected));

  test("T-20 a value does not climb up in the address", () => {
    expect(urlOf("https://example.com/a/{a}/b", { a: ".." })).toMatchObject({
      kind: "refused",
      reason: "a value would climb up in the address",
    });
  });

  test.each([
    ["https://{a}/x", "lets a value reach into its host"],
    ["https://example.com{a}/x", "lets a value reach into its host"],
    ["https://api.{host}/x", "lets a value reach into its host"],
    ["https://{host}{a}/x", "lets a value reach into its host"],
    ["https://{host}.evil.org/", "lets a value reach into its host"],
    ["{a}://example.com/", "has no fixed scheme and host"],
    ["{a}", "has no fixed scheme and host"],
    ["{page}/more", "has no fixed scheme and host"],
    ["ftp://example.com/", "has no fixed scheme and host"],
    ["https://user@example.com/", "is no host"],
    ["https://0x7f.1/", "is no host"],
    ["https://example.com/?k={_secret:key}", "ends up in logs"],
    ["https://example.com/{nobody}", "nothing fills `{nobody}`"],
  ])("T-20 %s is refused", (url, why) => expect(issues({ args, http: { method: "GET", url } }).join()).toContain(why));

  test("T-20 a value in a JSON body is JSON, inside quotes and outside", () => {
    const body_template = '{"text": "say {a}", "n": {n}, "deep": {"list": ["{a}"]}, "token": "{_secret:t}"}';
    const a = 'x", "admin": true, "y": "\\';
    const { body } = requestOf({ method: "POST", body_template }, { a, n: 7 }) as { body: string };
    expect(JSON.parse(body)).toEqual({ text: `say ${a}`, n: 7, deep: { list: [a] }, token: "<t>" });
    expect(JSON.parse((requestOf({ method: "POST", body_template }, {}) as { body: string }).body)).toEqual({
      text: "say ",
      n: null,
      deep: { list: [""] },
      token: "<t>",
    });
  });

  test("T-20 and in others it is what those take", () => {
    const of = (type: string, body_template: string) =>
      (requestOf({ method: "POST", headers: { "Content-Type": type }, body_template }, { a: "x&y=<z>" }) as { body: string }).body;
    expect(of("application/x-www-form-urlencoded", "q={a}&r=1")).toBe("q=x%26y%3D%3Cz%3E&r=1");
    expect(of("application/xml", "<q>{a}</q>")).toBe("<q>x&#38;y=&#60;z&#62;</q>");
    expect(of("text/plain", "{a}")).toBe("x&y=<z>");
  });

  test("T-20 a header holds no line end, whatever is put into it", () => {
    expect(requestOf({ headers: { "X-A": "v {a}" } }, { a: "b" })).toMatchObject({ headers: { "X-A": "v b" } });
    expect(requestOf({ headers: { "X-A": "v {a}" } }, { a: "b\nX-B: c" })).toMatchObject({ kind: "refused" });
  });

  test.each([
    [{ method: "GET", body_template: "x" }, "http.body_template: a GET has no body"],
    [{ method: "POST", body_template: '{"a": {a}"}' }, "http.body_template: is no JSON once it is filled"],
    [{ method: "FETCH" }, "http.method"],
    [{ method: "GET", headers: { "X A": "b" } }, "http.headers"],
    [{ method: "GET", headers: { A: "b\nc" } }, "http.headers.A"],
    [{ method: "GET", success_status: [200], error_status: [200] }, "http.error_status: 200 is a success too"],
  ])("T-20 %j is refused", (http, why) => expect(issues({ args, http: { url: "https://example.com/", ...http } }).join()).toContain(why));

  test("T-19 a request reaches its own host, and inside this network only what the scope names", () => {
    expect(requestOf({ url: "https://api.other.org/x" }, {})).toMatchObject({
      allow: ["api.other.org", "10.0.0.0/8", "127.0.0.1", "!10.0.0.1"],
    });
    expect(requestOf({ url: "http://127.0.0.1:99/x" }, {})).toMatchObject({ url: "http://127.0.0.1:99/x" });
    expect(requestOf({ url: "http://192.168.0.1/x" }, {})).toMatchObject({
      kind: "refused",
      reason: expect.stringContaining("inside this network"),
    });
    expect(requestOf({ url: "http://localhost/x" }, {})).toMatchObject({ kind: "refused" });
    expect(requestOf({ url: "{page}" }, { page: "https://evil.org/" })).toMatchObject({ kind: "invalid" });
  });
});
