/**
 * Webhooks: what other systems tell the project's agents. Each genuine delivery is one session with one turn, at the surface `webhook`, for the webhook's owner.
 *
 * Z-9 nothing of a delivery is read before its size is bounded and its signature is right; every unsigned sender gets the same answer, whatever is wrong.
 * Z-10 a delivery opens one session, also when it comes again later, at the same time, to another server, or after a restart; again, it is answered `known` and does nothing.
 * Z-10 a delivery that the filter does not let through, also for a missing field, is answered `ignored` and does nothing.
 * Z-12 a sender that cannot sign, or replays a signed delivery, keeps no genuine delivery waiting.
 * Z-12 a body that is nested too deeply is refused; what is said of a delivery is not many times as long as it was.
 * Rule: Z-11.
 */
import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import {
  escapeHidden,
  firstTurnEvents,
  holdTakenEvent,
  isFault,
  type Journal,
  type JournalEvent,
  type Json,
  type Millis,
  type Origin,
  openedEvent,
  type Principal,
  readJson,
  type SessionId,
  seq,
  UNTRUSTED,
} from "@orgate/core";
import { deliveryClaims } from "@orgate/core/journal";
import { wireProblem } from "@orgate/protocol";
import type { Deliveries } from "../../operations/deliveries.ts";
import type { Log } from "../../operations/logs.ts";
import { problemIn, refusal } from "../../operations/refusal.ts";
import type { Filter, Webhook } from "../../schedules/declaring.ts";
import type { FindSessionStart } from "../../schedules/firing.ts";
import type { HookSecrets } from "../../schedules/webhook-secrets.ts";
import type { HttpAnswer } from "../http/http-response.ts";
import { createRateLimit, readBody, type ServerLimits } from "../http/limits.ts";
import type { ServedPage } from "../http/server.ts";
import type { IncomingRequest } from "../identity/authentication.ts";
import { checkSigned, showsSignature } from "./webhook-signing.ts";

export type WebhookPorts = Readonly<{
  journal: Pick<Journal, "take" | "append" | "release" | "writer" | "powerCut" | "find">;
  secrets: HookSecrets;
  findSessionStart: FindSessionStart;
  mayNotRun(owner: string, agent: string): string | null;
  newSession(): SessionId;
  wake(session: SessionId): void;
  now(): Millis;
  bounds: Pick<ServerLimits, "strangersBurst" | "strangersPerSecond" | "burst" | "perSecond">;
  log: Log;
}>;

type Reply = Readonly<{ status: number; answer: HttpAnswer }>;
type Outcome = "accepted" | "known" | "ignored";

/** Answers at the paths of these webhooks, and nowhere else. */
export function webhookPages({ hooks, came, unsigned }: Pick<Deliveries, "hooks" | "came" | "unsigned">, ports: WebhookPorts): ServedPage {
  const byPath = new Map(hooks.map((hook) => [hook.path, hook]));
  const strangers = createRateLimit(ports.bounds.strangersBurst, ports.bounds.strangersPerSecond);
  const deliveries = createRateLimit(ports.bounds.burst, ports.bounds.perSecond);
  const again = createRateLimit(ports.bounds.strangersBurst, ports.bounds.strangersPerSecond); // each delivery by itself
  return { ways: hooks.map(({ path }) => `POST ${path}`), answer };

  async function answer(asking: IncomingRequest, message: IncomingMessage): Promise<Reply | null> {
    const hook = asking.method === "POST" ? byPath.get(asking.path) : undefined;
    if (hook === undefined) return null;
    const body = await genuine(hook, asking, message);
    mustWait(again.take(body.key, performance.now()));
    const mayOpen = (): void => mustWait(deliveries.take(hook.name, performance.now()));
    const told = await accept(hook, { headers: asking.headers, ...body }, ports, mayOpen).catch((error: unknown) => {
      came(hook.name, { what: "refused", delivery: body.id, session: null, detail: problemIn(error).detail });
      throw error;
    });
    if (told.what !== "challenge") came(hook.name, { what: told.what, delivery: told.delivery, session: told.session, detail: "" });
    ports.log("info", "webhook", { webhook: hook.name, what: told.what, session: told.session });
    return told.reply;
  }

  async function genuine(
    hook: Webhook,
    { remote, headers }: IncomingRequest,
    message: IncomingMessage,
  ): Promise<Omit<Delivery, "headers">> {
    if (!showsSignature(hook, headers)) throw stranger(hook, remote);
    const read = await readBody(message, hook.maxBytes);
    if (read.kind === "refused") throw refusal(read.problem);
    const signed = checkSigned(hook, (await ports.secrets.get(hook.name)) ?? [], { headers, body: read.bytes }, ports.now());
    if (signed.kind === "signed") return { bytes: read.bytes, id: signed.id, key: signed.key };
    throw stranger(hook, remote);
  }

  /** The same answer for all, with the time to wait when it is too often; a signed delivery does not wait for it. */
  function stranger(hook: Webhook, remote: string): unknown {
    unsigned(hook.name);
    mustWait(strangers.take(remote, performance.now()));
    ports.log("warn", "webhook.refused", { webhook: hook.name });
    return refusal(wireProblem("unauthenticated", "this delivery is not signed as it has to be", "sign it with the webhook's secret, now"));
  }
}

