import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { Screen } from "@orgate/shell/terminal";
import { afterAll, expect, test } from "vitest";
import { askingDesk, parked, withPeople } from "../cli/commands/fixtures/asking.ts";
import type { Desk } from "../cli/commands/fixtures/desk.ts";
import { livePrinter } from "../cli/commands/sessions/run.ts";
import { checkNotice } from "./notice-webhook.ts";

const desks: Desk[] = [];
const servers: Server[] = [];
afterAll(async () => {
  for (const desk of desks) desk.remove();
  for (const server of servers) server.close();
});

async function receiver(): Promise<{ url: string; got: { body: string; signature: string }[] }> {
  const got: { body: string; signature: string }[] = [];
  const server = createServer((request, response) => {
    let body = "";
    request.setEncoding("utf8").on("data", (piece: string) => {
      body += piece;
    });
    request.on("end", () => {
      got.push({ body, signature: String(request.headers["orgate-signature"]) });
      response.writeHead(got.length === 1 ? 500 : 204).end(); // the first is lost
    });
  });
  servers.push(server);
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, got };
}

test("Q-26 a run of the command line tells the project's webhook, signed, again when it failed, and never what the arguments hold", async () => {
  const { url, got } = await receiver();
  const desk = askingDesk(undefined, `[notify]\nwebhook = ${JSON.stringify(url)}\nsecret_env = "HOOK_SECRET"\n`);
  desks.push(desk);
  await withPeople(desk, "ana", "eve");
  const run = await desk.start(["run", "clerk", "--input", "pay", "--as", "eve", "--json"], undefined, { HOOK_SECRET: "s3cret" }).ended;
  expect([run.code, run.stderr]).toEqual([3, ""]);
  const { session, questions } = JSON.parse(run.stdout) as { session: string; questions: { approval: string; digest: string }[] };
  expect(got).toHaveLength(2);
  expect(got[0]?.body).toBe(got[1]?.body);
  for (const { body, signature } of got) expect(checkNotice("s3cret", signature, body, { nowMs: Date.now() })).toBe(true);
  const [asked] = questions;
  expect(JSON.parse(got[1]?.body ?? "")).toMatchObject({
    project: "till",
    session,
    agent: "clerk",
    tool: "pay",
    resource: { type: "Account", id: "ben" },
    arguments: ["cents", "memo", "to"],
    approval: asked?.approval,
    digest: asked?.digest,
    questions: [{ policy: "desk/pays", question: "May it pay this?", approvers: ["ops"], quorum: 1 }],
    expiresAt: expect.any(Number),
  });
  expect(JSON.stringify(got)).not.toMatch(/CANARY|s3cret/);

  const silent = await desk.orgate("run", "clerk", "--input", "pay", "--as", "eve", "--json"); // without the secret nothing is sent, and it is said
  expect([silent.code, silent.stderr]).toEqual([3, expect.stringContaining("$HOOK_SECRET, which signs them, is not set")]);
  expect(got).toHaveLength(2);
});

test("Q-26 a webhook that nobody answers fails no run, and is said", async () => {
  const desk = askingDesk(undefined, '[notify]\nwebhook = "http://127.0.0.1:1/"\nsecret_env = "HOOK_SECRET"\n');
  desks.push(desk);
  await withPeople(desk, "ana", "eve");
  const run = await desk.start(["run", "clerk", "--input", "pay", "--as", "eve"], undefined, { HOOK_SECRET: "s3cret" }).ended;
  expect([run.code, run.stderr]).toEqual([3, expect.stringMatching(/the notice of a_\w+ was not delivered: fetch failed/)]);
  expect(await parked(desk, "pay")).toMatchObject({ tool: "pay" });
});

test("Q-26 a terminal rings for a question, and nothing else does", async () => {
  const written = (isTerminal: boolean): string => {
    let out = "";
    const screen = {
      write: (text: string) => {
        out += text;
      },
      line: (text = "") => {
        out += `${text}\n`;
      },
      paint: (_tone: string, text: string) => text,
      isTerminal,
    } as unknown as Screen;
    const printer = livePrinter(screen);
    const entry = { stream: "s_1", seq: 1, at: 0 };
    const asks = [{ policy: "p", question: "may it?" }];
    const events = [
      { kind: "turn.cancel-asked", by: { kind: "user", id: "ana" }, reason: "x", intent: null },
      { kind: "approval.asked", approval: "a_1", action: "1.0", digest: "d", asks, expiresAt: null, again: null },
    ];
    for (const event of events) printer.on({ kind: "entry", entry: { ...entry, event } } as unknown as Parameters<typeof printer.on>[0]);
    return out;
  };
  expect(written(true).split("\u0007")).toHaveLength(2);
  expect(written(true)).toMatch(/\u0007 {2}\? a_1: may it\?/);
  expect(written(false)).not.toContain("\u0007");
});
