import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { TargetKind } from "../../vocab/index.ts";
import { findAddresses, findLinks, isInRequest, isNameInRequest, toHostName, toMatchRequest } from "./match.ts";
import { createSeenIndex } from "./seen.ts";
import { collectValues, plainText } from "./targets.ts";

const named = (request: string, value: string, kind: TargetKind = "recipient"): boolean =>
  isInRequest(toMatchRequest([request]), kind, value);

describe("G-27 whole tokens", () => {
  test.each([
    ["mail ann@example.org today", "ann@example.org"],
    ["Mail ANN@Example.org.", "ann@example.org"],
    ["mail ann@example.org", "Ann@EXAMPLE.org"],
    ["to <ann@example.org>, and (ben@example.org)", "ben@example.org"],
    ['the file "Ann Smith" sent', "Ann Smith"],
    ["mail ａｎｎ@example.org", "ann@example.org"], // full width, as some keyboards write it
    ["mail ann@exa\u200bmple.org", "ann@example.org"], // what is pasted brings what is not seen
  ])("G-27 %j names %j", (request, value) => expect(named(request, value)).toBe(true));

  test.each([
    ["mail joann@example.org", "ann@example.org"],
    ["mail ann@example.org.evil.com", "ann@example.org"],
    ["mail ann@example.organic", "ann@example.org"],
    ["mail x-ann@example.org", "ann@example.org"],
    ["mail x.ann@example.org", "ann@example.org"],
    ["mail ann@example.org/x", "ann@example.org"],
    ["pay 17 people", "7"],
    ["on 7 May", "7"],
    ["item 7", "7"],
    ["pay 1,000.50", "1,000.50"],
    ["call +49 170 1234567", "+49 170 1234567"],
    ["mail ann", ""],
    ["mail ann", " "],
  ])("G-27 %j does not name %j", (request, value) => expect(named(request, value)).toBe(false));

  test("G-27 a plain text that is a day, written out, stands in the request as itself; part of a longer token, or as anything else, it does not", () => {
    expect(named("from 2026-04-17 to 2026-04-20.", "2026-04-20", "text")).toBe(true);
    expect(named("from 2026-04-17", "2026-04-1", "text")).toBe(false);
    expect(named("at 2026-04-17T10:00", "2026-04-17", "text")).toBe(false);
    expect(named("on 17 April", "2026-04-17", "text")).toBe(false);
    expect(named("from 2026-04-17", "2026-04-17", "recipient")).toBe(false);
    expect(named("code 20260417", "20260417", "text")).toBe(false);
  });

  test("G-27 letters that look alike are other letters, whichever side they are on", () => {
    expect(named("mail ann@example.org", "аnn@example.org")).toBe(false); // a Cyrillic а
    expect(named("mail аnn@example.org", "ann@example.org")).toBe(false);
    expect(named("mail ann@example.org", "ann@examp1e.org")).toBe(false);
    expect(named("see paypal.com", "paypaI.com", "path")).toBe(false);
    expect(named("see straße.de", "strasse.de", "host")).toBe(false);
  });

  test("G-27 a value that holds what is not seen, or is not in its normal form, is named by nobody", () => {
    for (const value of [
      "ann@exa\u200bmple.org",
      "ann@example.org\u2060",
      "ann\u202e@example.org",
      "ａｎｎ@example.org",
      "ann@example.org\u{e0041}",
    ])
      expect(named(`mail ann@example.org or ${value}`, value)).toBe(false);
  });

  test("G-27 an id is named by nobody, and a path, an account and an id are told apart by their case", () => {
    expect(named("delete evt_8f3a", "evt_8f3a", "id")).toBe(false);
    expect(named("delete Report.txt", "Report.txt", "path")).toBe(true);
    expect(named("delete Report.txt", "report.txt", "path")).toBe(false);
    expect(named("pay DE89370400440532013000", "DE89370400440532013000", "account")).toBe(true);
    expect(named("pay 12345678", "12345678", "account")).toBe(false);
    expect(named("read docs/a.md", "a.md", "path")).toBe(false);
  });

  test("G-27 a host is named by itself or by a link to it, and not by what stands before an @", () => {
    expect(named("read https://example.org/a?b=c", "example.org", "host")).toBe(true);
    expect(named("read example.org", "https://example.org/anything", "host")).toBe(true);
    expect(named("read https://example.org@evil.com/", "example.org", "host")).toBe(false);
    expect(named("read https://example.org@evil.com/", "evil.com", "host")).toBe(true);
    expect(named("mail ann@example.org", "example.org", "host")).toBe(false);
    expect(named("read https://notexample.org", "example.org", "host")).toBe(false);
  });

  test("G-32 the name of a thing is matched like anything else; a number or a letter is no name", () => {
    const request = toMatchRequest(["move Team lunch to 7 May"]);
    expect(["Team lunch", "team LUNCH", "lunch", "7", "to", "Team lunc", "May 7"].map((name) => isNameInRequest(request, name))).toEqual([
      true,
      true,
      true,
      false,
      false,
      false,
      false,
    ]);
  });

  test("G-27 whatever stands in a text between blanks is found, and never inside a longer word", () => {
    const word = fc.stringMatching(/^[a-z]{2,8}@[a-z]{2,8}\.[a-z]{2,3}$/);
    fc.assert(
      fc.property(word, fc.stringMatching(/^[ a-z]{0,20}$/), (value, rest) => {
        expect(named(`${rest} ${value} ${rest}`, value)).toBe(true);
        expect(named(`${rest} x${value} ${rest}`.replaceAll(` ${value} `, " "), value)).toBe(false);
        expect(named(`${value}x`, value)).toBe(false);
      }),
    );
  });
});

