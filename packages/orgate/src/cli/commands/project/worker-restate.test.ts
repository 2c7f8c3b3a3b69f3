// @module-tag postgres
/** Workers that a real Restate asks to drive: the cases of every other store, and messages that come twice and late. */
import { randomBytes } from "node:crypto";
import { workerCases } from "../fixtures/worker-cases.ts";

const [ingress = "", admin = ""] = (process.env.ORGATE_TEST_RESTATE ?? "").split(" ");

workerCases(() => {
  const schema = `r_${randomBytes(6).toString("hex")}`;
  const restate = `[cluster.restate]\ningress = "${ingress}"\nadmin = "${admin}"\nport = 0\n`;
  return {
    settings: `[cluster]\ndatabase = { env = "TEST_DATABASE" }\nschema = "${schema}"\nlease_seconds = 2\n${restate}`,
    env: { TEST_DATABASE: process.env.ORGATE_TEST_POSTGRES ?? "" },
    send: async (session, handler) => {
      const answer = await fetch(`${ingress}/orgate-${schema}/${session}/${handler}/send`, { method: "POST" });
      if (!answer.ok) throw new Error(await answer.text());
    },
  };
});
