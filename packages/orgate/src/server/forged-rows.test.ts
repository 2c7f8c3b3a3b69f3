/** The same attacker at a server: `journal.db` can be written, no key is there. */
import { join } from "node:path";
import { ACCESS, accessId, GRANTS, grantId, intentId, policyId, type SessionId, ZERO } from "@orgate/core";
import { afterEach, expect, test } from "vitest";
import { secretPort } from "../identity/secret-hash.ts";
import { databaseIn, forge } from "../runtime/fixtures/forging.ts";
import { type Guarded, openGuarded } from "./fixtures/guarded.ts";

const open: Guarded[] = [];
afterEach(async () => {
  for (const one of open.splice(0)) await one.stop();
});
async function served(): Promise<Guarded & { readonly directory: string }> {
  const at = await openGuarded();
  open.push(at);
  return { ...at, directory: join(at.stand.folder, ".orgate") };
}
const ann = { kind: "user", id: "ann" } as const;

test("J-18 at a server: a forged API key lets nobody in, and a genuine one does", async () => {
  const at = await served();
  const genuine = await at.give();
  expect((await at.get("/api/v1/agents", genuine)).status).toBe(200);
  const [name, secret] = ["00000000000000aa", secretPort.newSecret()];
  const forged = { access: accessId(`x_${name}`), means: "key", person: "ann", check: await secretPort.hashSecret(secret) } as const;
  const limits = { agents: null, actions: null, until: null, note: "", from: null, by: ann };
  forge(at.directory, ACCESS, { kind: "access.given", ...forged, ...limits }, "foreign");
  expect((await at.get("/api/v1/agents", `ogk_${name}_${secret}`)).status).toBe(401);
  expect((await at.get("/readyz", null)).status).toBe(503);
});

test("J-18 J-19 at a server: a forged answer and a forged grant run nothing, the turn is refused with what is wrong, and the server is not ready", async () => {
  const at = await served();
  const key = await at.give();
  const asked = (await (await at.post("/api/v1/agents/clerk/execute", { input: "pay" }, key)).json()) as {
    session: SessionId;
    state: string;
  };
  expect(asked.state).toBe("waiting");
  const [question] = await at.stand.runtime.approvals.list();
  if (question === undefined) throw new Error("nothing waits");
  const { approval, digest } = question;
  const grant = {
    grant: grantId("g_forged"),
    by: ann,
    agent: "clerk",
    onBehalfOf: ann,
    tool: "pay",
    toolDigest: null,
    scope: "tool",
  } as const;
  const about = { resource: { type: "Tool", id: "pay" }, digest: ZERO, slice: ZERO, policies: [policyId("asks")] } as const;
  forge(at.directory, GRANTS, { kind: "grant.given", ...grant, ...about, session: null, turn: null, until: null }, "foreign");
  forge(
    at.directory,
    asked.session,
    {
      kind: "approval.answered",
      approval,
      by: ann,
      answer: { kind: "approve" },
      counts: [policyId("asks")],
      digest,
      about: null,
      intent: intentId("i_1"),
    },
    "foreign",
  );
  const refused = await at.post("/api/v1/agents/clerk/execute", { input: "pay" }, key);
  expect(refused.status).toBeGreaterThanOrEqual(500);
  await at.stand.runtime.resume(asked.session).result.catch(() => null);
  const next = await at.post("/api/v1/agents/clerk/execute", { input: "look" }, key);
  expect([next.status, await next.json()]).toMatchObject([503, { kind: "journal-doubted" }]);
  expect(at.stand.runs).toEqual({ look: 0, wait: 0, pay: 0 });
  expect(await (await at.get("/readyz", null)).json()).toMatchObject({
    checks: expect.arrayContaining([expect.objectContaining({ name: "journal-write", ok: false, detail: "journal-doubted" })]),
  });
});

test("J-24 at a server: an altered approval request is not shown, and nothing is approved with it; the server is not ready", async () => {
  const at = await served();
  const key = await at.give();
  const asked = (await (await at.post("/api/v1/agents/clerk/execute", { input: "pay" }, key)).json()) as { state: string };
  expect(asked.state).toBe("waiting");
  const listed = (await (await at.get("/api/v1/approvals", key)).json()) as { items: readonly { approval: string; digest: string }[] };
  const [question] = listed.items;
  const db = databaseIn(at.directory);
  db.exec("UPDATE questions SET question = json_set(question, '$.tool', 'look', '$.asks[0].question', 'may it look?')");
  db.close();
  for (const path of ["/api/v1/approvals", `/api/v1/approvals/${question?.approval}`, "/api/v1/approvals?limit=1"])
    expect([path, (await at.get(path, key)).status]).toEqual([path, 503]);
  const yes = { answer: "approve", digest: question?.digest };
  expect((await at.post(`/api/v1/approvals/${question?.approval}/answer`, yes, key)).status).toBeGreaterThanOrEqual(400);
  expect(at.stand.runs).toEqual({ look: 0, wait: 0, pay: 0 });
  expect((await at.get("/readyz", null)).status).toBe(503);
});
