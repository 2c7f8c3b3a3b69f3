/** Base64 as RFC 4648 has it, read in pieces: `core` has no `Buffer`, and of a big file only its first bytes are looked at. */

const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const VALUES = new Uint8Array(128);
for (let i = 0; i < ALPHABET.length; i += 1) VALUES[ALPHABET.charCodeAt(i)] = i;

/** One text per value: padded, no line breaks, no bits left over. */
export function isBase64(text: string): boolean {
  if (text.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(text)) return false;
  const last = VALUES[text.replace(/=+$/, "").at(-1)?.charCodeAt(0) ?? 0x41] ?? 0;
  return text.endsWith("==") ? last % 16 === 0 : text.endsWith("=") ? last % 4 === 0 : true;
}

/** Of a text that is base64. */
export const base64Bytes = (text: string): number => (text.length / 4) * 3 - (text.endsWith("==") ? 2 : text.endsWith("=") ? 1 : 0);

/** The bytes from `from` to `to`, or to the end. */
export function bytesIn(text: string, from: number, to: number): Uint8Array {
  const end = Math.min(to, base64Bytes(text));
  const bytes = new Uint8Array(Math.max(0, end - from));
  for (let at = from; at < end; at += 1) {
    const group = Math.floor(at / 3) * 4;
    const shift = 16 - (at % 3) * 8;
    let bits = 0;
    for (let i = 0; i < 4; i += 1) bits = (bits << 6) | (VALUES[text.charCodeAt(group + i) & 127] ?? 0);
    bytes[at - from] = (bits >> shift) & 255;
  }
  return bytes;
}
