import { createHmac } from "node:crypto";
import { describe, expect, test } from "vitest";
import type { Webhook } from "../../schedules/declaring.ts";
import { checkSigned } from "./webhook-signing.ts";

type Provider = Webhook["provider"];
const SECRET = "s3cret";
const SENT = 1_767_225_600;
const BODY = '{"id":"evt_1","action":"opened","n":1}';
/** Worked out by `openssl dgst -sha256 -hmac`: not by the code that checks them. */
const MACS = {
  plain: "0cd4badcf09c26fbd89525d8fe8774ae7c39bf2b894cf843d3d91587543b2c98",
  stripe: "96fa1e4ae1f24e12222a13e3e212c8765d21c56d9be93648a1507637c47279d6",
  slack: "2535cbb4d1553b645e661fe53c32a32087efbb8628e51653068425912a76ee18",
  empty: "91dfac70c5348b04e1babb8b421ac92cec08b565b49ca16130dccb72503647b7",
};
const hook = (provider: Provider, headers: Partial<Webhook["headers"]> = {}) => ({
  name: "in",
  provider,
  windowMs: 300_000,
  headers: { signature: "x-signature-256", id: null, timestamp: null, ...headers },
});
const check = (
  at: ReturnType<typeof hook>,
  headers: Record<string, string>,
  body: string | Buffer = BODY,
  now = SENT * 1_000,
  secret: string | readonly string[] = SECRET,
) => checkSigned(at, [secret].flat(), { headers, body: Buffer.from(body) }, now).kind;

const GITHUB = { "x-hub-signature-256": `sha256=${MACS.plain}`, "x-github-delivery": "72d3162e-cc78-11e3-81ab-4c9367dc0958" };
const SLACK = { "x-slack-signature": `v0=${MACS.slack}`, "x-slack-request-timestamp": String(SENT) };
const STRIPE = { "stripe-signature": `t=${SENT},v1=${"0".repeat(64)},v1=${MACS.stripe},v0=${MACS.plain}` };

test("Z-9 what each provider signs counts, as computed elsewhere; GitHub's own published example among them", () => {
  expect(check(hook("github"), GITHUB)).toBe("signed");
  expect(check(hook("slack"), SLACK)).toBe("signed");
  expect(check(hook("stripe"), STRIPE)).toBe("signed");
  expect(check(hook("custom"), { "x-signature-256": `sha256=${MACS.plain}` })).toBe("signed");
  expect(check(hook("custom"), { "x-signature-256": MACS.plain.toUpperCase() })).toBe("signed");
  expect(check(hook("custom", { timestamp: "x-sent-at" }), { "x-signature-256": MACS.stripe, "x-sent-at": String(SENT) })).toBe("signed");
  const published = { "x-hub-signature-256": "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17" };
  expect(check(hook("github"), published, "Hello, World!", 0, "It's a Secret to Everybody")).toBe("signed");
  expect(check(hook("custom"), { "x-signature-256": MACS.empty }, "")).toBe("signed");
});

