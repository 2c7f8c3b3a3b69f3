/**
 * The counter: a separate process that outlives every victim. It records what victims do (effects, model calls, transactions), looks into
 * the journal at the moment of each effect, and answers when it is time to.
 */
import { createServer, type Socket } from "node:net";
import { readRows } from "../rows.ts";
import { type Random, seeded } from "../seeded.ts";
import { decode, encode, lines, type Noted, type Order, type Orders, type Report, type Said } from "./wire.ts";

type Effect = Extract<Said, { kind: "effect" }>;
type Asked = Extract<Said, { kind: "model" }>;
const ANSWER_MS = { effect: 24, model: 8 } as const;

const happened = new Set<string>();
const guests = new Map<string, { answerHeld(what: string): void }>();

const report = (r: Report): void => void process.send?.(r);

/** The durable entries, whatever the victim believes. */
const payloads = (directory: string, session: string): readonly Readonly<Record<string, unknown>>[] =>
  readRows(directory, session).map(({ kind, payload }) => ({ ...decode<Record<string, unknown>>(payload), kind }));

/** The latest decision on the call is `allow`, and this very start of it is on record after it, or with it. */
function isDurable(directory: string, { session, key, call, start }: Effect): boolean {
  const events = payloads(directory, session).flatMap((e) => (Array.isArray(e.decisions) ? [...(e.decisions as (typeof e)[]), e] : [e]));
  const last = events.findLastIndex((e) => e.verdict !== undefined && e.id === call);
  const allowed = last !== -1 && decode<{ kind: string }>(JSON.stringify(events[last]?.verdict)).kind === "allow";
  const isStart = (e: Readonly<Record<string, unknown>>): boolean =>
    e.kind === "act.started" && keyOf(session, call, e.edition) === key && e.call === call && e.start === start;
  return allowed && events.slice(last + 1).some(isStart);
}
const keyOf = (session: string, call: string, edition: unknown): string =>
  `${session}/${call}${edition === 0 ? "" : `~${String(edition)}`}`;

function onRecord(directory: string, { session, iteration, attempt }: Asked): { asked: boolean; recorded: boolean } {
  const events = payloads(directory, session).filter((e) => e.iteration === iteration);
  return {
    asked: events.some((e) => e.kind === "model.asked" && e.attempt === attempt),
    recorded: events.some((e) => e.kind === "model.replied"),
  };
}

function serve(socket: Socket): void {
  let orders: Orders | null = null;
  let random: Random | null = null;
  const held = new Map<string, () => void>();
  /** Without random delays: effects to answer, and the one whose end is to be on record before the next is answered. */
  const queue: Effect[] = [];
  let unended: string | null = null;

  const answer = (request: number, value: string | null): void => {
    if (socket.writable) socket.write(encode({ request, value }));
  };
  const log = (noted: Noted): void => report({ kind: "line", line: { ...noted, victim: orders?.victim ?? "?", ms: performance.now() } });

  function answerNext(): void {
    const next = unended === null ? queue.shift() : undefined;
    if (next === undefined) return;
    unended = next.call;
    answer(next.request, null);
  }

  /** Answers at once, a random moment later, or when the runner says so. */
  function reply({ request }: Effect | Asked, what: string, mostMs: number, atOnce: () => void): void {
    if (orders?.hold.includes(what)) held.set(what, () => answer(request, null));
    else if (random !== null) setTimeout(answer, random.between(0, mostMs), request, null);
    else atOnce();
  }

  function welcome(given: Orders): void {
    orders = given;
    random = given.seed === null ? null : seeded(given.seed ^ 0x5eed);
    guests.set(given.victim, { answerHeld: (what) => (held.get(what) ?? missing(what))() });
  }

  function take(said: Said): void {
    const directory = orders?.directory ?? "";
    if (said.kind === "guest") welcome(said.orders);
    else if (said.kind === "effect") {
      happened.add(said.key);
      log({ ...said, durable: isDurable(directory, said) });
      reply(said, `call ${said.call}`, ANSWER_MS.effect, () => {
        queue.push(said);
        answerNext();
      });
    } else if (said.kind === "model") {
      log({ ...said, ...onRecord(directory, said) });
      reply(said, `model ${said.iteration}`, ANSWER_MS.model, () => answer(said.request, null));
    } else {
      log(said);
      if (said.kind === "reconcile") answer(said.request, happened.has(said.key) ? "happened" : null);
      if (said.kind === "mark" && said.step === "committed" && said.written.some((e) => e.kind === "act.ended" && e.call === unended)) {
        unended = null;
        answerNext();
      }
    }
  }

  socket.setEncoding("utf8").on(
    "data",
    lines((text) => take(decode<Said>(text))),
  );
  socket.on("error", () => {}); // a killed victim may never receive its answer
  socket.on("close", () => log({ kind: "gone" }));
}

function missing(what: string): never {
  throw new Error(`nothing is held for ${what}`);
}

process.on("message", (order: Order) => guests.get(order.victim)?.answerHeld(order.what));
process.on("disconnect", () => process.exit());
createServer(serve).listen(process.argv[2], () => report({ kind: "listening" }));
