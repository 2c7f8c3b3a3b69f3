/** Patterns of manifests. */

/** Rust's inline flags at the beginning are understood; what JavaScript does not know is not. */
export function patternOf(text: string): RegExp | null {
  const [, inline = ""] = /^\(\?([ims]+)\)/.exec(text) ?? [];
  const body = inline === "" ? text : text.slice(inline.length + 3);
  for (const flags of [`${inline}u`, inline]) {
    try {
      return new RegExp(body, flags);
    } catch {
      // without `u`, more escapes are let through
    }
  }
  return null;
}
