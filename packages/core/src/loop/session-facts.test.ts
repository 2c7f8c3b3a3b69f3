/** Facts of then, from the journal alone: whatever crashed, was labelled, unlabelled, delegated or lost. */
import fc from "fast-check";
import { expect, test } from "vitest";
import type { Model } from "../reason/port.ts";
import {
  arbitraries,
  type CrashPoint,
  PERMIT_ALL,
  reply,
  type Script,
  scriptedModel,
  scriptTools,
  type World,
  world,
} from "../testing/index.ts";
import {
  type Action,
  type Decision,
  type Entry,
  eventsIn,
  type Facts,
  FaultError,
  type JsonObject,
  label,
  type SessionId,
  trackProposals,
} from "../vocab/index.ts";
import { evolve, fold } from "./evolve.ts";
import { ANN, BOB, open, sha256 } from "./fixtures/stage.ts";
import type { Ports } from "./ports.ts";
import { pastFacts, type SessionFacts } from "./session-facts.ts";
import type { State } from "./state.ts";

const TOOLS = ["look", "put", "send", "fire", "delegate"];
/** Everything that a policy could read of them. */
const told = ({ agent, onBehalfOf, surface, origin, labels, calls, spent, cents, media }: SessionFacts): JsonObject => ({
  agent,
  onBehalfOf,
  surface,
  origin: origin?.kind ?? null,
  labels: [...labels],
  calls: Object.fromEntries(TOOLS.map((tool) => [tool, calls(tool)])),
  spent,
  cents,
  media: [...media],
});

/** Journals with each decision all that it was told. */
const telling = (p: Ports): Ports => ({
  ...p,
  gate: { ...p.gate, decide: (action: Action, facts: Facts): Decision => ({ ...p.gate.decide(action, facts), read: told(facts) }) },
});

/** Replies by how far the conversation is; every third reply breaks off once, and what it used is lost. */
function placed(script: Script): Model {
  const broken = new Set<number>();
  return {
    id: "placed/model",
    ask: async ({ messages }) => {
      const at = messages.filter((m) => m.role === "assistant").length;
      if (at % 3 === 1 && !broken.has(at)) {
        broken.add(at);
        throw new FaultError({ kind: "model-failed", detail: "cut off", again: true, broke: true });
      }
      const step = at === 0 ? DELEGATING : (script.steps[at - 1] ?? reply.text("done"));
      if (step.kind !== "reply") throw new FaultError({ kind: "model-failed", detail: "off the script", again: false, broke: false });
      return { parts: step.parts, finish: step.finish, usage: step.usage, model: "placed/model", meta: step.meta };
    },
  };
}
const DELEGATING = reply.calls([{ tool: "delegate", args: { agent: "helper", task: "help" }, id: "d1" }]);

function stage(script: Script, crashes: readonly CrashPoint[]): World {
  const tools = scriptTools(
    async () => "done",
    () => false,
  );
  return world({
    hash: sha256,
    model: placed(script),
    tools,
    delegates: ["helper"],
    others: { helper: { model: scriptedModel(Array.from({ length: 8 }, () => reply.text("helped"))) } },
    prices: { input: 2, output: 3 },
    rows: [{ id: "ask-first", action: "tool:fire", verdict: "ask" }, ...PERMIT_ALL],
    crashes,
    spoil: telling,
  });
}

async function answered(w: World): Promise<void> {
  for (let drives = 0; drives < 30 && w.state().turn !== null; drives += 1) {
    for (const q of open(w)) await w.wish({ kind: "answer", approval: q.approval, digest: q.digest, answer: { kind: "approve" } });
    await w.go();
  }
}

/** Of every decision that a gate was asked about: what it was told, and what the entries before it say. */
function compared(entries: readonly Entry[]): readonly Readonly<{ id: string; before: JsonObject; again: JsonObject }>[] {
  let state: State | null = null;
  const found: { id: string; before: JsonObject; again: JsonObject }[] = [];
  const later: (() => void)[] = []; // read when the state has gone on
  const { hear, argsOf } = trackProposals();
  for (const entry of entries) {
    hear(entry.event);
    for (const e of eventsIn(entry.event, argsOf)) {
      if (e.kind === "gate.decided" && state !== null && e.read["agent"] !== undefined) {
        const facts = pastFacts(state, e);
        later.push(() => found.push({ id: e.id, before: e.read, again: told(facts) }));
      }
      state = state === null ? fold([{ ...entry, event: e }]) : evolve(state, { ...entry, event: e });
    }
  }
  for (const read of later) read();
  return found;
}

test("G-20 the facts of every recorded decision come out of the entries before it, whatever died, was lost, labelled, unlabelled or said by others", async () => {
  const arb = arbitraries(fc);
  const seen = { decisions: 0, lost: 0, unlabelled: 0, byOthers: 0, delegated: 0, again: 0 };
  await fc.assert(
    fc.asyncProperty(arb.scripts, fc.array(arb.crashPoints(8), { maxLength: 2 }), async (script, crashes) => {
      const w = stage(script, crashes);
      await w.run(script.input);
      await answered(w);
      if (w.state().labels.size > 0) await w.wish({ kind: "unlabel", labels: [label("untrusted")], why: "read by hand" }, ANN);
      await w.wish({ kind: "say", text: "and now for bob", files: [] }, BOB);
      await w.go();
      await answered(w);
      const own = w.session();
      const sessions: readonly SessionId[] = [own, ...w.children()];
      for (const session of sessions) {
        w.turnTo(session);
        for (const { id, before, again } of compared(w.entries())) {
          expect({ session, id, ...again }).toEqual({ session, id, ...before });
          seen.decisions += 1;
          if (JSON.stringify(before["onBehalfOf"]).includes("bob")) seen.byOthers += 1;
        }
        const ids = w.events("gate.decided").map((e) => e.id);
        if (new Set(ids).size < ids.length) seen.again += 1;
        seen.lost += w.events("model.failed").filter((e) => e.broke).length;
        seen.unlabelled += w.events("labels.removed").length;
      }
      seen.delegated += sessions.length - 1;
      w.turnTo(own);
    }),
    { numRuns: 40 },
  );
  for (const [what, n] of Object.entries(seen)) expect([what, n > 0]).toEqual([what, true]);
});
