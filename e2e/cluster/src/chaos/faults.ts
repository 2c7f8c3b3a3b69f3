/** Faults by seed: which one comes next, to whom, and for how long. The machine's own timing is not repeated. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Random } from "@orgate/e2e/seeded";
import type { ServerProcess } from "../servers/process.ts";

/** `kills`: how many processes it killed with -9. */
export type Fault = Readonly<{ name: string; weight: number; kills: number; run(random: Random): Promise<void> }>;

/** kill -9, and a new process after a while. */
export const killOne = (name: string, servers: readonly ServerProcess[], weight: number): Fault => ({
  name: `kill -9 ${name}`,
  weight,
  kills: 1,
  async run(random) {
    const victim = random.pick(servers);
    await victim.kill();
    await sleep(random.between(0, 300));
    await victim.start();
  },
});

/** All at once: nobody is left to take over. */
export const killAll = (name: string, servers: readonly ServerProcess[], weight: number): Fault => ({
  name: `kill -9 every ${name}`,
  weight,
  kills: servers.length,
  async run() {
    await Promise.all(servers.map((server) => server.kill()));
    await Promise.all(servers.map((server) => server.start()));
  },
});

/** SIGSTOP for longer than anybody waits for it, then it goes on as if nothing had happened. */
export const freezeOne = (name: string, servers: readonly ServerProcess[], ms: number, weight: number): Fault => ({
  name: `SIGSTOP ${name}`,
  weight,
  kills: 0,
  async run(random) {
    const victim = random.pick(servers);
    victim.freeze();
    await sleep(random.between(ms / 2, ms));
    victim.thaw();
  },
});

/** SIGTERM: it parks its turns, and a new process takes them up. */
export const drainOne = (name: string, servers: readonly ServerProcess[], weight: number): Fault => ({
  name: `SIGTERM ${name}`,
  weight,
  kills: 0,
  async run(random) {
    const victim = random.pick(servers);
    await victim.stop();
    await victim.start();
  },
});

export function pickFault(faults: readonly Fault[], random: Random): Fault {
  let left = random.between(
    0,
    faults.reduce((sum, { weight }) => sum + weight, 0),
  );
  const found = faults.find(({ weight }) => {
    left -= weight;
    return left < 0;
  });
  return found ?? random.pick(faults);
}