type Told = Readonly<{ what: Outcome | "challenge"; delivery: string | null; session: SessionId | null; reply: Reply }>;
type Delivery = Readonly<{
  headers: IncomingHttpHeaders;
  bytes: Buffer;
  id: string | null;
  key: Extract<Origin, { kind: "webhook" }>["key"];
}>;

async function accept(hook: Webhook, { headers, bytes, id, key }: Delivery, ports: WebhookPorts, mayOpen: () => void): Promise<Told> {
  const value = contentOf(hook, headers, bytes);
  const challenge = challengeIn(hook, value);
  if (challenge !== null)
    return { what: "challenge", delivery: null, session: null, reply: { status: 200, answer: { kind: "json", value: { challenge } } } };
  const delivery = id ?? nameIn(hook, value) ?? key;
  if (isPing(hook, headers) || !hook.filter.every((one) => holds(one, value))) return told("ignored", delivery, null);
  const origin: Origin = { kind: "webhook", webhook: hook.name, provider: hook.provider, delivery, key };
  for (const claim of deliveryClaims(origin)) if ((await ports.journal.find(claim)) !== null) return told("known", delivery, null);
  mayOpen(); // only what would be a session counts: a replay uses up nobody's room
  const opened = await open(hook, origin, textOf(value, bytes.length), ports);
  if (opened === null) return told("known", delivery, null);
  ports.wake(opened);
  return told("accepted", delivery, opened);
}

const told = (what: Outcome, delivery: string, session: SessionId | null): Told => ({
  what,
  delivery,
  session,
  reply: { status: what === "accepted" ? 202 : 200, answer: { kind: "json", value: { status: what, delivery } } },
});

/** Null: this delivery has opened one. Durable when it resolves. */
async function open(hook: Webhook, origin: Origin, text: string, ports: WebhookPorts): Promise<SessionId | null> {
  const { journal, now } = ports;
  const found = ports.findSessionStart(hook.agent);
  const reason = found === null ? `there is no agent \`${hook.agent}\` that can be run` : ports.mayNotRun(hook.owner, hook.agent);
  if (found === null || reason !== null) {
    ports.log("warn", "webhook.not-taken", { webhook: hook.name, reason });
    throw refusal(wireProblem("forbidden", "this delivery is not taken", "the policies decide who may run the agent"));
  }
  const owner: Principal = { kind: "user", id: hook.owner };
  const session = ports.newSession();
  const hold = await journal.take(session);
  const input = `${hook.input}\n\n${text}`;
  const { facts: agent, limits, output } = found;
  const events: readonly JournalEvent[] = [
    openedEvent({ agent, principal: owner, surface: "webhook", labels: [UNTRUSTED], origin }),
    holdTakenEvent({ journal }, hold),
    ...firstTurnEvents({ input, by: owner, limits, output }),
  ];
  try {
    const unlessHalted = ["all", `agent:${hook.agent}`];
    await journal.append({
      stream: session,
      after: seq(0),
      hold,
      events: events.map((event) => ({ at: now(), event })),
      consumes: [],
      unlessHalted,
    });
    return session;
  } catch (error) {
    if (isFault(error, "external-taken")) return null;
    if (isFault(error, "halted"))
      throw refusal(wireProblem("unavailable", "work is halted", "send it again later"), { "retry-after": "300" });
    throw error;
  } finally {
    await journal.release(hold);
  }
}

