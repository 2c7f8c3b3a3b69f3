/** Whom a person may have conducted: by the policies, wherever the words come from. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  type Agent,
  defineAgent,
  defineMiddleware,
  type Gate,
  type JsonObject,
  type Middleware,
  ORCHESTRATOR,
  ORCHESTRATOR_MODEL,
  type Surface,
  tableGate,
} from "@orgate/core";
import { afterEach, expect, test } from "vitest";
import { coordinatorTools } from "../../coordinator/tools.ts";
import { sha256 } from "../../node/crypto.ts";
import { findCoordinatorAgents } from "../../server/coordinator-tools.ts";
import { createRuntime } from "../runtime.ts";
import { listSubAgentRuns } from "../sub-agent-runs.ts";

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

const agent = (name: string): Agent => defineAgent({ name, instructions: "do it", model: "offline/echo" });
const conductor = defineAgent({
  name: ORCHESTRATOR,
  instructions: "conduct",
  model: ORCHESTRATOR_MODEL,
  delegates: ["a", "b"],
  limits: { refusedInARow: 1 },
});
const AGENTS = [conductor, agent("a"), agent("b")];
const all = tableGate([{ id: "all", action: "*", verdict: "allow" }], sha256);
const none = tableGate([], sha256);
/** Whoever is asked may run `a` alone. */
const gate: Gate = {
  ...all,
  decideFor: (user, act) => (act.kind === "run" && act.agent !== "a" ? none.decideFor(user, act) : all.decideFor(user, act)),
};

async function conducted(surface: Surface, line: string, middleware: readonly Middleware[] = []) {
  const directory = mkdtempSync(join(tmpdir(), "orgate-conducting-"));
  folders.push(directory);
  const runtime = await createRuntime({
    directory,
    agents: AGENTS,
    gate,
    principal: { kind: "user", id: "bob" },
    surface,
    middleware,
    powerCut: "lose-last-moments",
  });
  try {
    const result = await runtime.complete(ORCHESTRATOR, line);
    const members = await listSubAgentRuns(runtime.place.store.journal, result.session);
    return {
      result,
      members: members.map(({ agent: name, session, ending }) => `${name} ${session === null ? "not begun, " : ""}${ending}`),
    };
  } finally {
    await runtime.close();
  }
}

test("S-18 S-17 whoever may not run a member does not have it conducted, at whatever surface they speak; it is told among those that were to work", async () => {
  const { result, members } = await conducted("api", '/parallel a b "go"');
  expect(members).toEqual(["a completed", "b not begun, denied"]);
  expect(result.output).toContain(
    "## b did not complete\n\n[denied by middleware] delegate: leave-to-conduct: `bob` may not run `b`: no policy permits run",
  );
  const chain = await conducted("shell", '/chain b a "go"');
  expect([chain.result.ending, chain.members]).toEqual(["denied", ["b not begun, denied"]]);
});

test("S-18 what is looked at is what middleware has made of a delegation", async () => {
  const toB = defineMiddleware({
    name: "to-b",
    beforeTool: ({ args }) => ({ kind: "arguments", args: { ...(args as JsonObject), agent: "b" } }),
  });
  expect((await conducted("api", '/race a a "go"', [toB])).result.ending).toBe("denied");
});

test("S-18 at the machine itself no such leave is asked for, as for `orgate run`", async () => {
  expect((await conducted("cli", '/parallel a b "go"')).members).toEqual(["a completed", "b completed"]);
});

test("S-18 whoever else speaks in a session that was opened at the machine is asked for it", async () => {
  const directory = mkdtempSync(join(tmpdir(), "orgate-conducting-"));
  folders.push(directory);
  const runtime = await createRuntime({
    directory,
    agents: AGENTS,
    gate,
    principal: { kind: "user", id: "bob" },
    surface: "cli",
    powerCut: "lose-last-moments",
  });
  try {
    const { session } = await runtime.complete(ORCHESTRATOR, '/parallel a b "go"');
    const said = (who: string) => runtime.complete(ORCHESTRATOR, '/race b b "go"', { session, principal: { kind: "user", id: who } });
    expect([(await said("eve")).ending, (await said("bob")).ending]).toEqual(["denied", "completed"]);
  } finally {
    await runtime.close();
  }
});

test("S-18 limited access speaks with no conductor: it would reach every agent", () => {
  expect(findCoordinatorAgents(AGENTS, coordinatorTools())).toEqual(["coordinator", ORCHESTRATOR]);
});
