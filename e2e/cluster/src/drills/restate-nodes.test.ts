/** Three Restate nodes, one of which dies: every session is driven to its end. That nothing is driven twice is the lease's work, not Restate's. */
import { once } from "node:events";
import { createServer } from "node:http2";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import * as restate from "@restatedev/restate-sdk";
import { connect, HttpCallError } from "@restatedev/restate-sdk-clients";
import { expect, test } from "vitest";
import { startThreeRestates } from "../servers/restate.ts";

const SESSIONS = 12;
const STEPS = 10;

test("with replication 2, kill -9 of one node of three: sessions under way and new ones reach their end through another node", async () => {
  const ran = new Map<string, number>();
  const session = restate.object({
    name: "session",
    handlers: {
      advance: async (context: restate.ObjectContext): Promise<number> => {
        for (let step = 0; step < STEPS; step += 1) {
          await context.run(`step ${step}`, () => {
            const name = `${context.key} ${step}`;
            ran.set(name, (ran.get(name) ?? 0) + 1);
          });
          await context.sleep(20);
        }
        return STEPS;
      },
    },
  });
  const service = createServer(restate.createEndpointHandler({ services: [session] })).listen(0, "127.0.0.1");
  await once(service, "listening");
  const nodes = await startThreeRestates();
  try {
    const [first, second] = nodes;
    if (first === undefined || second === undefined) throw new Error("there are no nodes");
    await first.register(`http://127.0.0.1:${(service.address() as AddressInfo).port}`);
    const through = connect({ url: second.ingress });
    const advance = async (key: string): Promise<number> => {
      for (;;) {
        try {
          return await through.objectClient<typeof session>({ name: "session" }, key).advance();
        } catch (error) {
          if (!(error instanceof HttpCallError && error.status === 404)) throw error; // the other nodes hear of a service a little later
          await sleep(20);
        }
      }
    };
    const sent = Array.from({ length: SESSIONS }, (_, i) => advance(`s_${i}`));
    while (ran.size < SESSIONS) await sleep(5); // they are under way
    await first.kill();
    const more = Array.from({ length: SESSIONS }, (_, i) => advance(`t_${i}`));
    expect(await Promise.all([...sent, ...more])).toEqual(Array.from({ length: 2 * SESSIONS }, () => STEPS));
    expect(ran.size).toBe(2 * SESSIONS * STEPS);
    await first.start();
  } finally {
    for (const node of nodes) await node.kill();
    service.close();
  }
});
