/** The second door of `orgate`: the server and who is let in at it. Beside the first, so that whoever only runs agents loads none of it (R16). */
export { type Access, type AccessScope as Scope, type Act, type Asking, act, type Caller } from "./identity/access.ts";
export { type Identity, type IdentityOptions, openIdentity } from "./identity/auth.ts";
export { socketsOf } from "./live/sockets.ts";
export { type Coordinator, type CoordinatorOptions, openCoordinator } from "./start.ts";
