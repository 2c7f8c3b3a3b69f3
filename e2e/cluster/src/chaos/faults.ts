/** Faults by seed: which one comes next, to whom, and for how long. The machine's own timing is not repeated. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Random } from "@orgate/e2e/seeded";
import type { ServerProcess } from "../servers/process.ts";
import type { TcpProxy } from "../servers/proxy.ts";

/** `run` resolves to how many processes it killed with -9; one that cannot be started again at once is started later. */
export type Fault = Readonly<{ name: string; weight: number; run(random: Random): Promise<number> }>;

const startAgain = (server: ServerProcess): Promise<void> => server.start().catch(() => {});

/** kill -9, and a new process after a while. */
export const killOne = (name: string, servers: readonly ServerProcess[], weight: number): Fault => ({
  name: `kill -9 ${name}`,
  weight,
  async run(random) {
    const victim = random.pick(servers);
    await victim.kill();
    await sleep(random.between(0, 300));
    await startAgain(victim);
    return 1;
  },
});

/** Again and again the same one, after lives of at most `ms`: into its start, its enrolment, its first steps. The others go on meanwhile. */
export const crashLoop = (name: string, servers: readonly ServerProcess[], ms: number, weight: number): Fault => ({
  name: `kill -9 ${name} again and again`,
  weight,
  async run(random) {
    const victim = random.pick(servers);
    const times = 2 + random.below(6);
    for (let n = 0; n < times; n += 1) {
      await victim.kill();
      await startAgain(victim);
      await sleep(random.between(0, ms));
    }
    return times;
  },
});

/** All at once: nobody is left to take over. */
export const killAll = (name: string, servers: readonly ServerProcess[], weight: number): Fault => ({
  name: `kill -9 every ${name}`,
  weight,
  async run() {
    await Promise.all(servers.map((server) => server.kill()));
    await Promise.all(servers.map(startAgain));
    return servers.length;
  },
});

/** SIGSTOP for longer than anybody waits for it, then it goes on as if nothing had happened. */
export const freezeOne = (name: string, servers: readonly ServerProcess[], ms: number, weight: number): Fault => ({
  name: `SIGSTOP ${name}`,
  weight,
  async run(random) {
    const victim = random.pick(servers);
    victim.freeze();
    await sleep(random.between(ms / 2, ms));
    victim.thaw();
    return 0;
  },
});

/** SIGTERM: it parks its turns, and a new process takes them up. */
export const drainOne = (name: string, servers: readonly ServerProcess[], weight: number): Fault => ({
  name: `SIGTERM ${name}`,
  weight,
  async run(random) {
    const victim = random.pick(servers);
    await victim.stop();
    await startAgain(victim);
    return 0;
  },
});

/** The network between one process and its database: cut once, silent for a while, slow for a while, closed for a while. */
export function cutOff(name: string, lines: readonly TcpProxy[], ms: number, weight: number): readonly Fault[] {
  const forAWhile = (what: string, begin: (line: TcpProxy) => void): Fault => ({
    name: `${what} ${name}`,
    weight: weight / 4,
    async run(random) {
      const line = random.pick(lines);
      begin(line);
      await sleep(random.between(0, ms));
      line.open();
      return 0;
    },
  });
  return [
    forAWhile("cut", (line) => line.cut()),
    forAWhile("stall", (line) => line.stall()),
    forAWhile("delay", (line) => line.delay(100)),
    forAWhile("separate", (line) => line.close()),
  ];
}

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