describe("what does not count", () => {
  const flipped = `${MACS.plain.slice(0, -1)}${MACS.plain.endsWith("0") ? "1" : "0"}`;
  test.each<[string, ReturnType<typeof hook>, Record<string, string>, string?]>([
    ["nothing", hook("github"), {}],
    ["one digit off", hook("github"), { "x-hub-signature-256": `sha256=${flipped}` }],
    ["cut short", hook("github"), { "x-hub-signature-256": `sha256=${MACS.plain.slice(0, 62)}` }],
    ["too long", hook("github"), { "x-hub-signature-256": `sha256=${MACS.plain}00` }],
    ["no prefix", hook("github"), { "x-hub-signature-256": MACS.plain }],
    ["the old kind", hook("github"), { "x-hub-signature": `sha1=${MACS.plain.slice(0, 40)}` }],
    ["not hexadecimal", hook("github"), { "x-hub-signature-256": `sha256=${"zz".repeat(32)}` }],
    ["two at once", hook("github"), { "x-hub-signature-256": `sha256=${flipped}, sha256=${MACS.plain}` }],
    ["of another body", hook("github"), GITHUB, `${BODY} `],
    ["of no body", hook("github"), { "x-hub-signature-256": `sha256=${MACS.plain}` }, ""],
    ["of another provider", hook("slack"), GITHUB],
    ["without the time", hook("slack"), { "x-slack-signature": SLACK["x-slack-signature"] }],
    ["with the time written otherwise", hook("slack"), { ...SLACK, "x-slack-request-timestamp": `0${SENT}` }],
    ["with another time", hook("slack"), { ...SLACK, "x-slack-request-timestamp": String(SENT + 1) }],
    ["of an older scheme alone", hook("stripe"), { "stripe-signature": `t=${SENT},v0=${MACS.stripe}` }],
    ["no time", hook("stripe"), { "stripe-signature": `v1=${MACS.stripe}` }],
    ["a time that is no number", hook("stripe"), { "stripe-signature": `t=now,v1=${MACS.stripe}` }],
    ["a time that has to be there", hook("custom", { timestamp: "x-sent-at" }), { "x-signature-256": MACS.plain }],
  ])("Z-9 %s", (_, at, headers, body) => {
    expect(check(at, headers, body ?? BODY)).toBe("not-signed");
  });

  test("Z-9 without a secret nothing counts, also where the sender has none either", () => {
    expect(check(hook("github"), GITHUB, BODY, 0, "")).toBe("not-signed");
  });

  test("Z-9 a time outside of the window, either way; at its edge it counts", () => {
    const at = (offset: number) => check(hook("slack"), SLACK, BODY, (SENT + offset) * 1_000);
    expect([-301, -300, 0, 300, 301].map(at)).toEqual(["not-signed", "signed", "signed", "signed", "not-signed"]);
  });
});

test("Z-12 while one secret takes the place of another, what either signs counts, of every provider, and is the same delivery; then the old one no more", () => {
  const rows = [
    [hook("github"), GITHUB],
    [hook("slack"), SLACK],
    [hook("stripe"), STRIPE],
    [hook("custom"), { "x-signature-256": MACS.plain }],
  ] as const;
  for (const [at, headers] of rows) {
    const by = (...secrets: string[]) => check(at, headers, BODY, SENT * 1_000, secrets);
    expect([by("new", SECRET), by(SECRET, "new"), by("new"), by("new", "newer"), by()]).toEqual([
      "signed",
      "signed",
      "not-signed",
      "not-signed",
      "not-signed",
    ]);
  }
  const keyBy = (secret: string) => {
    const mac = createHmac("sha256", secret).update(BODY).digest("hex");
    return checkSigned(
      hook("github"),
      ["new", SECRET],
      { headers: { "x-hub-signature-256": `sha256=${mac}` }, body: Buffer.from(BODY) },
      0,
    );
  };
  expect(keyBy("new")).toEqual(keyBy(SECRET));
  expect(keyBy("new").kind).toBe("signed");
});

test("Z-10 the same signed content is the same delivery, whatever it is called; another body, time or webhook is another", () => {
  const keyOf = (at: ReturnType<typeof hook>, headers: Record<string, string>, body = BODY) => {
    const found = checkSigned(at, [SECRET], { headers, body: Buffer.from(body) }, SENT * 1_000);
    if (found.kind !== "signed") throw new Error("not signed");
    return found;
  };
  const first = keyOf(hook("github"), GITHUB);
  expect(first.id).toBe(GITHUB["x-github-delivery"]);
  expect(keyOf(hook("github"), { ...GITHUB, "x-github-delivery": "another" })).toEqual({ ...first, id: "another" });
  expect(keyOf(hook("github"), { ...GITHUB, "x-github-delivery": "no name\n" }).id).toBe(null);
  expect(keyOf({ ...hook("github"), name: "out" }, GITHUB).key).not.toBe(first.key);
  expect(keyOf(hook("slack"), SLACK).key).not.toBe(first.key);
});
