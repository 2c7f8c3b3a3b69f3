import type { Principal } from "@orgate/core/vocab";

/** The requester of a session as policies see it: a principal that is no person is never taken for a person of the same name. */
export const requesterName = ({ kind, id }: Principal): string => (kind === "user" ? id : `${kind}:${id}`);