const strict = new TextDecoder("utf-8", { fatal: true });

function contentOf({ contentTypes }: Webhook, headers: IncomingRequest["headers"], bytes: Buffer): Json {
  const [type = ""] = (headers["content-type"] ?? "").toLowerCase().split(";");
  const encoding = headers["content-encoding"] ?? "identity";
  if (!contentTypes.includes(type.trim()) || encoding !== "identity")
    throw refusal(wireProblem("bad-request", "this kind of content is not taken", `send ${contentTypes.join(" or ")}, as it is`));
  const bad = refusal(wireProblem("bad-request", "the body is not what its type says", "send it whole, in UTF-8"));
  let text: string;
  try {
    text = strict.decode(bytes);
  } catch {
    throw bad;
  }
  if (type.trim() === "application/x-www-form-urlencoded") return fieldsIn(text);
  const read = readJson(text);
  if (read.kind === "not-json") throw bad;
  if (!isWithin(read.value, MOST_DEEP)) throw refusal(wireProblem("bad-request", "the body is nested too deeply", "send less of it"));
  return read.value;
}
const MOST_DEEP = 64;
const isWithin = (value: Json, depth: number): boolean =>
  typeof value !== "object" || value === null || (depth > 0 && Object.values(value).every((one) => isWithin(one, depth - 1)));

/** A field that is there twice has both. */
function fieldsIn(text: string): Json {
  const fields = new Map<string, string[]>();
  for (const [key, value] of new URLSearchParams(text)) {
    const known = fields.get(key);
    if (known === undefined) fields.set(key, [value]);
    else known.push(value);
  }
  return Object.fromEntries([...fields].map(([key, all]) => [key, all.length === 1 ? (all[0] ?? "") : all]));
}

/** With line breaks, for readers; as it was where line breaks would make it many times as long. */
function textOf(value: Json, bytes: number): string {
  const lines = JSON.stringify(value, null, 2);
  const text = lines.length <= 4 * bytes + 1_000 ? lines : JSON.stringify(value);
  return text.split("\n").map(escapeHidden).join("\n");
}

/** A missing value matches no filter. */
export function holds({ path, equals, contains }: Filter, value: Json): boolean {
  let at: unknown = value;
  for (const step of path) {
    if (typeof at !== "object" || at === null || !Object.hasOwn(at, step)) return false;
    at = Reflect.get(at, step);
  }
  if (contains !== undefined) return typeof at === "string" ? at.includes(contains) : Array.isArray(at) && at.includes(contains);
  return at === equals;
}

const fieldOf = (value: Json, name: string): string | null => {
  const found = typeof value === "object" && value !== null && Object.hasOwn(value, name) ? Reflect.get(value, name) : null;
  return typeof found === "string" && /^[\x21-\x7e]{1,200}$/.test(found) ? found : null;
};
/** The provider's id of a delivery, in the body, where it is signed. */
const nameIn = ({ provider }: Webhook, value: Json): string | null =>
  provider === "stripe" ? fieldOf(value, "id") : provider === "slack" ? fieldOf(value, "event_id") : null;
const challengeIn = ({ provider }: Webhook, value: Json): string | null =>
  provider === "slack" && fieldOf(value, "type") === "url_verification" ? fieldOf(value, "challenge") : null;
const isPing = ({ provider }: Webhook, headers: IncomingRequest["headers"]): boolean =>
  provider === "github" && headers["x-github-event"] === "ping";

function mustWait(ms: number): void {
  if (ms === 0) return;
  throw refusal(wireProblem("too-many", "too many deliveries", "wait as long as `Retry-After` says"), {
    "retry-after": String(Math.ceil(ms / 1_000)),
  });
}
