import type { Principal } from "@orgate/core/vocab";

/** On whose behalf a session runs, as the policies are told: nobody who is no person is taken for one of the same name. */
export const requesterName = ({ kind, id }: Principal): string => (kind === "user" ? id : `${kind}:${id}`);
