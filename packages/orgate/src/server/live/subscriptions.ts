/** The subscriptions of one connection: each is sent what the fan-out has for it, at the pace at which the other end reads (W-25). */
import { frameText, MOST_SUBSCRIPTIONS, type Problem, type ServerFrame, type SubscribeFrame, wireProblem } from "@orgate/protocol";
import { missingProblem } from "../../operations/acts.ts";
import { problemIn } from "../../operations/refusal.ts";
import type { FanoutEntry, Follow } from "./fanout.ts";

export type SubscriptionPorts = Readonly<{
  follow(wanted: Omit<Follow, "sees">): AsyncIterable<FanoutEntry>;
  /** Resolves when there is room for more. */
  send(text: string): Promise<void>;
  reply(frame: ServerFrame): void;
  fail(id: string, error: unknown): void;
  hasExpired(): boolean;
  expire(): void;
  track(work: Promise<void>): void;
}>;

type Subscription = Readonly<{ stop: AbortController; frame: SubscribeFrame }> & { at: number; wasSent: boolean };

export class ConnectionSubscriptions {
  readonly #ports: SubscriptionPorts;
  readonly #open = new Map<string, Subscription>();

  constructor(ports: SubscriptionPorts) {
    this.#ports = ports;
  }

  open(frame: SubscribeFrame): void {
    if (this.#open.has(frame.id)) return; // the frame came twice
    if (this.#open.size >= MOST_SUBSCRIPTIONS) {
      const detail = `${MOST_SUBSCRIPTIONS} subscriptions are the most`;
      const problem = wireProblem("too-many", detail, "unsubscribe from some, or follow `all`");
      this.#ports.reply({ kind: "error", id: frame.id, problem });
      return;
    }
    const at = frame.after === "now" ? 0 : frame.after;
    const one: Subscription = { stop: new AbortController(), frame, at, wasSent: false };
    this.#open.set(frame.id, one);
    this.#ports.track(this.#follow(one));
  }

  close(id: string): void {
    const one = this.#open.get(id);
    if (one === undefined) return;
    this.#open.delete(id);
    one.stop.abort();
    this.#ports.reply({ kind: "ended", id, at: one.at, why: "unsubscribed" });
  }

  closeAll(): void {
    for (const { stop } of this.#open.values()) stop.abort();
    this.#open.clear();
  }

  /** How far each one has been sent. */
  positions(): Readonly<Record<string, number>> {
    return Object.fromEntries([...this.#open].map(([id, { at }]) => [id, at]));
  }

  async #follow(one: Subscription): Promise<void> {
    const { id, to, after, previews } = one.frame;
    const { signal } = one.stop;
    try {
      for await (const entry of this.#ports.follow({ to, after, previews, signal })) {
        if (signal.aborted) return;
        if (this.#ports.hasExpired()) return this.#ports.expire();
        await this.#send(one, entry);
        one.wasSent = true;
        if (entry.kind === "closed" || entry.kind === "hidden") break;
      }
    } catch (error) {
      if (!signal.aborted) this.#ports.fail(id, error);
    } finally {
      if (this.#open.get(id) === one) this.#open.delete(id);
    }
  }

  /** The position moves only once the other end had room for the entries. */
  async #send(one: Subscription, entry: FanoutEntry): Promise<void> {
    const { id } = one.frame;
    switch (entry.kind) {
      case "batch": {
        const { after, to, items } = entry;
        await this.#ports.send(`{"kind":"entries","id":${JSON.stringify(id)},"after":${after},"to":${to},"items":[${items.join(",")}]}`);
        one.at = to;
        return;
      }
      case "words": {
        const { kind, asked: _, ...words } = entry.words;
        return this.#ports.send(frameText({ kind, id, ...words }));
      }
      case "caught-up":
        one.at = entry.at;
        return this.#ports.send(frameText({ kind: "caught-up", id, at: entry.at }));
      case "closed":
        return this.#ports.send(frameText({ kind: "ended", id, at: entry.at, why: "closed" }));
      case "hidden":
        this.#ports.reply({ kind: "error", id, problem: hiddenProblem(one) });
    }
  }
}

/** W-9. A caller who saw the session before learns that this is over; to anybody else the session does not exist. */
function hiddenProblem({ wasSent, frame: { to } }: Subscription): Problem {
  if (to.kind === "session" && !wasSent) return problemIn(missingProblem({ on: "session", id: null, session: to.session }));
  return wireProblem("forbidden", "this may not be followed any more", "the policies say who may `read-journal`");
}
