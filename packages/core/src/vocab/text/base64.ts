/** Base64 as RFC 4648 has it, read in pieces: `core` has no `Buffer`, and of a big file only the first bytes are read. */

const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const VALUES = new Uint8Array(128);
for (let i = 0; i < ALPHABET.length; i += 1) VALUES[ALPHABET.charCodeAt(i)] = i;

const valueAt = (text: string, at: number): number => VALUES[text.charCodeAt(at) & 127] ?? 0;

/** One text per value: padded, no line breaks, no bits left over. */
export function isBase64(text: string): boolean {
  if (text.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(text)) return false;
  const last = VALUES[text.replace(/=+$/, "").at(-1)?.charCodeAt(0) ?? 0x41] ?? 0;
  return text.endsWith("==") ? last % 16 === 0 : text.endsWith("=") ? last % 4 === 0 : true;
}

/** Of a text that is base64. */
export const countBase64Bytes = (text: string): number => (text.length / 4) * 3 - (text.endsWith("==") ? 2 : text.endsWith("=") ? 1 : 0);

/** The bytes from `from` to `to`, or to the end. */
export function decodeBase64(text: string, from: number, to: number): Uint8Array {
  const end = Math.min(to, countBase64Bytes(text));
  if (end <= from) return new Uint8Array(0);
  const first = Math.floor(from / 3);
  const groups = Math.ceil(end / 3) - first;
  const bytes = new Uint8Array(groups * 3);
  for (let g = 0; g < groups; g += 1) {
    const at = (first + g) * 4;
    const bits = (valueAt(text, at) << 18) | (valueAt(text, at + 1) << 12) | (valueAt(text, at + 2) << 6) | valueAt(text, at + 3);
    bytes[g * 3] = bits >> 16;
    bytes[g * 3 + 1] = bits >> 8;
    bytes[g * 3 + 2] = bits;
  }
  return bytes.subarray(from - first * 3, end - first * 3);
}
