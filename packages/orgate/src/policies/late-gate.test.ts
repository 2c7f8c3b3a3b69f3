import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  type Agent,
  decisionsIn,
  defineAgent,
  defineTool,
  eventsIn,
  type Gate,
  listDecisions,
  tableGate,
  type Verdict,
} from "@orgate/core";
import { afterEach, describe, expect, test } from "vitest";
import * as z from "zod";
import { ed25519, sha256 } from "../node/crypto.ts";
import type { Runtime } from "../runtime/api.ts";
import { createRuntime } from "../runtime/runtime.ts";
import { createPerson } from "../store/keyring.ts";
import { fileTools } from "../tools/file-tools.ts";
import { type LateAnswer, type LateFacts, type LateGateOptions, lateGate } from "./late-gate.ts";

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
const NONE = tableGate([{ id: "none", action: "*", verdict: "deny" }], sha256);
type Answer = (facts: LateFacts, asked: number, runtime: Runtime) => Promise<unknown>;

/** An agent that calls `pay` once a turn; the late gate is asked about that call only. */
async function payers(answer: Answer, gate: Gate = PERMISSIVE, timeoutMs = 10_000) {
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
  return { paid, runtime, asked: () => asked };
}

type ServiceAnswer = LateGateOptions<Gate>["answer"];

/** An agent that calls `note` once. */
function clerk(toGate: (answer: ServiceAnswer) => Gate, answer: ServiceAnswer) {
  const ran: string[] = [];
  const note = defineTool({ name: "note", description: "Notes.", input: z.strictObject({}), run: async () => void ran.push("ran") });
  const agent = defineAgent({
    name: "clerk",
    instructions: "Note it.",
    model: "offline/clerk",
    modelOptions: { rules: [{ when: { notCalled: ["note"] }, calls: [{ tool: "note", args: {} }] }, { say: "Done." }] },
    tools: [note],
  });
  const principal = { kind: "user", id: "ada" } as const;
  return { ran, given: { directory: folder(), agents: [agent], gate: toGate(answer), principal } };
}

