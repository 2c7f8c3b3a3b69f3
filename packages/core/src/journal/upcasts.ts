/**
 * From older versions of a kind to the present one, when an entry is read. Stored bytes stay as they are, so what was hashed still is.
 * J-10 one step per version; a journal of every version that was ever published is a fixture, and is folded by the tests.
 */
import type { EventKind, JsonObject } from "../vocab/index.ts";

/** From one version of a payload to the next. In memory only: stored bytes stay as they are. */
export type Upcast = (payload: JsonObject) => JsonObject;
/** Per kind, what leads from version 1 to 2, from 2 to 3, … A kind's own version is one more than it has steps. */
export type Upcasts = Readonly<Partial<Record<EventKind, readonly Upcast[]>>>;

/** None yet: every kind is at its first version. */
export const UPCASTS: Upcasts = {};
