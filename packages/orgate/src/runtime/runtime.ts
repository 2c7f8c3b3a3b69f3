/** The library's front door in Node: opens a folder, runs agents, resumes sessions, shows what happened. */

import {
  type Agent,
  type Embedder,
  type Entry,
  type Live,
  type RunResult,
  readState,
  type Schema,
  type Surface,
  withChosenModel,
  withDefaultModel,
} from "@orgate/core";
import { eachEntry } from "@orgate/core/journal";
import { type ModelSettings, readModelSettings } from "../models/env.ts";
import { createModelLookup } from "../models/named-model.ts";
import { bindMethods } from "../node/bind-methods.ts";
import { closeAll } from "../node/close-all.ts";
import type { Env } from "../node/env.ts";
import { version } from "../node/version.ts";
import { isPolicies } from "../policies/policies.ts";
import { assertNamedPorts } from "../project/named-ports.ts";
import type { Store } from "../store/store.ts";
import { AgentAssembly } from "./agent-assembly.ts";
import { checkDelegates, checkOwnPolicies, indexAgents } from "./agent-checks.ts";
import type { AgentRef, CompletedRun, Inspect, ResumeOptions, Run, RunOptions, Runtime, RuntimeOptions, ValueOf } from "./api.ts";
import { checkedRuntime, checkRuntimeOptions, resumeFault, runFault } from "./front-door.ts";
import { operatorApi } from "./operator-api.ts";
import { keepPoliciesOnRecord, withPolicies } from "./policy-recording.ts";
import { NODE, type Outside } from "./ports/outside.ts";
import { ownContextPlans, safeTracer, withOwnCounters } from "./ports/own-ports.ts";
import { type OpenProjectStore, openProjectStore } from "./ports/project-store.ts";
import { openLiveText } from "./previews/live-text.ts";
import { ownPreviews } from "./previews/previews.ts";
import { readRunningTurn } from "./running-turns.ts";
import { runTurn, SessionRunner, type Until } from "./session-runner.ts";
import { createSessions } from "./sessions.ts";
import { createSubscribe } from "./subscribe.ts";
import type { Telemetry } from "./telemetry.ts";

export async function createRuntime(options: RuntimeOptions): Promise<Runtime> {
  const { given, agentsByName, outside, place, deciding, policies, tracers } = await openParts(options);
  const { directory, gate, principal } = options;
  const { clock, ids, counters } = outside;
  const { journal, inbox } = place.store;
  const ended = new AbortController();
  const { ear, following } = await openWords(place, clock, ended.signal);

  const runner: SessionRunner = new SessionRunner({ place, outside, silence: ear.forget, agents: () => agents });
  const agents = new AgentAssembly({
    agents: agentsByName,
    place: deciding,
    gate,
    outside,
    options,
    hear(live, agent) {
      ear.add(live);
      if (live.kind !== "entry") return;
      for (const { hear } of tracers) hear(live.entry, agent);
    },
    parentOf: (session) => runner.parentOf(session),
    driveChild: (child, _, stop) => runner.driveChild(child, stop),
  });
  const surfaceOf = surfacesOf(options);
  const sessions = createSessions({
    journal,
    clock,
    ids,
    counters,
    principal,
    surfaceOf,
    factsOf: (name, model) => agents.assemble(withChosenModel(agents.find(name), model), () => {}).facts,
  });

  function run<Value, const Out extends Schema | undefined = undefined>(
    ref: AgentRef<Value>,
    input: string,
    given: RunOptions<Out> = {},
  ): Run<ValueOf<Out, Value>> {
    const wrong = runFault([ref, input, given]);
    const plain = startRun(wrong === null ? given.on : undefined, runner.track, async (watch, signal) => {
      if (wrong !== null) throw wrong;
      return runTurn({ place, agents, runner, sessions, principal, surfaceOf }, { ref, input, options: given }, watch, signal);
    });
    return plain as Run<ValueOf<Out, Value>>; // nothing is delivered that the schema has not let through (M-23)
  }

  const resume: Runtime["resume"] = (session, given = {}) => {
    const wrong = resumeFault([session, given]);
    return startRun(wrong === null ? given.on : undefined, runner.track, async (watch, signal) => {
      if (wrong !== null) throw wrong;
      return runner.resume(session, watch, untilOf(given, signal));
    });
  };

  const close = (): Promise<void> =>
    closeAll([
      () => runner.stop(),
      () => ended.abort(),
      () => policies?.stop(),
      () => runner.closeDoor(),
      () => options.notify?.close(),
      ...tracers.map((tracer) => () => tracer.close()),
      () => place.close(),
    ]);

  return checkedRuntime({
    sessions,
    ...following,
    run,
    complete: (ref, input, given) => complete(run, ref, input, given),
    resume,
    putIntent: (intent) => inbox.put(intent),
    ...operatorApi({ place, directory, gate, agents: given, outside, resume: (session) => resume(session).result }),
    inspect: inspectOf(place, outside, options, given),
    place,
    park: () => runner.park(),
    close,
  });
}

