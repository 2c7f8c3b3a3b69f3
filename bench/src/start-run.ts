/** Started by `start.ts` as a process of its own: opens a runtime, and runs one session or says what an idle runtime holds. */
import { openBench } from "./places.ts";

const [folder = ".", what] = process.argv.slice(2);
const bench = await openBench(folder, { powerCut: "lose-nothing", thread: "main" });
if (what === "run") await bench.session(1);
else {
  const { rss, heapUsed } = process.memoryUsage();
  console.log(`says now ${(rss / 2 ** 20).toFixed(0)} MB resident, ${(heapUsed / 2 ** 20).toFixed(1)} MB heap`);
}
await bench.runtime.close();
