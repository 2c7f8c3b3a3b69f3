/**
 * Who is meant by a host: a name in ASCII, an address, or a range of addresses. What is compared is what is used: the text that was given is
 * never passed on, so nothing that only looks like another host passes for it.
 *
 * T-19 a host is compared in ASCII: other scripts as punycode, addresses in their usual form only, an IPv4 address inside IPv6 as itself; a
 *     name whose label mixes scripts, or that reads like a number, is refused.
 */
import { hasMixedScripts } from "@orgate/core/vocab";

/** `bits` of an address are those of 4 or 6 bytes' worth; a range keeps the first of them. */
export type Host =
  | Readonly<{ kind: "name"; text: string }>
  | Readonly<{ kind: "address"; text: string; family: 4 | 6; bits: bigint }>
  | Readonly<{ kind: "range"; text: string; family: 4 | 6; bits: bigint; prefix: number }>;

export type ReadHost = Readonly<{ kind: "host"; host: Host }> | Readonly<{ kind: "bad"; why: string }>;

const bad = (why: string): ReadHost => ({ kind: "bad", why });
const host = (one: Host): ReadHost => ({ kind: "host", host: one });

/** A name or an address, without port, brackets or path. */
export function readHost(text: string): ReadHost {
  const four = fourOf(text);
  if (four !== null) return host({ kind: "address", text, family: 4, bits: four });
  if (text.includes(":")) {
    const six = sixOf(text);
    return six === null ? bad("is neither a host name nor an address") : host(six);
  }
  return nameOf(text);
}

/** The same, or a range such as `10.0.0.0/8`. */
export function readTarget(text: string): ReadHost {
  const slash = text.indexOf("/");
  return slash === -1 ? readHost(text) : readRange(text);
}

export function readRange(text: string): ReadHost {
  const [, base = "", length = ""] = /^([0-9a-fA-F:.]+)\/(0|[1-9][0-9]{0,2})$/.exec(text) ?? [];
  const read = base === "" ? bad("") : readHost(base);
  if (read.kind === "bad" || read.host.kind !== "address") return bad("is no range of addresses: write it as 10.0.0.0/8");
  const { family, bits } = read.host;
  const width = family === 4 ? 32 : 128;
  const prefix = Number(length);
  if (prefix > width) return bad(`has a prefix of ${prefix}: an address has ${width} bits`);
  const first = masked(bits, width, prefix);
  if (first !== bits) return bad(`names an address inside the range: the range itself is ${addressText(family, first)}/${prefix}`);
  return host({ kind: "range", text: `${read.host.text}/${prefix}`, family, bits, prefix });
}

const masked = (bits: bigint, width: number, prefix: number): bigint => (bits >> BigInt(width - prefix)) << BigInt(width - prefix);

/** Four decimal numbers, no other way of writing them. */
function fourOf(text: string): bigint | null {
  const parts = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/.exec(text)?.slice(1);
  if (parts === undefined || parts.some((part) => (part.length > 1 && part.startsWith("0")) || Number(part) > 255)) return null;
  return parts.reduce((bits, part) => (bits << 8n) | BigInt(part), 0n);
}

function sixOf(text: string): Host | null {
  const url = /^[0-9a-fA-F:.]+$/.test(text) ? URL.parse(`http://[${text}]/`) : null;
  if (url === null) return null;
  const plain = url.hostname.slice(1, -1);
  const [head = "", tail] = plain.split("::");
  const groups = (part: string): readonly string[] => (part === "" ? [] : part.split(":"));
  const [left, right] = [groups(head), groups(tail ?? "")];
  const all = tail === undefined ? left : [...left, ...Array.from({ length: 8 - left.length - right.length }, () => "0"), ...right];
  const bits = all.reduce((sum, group) => (sum << 16n) | BigInt(`0x${group}`), 0n);
  // an IPv4 address in the clothes of IPv6 reaches the IPv4 host, so it is compared as that
  return bits >> 32n === 0xffffn
    ? { kind: "address", text: addressText(4, bits & 0xffffffffn), family: 4, bits: bits & 0xffffffffn }
    : { kind: "address", text: plain, family: 6, bits };
}

export function addressText(family: 4 | 6, bits: bigint): string {
  if (family === 4) return [24n, 16n, 8n, 0n].map((shift) => String((bits >> shift) & 0xffn)).join(".");
  const groups = Array.from({ length: 8 }, (_, i) => ((bits >> BigInt(112 - 16 * i)) & 0xffffn).toString(16));
  return URL.parse(`http://[${groups.join(":")}]/`)?.hostname.slice(1, -1) ?? groups.join(":");
}

const LABEL = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;
const PLAIN = /^[a-z0-9.-]+$/;

