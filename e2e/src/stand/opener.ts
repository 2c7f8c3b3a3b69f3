/** A fresh process that opens the project, ready to drive whatever comes, and says how much memory it has then. */
import { join } from "node:path";
import { cedarPolicies, createRuntime } from "orgate";
import { deskAgent } from "./desk-agent.ts";
import { orders, tell } from "./outlet.ts";
import { PERSON } from "./script.ts";

const agents = [deskAgent("requests.log")];
const gate = cedarPolicies({ directory: join(orders.directory, "..", "policies"), agents });
const runtime = await createRuntime({ directory: orders.directory, agents, gate, principal: { kind: "user", id: PERSON } });
const waiting = await runtime.inspect.sessions({ state: "waiting", agent: null, before: null, most: 10 });
if (waiting.length !== 10) throw new Error(`${waiting.length} sessions wait, not 10 or more`);
for (let i = 0; i < 3; i += 1) globalThis.gc?.();
tell({ kind: "memory", rss: process.memoryUsage().rss });
await runtime.close();
