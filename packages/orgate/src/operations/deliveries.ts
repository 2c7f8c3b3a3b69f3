/**
 * Webhook deliveries since this server started: a count, and the latest. The journal has those that were accepted; this has the rest, which
 * no stranger may write there. It is bounded: a few rows for each webhook.
 *
 * Z-12 of an unsigned delivery only count and time are kept; of a signed one, its sender's name for it and its outcome.
 */
import { type Millis, millis, type SessionId } from "@orgate/core";
import type { Webhook } from "../schedules/declaring.ts";

export type WebhookDelivery = Readonly<{
  at: Millis;
  what: "accepted" | "known" | "ignored" | "refused";
  delivery: string | null;
  session: SessionId | null;
  detail: string;
}>;
type Counted = Readonly<Record<WebhookDelivery["what"] | "unsigned", number>>;
export type DeliveryReport = Counted & Readonly<{ since: Millis; unsignedAt: Millis | null }>;

export type Deliveries = Readonly<{
  hooks: readonly Webhook[];
  came(webhook: string, delivery: Omit<WebhookDelivery, "at">): void;
  /** Somebody knocked who does not know the secret. */
  unsigned(webhook: string): void;
  told(webhook: string): DeliveryReport;
  /** Newest first. */
  last(webhook: string): readonly WebhookDelivery[];
}>;

const MOST_KEPT = 20;
const NONE: Counted = Object.freeze({ accepted: 0, known: 0, ignored: 0, refused: 0, unsigned: 0 });

export function openDeliveries(hooks: readonly Webhook[], now: () => number): Deliveries {
  const since = millis(now());
  const told = new Map<string, DeliveryReport>();
  const last = new Map<string, readonly WebhookDelivery[]>();
  const of = (webhook: string): DeliveryReport => told.get(webhook) ?? { ...NONE, since, unsignedAt: null };
  return {
    hooks,
    came(webhook, delivery) {
      const before = of(webhook);
      told.set(webhook, { ...before, [delivery.what]: before[delivery.what] + 1 });
      last.set(webhook, [{ at: millis(now()), ...delivery }, ...(last.get(webhook) ?? [])].slice(0, MOST_KEPT));
    },
    unsigned(webhook) {
      const before = of(webhook);
      told.set(webhook, { ...before, unsigned: before.unsigned + 1, unsignedAt: millis(now()) });
    },
    told: of,
    last: (webhook) => last.get(webhook) ?? [],
  };
}
