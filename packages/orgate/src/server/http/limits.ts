/**
 * Limits of one server: sizes, times, connections and rates.
 *
 * W-19 a body that is too long is refused before it is read further, and the connection is closed.
 * W-19 a request whose headers or body take too long to arrive is answered `408` and its connection closed; a reader that does not read is dropped.
 * W-19 more connections than allowed, of all or of one address, are turned away at once; those that are there go on.
 * W-19 Requests above the rate get the time to wait: by caller, or by source if the caller is unknown. The memory for this does not grow.
 */
import type { IncomingMessage } from "node:http";
import { BlockList, isIP } from "node:net";
import { type OperationName, type Problem, wireProblem } from "@orgate/protocol";

/** Operations whose input may carry files. */
export const WITH_FILES: ReadonlySet<OperationName> = new Set(["execute", "say", "steer", "uiChat"]);

export type ServerLimits = Readonly<{
  connections: number;
  connectionsPerAddress: number;
  /** Headers have to be there by then. */
  headersMs: number;
  /** And the whole request by then. */
  requestMs: number;
  /** A connection on which nothing moves. */
  idleMs: number;
  bodyBytes: number;
  /** Of a request that may carry files. */
  filesBytes: number;
  /** Requests of one caller: at once, and each second after that. */
  burst: number;
  perSecond: number;
  /** Requests of one source that fail to authenticate. */
  strangersBurst: number;
  strangersPerSecond: number;
}>;

export const SERVER_LIMITS: ServerLimits = Object.freeze({
  connections: 4_096,
  connectionsPerAddress: 2_048,
  headersMs: 10_000,
  requestMs: 60_000,
  idleMs: 120_000,
  bodyBytes: 1024 * 1024,
  filesBytes: 32 * 1024 * 1024,
  burst: 200,
  perSecond: 50,
  strangersBurst: 20,
  strangersPerSecond: 1,
});

export type RateLimit = Readonly<{
  /** 0 if it may go on, otherwise how many milliseconds to wait. */
  take(who: string, now: number): number;
  /** Whether it would be let go on, without counting. */
  wait(who: string, now: number): number;
  size(): number;
}>;

/**
 * A bucket each, filled as time goes by. One that is full again is forgotten; of those that are not, no more than `most` are kept.
 * W-19 full buckets are swept no oftener than it takes a bucket to fill by one: a flood from ever new sources does not make each request walk through them.
 */
export function createRateLimit(burst: number, perSecond: number, most = 10_000): RateLimit {
  const buckets = new Map<string, { left: number; at: number }>();
  const leftOf = (who: string, now: number): number => {
    const bucket = buckets.get(who);
    return bucket === undefined ? burst : Math.min(burst, bucket.left + ((now - bucket.at) / 1_000) * perSecond);
  };
  const waitFor = (left: number): number => (left >= 1 ? 0 : Math.ceil(((1 - left) / perSecond) * 1_000));
  let prunedAt = Number.NEGATIVE_INFINITY;
  function prune(now: number): void {
    if (now - prunedAt >= 1_000 / perSecond) {
      prunedAt = now;
      for (const [who] of buckets) if (leftOf(who, now) >= burst) buckets.delete(who);
    }
    for (const [who] of buckets) {
      if (buckets.size < most) return;
      buckets.delete(who); // the one that was heard of longest ago
    }
  }
  return {
    take(who, now) {
      const left = leftOf(who, now);
      const wait = waitFor(left);
      buckets.delete(who);
      if (buckets.size >= most) prune(now);
      buckets.set(who, { left: wait === 0 ? left - 1 : left, at: now });
      return wait;
    },
    wait: (who, now) => waitFor(leftOf(who, now)),
    size: () => buckets.size,
  };
}

/**
 * W-19 where a request comes from: the address of its connection. Behind a proxy that is named, the last address in `X-Forwarded-For` that
 * is not a proxy's own; what anybody else writes there is not believed. One network of IPv6 is one source, as one address of IPv4 is.
 */
export function createSourceReader(proxies: readonly string[]): (message: IncomingMessage) => string {
  const ours = new BlockList();
  for (const proxy of proxies) {
    const [address = "", prefix] = proxy.split("/");
    const family = isIP(address) === 6 ? "ipv6" : "ipv4";
    if (prefix === undefined) ours.addAddress(address, family);
    else ours.addSubnet(address, Number(prefix), family);
  }
  const isOurs = (address: string): boolean => isIP(address) !== 0 && ours.check(address, isIP(address) === 6 ? "ipv6" : "ipv4");
  return ({ socket, headers }) => {
    const direct = plainAddress(socket.remoteAddress ?? "");
    if (!isOurs(direct)) return networkOf(direct);
    const said = [headers["x-forwarded-for"] ?? ""]
      .flat()
      .join(",")
      .split(",")
      .map((one) => plainAddress(one.trim()));
    const beyond = said.findLast((one) => one !== "" && !isOurs(one));
    return networkOf(beyond !== undefined && isIP(beyond) !== 0 ? beyond : direct);
  };
}

const plainAddress = (address: string): string => address.replace(/^::ffff:(?=\d+\.)/i, "");
const networkOf = (address: string): string => (isIP(address) === 6 ? wholeOf(address).slice(0, 4).join(":") : address);

/** The eight groups of an IPv6 address. */
function wholeOf(address: string): readonly string[] {
  const [head = "", tail] = address.replace(/%.*$/, "").toLowerCase().split("::");
  const [before, after] = [head, tail ?? ""].map((part) => (part === "" ? [] : part.split(":")));
  const missing = 8 - (before?.length ?? 0) - (after?.length ?? 0);
  return [...(before ?? []), ...(tail === undefined ? [] : Array.from({ length: missing }, () => "0")), ...(after ?? [])];
}

export type ConnectionLimit = Readonly<{ enter(address: string): boolean; leave(address: string): void; inside(): number }>;

export function createConnectionLimit({
  connections,
  connectionsPerAddress,
}: Pick<ServerLimits, "connections" | "connectionsPerAddress">): ConnectionLimit {
  const byAddress = new Map<string, number>();
  let all = 0;
  return {
    enter(address) {
      const mine = byAddress.get(address) ?? 0;
      if (all >= connections || mine >= connectionsPerAddress) return false;
      byAddress.set(address, mine + 1);
      all += 1;
      return true;
    },
    leave(address) {
      const mine = (byAddress.get(address) ?? 1) - 1;
      if (mine > 0) byAddress.set(address, mine);
      else byAddress.delete(address);
      all -= 1;
    },
    inside: () => all,
  };
}

export type ReadBody = Readonly<{ kind: "body"; bytes: Buffer } | { kind: "refused"; problem: Problem }>;

/** The whole body, or why not; `most` in bytes. */
export async function readBody(request: IncomingMessage, most: number): Promise<ReadBody> {
  const tooLarge: ReadBody = {
    kind: "refused",
    problem: wireProblem("too-large", `the body is longer than ${most} bytes`, "send less at once"),
  };
  if (Number(request.headers["content-length"] ?? 0) > most) return tooLarge;
  const pieces: Buffer[] = [];
  let size = 0;
  try {
    for await (const piece of request) {
      const bytes: Buffer = Buffer.isBuffer(piece) ? piece : Buffer.from(String(piece));
      size += bytes.length;
      if (size > most) return tooLarge;
      pieces.push(bytes);
    }
  } catch {
    return { kind: "refused", problem: wireProblem("bad-request", "the body did not arrive", "send it again") };
  }
  return { kind: "body", bytes: Buffer.concat(pieces) };
}
