/**
 * Notices over HTTP. Each is signed, so that the receiver can tell it from anybody else's, and carries the question's id, so that it can
 * tell a repeated one from a new one.
 *
 * Q-26 a notice is signed with HMAC-SHA256 over its time and its body; one that is too old, or changed in any byte, does not check.
 * Q-26 it is sent again after an error, a time-out or an answer that says later, a bounded number of times, and then given up.
 */
import { createHmac, timingSafeEqual } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { assertArguments, need, objectWith, text } from "../node/argument-checks.ts";
import type { Notice } from "./notices.ts";

export type Notify = Readonly<{
  tell(notice: Notice): void;
  /** Waits for what is under way, for a bounded time. */
  close(): Promise<void>;
}>;

export type WebhookOptions = Readonly<{
  /** `http` or `https`. */
  url: string;
  secret: string;
  /** Hears of a notice that was given up, and why. */
  onLost?: (notice: Notice, why: string) => void;
  tries?: number;
  timeoutMs?: number;
  /** Before the second try; each further one waits twice as long. */
  backoffMs?: number;
  /** How long closing waits. */
  graceMs?: number;
  /** Maximum number of notices under way; a further one is dropped at once. */
  most?: number;
  now?: () => number;
}>;

export const SIGNATURE_HEADER = "orgate-signature";

/** `t=SECONDS,v1=HEX`. */
export const signNotice = (secret: string, seconds: number, body: string): string =>
  `t=${seconds},v1=${createHmac("sha256", secret).update(`${seconds}.${body}`).digest("hex")}`;

type NoticeTime = Readonly<{ nowMs: number; toleranceS?: number }>;

/** For the receiver: whether this body was signed with the secret, not longer than `toleranceS` ago. */
export function checkNotice(secret: string, header: string | undefined, body: string, { nowMs, toleranceS = 300 }: NoticeTime): boolean {
  const m = /^t=(\d{1,12}),v1=[0-9a-f]{64}$/.exec(header ?? "");
  if (m === null || header === undefined) return false;
  const seconds = Number(m[1]);
  const expected = signNotice(secret, seconds, body);
  if (expected.length !== header.length) return false;
  return timingSafeEqual(Buffer.from(expected), Buffer.from(header)) && Math.abs(nowMs / 1_000 - seconds) <= toleranceS;
}

type Sent = Readonly<{ kind: "taken" } | { kind: "refused"; why: string } | { kind: "later"; why: string }>;

const isWebUrl = (value: unknown): boolean =>
  typeof value === "string" && URL.canParse(value) && ["http:", "https:"].includes(new URL(value).protocol);

export function webhook(options: WebhookOptions): Notify {
  const hint = 'such as { url: "https://…", secret: process.env.NOTIFY_SECRET }';
  assertArguments(
    "webhook",
    { options: objectWith({ url: need("an address of http or https", hint, isWebUrl), secret: text(hint) }, hint) },
    options,
  );
  const { secret, onLost = () => {}, tries = 5, timeoutMs = 5_000, backoffMs = 250, graceMs = 5_000, most = 100, now = Date.now } = options;
  const url = new URL(options.url);
  const closing = new AbortController();
  const underWay = new Set<Promise<void>>();

  async function once(notice: Notice, body: string): Promise<Sent> {
    const headers = {
      "content-type": "application/json",
      "orgate-notice": notice.approval,
      [SIGNATURE_HEADER]: signNotice(secret, Math.floor(now() / 1_000), body),
    };
    const signal = AbortSignal.any([closing.signal, AbortSignal.timeout(timeoutMs)]);
    try {
      // a signed body goes where it was addressed, and nowhere else
      const answer = await fetch(url, { method: "POST", headers, body, signal, redirect: "manual" });
      await answer.body?.cancel();
      if (answer.ok) return { kind: "taken" };
      const isLater = answer.status >= 500 || answer.status === 408 || answer.status === 429;
      return { kind: isLater ? "later" : "refused", why: `it answered ${answer.status}` };
    } catch (error) {
      return { kind: "later", why: messageOf(error) };
    }
  }

  async function deliver(notice: Notice): Promise<void> {
    const body = JSON.stringify(notice);
    for (let n = 1, wait = backoffMs; ; n += 1, wait *= 2) {
      const sent = await once(notice, body);
      if (sent.kind === "taken") return;
      if (sent.kind === "refused" || n >= tries || closing.signal.aborted) return onLost(notice, sent.why);
      await pause(wait, undefined, { signal: closing.signal }).catch(() => {});
    }
  }

  return {
    tell(notice) {
      if (underWay.size >= most) return onLost(notice, `${most} others are under way`);
      const one = deliver(notice)
        .catch(() => {}) // whoever hears of lost ones may throw: that is no affair of the run
        .finally(() => underWay.delete(one));
      underWay.add(one);
    },
    async close() {
      if (underWay.size === 0) return;
      const over = new AbortController();
      const late = pause(graceMs, undefined, { signal: over.signal }).then(
        () => closing.abort(),
        () => {},
      );
      await Promise.allSettled(underWay);
      over.abort();
      await late;
    },
  };
}

function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? `${error.message}: ${error.cause.message}` : error.message;
}