const untilOf = ({ signal: own, maxRestMs }: ResumeOptions, closing: AbortSignal): Until => ({
  cancel: own === undefined ? closing : AbortSignal.any([own, closing]),
  ...(maxRestMs === undefined ? {} : { maxRestMs }),
});

/** `ear` hears words of replies that are received here; who follows hears those of other processes too. */
async function openWords({ store: { signals, journal }, keys }: OpenProjectStore, clock: Outside["clock"], ended: AbortSignal) {
  const ear = openLiveText();
  const previews =
    signals === null
      ? ownPreviews(ear)
      : (await import("./previews/relay.ts")).openRelay(ear, { signals, key: keys.blobKey, journal, clock }); // its decoder is the protocol's, which a run has no use for
  ended.addEventListener("abort", previews.close, { once: true });
  return { ear, following: { subscribe: createSubscribe(journal, previews, ended), wantPreviews: previews.want } };
}

type Track = <T>(work: (signal: AbortSignal) => Promise<T>) => Promise<T>;

/** One run, seen by callback, by any number of iterators, or by its result alone. An iterator sees what happens from its start on. */
export function startRun(
  on: ((live: Live) => void) | undefined,
  track: Track,
  start: (watch: (live: Live) => void, signal: AbortSignal) => Promise<RunResult>,
): Run {
  const readers = new Set<{ readonly queue: Live[]; wake: () => void }>();
  let over = false;
  let failed: { readonly error: unknown } | null = null;
  const watch = (live: Live) => {
    for (const reader of readers) {
      reader.queue.push(live);
      reader.wake();
    }
    if (failed !== null) return;
    try {
      on?.(live);
    } catch (error) {
      failed = { error }; // the run does not depend on who looks; whoever awaits it hears of this at its end
    }
  };
  const result = track(async (signal) => {
    await Promise.resolve(); // whoever iterates has begun to
    const came = await start(watch, signal);
    if (failed !== null) throw failed.error;
    return came;
  }).finally(() => {
    over = true;
    for (const reader of readers) reader.wake();
  });
  result.catch(() => {}); // whoever awaits `result` or iterates hears of it; a run that nobody awaits does not bring the process down
  return {
    result,
    [Symbol.asyncIterator]() {
      const reader = { queue: [] as Live[], wake: () => {} };
      readers.add(reader); // now, not at the first `next`: nothing in between is missed
      return read(reader);
    },
  };

  async function* read(reader: { readonly queue: Live[]; wake: () => void }): AsyncGenerator<Live> {
    try {
      for (;;) {
        for (let live = reader.queue.shift(); live !== undefined; live = reader.queue.shift()) yield live;
        if (over) break;
        await new Promise<void>((resolve) => {
          reader.wake = resolve;
        });
      }
      await result; // a failed run ends its iterator with the failure
    } finally {
      readers.delete(reader);
    }
  }
}

