/**
 * How deliveries are signed, by provider: GitHub, Stripe, Slack, and HMAC-SHA256 in a header of your choice. Pure: headers and bytes in, a word out.
 *
 * Z-9 where the time of sending is signed, a delivery that is older than the window, or from further ahead, is refused.
 * Z-10 what makes a delivery one is what was signed of it, and beside that what its provider calls it: either again is a replay.
 */
import { createHash, createHmac, timingSafeEqual } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import { type Digest, digest } from "@orgate/core";
import type { Webhook } from "../../schedules/declaring.ts";

type Signing = Pick<Webhook, "name" | "provider" | "windowMs" | "headers">;
/** `id` is the provider's name for it, where it stands in a header; `key` is of what was signed. */
export type Signed = Readonly<{ kind: "signed"; id: string | null; key: Digest } | { kind: "not-signed" }>;

const NOT_SIGNED: Signed = Object.freeze({ kind: "not-signed" });

/** Whether it shows something that has the form of a signature: who does not need not be read. */
export const showsSignature = (hook: Signing, headers: IncomingHttpHeaders): boolean =>
  shownIn(hook, headers)?.signatures.some((given) => HEX.test(given)) ?? false;
const HEX = /^[0-9a-fA-F]{64}$/;

type SignedRequest = Readonly<{ headers: IncomingHttpHeaders; body: Buffer }>;

/** Any of the secrets may have signed it: while one replaces another, both count (Z-12). */
export function checkSigned(hook: Signing, secrets: readonly string[], { headers, body }: SignedRequest, now: number): Signed {
  const shown = shownIn(hook, headers);
  if (shown === null) return NOT_SIGNED;
  const { signatures, timestamp, prefix, id } = shown;
  const macs = secrets.filter((secret) => secret !== "").map((secret) => createHmac("sha256", secret).update(prefix).update(body).digest());
  const isGenuine = macs.flatMap((mac) => signatures.map((given) => isSame(mac, given))).includes(true); // each of them is looked at
  if (!isGenuine) return NOT_SIGNED;
  if (timestamp !== null && !(Math.abs(now - timestamp * 1_000) <= hook.windowMs)) return NOT_SIGNED;
  const key = createHash("sha256").update(`orgate-delivery-1\n${hook.name}\n${prefix}\n`).update(body).digest("hex");
  return { kind: "signed", id: id !== null && ID.test(id) ? id : null, key: digest(key) };
}
const ID = /^[\x21-\x7e]{1,200}$/;

type Shown = Readonly<{ signatures: readonly string[] /** In seconds. */; timestamp: number | null; prefix: string; id: string | null }>;

function shownIn({ provider, headers: own }: Signing, headers: IncomingHttpHeaders): Shown | null {
  const of = (name: string): string | null => {
    const value = headers[name];
    return typeof value === "string" ? value : null;
  };
  switch (provider) {
    case "github": {
      const signature = after("sha256=", of("x-hub-signature-256"));
      return signature === null ? null : { signatures: [signature], timestamp: null, prefix: "", id: of("x-github-delivery") };
    }
    case "slack": {
      const [signature, timestamp] = [after("v0=", of("x-slack-signature")), secondsIn(of("x-slack-request-timestamp"))];
      return signature === null || timestamp === null ? null : { signatures: [signature], timestamp, prefix: `v0:${timestamp}:`, id: null };
    }
    case "stripe": {
      const parts = (of("stripe-signature") ?? "").split(",").map((part) => part.trim());
      const timestamp = secondsIn(parts.flatMap((part) => after("t=", part) ?? [])[0] ?? null);
      const signatures = parts.flatMap((part) => after("v1=", part) ?? []).slice(0, MOST_SIGNATURES);
      return timestamp === null || signatures.length === 0 ? null : { signatures, timestamp, prefix: `${timestamp}.`, id: null };
    }
    case "custom": {
      const given = of(own.signature);
      if (given === null) return null;
      const signatures = [after("sha256=", given) ?? given];
      const id = own.id === null ? null : of(own.id);
      if (own.timestamp === null) return { signatures, timestamp: null, prefix: "", id };
      const timestamp = secondsIn(of(own.timestamp));
      return timestamp === null ? null : { signatures, timestamp, prefix: `${timestamp}.`, id };
    }
  }
}
const MOST_SIGNATURES = 5;

const after = (prefix: string, text: string | null): string | null =>
  text?.startsWith(prefix) === true ? text.slice(prefix.length) : null;
/** As it was signed: another spelling of the same number is another text. */
const secondsIn = (text: string | null): number | null => (text !== null && /^[1-9]\d{0,11}$/.test(text) ? Number(text) : null);

/** 64 hexadecimal digits, of whatever case; the comparison takes as long whatever they are. */
function isSame(mac: Buffer, given: string): boolean {
  const isHex = HEX.test(given);
  const bytes = Buffer.from(isHex ? given : "00".repeat(32), "hex");
  return timingSafeEqual(mac, bytes) && isHex;
}
