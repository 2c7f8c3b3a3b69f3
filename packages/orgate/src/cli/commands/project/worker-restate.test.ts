// @module-tag postgres
/** Workers that a real Restate asks to drive: the cases of every other store, and messages that come twice and late. */
import { randomBytes } from "node:crypto";
import { expect, test } from "vitest";
import { openCluster, type WorkerStore, workerCases } from "../fixtures/worker-cases.ts";

const [ingress = "", admin = ""] = (process.env.ORGATE_TEST_RESTATE ?? "").split(" ");

function onRestate(schema = `r_${randomBytes(6).toString("hex")}`): WorkerStore {
  const restate = `[cluster.restate]\ningress = "${ingress}"\nadmin = "${admin}"\nport = 0\n`;
  return {
    settings: `[cluster]\ndatabase = { env = "TEST_DATABASE" }\nschema = "${schema}"\nlease_seconds = 2\n${restate}`,
    env: { TEST_DATABASE: process.env.ORGATE_TEST_POSTGRES ?? "" },
    send: async (session, handler) => {
      const answer = await fetch(`${ingress}/orgate-${schema}/${session}/${handler}/send`, { method: "POST" });
      if (!answer.ok) throw new Error(await answer.text());
    },
  };
}

workerCases(onRestate);

test("W-28 when the worker that Restate knows is killed, another makes itself known, once it had to find work by itself", async () => {
  const schema = `r_${randomBytes(6).toString("hex")}`;
  const { run, worker } = await openCluster(onRestate(schema));
  const asked = async <T>(path: string): Promise<T> => (await (await fetch(`${admin}${path}`)).json()) as T;
  const known = async (): Promise<string> => {
    const { deployment_id } = await asked<{ deployment_id: string }>(`/services/orgate-${schema}`);
    return (await asked<{ uri: string }>(`/deployments/${deployment_id}`)).uri.replace(/\/$/, "");
  };
  const first = await worker();
  const last = await worker();
  expect(await known()).toBe(last.told.restate);
  last.kill("SIGKILL");
  await last.ended;
  expect(await run(0, "look", 60_000)).toMatchObject({ ending: "completed" });
  await expect.poll(known, { timeout: 30_000 }).toBe(first.told.restate);
}, 120_000);
