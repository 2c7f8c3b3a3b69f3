/** The second door of `orgate`: the server and who is let in at it. Beside the first, so that whoever only runs agents loads none of it (R16). */
export { type Access, type Act, type Asking, act, type Caller, type Scope } from "./coordinator/access.ts";
export { type Identity, type IdentityOptions, openIdentity } from "./coordinator/auth.ts";
export { type Coordinator, type CoordinatorOptions, openCoordinator } from "./coordinator/coordinator.ts";
export { socketsOf } from "./coordinator/sockets.ts";
