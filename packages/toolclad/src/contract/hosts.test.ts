import { describe, expect, test } from "vitest";
import { isInternal, readHost, readTarget } from "./hosts.ts";
import { decodeScope, NO_SCOPE, refuseOutOfScope, type TargetScope } from "./scope.ts";

const read = (text: string): string => {
  const found = readTarget(text);
  return found.kind === "host" ? `${found.host.kind} ${found.host.text}` : "bad";
};

describe("hosts", () => {
  test.each([
    ["example.com", "name example.com"],
    ["EXAMPLE.Com.", "name example.com"],
    ["bücher.example", "name xn--bcher-kva.example"],
    ["xn--bcher-kva.example", "name xn--bcher-kva.example"],
    ["ｅxample.com", "name example.com"],
    ["例え。jp", "name xn--r8jz45g.jp"],
    ["10.1.2.3", "address 10.1.2.3"],
    ["2001:DB8:0::1", "address 2001:db8::1"],
    ["::ffff:10.1.2.3", "address 10.1.2.3"],
    ["10.0.0.0/8", "range 10.0.0.0/8"],
    ["2001:db8::/32", "range 2001:db8::/32"],
    ["0.0.0.0/0", "range 0.0.0.0/0"],
  ])("T-19 %s is %s", (text, meant) => {
    expect(read(text)).toBe(meant);
    const [, again = ""] = meant.split(" ");
    expect(read(again)).toBe(meant); // what is used is what was compared
  });

  test.each([
    "pаypal.com", // the second letter is Cyrillic
    "xn--pypal-4ve.com",
    "gооgle.com",
    "127.1",
    "2130706433",
    "0x7f.0.0.1",
    "010.0.0.1",
    "1.2.3.256",
    "a b.com",
    "a.com/x",
    "a.com:80",
    "a.com@b.com",
    "a.com#b",
    "a.com\u0000.b",
    "a\u200bb.com", // an invisible blank
    "a℀b.com", // one character that means a/c
    "-a.com",
    "a..b",
    "a_b.com",
    "*.a.com",
    "[::1]",
    "fe80::1%eth0",
    "xn--zzzzzz.com",
    "10.0.0.1/8",
    "10.0.0.0/33",
    "10.0.0.0/08",
    "",
    "a".repeat(254),
  ])("T-19 %j is no host", (text) => expect(read(text)).toBe("bad"));

  test("T-19 a whole name of look-alikes stays what it is, and is nobody else", () => {
    expect(read("аррӏе.com")).toBe("name xn--80ak6aa92e.com");
  });

  test("T-19 what lies inside a network is known by address and by name", () => {
    const inside = [
      "127.0.0.1",
      "10.9.9.9",
      "169.254.169.254",
      "::1",
      "::ffff:10.0.0.1",
      "fd00::1",
      "fe80::1",
      "localhost",
      "db.internal",
      "printer",
    ];
    const outside = ["8.8.8.8", "2606:4700::1", "example.com"];
    const isIn = (text: string) => {
      const found = readHost(text);
      return found.kind === "host" && isInternal(found.host);
    };
    expect(inside.filter((text) => !isIn(text))).toEqual([]);
    expect(outside.filter(isIn)).toEqual([]);
  });
});

const scopeOf = (value: unknown): TargetScope => {
  const found = decodeScope(value);
  if (found.kind === "refused") throw new Error(JSON.stringify(found.issues));
  return found.scope;
};
const isInScope = (text: string, scope: TargetScope): boolean => {
  const found = readTarget(text);
  return found.kind === "host" && refuseOutOfScope(found.host, scope) === null;
};

describe("scope", () => {
  const scope = scopeOf({
    scope: {
      targets: ["10.0.1.0/24", "2001:db8::/32", "bücher.example"],
      domains: ["example.com", "*.test.example.com"],
      exclude: ["10.0.1.1", "db.test.example.com"],
    },
  });

  test.each([
    "10.0.1.2",
    "10.0.1.128/25",
    "::ffff:10.0.1.7",
    "2001:db8::5",
    "example.com",
    "EXAMPLE.com.",
    "a.test.example.com",
    "a.b.test.example.com",
    "xn--bcher-kva.example",
  ])("T-19 %s is in scope", (text) => expect(isInScope(text, scope)).toBe(true));

  test.each([
    "10.0.2.1",
    "10.0.1.1",
    "10.0.1.0/24", // holds what is excluded
    "10.0.0.0/16",
    "0.0.0.0/0",
    "test.example.com",
    "notexample.com",
    "example.com.evil.org",
    "a.example.com",
    "db.test.example.com",
    "ехаmple.com",
    "2001:db9::1",
  ])("T-19 %s is not", (text) => expect(isInScope(text, scope)).toBe(false));

  test("T-19 without a scope nothing is in it", () => {
    expect(isInScope("example.com", NO_SCOPE)).toBe(false);
    expect(isInScope("example.com", scopeOf({}))).toBe(false);
  });

  test("T-19 a wrong entry or setting is named with its place", () => {
    expect(decodeScope({ scope: { targets: ["10.0.0.1/8", "ok.example"], domains: ["*.10.0.0.1"] } })).toMatchObject({
      kind: "refused",
      issues: [{ path: ["scope", "targets", 0] }, { path: ["scope", "domains", 0] }],
    });
    expect(decodeScope({ scope: { target: [] } })).toMatchObject({ kind: "refused", issues: [{ path: ["scope", "target"] }] });
    expect(decodeScope({ targets: "a" })).toMatchObject({ kind: "refused", issues: [{ path: ["targets"] }] });
  });
});
