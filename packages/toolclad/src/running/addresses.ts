/**
 * Which addresses a tool may reach. What is not plainly part of the public internet is *inner*: this machine, its network, the provider's
 * metadata service. An inner address is reached only when the scope names the address itself; a name in scope says nothing about where it leads.
 */
import { BlockList, isIP, isIPv4 } from "node:net";
import { domainToASCII } from "node:url";

/** Special-purpose ranges of the IANA registries, and every way to write an IPv4 address as an IPv6 one that could be routed to it. */
const INNER: readonly (readonly [string, number])[] = [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.0.2.0", 24],
  ["192.31.196.0", 24],
  ["192.52.193.0", 24],
  ["192.88.99.0", 24],
  ["192.168.0.0", 16],
  ["192.175.48.0", 24],
  ["198.18.0.0", 15],
  ["198.51.100.0", 24],
  ["203.0.113.0", 24],
  ["224.0.0.0", 4],
  ["240.0.0.0", 4],
];

const inner = new BlockList();
for (const [net, bits] of INNER) inner.addSubnet(net, bits, "ipv4");
/** Only what is assigned as global unicast is outside, and of that not what belongs to documentation, benchmarks, tunnels and translators. */
const global6 = new BlockList();
global6.addSubnet("2000::", 3, "ipv6");
const inner6 = new BlockList();
for (const [net, bits] of [
  ["2001::", 23],
  ["2001:db8::", 32],
  ["2002::", 16],
  ["2620:4f:8000::", 48],
  ["3fff::", 20],
] as const)
  inner6.addSubnet(net, bits, "ipv6");

export function isInner(address: string): boolean {
  const plain = withoutZone(address);
  const v4 = isIPv4(plain) ? plain : mappedIn(plain);
  if (v4 !== null) return inner.check(v4, "ipv4");
  if (isIP(plain) !== 6) return true;
  return !global6.check(plain, "ipv6") || inner6.check(plain, "ipv6");
}

const withoutZone = (address: string): string => address.split("%")[0] ?? "";

/** The IPv4 address inside `::ffff:a.b.c.d`: the system connects to that. Every other embedding lies outside of global unicast, or in `inner6`. */
function mappedIn(address: string): string | null {
  if (isIP(address) !== 6) return null;
  const canonical = new URL(`http://[${address}]`).hostname.slice(1, -1);
  const found = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/.exec(canonical);
  if (found === null) return null;
  const [high, low] = [Number.parseInt(found[1] ?? "", 16), Number.parseInt(found[2] ?? "", 16)];
  return [high >> 8, high & 255, low >> 8, low & 255].join(".");
}

/** One entry of a scope: a host by name (`*.` before it: all below it; `*` alone: all there are), an address or a range; with a port or for all. `!` before it: not that. */
type Entry = Readonly<
  | { kind: "any"; port: number | null }
  | { kind: "name"; name: string; below: boolean; port: number | null }
  | { kind: "range"; holds(address: string): boolean; port: number | null }
>;

export type AddressScope = Readonly<{
  /** Null: in scope. */
  objection(host: string, port: number): string | null;
  /** Of where a host in scope leads. Null: it may be connected to. */
  objectionTo(address: string, host: string, port: number): string | null;
}>;

export type ReadAddressScope = Readonly<{ kind: "scope"; scope: AddressScope } | { kind: "unreadable"; entry: string }>;

export function readScope(hosts: readonly string[]): ReadAddressScope {
  const entries: Entry[] = [];
  const excluded: Entry[] = [];
  for (const host of hosts) {
    const text = host.trim();
    const entry = readEntry(text.startsWith("!") ? text.slice(1) : text);
    if (entry === null) return { kind: "unreadable", entry: host };
    (text.startsWith("!") ? excluded : entries).push(entry);
  }
  const isExcluded = (host: string, port: number): boolean =>
    excluded.some((e) => (e.port === null || e.port === port) && isNamed(e, host));
  return { kind: "scope", scope: { objection, objectionTo } };

  function objection(host: string, port: number): string | null {
    if (isExcluded(host, port)) return `\`${host}\` is excluded from the scope`;
    const names = entries.filter((e) => e.port === null || e.port === port);
    if (names.some((e) => isNamed(e, host))) return null;
    return `\`${host}\`${port === 443 || port === 80 ? "" : ` on port ${port}`} is not in scope`;
  }

  function objectionTo(address: string, host: string, port: number): string | null {
    if (isExcluded(address, port)) return `\`${host}\` leads to ${address}, which is excluded from the scope`;
    if (!isInner(address)) return null;
    const named = entries.some((e) => (e.port === null || e.port === port) && isOpened(e, address, host));
    return named ? null : `\`${host}\` leads to ${address}, which is not public, and the scope does not name that address`;
  }
}

function isNamed(entry: Entry, host: string): boolean {
  switch (entry.kind) {
    case "any":
      return true;
    case "range":
      return isIP(host) !== 0 && entry.holds(host);
    case "name":
      return entry.below ? host.endsWith(`.${entry.name}`) : host === entry.name;
  }
}

/** `localhost` is this machine by its very name (RFC 6761); any other name leads wherever its owner likes. */
function isOpened(entry: Entry, address: string, host: string): boolean {
  if (entry.kind === "range") return entry.holds(address);
  return entry.kind === "name" && entry.name === "localhost" && !entry.below && host === "localhost" && isLoopback(address);
}

const loopback = new BlockList();
loopback.addSubnet("127.0.0.0", 8, "ipv4");
loopback.addAddress("::1", "ipv6");
const isLoopback = (address: string): boolean => loopback.check(address, isIPv4(address) ? "ipv4" : "ipv6");

const ENTRY =
  /^(?<host>\*|\[[0-9a-f:.]+\]|[^\s/:@?#[\]*\\]+|\*\.[^\s/:@?#[\]*\\]+|[0-9a-f]*:[0-9a-f:.]*:[0-9a-f:.]*)(?:\/(?<bits>\d{1,3}))?(?::(?<port>\d{1,5}))?$/i;

function readEntry(text: string): Entry | null {
  const groups = ENTRY.exec(text)?.groups;
  if (groups === undefined) return null;
  const { host = "", bits } = groups;
  const port = groups.port === undefined ? null : Number(groups.port);
  if (port !== null && (port < 1 || port > 65_535)) return null;
  if (host === "*") return bits === undefined ? { kind: "any", port } : null;
  const address = host.replace(/^\[|\]$/g, "");
  const family = isIP(address);
  if (family !== 0) return rangeOf(address, family, bits, port);
  if (bits !== undefined) return null;
  const below = host.startsWith("*.");
  const name = asciiName(below ? host.slice(2) : host);
  return name === null || isIP(name) !== 0 ? null : { kind: "name", name, below, port };
}

function rangeOf(address: string, family: number, bits: string | undefined, port: number | null): Entry | null {
  const [kind, most] = family === 4 ? (["ipv4", 32] as const) : (["ipv6", 128] as const);
  const width = bits === undefined ? most : Number(bits);
  if (width > most) return null;
  const list = new BlockList();
  list.addSubnet(address, width, kind);
  const holds = (one: string): boolean => {
    const plain = mappedIn(withoutZone(one)) ?? withoutZone(one);
    return isIP(plain) !== 0 && list.check(plain, isIPv4(plain) ? "ipv4" : "ipv6");
  };
  return { kind: "range", holds, port };
}

/** A host as it is compared: ASCII, lower case, no dot at its end. Null when it is no host. */
export function asciiName(host: string): string | null {
  const name = domainToASCII(host.replace(/\.$/, "")).toLowerCase();
  return name === "" ? null : name;
}
