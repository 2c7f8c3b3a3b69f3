/** The second entry of `orgate`: the server and its authentication. Separate from the first, so that a program that only runs agents loads none of it. */

export type { CoordinatorDesk, OpenDesk as OpenCoordinatorDesk } from "../coordinator/ports.ts";
export { type CoordinatorTools, coordinatorTools } from "../coordinator/tools.ts";
export { type AccessScope as Scope, type Act, act, type Caller } from "../operations/access.ts";
export { type CoordinatorPorts, openCoordinatorDesk } from "../operations/coordinator/desk.ts";
export { connectDesk as connectCoordinator, findCoordinatorAgents as coordinatorsAmong } from "./coordinator-tools.ts";
export { type Identity, type IdentityOptions, openIdentity } from "./identity/auth.ts";
export type { Access, IncomingRequest } from "./identity/authentication.ts";
export { openSockets } from "./live/sockets.ts";
export { type Coordinator, type CoordinatorOptions, openCoordinator } from "./start.ts";
