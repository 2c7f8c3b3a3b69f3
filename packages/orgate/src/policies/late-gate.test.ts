import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Agent, defineAgent, defineTool, type Gate, tableGate, type Verdict } from "@orgate/core";
import { afterEach, describe, expect, test } from "vitest";
import * as z from "zod";
import { ed25519, sha256 } from "../node/crypto.ts";
import type { Runtime } from "../runtime/api.ts";
import { createRuntime } from "../runtime/runtime.ts";
import { createPerson } from "../store/keyring.ts";
import { type LateAnswer, type LateFacts, lateGate } from "./late-gate.ts";

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});
function folder(): string {
  const made = mkdtempSync(join(tmpdir(), "orgate-late-"));
  folders.push(made);
  return made;
}

const PERMISSIVE = tableGate([{ id: "all", action: "*", verdict: "allow" }], sha256);
type Answer = (facts: LateFacts, asked: number, runtime: Runtime) => Promise<unknown>;

/** One call of `pay`; the late gate is asked about that call only. */
async function payUnder(answer: Answer, gate: Gate = PERMISSIVE, timeoutMs = 10_000) {
  const paid: number[] = [];
  let asked = 0;
  const agent: Agent = defineAgent({
    name: "payer",
    instructions: "Pay.",
    model: "offline/payer",
    modelOptions: { rules: [{ when: { notCalled: ["pay"] }, calls: [{ tool: "pay", args: { cents: 5 } }] }, { say: "Done." }] },
    tools: [
      defineTool({
        name: "pay",
        description: "Pays.",
        input: z.strictObject({ cents: z.int() }),
        run: async ({ cents }) => {
          paid.push(cents);
          return "paid";
        },
      }),
    ],
  });
  const late = lateGate({
    name: "desk",
    gate,
    timeoutMs,
    answer: (action, facts) => {
      if (action.kind !== "call") return Promise.resolve({ kind: "allow" });
      asked += 1;
      return answer(facts, asked, runtime) as Promise<LateAnswer>;
    },
  });
  const runtime: Runtime = await createRuntime({
    directory: folder(),
    agents: [agent],
    gate: late,
    principal: { kind: "user", id: "ada" },
  });
  try {
    const { events, ...result } = await runtime.complete("payer", "Pay.");
    const verdicts: Verdict[] = events.flatMap(({ event }) =>
      event.kind === "gate.decided" && event.action.kind === "call" ? [event.verdict] : [],
    );
    return { paid, asked, verdicts, ending: result.ending ?? result.state };
  } finally {
    await runtime.close();
  }
}
const reasonIn = (verdict: Verdict | undefined): string => (verdict?.kind === "deny" ? verdict.reason : "");

describe("a gate that answers later", () => {
  test("lets a call run once it has answered, and is named in the decision", async () => {
    const { paid, verdicts } = await payUnder(async () => ({ kind: "allow" }));
    expect(paid).toEqual([5]);
    expect(verdicts.map(({ kind, because }) => [kind, because])).toEqual([["allow", ["all", "late/desk"]]]);
  });

  test("denies with its reason", async () => {
    const { paid, verdicts } = await payUnder(async () => ({ kind: "deny", reason: "not on Mondays" }));
    expect([paid, reasonIn(verdicts[0])]).toEqual([[], "not on Mondays"]);
  });

  test("G-38 denies when it throws", async () => {
    const { paid, verdicts } = await payUnder(() => Promise.reject(new Error("no connection")));
    expect([paid, reasonIn(verdicts[0])]).toEqual([[], "it failed: no connection"]);
  });

  test("denies when it throws before it returns a promise", async () => {
    const { paid, verdicts } = await payUnder(() => {
      throw new Error("at once");
    });
    expect([paid, reasonIn(verdicts[0])]).toEqual([[], "it failed: at once"]);
  });

  test("G-38 denies when it never answers", async () => {
    const { paid, verdicts } = await payUnder(() => new Promise(() => {}), PERMISSIVE, 20);
    expect([paid, reasonIn(verdicts[0])]).toEqual([[], "no answer within 20 ms"]);
  });

  test.each([[undefined], ["yes"], [{ kind: "permit" }], [{ kind: "deny" }], [{ kind: "ask" }]])(
    "denies when it answers %j",
    async (nonsense) => {
      const { paid, verdicts } = await payUnder(async () => nonsense);
      expect(paid).toEqual([]);
      expect(reasonIn(verdicts[0])).toContain("its answer makes no sense");
    },
  );

  test("can ask a person", async () => {
    const { paid, verdicts, ending } = await payUnder(async () => ({ kind: "ask", question: "pay?" }));
    expect([paid, verdicts[0]?.kind, ending]).toEqual([[], "ask", "waiting"]);
  });

  test("G-38 is not asked about what the policies deny", async () => {
    const gate = tableGate(
      [
        { id: "no", action: "tool:pay", verdict: "deny" },
        { id: "all", action: "*", verdict: "allow" },
      ],
      sha256,
    );
    const { paid, asked } = await payUnder(async () => ({ kind: "allow" }), gate);
    expect([paid, asked]).toEqual([[], 0]);
  });

  test("G-38 is asked again when the policies read something else by the time it answers", async () => {
    let reading = 0;
    const changing: Gate = {
      ...PERMISSIVE,
      decide: (action, facts) => ({ ...PERMISSIVE.decide(action, facts), read: action.kind === "call" ? { reading } : {} }),
    };
    const { paid, asked } = await payUnder(async (_, nth) => {
      if (nth === 1) reading = 1; // a counter moves while it thinks
      return nth === 1 ? { kind: "allow" } : { kind: "deny", reason: "too many by now" };
    }, changing);
    expect([paid, asked]).toEqual([[], 2]);
  });

  test("G-38 does not let a call run that was halted while it thought", async () => {
    const ann = createPerson(folder(), "ann", ed25519);
    const { paid, verdicts, ending } = await payUnder(async ({ agent }, _, runtime) => {
      await runtime.place.keyring.certifyPerson(ann.name, ann.key.publicKey);
      await runtime.halt(`agent:${agent}`, "stop", ann);
      return { kind: "allow" };
    });
    expect([paid, ending]).toEqual([[], "halted"]);
    expect(verdicts.every(({ kind }) => kind === "deny")).toBe(true);
  });
});
