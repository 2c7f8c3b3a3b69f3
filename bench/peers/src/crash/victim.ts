/** The process that is killed, and the one that comes after it: does as it is told with one run, and says what came of it. */

import { lost, worldOf } from "./driver.ts";
import { drivers } from "./drivers.ts";
import { MARK, type Orders, type Outcome, READY } from "./wire.ts";

const orders: Orders = JSON.parse(process.argv[2] ?? "null");
const say = (outcome: Outcome): void => void process.stdout.write(`${MARK}${JSON.stringify(outcome)}\n`);

const peer = drivers.find(({ name }) => name === orders.peer);
if (peer === undefined) throw new Error(`there is no driver for ${orders.peer}`);
const driver = await peer.load();
process.stdout.write(`${READY}\n`);
const world = worldOf(orders.counter, orders.folder);
let last: Outcome = { kind: "parked" };
for (const move of orders.moves) {
  if (move === "answer" && last.kind !== "parked") continue; // nothing is asked
  let outcome: Outcome;
  try {
    outcome = await driver[move](world);
  } catch (error) {
    outcome = lost(`${move} failed: ${error instanceof Error ? error.message : String(error)}`);
  }
  say(outcome);
  if (outcome.kind === "lost") break;
  last = outcome;
}
if (orders.stay) setInterval(() => {}, 60_000);
else process.exit();
