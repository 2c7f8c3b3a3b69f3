/** A coordinator on a runtime, for one caller who may do everything: a policy that permits. */
import type { Person, Runtime } from "orgate";
import { type Access, openCoordinator } from "orgate/server";

type Coordinating = Readonly<{ runtime: Runtime; ann: Person }>;
type More = NonNullable<Parameters<typeof openCoordinator>[0]["more"]>;

/** `more`: what else it serves, made with the access of its caller. */
export function coordinate({ runtime, ann }: Coordinating, more?: (access: Access) => More): ReturnType<typeof openCoordinator> {
  const access: Access = {
    authenticate: async () => ({
      principal: { kind: "user", id: ann.name },
      person: ann,
      scope: { agents: null, actions: null, expiresAt: null },
    }),
    mayDo: () => null,
    watch: () => () => {},
  };
  return openCoordinator({
    runtime,
    access,
    host: "127.0.0.1",
    port: 0,
    version: "0",
    describe: () => ({}),
    bounds: { burst: 1e9, perSecond: 1e9 },
    ...(more === undefined ? {} : { more: more(access) }),
  });
}
