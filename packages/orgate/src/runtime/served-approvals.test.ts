/** What a person is shown of a session before they answer: labels and the subject, of whatever turn they come from. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Agent, defineAgent, defineTool, type Model } from "@orgate/core";
import { afterEach, expect, test } from "vitest";
import * as z from "zod";
import { ed25519 } from "../node/crypto.ts";
import { createPerson } from "../store/keyring.ts";
import { gateOf } from "./fixtures/counted-sessions.ts";
import { createRuntime } from "./runtime.ts";

const ends: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
});

const input = z.strictObject({ id: z.string() });
const reading = { effects: ["read"], repeat: "read" } as const;
const noted: string[] = [];
const TOOLS = [
  defineTool({
    ...reading,
    name: "sign_in",
    description: "authenticates",
    input,
    labels: [],
    records: [{ type: "customer", key: "id", establishes: "subject" }],
    run: ({ id }) => ({ id }),
  }),
  defineTool({ ...reading, name: "fetch", description: "reads a page", input, run: () => "a page" }),
  defineTool({ name: "note", description: "notes", input, effects: ["write"], labels: [], run: ({ id }) => noted.push(id) }),
];
const POLICIES = `permit (principal, action in [Action::"model", Action::"respond", Action::"read"], resource);
permit (principal is User, action, resource);
@id("ask-note") @ask("note it?") @grant("tool session") permit (principal, action == Action::"tool:note", resource);`;

const script = (...steps: readonly (readonly [tool: string, id: string] | null)[]) => {
  let at = 0;
  return (_: Agent): Model => ({
    id: "test/script",
    ask: async () => {
      const step = steps[at++] ?? null;
      const usage = { input: 10, output: 5 };
      if (step === null) return { parts: [{ kind: "text", text: "done", meta: null }], finish: "stop", usage, model: "script", meta: null };
      const call = { kind: "call", id: `c${at}`, tool: step[0], text: JSON.stringify({ id: step[1] }), meta: null } as const;
      return { parts: [call], finish: "calls", usage, model: "script", meta: null };
    },
  });
};

test("Q-9 Q-25 a request shows the labels and the subject of the session, also those of earlier turns; the grant is for these, and the next customer is asked about", async () => {
  const folder = mkdtempSync(join(tmpdir(), "orgate-served-"));
  const runtime = await createRuntime({
    directory: join(folder, ".orgate"),
    agents: [defineAgent({ name: "clerk", instructions: "do it", model: "test/script", tools: TOOLS })],
    gate: gateOf(POLICIES, TOOLS),
    principal: { kind: "user", id: "ann" },
    model: script(["sign_in", "C-1"], ["fetch", "x"], null, ["note", "one"], ["note", "two"], null, ["sign_in", "C-2"], ["note", "three"]),
    powerCut: "lose-last-moments",
  });
  ends.push(
    () => runtime.close(),
    () => rmSync(folder, { recursive: true, force: true }),
  );
  const ann = createPerson(join(folder, "home"), "ann", ed25519);
  await runtime.place.keyring.certifyPerson("ann", ann.key.publicKey);
  const { session } = await runtime.complete("clerk", "sign in and read");
  const asked = async (text: string) => {
    const { questions } = await runtime.complete("clerk", text, { session });
    const view = await runtime.approvals.show(questions[0]?.approval ?? "");
    if (view === null) throw new Error("nothing is asked");
    return view;
  };
  const first = await asked("note it");
  expect([first.subject, first.shown]).toMatchObject(["C-1", { labels: ["untrusted"], subject: "C-1" }]);
  expect(first.grants.at(-1)?.says).toBe(
    "every later call of note, whatever its arguments, in this session while it serves C-1, while no new label joins the session (it has untrusted)",
  );
  await runtime.approvals.answer(
    { approval: first.approval, digest: first.digest, answer: { kind: "grant", grant: { scope: "tool", until: "session" } } },
    ann,
  );
  expect(noted).toEqual(["one", "two"]);
  expect(await runtime.approvals.grants()).toMatchObject([{ subject: "C-1", labels: ["untrusted"] }]);
  const next = await asked("and for the next customer");
  expect([next.subject, next.again, noted]).toEqual(["C-2", expect.stringContaining("for another subject"), ["one", "two"]]);
});