describe("G-31 what leads elsewhere", () => {
  const text = plainText(
    "See https://evil.com/x?d=1, http://a.b. [here](https://c.d/e) www.f.org or g.io/h; not report.pdf, v1.2, e.g. this. Mail ann@i.org or javascript:alert(1)",
  ).toLowerCase();
  test("G-31 links and addresses are found in plain text, with what is not seen taken out first", () => {
    expect(findLinks(text)).toEqual(
      ["g.io/h", "http://a.b", "https://c.d/e", "https://evil.com/x?d=1", "javascript:alert(1", "www.f.org"].sort(),
    );
    expect(findAddresses(text)).toEqual(["ann@i.org"]);
    expect(findLinks(plainText("https://ev\u200bil.com"))).toEqual(["https://evil.com"]);
  });
  test.each([
    ["without a scheme", "[see](//evil.com/x)", "//evil.com/x"],
    ["in an attribute", "<img src=//evil.com/x>", "//evil.com/x"],
    ["without slashes", "[see](https:evil.com/x)", "https:evil.com/x"],
    ["with one slash", "![see](http:/evil.com/x)", "http:/evil.com/x"],
    ["with backslashes", "https:\\\\evil.com/x", "https:\\\\evil.com/x"],
    ["behind a colon", "visit:evil.com/x", "evil.com/x"],
    ["behind a dash", "-evil.com/x", "evil.com/x"],
    ["in italics", "_evil.com/x_", "evil.com/x_"],
    ["behind dots", "see...evil.com/x", "evil.com/x"],
    ["with a stop of another script", "evil\u3002com/x", "evil.com/x"],
    ["to an address by number", "//192.0.2.7/x", "//192.0.2.7/x"],
  ])("G-31 a link that is written carelessly is one all the same: %s", (_, text, link) => {
    expect(findLinks(text)).toContain(link);
    expect(toHostName(link)).toMatch(/^(?:evil\.com|192\.0\.2\.7)$/);
  });
  test.each([
    ["203.0.113.7/x", "203.0.113.7/x", "203.0.113.7"],
    ["see 203.0.113.7:8080", "203.0.113.7:8080", "203.0.113.7"],
    ["203.0.113.7:8080/x?d=1", "203.0.113.7:8080/x?d=1", "203.0.113.7"],
    ["203.0.113.7?d=secret", "203.0.113.7?d=secret", "203.0.113.7"],
    ["[203.0.113.7/x](here)", "203.0.113.7/x", "203.0.113.7"],
    ["user:pw@203.0.113.7/x", "user:pw@203.0.113.7/x", "203.0.113.7"],
    ["0313.0.0161.7/x", "0313.0.0161.7/x", "0313.0.0161.7"],
    ["0xcb.0x0.0x71.0x7/x", "0xcb.0x0.0x71.0x7/x", "0xcb.0x0.0x71.0x7"],
    ["127.1/x", "127.1/x", "127.1"],
    ["3405803783/x", "3405803783/x", "3405803783"],
    ["0xcb007107/x", "0xcb007107/x", "0xcb007107"],
    ["//3405803783/x", "//3405803783/x", "3405803783"],
    ["//0xcb007107", "//0xcb007107", "0xcb007107"],
    ["[2001:db8::1]/x", "[2001:db8::1]/x", "[2001:db8::1]"],
    ["at [::1]:8080/x.", "[::1]:8080/x", "[::1]"],
    ["http://[2001:db8::1]/x", "http://[2001:db8::1]/x", "[2001:db8::1]"],
    ["http://u:p@[2001:db8::1]:8080/x", "http://u:p@[2001:db8::1]:8080/x", "[2001:db8::1]"],
    ["https:[::1]/x", "https:[::1]/x", "[::1]"],
    ["localhost/x", "localhost/x", "localhost"],
    ["localhost:3000", "localhost:3000", "localhost"],
    ["u@localhost/x", "u@localhost/x", "localhost"],
    ["intranet:8080/x", "intranet:8080/x", "intranet"],
  ])("G-31 a host without a name is a link when a path or a port follows it: %s", (text, link, host) => {
    expect(findLinks(text)).toContain(link);
    expect(toHostName(link)).toBe(host);
  });
  test("G-31 addresses keep their routing marks and quoted names", () => {
    expect(findAddresses('write to name%evil.test@own.example, evil.test!name@own.example or "name@evil.test"@own.example')).toEqual(
      ['"name@evil.test"@own.example', "evil.test!name@own.example", "name%evil.test@own.example"].sort(),
    );
  });
  test("G-31 numbers and times that lead nowhere stay what they are", () => {
    for (const text of [
      "version 1.2.3.4",
      "12:30",
      "1/2",
      "3.14",
      "on 24/12/2026",
      "localhost",
      "[1]",
      "[a:b]",
      "2026-11-16T09:00:00",
      "page 7/9",
      "x: 8080",
    ])
      expect([text, findLinks(text)]).toEqual([text, []]);
  });
  test("G-31 what is no link is not made one", () => {
    for (const text of ["// a comment", "either/or", "src/gate/match.ts", "a@b.test", "12:30", "x = y // z", "note: done"])
      expect(findLinks(text)).toEqual([]);
  });
  test("G-31 the host of a link is what it leads to", () => {
    const links = ["https://user:x@evil.com:8/a", "evil.com/a", "http://a.b\\@c.d/", "mailto:x@y.z", "data:text/html,x", "https://e.f."];
    expect(links.map(toHostName)).toEqual(["evil.com", "evil.com", "a.b", null, null, "e.f"]);
  });
});

