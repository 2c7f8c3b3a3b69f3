/** What talks over the sockets, and what else stands on the same fan-out. */
import { millis } from "@orgate/core";
import type { Access } from "./access.ts";
import { toolOf } from "./acts.ts";
import { openConnection } from "./connection.ts";
import { type Fanout, openFanout } from "./fanout.ts";
import { errorText, type Log } from "./logs.ts";
import type { Front } from "./routes/front.ts";
import type { Talks } from "./server.ts";
import { whoseOf } from "./sight.ts";

export type Sockets = Readonly<{ talks: Talks; fanout: Fanout }>;

export function socketsOf({ runtime, floor, now }: Front, access: Access, log: Log): Sockets {
  const { journal } = runtime.place.store;
  const fanout = openFanout(journal, runtime.subscribe);
  const ports = {
    access,
    floor,
    journal,
    whose: whoseOf(journal),
    open: async (agent: string, external: string, { principal }: { readonly principal: Parameters<Access["mayDo"]>[0]["principal"] }) =>
      (await runtime.sessions.create({ agent, id: external, principal })).session,
    unknownTool: (session: Parameters<typeof toolOf>[1], call: string) => toolOf(runtime, session, call),
    fanout,
    position: journal.position,
    now: () => millis(now()),
    unforeseen: (error: unknown) => log("error", "socket.failed", { error: errorText(error) }),
  };
  return { fanout, talks: { "/ws/v1": (caller, id, duplex) => openConnection(ports, caller, id, duplex) } };
}