function nameOf(given: string): ReadHost {
  const lower = given.toLowerCase();
  const name = PLAIN.test(lower) ? lower : asciiOf(given);
  if (name === null) return bad("is no host name");
  const text = name.endsWith(".") ? name.slice(0, -1) : name; // the root's own dot means the same host
  const labels = text.split(".");
  if (text.length > 253 || !labels.every((label) => LABEL.test(label))) return bad("is no host name");
  if (/^(?:\d+|0x[0-9a-f]*)$/.test(labels.at(-1) ?? "")) return bad("reads like an address: write it as four decimal numbers");
  for (const label of labels) {
    if (!label.startsWith("xn--")) continue;
    const shown = unicodeOf(label.slice(4));
    if (shown === null || asciiOf(`${shown}.`) !== `${label}.`) return bad(`has a label that stands for nothing: \`${label}\``);
    if (hasMixedScripts(shown)) return bad(`mixes scripts in \`${label}\`: it looks like another host`);
  }
  return host({ kind: "name", text });
}

/** Null where the rules for host names have no form for it. */
function asciiOf(text: string): string | null {
  if (/[\s\p{Cc}\p{Cf}/\\?#@:%[\]<>^|]/u.test(text)) return null;
  const url = URL.parse(`http://${text}/`);
  if (url === null || url.pathname !== "/" || url.search !== "" || url.port !== "" || url.username !== "" || url.hostname.startsWith("["))
    return null;
  return url.hostname;
}

/** RFC 3492, decoding only. */
function unicodeOf(encoded: string): string | null {
  const at = encoded.lastIndexOf("-");
  const out = at > 0 ? [...encoded.slice(0, at)] : [];
  let [n, i, bias] = [128, 0, 72];
  for (let pos = at > 0 ? at + 1 : 0; pos < encoded.length; ) {
    const before = i;
    for (let [w, k] = [1, 36]; ; k += 36) {
      const digit = digitOf(encoded.charCodeAt(pos++));
      if (digit === null || i > 0x7fffffff) return null;
      i += digit * w;
      const t = k <= bias ? 1 : k >= bias + 26 ? 26 : k - bias;
      if (digit < t) break;
      w *= 36 - t;
    }
    const count = out.length + 1;
    bias = adapted(i - before, count, before === 0);
    n += Math.floor(i / count);
    i %= count;
    if (n > 0x10ffff) return null;
    out.splice(i++, 0, String.fromCodePoint(n));
  }
  return out.join("");
}

function digitOf(code: number): number | null {
  if (code >= 0x61 && code <= 0x7a) return code - 0x61;
  return code >= 0x30 && code <= 0x39 ? code - 0x30 + 26 : null;
}

function adapted(delta: number, count: number, first: boolean): number {
  let rest = Math.floor(delta / (first ? 700 : 2));
  rest += Math.floor(rest / count);
  let k = 0;
  for (; rest > 455; k += 36) rest = Math.floor(rest / 35);
  return k + Math.floor((36 * rest) / (rest + 38));
}

/** Loopback, private, link-local, shared, test and reserved addresses, and the names that stand for them. */
export function isInternal(one: Host): boolean {
  if (one.kind === "name") return /(?:^|\.)(?:localhost|local|internal|intranet|lan|home\.arpa)$/.test(one.text) || !one.text.includes(".");
  const width = one.family === 4 ? 32 : 128;
  return INTERNAL.some((range) => range.family === one.family && overlaps(one, range, width));
}

const overlaps = (a: Exclude<Host, { kind: "name" }>, b: Exclude<Host, { kind: "name" }>, width: number): boolean => {
  const prefix = Math.min(a.kind === "range" ? a.prefix : width, b.kind === "range" ? b.prefix : width);
  return masked(a.bits, width, prefix) === masked(b.bits, width, prefix);
};

const INTERNAL = [
  "0.0.0.0/8",
  "10.0.0.0/8",
  "100.64.0.0/10",
  "127.0.0.0/8",
  "169.254.0.0/16",
  "172.16.0.0/12",
  "192.0.0.0/24",
  "192.168.0.0/16",
  "198.18.0.0/15",
  "224.0.0.0/4",
  "240.0.0.0/4",
  "::/127",
  "64:ff9b::/96",
  "fc00::/7",
  "fe80::/10",
  "ff00::/8",
].map((text) => {
  const read = readRange(text);
  if (read.kind === "bad" || read.host.kind === "name") throw new Error(`${text}: ${read.kind}`);
  return read.host;
});

/** Whether everything that `inner` means is meant by `outer`, and whether they have anything in common. */
export function hostCovers(outer: Host, inner: Host): boolean {
  if (outer.kind === "name" || inner.kind === "name") return outer.kind === inner.kind && outer.text === inner.text;
  if (outer.family !== inner.family) return false;
  const width = outer.family === 4 ? 32 : 128;
  const [wide, narrow] = [outer.kind === "range" ? outer.prefix : width, inner.kind === "range" ? inner.prefix : width];
  return narrow >= wide && masked(inner.bits, width, wide) === outer.bits;
}

export function hostsOverlap(a: Host, b: Host): boolean {
  if (a.kind === "name" || b.kind === "name") return a.kind === b.kind && a.text === b.text;
  return a.family === b.family && overlaps(a, b, a.family === 4 ? 32 : 128);
}
