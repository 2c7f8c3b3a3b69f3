/**
 * The proof of the spine: random scripts × crashes around every append, every effect and every model call.
 * Each rule that is proved here is also broken on purpose below, and the break must be noticed.
 */
import { hash as nodeHash } from "node:crypto";
import { setImmediate } from "node:timers/promises";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Model } from "../reason/port.ts";
import { arbitraries, type CrashPoint, SCRIPT_TOOLS, type Script, type Step, scriptTools, type World, world } from "../testing/index.ts";
import { type Digest, digest, FaultError, type Hash, type JsonObject, type ToolContext } from "../vocab/index.ts";
import type { Ports } from "./ports.ts";

const sha256: Hash = (text): Digest => digest(nodeHash("sha256", text, "hex"));
const arb = arbitraries(fc);
const RUNS = Number(process.env["ORGATE_CRASH_RUNS"] ?? 400);

/** What the outside world saw. It does not crash. */
type Outside = {
  readonly effects: { key: string; tool: string; allowed: boolean; start: number }[];
  readonly asked: { iteration: number; recorded: boolean }[];
};

/** Replies by how far the conversation is: the same place gets the same reply, whoever asks. */
function placedModel(steps: readonly Step[], outside: Outside, recorded: (iteration: number) => boolean): Model {
  return {
    id: "placed/model",
    ask: async (request) => {
      const at = request.messages.filter((m) => m.role === "assistant").length;
      outside.asked.push({ iteration: at + 1, recorded: recorded(at + 1) });
      const step = steps[at];
      if (step === undefined || step.kind !== "reply")
        throw new FaultError({ kind: "model-failed", detail: "off the script", again: false, broke: false });
      return { parts: step.parts, finish: step.finish, usage: step.usage, model: "placed/model", meta: step.meta };
    },
  };
}

function stage(
  script: Script,
  crashes: readonly CrashPoint[],
  spoil: (p: Ports, w: () => World) => Ports = (p) => p,
): { w: World; outside: Outside } {
  const outside: Outside = { effects: [], asked: [] };
  const effect = async (tool: string, args: JsonObject, { key, start }: ToolContext) => {
    const call = key.slice(key.indexOf("/") + 1);
    const durable = w.events("gate.decided").findLast((e) => e.id === call);
    const started = w.events("act.started").some((e) => e.key === key && e.start === start && e.digest === durable?.digest);
    outside.effects.push({ key, tool, start, allowed: durable?.verdict.kind === "allow" && started });
    return `${tool} ${String(args["n"])}`;
  };
  const happened = (key: string) => outside.effects.some((e) => e.key === key);
  const model = placedModel(script.steps, outside, (n) => w.events("model.replied").some((e) => e.iteration === n));
  const w: World = world({ hash: sha256, model, tools: scriptTools(effect, happened), crashes, spoil: (p) => spoil(p, () => w) });
  return { w, outside };
}

/** Looks alike ask (rule 4), so a run may end waiting: a person says yes until it is over. */
async function toTheEnd(w: World, input: string): Promise<void> {
  await w.run(input);
  for (let i = 0; i < 40 && w.state().turn !== null; i += 1) {
    for (const q of w.state().turn?.questions.values() ?? []) {
      if (q.answer === null) await w.wish({ kind: "answer", approval: q.approval, digest: q.digest, answer: { kind: "approve" } });
    }
    await w.go();
  }
}

const onceKeys = (o: Outside) => o.effects.filter((e) => e.tool === SCRIPT_TOOLS.once).map((e) => e.key);
const keyTwice = (o: Outside, tool: string) =>
  new Set(o.effects.filter((e) => e.tool === tool).map((e) => e.key)).size < o.effects.filter((e) => e.tool === tool).length;

function checkRules(w: World, outside: Outside): void {
  expect(
    outside.effects.filter((e) => !e.allowed),
    "L5 no effect without a durable allow and its act.started",
  ).toEqual([]);
  expect(new Set(onceKeys(outside)).size, "L8 no `once` effect twice").toBe(onceKeys(outside).length);
  expect(keyTwice(outside, SCRIPT_TOOLS.reconcile), "L8 no `reconcile` effect twice: the tool was asked first").toBe(false);
  expect(
    outside.asked.filter((a) => a.recorded),
    "M11 no recorded model reply is requested again",
  ).toEqual([]);
  expect(w.events("turn.ended"), "L4 one ending per turn").toHaveLength(1);
  expect(
    w.entries().map((e) => e.seq),
    "J4 sequences without gap",
  ).toEqual(w.entries().map((_, i) => i + 1));
  const calls = w.events("model.replied").flatMap((e) => e.parts.flatMap((p) => (p.kind === "call" ? [p.wireId] : [])));
  const results = w.state().messages.flatMap((m) => (m.role === "tool" ? [m.wireId] : []));
  expect(results, "L13 one observation per call, in order").toEqual(calls);
}

