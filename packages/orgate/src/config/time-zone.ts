/** Zones that were looked up: a project has a few. */
const zones = new Set<string>();
const MOST_KNOWN = 1_000;

/** An IANA name, such as UTC or Europe/Berlin. */
export function isTimeZone(name: string): boolean {
  if (zones.has(name)) return true;
  if (!/^[A-Za-z][A-Za-z0-9_+/-]{0,63}$/.test(name)) return false; // offsets are no zones: they know no summer
  try {
    new Intl.DateTimeFormat("en", { timeZone: name });
    if (zones.size < MOST_KNOWN) zones.add(name);
    return true;
  } catch {
    return false;
  }
}
