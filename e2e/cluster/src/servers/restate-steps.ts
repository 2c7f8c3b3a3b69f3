/** What Restate alone takes for durable steps: the floor beside workers that it wakes. */
import { createServer } from "node:http2";
import * as restate from "@restatedev/restate-sdk";
import { freePort } from "./process.ts";
import { startRestate } from "./restate.ts";

/** `cpuOf`: CPU time of a process in microseconds. */
type Steps = Readonly<{ sessions: number; steps: number; cpuOf(pid: number): number }>;

/** So many invocations at once, each of so many steps one after the other; wall time of them all, and CPU of this process and the server. */
export async function measureSteps({ sessions, steps, cpuOf }: Steps): Promise<Readonly<{ wallMs: number; cpuUs: number }>> {
  const text = "x".repeat(1_000);
  const bench = restate.service({
    name: "bench",
    handlers: {
      walk: async (context: restate.Context, count: number): Promise<number> => {
        for (let i = 0; i < count; i += 1) await context.run(`step ${i}`, () => text);
        return count;
      },
    },
  });
  const server = createServer(restate.endpoint().bind(bench).http2Handler());
  const port = await freePort();
  await new Promise<void>((resolve) => void server.listen(port, "127.0.0.1", resolve));
  const engine = await startRestate();
  try {
    await engine.register(`http://127.0.0.1:${port}`);
    const walk = async (count: number): Promise<void> => {
      const answer = await fetch(`${engine.ingress}/bench/walk`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(count),
      });
      if (!answer.ok) throw new Error(`restate: ${answer.status} ${await answer.text()}`);
    };
    await walk(10);
    const pid = engine.pid() ?? 0;
    const [own, other, began] = [process.cpuUsage(), cpuOf(pid), performance.now()];
    await Promise.all(Array.from({ length: sessions }, () => walk(steps)));
    const wallMs = performance.now() - began;
    const { user, system } = process.cpuUsage(own);
    return { wallMs, cpuUs: user + system + cpuOf(pid) - other };
  } finally {
    await engine.stop();
    server.close();
  }
}