describe("crashes", () => {
  test("L8 a crash around any append, effect or model call: nothing twice, nothing unallowed, nothing lost, one ending", async () => {
    let resumed = 0;
    await fc.assert(
      fc.asyncProperty(arb.scripts, fc.array(arb.crashPoints(12), { minLength: 1, maxLength: 3 }), async (script, crashes) => {
        const { w, outside } = stage(script, crashes);
        await toTheEnd(w, script.input);
        if (w.processes() > 1) resumed += 1;
        checkRules(w, outside);
        await equalWhereOutcomesAre(script, w);
      }),
      { numRuns: RUNS },
    );
    expect(resumed).toBeGreaterThan(RUNS / 8); // a crash test in which nothing crashes proves nothing
  });

  test("L8 every single crash point of one run of three iterations with two parallel calls", async () => {
    const call = (tool: string, n: number) =>
      ({ kind: "call", id: `${tool}${n}`, tool, text: JSON.stringify({ n, say: "" }), meta: null }) as const;
    const reply = (...parts: Extract<Step, { kind: "reply" }>["parts"]): Step => ({
      kind: "reply",
      parts,
      finish: "calls",
      usage: { input: 3, output: 2 },
      meta: null,
    });
    const steps = [
      reply(call("fire", 1), call("put", 2)),
      reply(call("look", 1), call("send", 2)),
      reply(call("fire", 3), call("fire", 2)),
      reply({ kind: "text", text: "done", meta: null }),
    ];
    for (const of of ["append", "effect", "model"] as const)
      for (const when of ["before", "after"] as const)
        for (let nth = 0; nth < 14; nth += 1) {
          const { w, outside } = stage({ input: "go", steps }, [{ of, when, nth }]);
          await toTheEnd(w, "go");
          checkRules(w, outside);
          expect(w.state().last).toMatchObject({ ending: "completed", output: "done", iterations: 4 });
        }
  });
});

/** Where no outcome was lost, a crashed run ends with the same conversation as one that was not crashed. */
async function equalWhereOutcomesAre(script: Script, w: World): Promise<void> {
  const lost = w.events("act.ended").some((e) => e.outcome.kind === "unknown") || w.events("model.asked").some((e) => e.attempt > 1);
  const reconciled = w.events("recovery.applied").length > 0; // then the tool's own words stand in place of the result
  if (lost || reconciled) return;
  const calm = stage(script, []).w;
  await toTheEnd(calm, script.input);
  expect(w.state().messages).toEqual(calm.state().messages);
  expect(w.state().last).toMatchObject({ ...calm.state().last, activeMs: expect.anything() });
}

describe("breaks that must be noticed", () => {
  /** The property above, on a runtime broken on purpose: it has to fail. */
  async function isNoticed(spoil: (p: Ports, w: () => World) => Ports): Promise<boolean> {
    const property = fc.asyncProperty(
      arb.scripts,
      fc.array(arb.crashPoints(12), { minLength: 1, maxLength: 3 }),
      async (script, crashes) => {
        const { w, outside } = stage(script, crashes, spoil);
        await toTheEnd(w, script.input);
        checkRules(w, outside);
      },
    );
    const result = await fc.check(property, { numRuns: 300, endOnFailure: true });
    return result.failed;
  }

  test("L8 control: the unbroken runtime passes the very same check", async () => {
    expect(await isNoticed((p) => p)).toBe(false);
  });

  test("L5 a journal that answers before it is durable is noticed", async () => {
    const lying = (p: Ports): Ports => {
      let written: Promise<unknown> = Promise.resolve();
      const append: Ports["journal"]["append"] = (a) => {
        written = written
          .then(() => setImmediate())
          .then(() => p.journal.append(a))
          .catch(() => {});
        return Promise.resolve((a.after + 1) as Awaited<ReturnType<typeof p.journal.append>>);
      };
      return { ...p, journal: { ...p.journal, append } };
    };
    expect(await isNoticed(lying)).toBe(true);
  });

  test("L8 a runtime that takes every tool for repeatable is noticed", async () => {
    const reckless = (p: Ports): Ports => ({
      ...p,
      tools: {
        ...p.tools,
        find: (name) => {
          const tool = p.tools.find(name);
          return tool === null ? null : { ...tool, repeat: "idempotent" };
        },
      },
    });
    expect(await isNoticed(reckless)).toBe(true);
  });

  test("M11 a journal that loses model replies is noticed", async () => {
    const forgetful = (p: Ports): Ports => ({
      ...p,
      journal: {
        ...p.journal,
        read: async (stream, after, most) => (await p.journal.read(stream, after, most)).filter((e) => e.event.kind !== "model.replied"),
      },
    });
    expect(await isNoticed(forgetful)).toBe(true);
  });

  test("L4 a journal that loses endings is noticed", async () => {
    const endless = (p: Ports): Ports => ({
      ...p,
      journal: {
        ...p.journal,
        append: (a) =>
          a.events.some((e) => e.event.kind === "turn.ended")
            ? p.journal.append({ ...a, events: [...a.events, ...a.events.filter((e) => e.event.kind === "turn.ended")] })
            : p.journal.append(a),
      },
    });
    expect(await isNoticed(endless)).toBe(true);
  });
});