/** Checks the options, then opens what a runtime stands on; nothing is opened when one of them is wrong. */
async function openParts(options: RuntimeOptions) {
  checkRuntimeOptions(options);
  const { directory, gate, thread = "main", powerCut = "lose-nothing", sealing = "interval" } = options;
  const given = options.agents.map((agent) => withDefaultModel(agent, options.defaultModel ?? null));
  const agentsByName = indexAgents(given);
  checkDelegates(agentsByName);
  checkOwnPolicies(given, gate);
  assertNamedPorts(given, options);
  const outside = await portsOf(options);
  const { store, cluster, knowledge, breakers } = options;
  const place = await openProjectStore({ directory, thread, powerCut, sealing, clock: outside.clock, cluster, store, knowledge, breakers });
  try {
    const policies = isPolicies(gate) ? await keepPoliciesOnRecord(place, outside.clock.now, gate) : null;
    const deciding = policies === null ? place : { ...place, orders: withPolicies(place.orders, policies) };
    const telemetry = await telemetryFor(options.env ?? process.env, outside.clock.now, place.store);
    const tracers = [telemetry, safeTracer(options.tracer)].filter((one) => one !== null);
    return { given, agentsByName, outside, place, deciding, policies, tracers };
  } catch (error) {
    await place.close();
    throw error;
  }
}

async function portsOf(options: RuntimeOptions): Promise<Outside> {
  const settings = readModelSettings(options.env ?? process.env, options.folder ?? null);
  return {
    model: options.model ?? createModelLookup(settings),
    clock: bindMethods(options.clock ?? NODE.clock),
    ids: bindMethods(options.ids ?? NODE.ids),
    counters: withOwnCounters(options.counters),
    contextPlans: ownContextPlans(options.contextPlans),
    embedder: await embedderOf(options.embedding ?? null, settings),
  };
}

async function embedderOf(embedding: string | Embedder | null, settings: ModelSettings): Promise<Embedder | null> {
  if (typeof embedding === "string") return (await import("../models/embedding.ts")).embedderFor(embedding, settings);
  return embedding === null ? null : bindMethods(embedding);
}

const surfacesOf =
  ({ surface = "library", surfaces = {} }: RuntimeOptions) =>
  (agent: string): Surface =>
    Object.hasOwn(surfaces, agent) ? (surfaces[agent] ?? surface) : surface;

async function complete<Value, const Out extends Schema | undefined = undefined>(
  run: Runtime["run"],
  ref: AgentRef<Value>,
  input: string,
  given: RunOptions<Out> = {},
): Promise<CompletedRun<ValueOf<Out, Value>>> {
  const wrong = runFault([ref, input, given]);
  if (wrong !== null) throw wrong;
  const events: Entry[] = [];
  const on = (live: Live) => {
    if (live.kind === "entry") events.push(live.entry);
    given.on?.(live);
  };
  const result = await run(ref, input, { ...given, on }).result;
  return Object.assign(result, { events }); // not a copy: the conversation is made when it is looked at
}

function inspectOf({ store }: OpenProjectStore, { counters }: Outside, { gate }: RuntimeOptions, agents: readonly Agent[]): Inspect {
  const { journal } = store;
  return {
    sessions: journal.sessions,
    session: journal.session,
    find: journal.find,
    state: (session) => readState({ journal }, session, { counters }),
    events: (session) => eachEntry(journal, session),
    agents,
    policies: () => gate.digest,
    gate,
    head: store.head,
  };
}

/** W-31 loaded only where the standard variables ask for it: for everybody else it costs nothing. */
async function telemetryFor(env: Env, now: () => number, { slot, journal }: Pick<Store, "slot" | "journal">): Promise<Telemetry | null> {
  if (!Object.keys(env).some((name) => /^OTEL_EXPORTER_OTLP_(?:.*_)?ENDPOINT$/.test(name))) return null;
  const { openTelemetry, telemetrySettings } = await import("./telemetry.ts");
  const settings = telemetrySettings(env, version(), slot.writer);
  return settings === null ? null : openTelemetry(settings, now, (taken) => readRunningTurn(journal, taken));
}
