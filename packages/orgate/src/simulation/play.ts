/**
 * One case, played through the real runtime: a model that does what it is told, by whomever; policies that decide; people who answer.
 * People approve what the user wants, and deny what an attacker wants or what breaks a rule. A user who agreed to a call in words answers first,
 * where the policies let the user answer; staff answer otherwise.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Entry, RunResult } from "@orgate/core";
import { actionKind, eventsIn, isFault, millis } from "@orgate/core/vocab";
import { bindMethods } from "../node/bind-methods.ts";
import { nodeClock } from "../node/clock.ts";
import type { Policies } from "../policies/policies.ts";
import type { Runtime } from "../runtime/api.ts";
import type { OpenOwnStore } from "../runtime/ports/own-store.ts";
import { createRuntime } from "../runtime/runtime.ts";
import { openStore } from "../store/journal.ts";
import type { Person } from "../store/keyring.ts";
import type { SimulatedCase } from "./cases.ts";
import type { Domain } from "./domain.ts";
import type { DomainStage, MadeCall } from "./stage.ts";

/** What became of a call. `policies` made its first decision: the one before anybody answered. */
export type PlayedCall = MadeCall &
  Readonly<{
    verdict: "allow" | "ask" | "deny" | "none";
    policies: readonly string[];
    reason: string | null;
    askedOf: "user" | "staff" | null;
    done: boolean;
  }>;

export type PlayedCase = Readonly<{
  domain: string;
  kind: SimulatedCase["kind"];
  id: string;
  calls: readonly PlayedCall[];
  /** Of the turns. */
  endings: readonly string[];
}>;

export type People = Readonly<{ user: Person; staff: Person }>;
export type Scene = Readonly<{ domain: Domain; stage: DomainStage; policies: Policies; people: People }>;

export async function playCase({ domain, stage, policies, people }: Scene, one: SimulatedCase): Promise<PlayedCase> {
  const directory = mkdtempSync(join(tmpdir(), "orgate-simulation-"));
  const shift = Date.parse(one.now) - Date.now();
  const runtime = await createRuntime({
    directory,
    agents: [stage.agent],
    gate: policies,
    principal: { kind: "user", id: domain.user.id },
    model: () => stage.model,
    clock: { ...nodeClock, now: () => millis(Date.now() + shift) },
    store: shiftedStore(shift),
    env: {},
  });
  try {
    for (const { name, key } of [people.user, people.staff]) await runtime.place.keyring.certifyPerson(name, key.publicKey);
    for (const [set, values] of Object.entries(domain.known))
      for (const value of values) await runtime.known.add({ set, value, why: `simulation of ${domain.domain}` }, people.staff);
    stage.begin(one);
    return await playTurns({ domain, stage, people, runtime }, one);
  } finally {
    await runtime.close();
    rmSync(directory, { recursive: true, force: true });
  }
}

/** The store stamps intents by the machine's clock: an answer must arrive in the time of the case, or every approval request has expired. */
const shiftedStore =
  (shift: number): OpenOwnStore =>
  (opening) => {
    const store = openStore({ ...opening, thread: "main", powerCut: "lose-last-moments", sealing: "interval" });
    const inbox = bindMethods(store.inbox);
    const pending: typeof inbox.pending = async (session) =>
      (await inbox.pending(session)).map(({ intent, arrivedAt }) => ({ intent, arrivedAt: millis(arrivedAt + shift) }));
    return { ...bindMethods(store), inbox: { ...inbox, pending } };
  };

type Play = Pick<Scene, "domain" | "stage" | "people"> & Readonly<{ runtime: Runtime }>;

async function playTurns(play: Play, one: SimulatedCase): Promise<PlayedCase> {
  const { domain, stage, runtime } = play;
  const asked = new Map<MadeCall, "user" | "staff">();
  const results: RunResult[] = [];
  for (const turn of one.turns) {
    stage.startTurn(turn);
    const session = results[0]?.session;
    const begun = await runtime.complete(stage.agent.name, turn.user, session === undefined ? {} : { session });
    results.push(await answerAll(play, begun, asked));
  }
  const events: Entry[] = [];
  const session = results[0]?.session;
  if (session !== undefined) for await (const entry of runtime.inspect.events(session)) events.push(entry);
  const calls = describeCalls(stage.made(), events, asked);
  return { domain: domain.domain, kind: one.kind, id: one.id, calls, endings: results.map(({ ending }) => ending ?? "waiting") };
}

/** Answers what the turn waits for, until it ends. The model makes one call at a time: what is asked is about the last one. */
async function answerAll({ stage, runtime, people }: Play, begun: RunResult, asked: Map<MadeCall, "user" | "staff">): Promise<RunResult> {
  let result = begun;
  while (result.state === "waiting") {
    const [request] = result.questions;
    const call = stage.made().at(-1);
    if (request === undefined || call === undefined) return result;
    const { approval } = request;
    const answer = async (kind: "approve" | "deny", person: Person): Promise<RunResult> => {
      const given = kind === "approve" ? { kind } : { kind, reason: "it is against the rules" };
      const { result: next } = await runtime.approvals.answer({ approval, digest: request.digest, answer: given }, person);
      return next ?? { ...result, state: "ended" };
    };
    const byUser = call.agreed ? await answer("approve", people.user).catch(refused) : null;
    asked.set(call, byUser === null ? "staff" : "user");
    result = byUser ?? (await answer(call.by === "attacker" || call.wanted ? "deny" : "approve", people.staff));
  }
  return result;
}

/** The policies do not let the user answer. */
function refused(error: unknown): null {
  if (isFault(error, "intent-refused") || isFault(error, "not-permitted")) return null;
  throw error;
}

function describeCalls(
  made: readonly MadeCall[],
  entries: readonly Entry[],
  asked: ReadonlyMap<MadeCall, "user" | "staff">,
): readonly PlayedCall[] {
  const played = made.map((call): { -readonly [K in keyof PlayedCall]: PlayedCall[K] } => ({
    ...call,
    verdict: "none",
    policies: [],
    reason: null,
    askedOf: asked.get(call) ?? null,
    done: false,
  }));
  let last = -1;
  for (const { event } of entries)
    for (const e of eventsIn(event)) {
      if (e.kind === "model.replied" && e.parts.some((part) => part.kind === "call")) last += 1;
      const call = played[last];
      if (call === undefined) continue;
      if (e.kind === "gate.decided" && actionKind(e.id) === "call" && call.verdict === "none") {
        const { verdict } = e;
        call.verdict = verdict.kind === "ask" || verdict.kind === "deny" ? verdict.kind : "allow";
        call.policies = verdict.because;
        call.reason = verdict.kind === "deny" ? verdict.reason : verdict.kind === "ask" ? verdict.asks[0].question : null;
      }
      if (e.kind === "act.ended" && e.outcome.kind === "done") call.done = true;
    }
  return played;
}
