/** Gives a standing order to everybody who works on the project, from a process of its own, and leaves. */
import { createRuntime, sha256, tableGate } from "orgate";
import { orders } from "./outlet.ts";
import { PERSON } from "./script.ts";

const [what, scope = "", reason = ""] = process.argv.slice(2);
const by = { kind: "user", id: PERSON } as const;
const { place, close } = await createRuntime({ directory: orders.directory, agents: [], gate: tableGate([], sha256), principal: by });
await place.orders.refresh();
if (what === "halt") await place.orders.halt({ kind: "work.halted", scope, by, reason });
else if (what === "resume") await place.orders.resume({ kind: "work.resumed", scope, by, reason });
else
  for (const grant of place.orders.now().grants.keys()) await place.orders.revoke({ kind: "grant.revoked", grant, by, reason: "enough" });
await close();