async function payUnder(answer: Answer, gate?: Gate, timeoutMs?: number) {
  const { paid, runtime, asked } = await payers(answer, gate, timeoutMs);
  try {
    const { events, ...result } = await runtime.complete("payer", "Pay.");
    const verdicts: Verdict[] = listDecisions(events).flatMap(({ event }) => (event.action.kind === "call" ? [event.verdict] : []));
    return { paid, asked: asked(), verdicts, ending: result.ending ?? result.state };
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

  test("G-38 an answer counts for one call: the same call of another session is asked about by itself", async () => {
    const { paid, runtime, asked } = await payers(async (_, nth) => (nth === 1 ? { kind: "allow" } : { kind: "deny", reason: "one only" }));
    await Promise.all([1, 2, 3, 4, 5].map(() => runtime.complete("payer", "Pay.")));
    expect([paid, asked()]).toEqual([[5], 5]);
    await runtime.close();
  });

  test("G-38 a person's yes covers the question they were shown, and no other", async () => {
    const { paid, runtime } = await payers(async (_, nth) => ({
      kind: "ask",
      question: nth === 1 ? "All fine: pay?" : "On a list: pay anyway?",
    }));
    const { session } = await runtime.complete("payer", "Pay.");
    const ann = createPerson(folder(), "ann", ed25519);
    await runtime.place.keyring.certifyPerson(ann.name, ann.key.publicKey);
    const [listed] = await runtime.approvals.list();
    const shown = await runtime.approvals.show(listed?.approval ?? ("" as never));
    if (shown === null) throw new Error("no request waits");
    await runtime.approvals.answer({ approval: shown.approval, digest: shown.digest, answer: { kind: "approve" } }, ann);
    const { state } = await runtime.resume(session).result;
    const [again] = await runtime.approvals.list();
    expect([paid, state, again?.asks.map(({ question }) => question)]).toEqual([[], "waiting", ["On a list: pay anyway?"]]);
    await runtime.close();
  });

  test("whether an answer may be delivered is decided before the model is asked", async () => {
    const { runtime } = await payers(async () => ({ kind: "allow" }));
    const { events } = await runtime.complete("payer", "Pay.");
    const kinds = events
      .flatMap(({ event: one }) => eventsIn(one))
      .flatMap((event) => (event.kind === "gate.decided" ? [event.action.kind] : event.kind === "model.asked" ? [event.kind] : []));
    expect(kinds.slice(0, 3).sort()).toEqual(["model", "model.asked", "respond"]);
    expect(kinds.indexOf("respond")).toBeLessThan(kinds.indexOf("model.asked"));
    await runtime.close();
  });

  test("G-38 the decision that waits for an answer gets it, however short answers stay fresh", async () => {
    let asked = 0;
    const { given, ran } = clerk(
      (answer) => lateGate({ name: "desk", gate: PERMISSIVE, freshMs: 0, answer }),
      async (action) => {
        if (action.kind === "call") asked += 1;
        return { kind: "allow" };
      },
    );
    const runtime = await createRuntime(given);
    expect([(await runtime.complete("clerk", "Go.")).ending, ran, asked]).toEqual(["completed", ["ran"], 1]);
    await runtime.close();
  });

  test("L-18 a cancelled turn tells the service to stop", async () => {
    const stop = new AbortController();
    let told: AbortSignal | null = null;
    const { given } = clerk(
      (answer) => lateGate({ name: "desk", gate: PERMISSIVE, answer }),
      (_, __, signal) => {
        told = signal;
        stop.abort("enough");
        return new Promise(() => {});
      },
    );
    const runtime = await createRuntime(given);
    expect((await runtime.complete("clerk", "Go.", { signal: stop.signal })).ending).toBe("cancelled");
    expect(told).toMatchObject({ aborted: true, reason: "nobody waits for the answer any more" });
    await runtime.close();
  });

  test("keeps the methods of a gate that is an instance of a class with private fields, or is frozen", () => {
    class Desk implements Gate {
      readonly #inner = PERMISSIVE;
      get digest() {
        return this.#inner.digest;
      }
      get lately() {
        return this.#inner.lately;
      }
      decide(...args: Parameters<Gate["decide"]>) {
        return this.#inner.decide(...args);
      }
      decideFor(...args: Parameters<Gate["decideFor"]>) {
        return this.#inner.decideFor(...args);
      }
      groupsOf(user: string) {
        return this.#inner.groupsOf(user);
      }
    }
    for (const gate of [new Desk(), Object.freeze({ ...PERMISSIVE })] as const) {
      const { digest, decideFor, groupsOf } = lateGate<Gate>({ name: "desk", gate, answer: async () => ({ kind: "allow" }) });
      const act = { kind: "edit-policy" } as Parameters<Gate["decideFor"]>[1];
      expect([digest, decideFor("ada", act), groupsOf("ada")]).toEqual([
        PERMISSIVE.digest,
        PERMISSIVE.decideFor("ada", act),
        PERMISSIVE.groupsOf("ada"),
      ]);
    }
  });

  test("T-13 is asked about a search and not about each of its hits; its yes covers those that the policies permit", async () => {
    const root = folder();
    for (const name of ["a.txt", "b.txt", "secret.txt"]) writeFileSync(join(root, name), "needle");
    const calls: string[] = [];
    const gate: Gate = {
      ...PERMISSIVE,
      decide: (action, facts) => (action.kind === "call" && action.resource.id === "secret.txt" ? NONE : PERMISSIVE).decide(action, facts),
    };
    const agent = defineAgent({
      name: "clerk",
      instructions: "Look.",
      model: "offline/clerk",
      modelOptions: {
        rules: [
          { when: { notCalled: ["search_files"] }, calls: [{ tool: "search_files", args: { path: ".", text: "needle" } }] },
          { say: "Done." },
        ],
      },
      tools: [...fileTools({ root })],
    });
    const late = lateGate({
      name: "desk",
      gate,
      answer: async (action) => {
        if (action.kind === "call") calls.push(action.tool);
        return { kind: "allow" };
      },
    });
    const principal = { kind: "user", id: "ada" } as const;
    const runtime = await createRuntime({ directory: folder(), agents: [agent], gate: late, principal });
    const { events } = await runtime.complete("clerk", "Go.");
    const outputs = events.flatMap(({ event }) => (event.kind === "act.ended" ? [event.outcome] : []));
    expect(outputs).toMatchObject([{ kind: "done", output: { matches: [{ path: "a.txt" }, { path: "b.txt" }], withheld: 1 } }]);
    expect(calls).toEqual(["search_files"]);
    await runtime.close();
  });

  test.each([{ timeoutMs: 0 }, { timeoutMs: Number.NaN }, { freshMs: -1 }, { freshMs: Number.NaN }])("%j is refused", (wrong) => {
    expect(() => lateGate({ name: "desk", gate: PERMISSIVE, answer: async () => ({ kind: "allow" }), ...wrong })).toThrow("called wrongly");
  });

  test("G-38 a call whose counters moved waits for the new answer, also while another call runs", async () => {
    const directory = folder();
    const [otherAsked, othersAnswer, secondAnswer, otherEnds, otherRuns, askedAgain] = Array.from({ length: 6 }, () =>
      Promise.withResolvers<void>(),
    );
    const paid: string[] = [];
    const none = z.strictObject({});
    const payerOf = (who: string, tools: readonly string[]): Agent =>
      defineAgent({
        name: "payer", // counters are an agent's: both are the same one
        instructions: "Pay.",
        model: "offline/payer",
        modelOptions: { rules: [{ when: { notCalled: ["pay"] }, calls: tools.map((tool) => ({ tool, args: {} })) }, { say: "Done." }] },
        tools: [
          defineTool({ name: "pay", description: "Pays.", input: none, run: async () => void paid.push(who) }),
          defineTool({
            name: "other",
            description: "Takes its time.",
            input: none,
            run: async () => {
              otherRuns?.resolve();
              await otherEnds?.promise;
              return "over";
            },
          }),
        ],
      });
    const counting: Gate = {
      ...PERMISSIVE,
      lately: ["calls:pay"],
      decide: (action, facts) => {
        const decision = PERMISSIVE.decide(action, facts);
        if (action.kind !== "call" || action.tool !== "pay") return decision;
        return { ...decision, read: { day: facts.lately({ name: "calls:pay", value: "" }).day } };
      },
    };
    let asked = 0;
    const gate = lateGate({
      name: "desk",
      gate: counting,
      answer: async (action) => {
        if (action.kind !== "call") return { kind: "allow" };
        if (action.tool === "other") {
          otherAsked?.resolve();
          await othersAnswer?.promise;
          return { kind: "allow" };
        }
        asked += 1;
        if (asked === 1) return { kind: "allow" };
        askedAgain?.resolve();
        await secondAnswer?.promise;
        return { kind: "deny", reason: "somebody has paid" };
      },
    });
    const principal = { kind: "user", id: "ada" } as const;
    const slow = await createRuntime({
      directory,
      agents: [payerOf("slow", ["pay", "other"])],
      gate,
      principal,
      powerCut: "lose-last-moments",
    });
    const quick = await createRuntime({
      directory,
      agents: [payerOf("quick", ["pay"])],
      gate: counting,
      principal,
      powerCut: "lose-last-moments",
    });
    const decided = Promise.withResolvers<void>();
    const run = slow.complete("payer", "Pay.", {
      on: (live) => live.kind === "entry" && decisionsIn(live.entry.event).some(({ id }) => id === "1.0") && decided.resolve(),
    });
    await Promise.all([otherAsked?.promise, decided.promise]);
    await quick.complete("payer", "Pay.");
    othersAnswer?.resolve();
    await Promise.all([otherRuns?.promise, askedAgain?.promise]);
    secondAnswer?.resolve();
    const before = paid.length;
    for (let turns = 0; turns < 200; turns += 1) await new Promise((resolve) => setImmediate(resolve)); // whatever the answer wakes is over by then
    otherEnds?.resolve();
    const { events } = await run;
    const verdicts = listDecisions(events).flatMap(({ event }) => (event.id === "1.0" ? [event.verdict.kind] : []));
    expect([before, paid, verdicts]).toEqual([1, ["quick"], ["allow", "deny"]]);
    await slow.close();
    await quick.close();
  });
});
