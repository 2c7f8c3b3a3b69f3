/** What survives what, and when it is signed: two settings of a journal. */

/**
 * What a power cut may take back; no crash of a process loses anything. `lose-nothing`: every transaction reaches the disk before anybody hears of it.
 * `lose-last-result`: results and requests to the model reach it together with the next start; the last call of a session may become an unknown
 * outcome. `lose-last-moments`: nothing waits for the disk, so calls of the last moments may be forgotten and made again; for tests.
 */
export const POWER_CUTS = Object.freeze(["lose-nothing", "lose-last-result", "lose-last-moments"] as const);
export type PowerCut = (typeof POWER_CUTS)[number];

/** `each`: every transaction carries a seal. `interval`: at the latest after SEAL_WITHIN_MS. */
export const SEAL_MODES = Object.freeze(["interval", "each"] as const);
export type SealMode = (typeof SEAL_MODES)[number];