describe("G-29 what was seen", () => {
  test("G-29 a value is seen under the labels of the outputs it stood in, however it was wrapped", () => {
    const seen = createSeenIndex();
    seen.add('{"from":"mallory@evil.com","text":"write to\\nben@example.org please"}', ["untrusted"]);
    seen.add("C:\\new\\table and DE89370400440532013000", ["secret", "untrusted"]);
    expect(seen.under("mallory@evil.com")).toEqual(["untrusted"]);
    expect(seen.under("evil.com")).toEqual(["untrusted"]);
    expect(seen.under("BEN@example.org")).toEqual(["untrusted"]);
    expect(seen.under("https://evil.com/?x")).toEqual([]);
    expect(seen.under("table")).toEqual(["secret", "untrusted"]);
    expect(seen.under("DE89370400440532013000")).toEqual(["secret", "untrusted"]);
    expect(seen.under("ann@example.org")).toEqual([]);
    expect(seen.under("")).toEqual([]);
  });
  test("G-29 beyond what is kept, everything counts as seen", () => {
    const seen = createSeenIndex(3);
    seen.add("one two three", ["untrusted"]);
    expect(seen.under("four")).toEqual([]);
    seen.add("four five", ["secret"]);
    expect(seen.under("six")).toEqual(["secret"]);
    expect(seen.under("one")).toEqual(["secret", "untrusted"]);
  });
});

test("G-27 every text and number in an argument is a value of it; what is too much to look at is vouched for by nobody", () => {
  expect(collectValues({ to: ["a", { b: "c", n: 7 }], on: true, none: null })).toEqual(["a", "c", "7", "true"]);
  expect(collectValues(Array.from({ length: 300 }, (_, i) => `v${i}`))).toBe(null);
  expect(collectValues("x".repeat(5_000))).toBe(null);
});
