/** Checks the arguments of the library's front door: a wrong argument is one fault, before anything is done. */
import { isModelName, SURFACES } from "@orgate/core";
import { POWER_CUTS, SEAL_MODES } from "@orgate/core/vocab";
import {
  type ArgumentCheck,
  assertArguments,
  findWrongArgument,
  isObject,
  isText,
  listOf,
  need,
  objectOf,
  oneOf,
  optional,
  PERSON,
  text,
  withArgumentCheck,
} from "../node/argument-checks.ts";
import type { Approvals, Breakers, DeadLetters, ResumeOptions, RunOptions, Runtime, RuntimeOptions, TrustedSets } from "./api.ts";
import type { Sessions } from "./sessions.ts";

const isFunction = (value: unknown): boolean => typeof value === "function";
const hasText = (value: unknown, name: string): boolean => isObject(value) && isText(value[name]);
const hasFunctions = (value: unknown, ...names: readonly string[]): boolean => isObject(value) && names.every((n) => isFunction(value[n]));

const words: ArgumentCheck = need("a text", "write it as a string; it may be empty", (v) => typeof v === "string");
const anything: ArgumentCheck = () => null; // checked, and refused with its own fault, by what reads it
const number: ArgumentCheck = need("a number", "a whole number from 0 on", (v) => Number.isSafeInteger(v) && Number(v) >= 0);
const object: ArgumentCheck = need("an object", "see the type of this argument", (v) => isObject(v) && !Array.isArray(v));
const nullable =
  (inner: ArgumentCheck): ArgumentCheck =>
  (value, at) =>
    value === null ? null : optional(inner)(value, at);

const modelName = need("a model such as anthropic/claude-sonnet-5", "`provider/name`; offline/echo needs no key", isModelName);
const session = text("the id of a session: `result.session`, or one of `sessions.list()`");
const why = words;
const flag = need("true or false", "leave it out for false", (v) => typeof v === "boolean");
const principal: ArgumentCheck = need(
  'a principal such as { kind: "user", id: "ada" }',
  "kind is user, agent or system; id is a name",
  (v) => hasText(v, "id") && isObject(v) && ["user", "agent", "system"].includes(String(v.kind)),
);
const isAgent = (value: unknown): boolean => hasText(value, "name") && hasFunctions(value, "digest");
const agent = need("an agent", "make it with `defineAgent`", isAgent);
const agentRef = need(
  "an agent or its name",
  "the name of an agent that `createRuntime` was given, or that agent itself",
  (v) => isText(v) || isAgent(v),
);
const agentName = text("the name of an agent that `createRuntime` was given");
const labels = listOf(text("a label is a text such as untrusted"), "a list of labels", 'write labels: ["untrusted"]');
const signal = need("an AbortSignal", "`new AbortController().signal`, or `AbortSignal.timeout(ms)`", (v) => v instanceof AbortSignal);
const callback = need("a function", "it is called with each thing that happens", isFunction);

const GATE_HINT =
  "`cedarPolicies({ directory, agents })` reads a folder of policies, `tableGate(rows, sha256)` takes a table; there is no default that permits";
const gate: ArgumentCheck = need(
  "a gate: { digest, lately, decide, decideFor, groupsOf }",
  GATE_HINT,
  (v) => isObject(v) && isText(v.digest) && Array.isArray(v.lately) && hasFunctions(v, "decide", "decideFor", "groupsOf"),
);

const isBreakerName = (name: string): boolean => /^(?:\*|(?:tool|model|mcp):.+)$/.test(name);
const isBreakerSettings = (value: unknown): boolean =>
  isObject(value) &&
  Object.entries(value).every(([key, n]) => ["failures", "openMs", "probes"].includes(key) && Number.isSafeInteger(n) && Number(n) > 0);

/** By option: the type makes sure that none is forgotten. */
export const RUNTIME_OPTIONS: Readonly<Record<keyof RuntimeOptions, ArgumentCheck>> = {
  directory: text("the folder of the journal and its keys, such as ./.orgate"),
  agents: listOf(agent, "a list of agents", "agents: [defineAgent({ … })]"),
  gate,
  principal,
  surface: optional(oneOf(...SURFACES)),
  surfaces: optional(object),
  thread: optional(oneOf("main", "worker")),
  powerCut: optional(oneOf(...POWER_CUTS)),
  sealing: optional(oneOf(...SEAL_MODES)),
  defaultModel: optional(modelName),
  model: optional(need("a function from an agent to a model", "model: (agent) => languageModel(…)", isFunction)),
  env: optional(object),
  folder: optional(text("the project's folder, where its .env lies")),
  notify: optional(need("a notifier: { tell, close }", "`webhook({ url, secret })` makes one", (v) => hasFunctions(v, "tell", "close"))),
  middleware: optional(listOf(object, "a list of middleware", "middleware: [defineMiddleware({ … })]")),
  embedding: optional(
    need(
      "`provider/model` or an embedder: { model, embed }",
      "such as openai/text-embedding-3-small",
      (v) => isText(v) || hasFunctions(v, "embed"),
    ),
  ),
  project: optional(text("the project's name, for notices")),
  cluster: nullable(object),
  store: optional(need("a function that opens a journal store", "store: (opening) => ({ journal, inbox })", isFunction)),
  knowledge: optional(
    need("a knowledge store", "docs/guide/library.md names the parts", (v) => hasFunctions(v, "search", "put", "embed", "used", "close")),
  ),
  counters: optional(need("a function from a tokenizer's name to a counter", "counters: (tokenizer) => (text) => text.length", isFunction)),
  contextPlans: optional(
    need(
      "context plans by name",
      'contextPlans: { newest: (view) => ({ kind: "drop", upTo: 4 }) }',
      (v) => isObject(v) && Object.values(v).every(isFunction),
    ),
  ),
  breakers: optional(
    need(
      "settings by breaker: { failures, openMs, probes }",
      'breakers: { "tool:search": { failures: 3 } }; each is a whole number above 0',
      (v) => isObject(v) && Object.keys(v).every(isBreakerName) && Object.values(v).every(isBreakerSettings),
    ),
  ),
  tracer: optional(need("a tracer: { hear }", "tracer: { hear: (entry, agent) => … }", (v) => hasFunctions(v, "hear"))),
  clock: optional(
    need("a clock: { now, elapsed, sleep }", "leave it out for the machine's", (v) => hasFunctions(v, "now", "elapsed", "sleep")),
  ),
  ids: optional(
    need("ids: { session, approval, intent }", "leave it out for random ones", (v) => hasFunctions(v, "session", "approval", "intent")),
  ),
};

const subject = need("whom the session serves: { id, attributes }", 'subject: { id: "C-7" }', (v) => isObject(v) && isText(v.id));

export const RUN_OPTIONS: Readonly<Record<keyof RunOptions, ArgumentCheck>> = {
  session: optional(session),
  id: optional(words),
  principal: optional(principal),
  subject: optional(subject),
  labels: optional(labels),
  history: anything,
  files: anything,
  limits: optional(object),
  model: optional(modelName),
  output: anything,
  outputRepairs: anything,
  signal: optional(signal),
  on: optional(callback),
};
const SEE = "docs/guide/library.md names every option";
const runOptions = optional(objectOf(RUN_OPTIONS, SEE));
export const RESUME_OPTIONS: Readonly<Record<keyof ResumeOptions, ArgumentCheck>> = {
  signal: optional(signal),
  on: optional(callback),
  maxRestMs: optional(number),
};

/** Throws unless these options can open a runtime. */
export function checkRuntimeOptions(options: unknown): void {
  assertArguments("createRuntime", { options: objectOf(RUNTIME_OPTIONS, SEE) }, options);
}

export const runFault = (args: readonly unknown[]) =>
  findWrongArgument("run", { agent: agentRef, input: words, options: runOptions }, args);
export const resumeFault = (args: readonly unknown[]) =>
  findWrongArgument("resume", { session, options: optional(objectOf(RESUME_OPTIONS, SEE)) }, args);

const page = optional(objectOf({ after: nullable(number), most: optional(number) }, "such as { after: 0, most: 50 }"));
const newSession = {
  agent: agentName,
  id: optional(words),
  labels: optional(labels),
  subject: optional(subject),
  history: anything,
  principal: optional(principal),
  model: optional(modelName),
};

const sessionPage = objectOf(
  {
    state: nullable(oneOf("idle", "running", "waiting", "closed")),
    agent: nullable(words),
    before: nullable(object),
    most: optional(number),
  },
  'such as { state: "waiting", agent: null, before: null, most: 50 }',
);

const checkedSessions = (s: Sessions): Sessions => ({
  create: withArgumentCheck("sessions.create", { session: objectOf(newSession, SEE) }, s.create),
  import: withArgumentCheck("sessions.import", { session: objectOf(newSession, SEE) }, s.import),
  get: withArgumentCheck("sessions.get", { session }, s.get),
  find: withArgumentCheck("sessions.find", { id: words }, s.find),
  restore: withArgumentCheck("sessions.restore", { session }, s.restore),
  list: withArgumentCheck("sessions.list", { page: optional(sessionPage) }, s.list),
  fork: withArgumentCheck(
    "sessions.fork",
    { session, how: optional(objectOf({ at: nullable(anything), id: nullable(words), principal: optional(principal) }, SEE)) },
    s.fork,
  ),
  close: withArgumentCheck("sessions.close", { session, reason: why, by: optional(principal) }, s.close),
});

const ANSWER = 'approval and digest as `approvals.show(id)` gives them, and an answer such as { kind: "approve" }';
const checkedApprovals = (a: Approvals): Approvals => ({
  list: withArgumentCheck("approvals.list", { page }, a.list),
  show: withArgumentCheck("approvals.show", { approval: text("an id of `approvals.list()`") }, a.show),
  answer: withArgumentCheck(
    "approvals.answer",
    {
      answer: objectOf(
        { approval: text(ANSWER), digest: text(ANSWER), answer: need("an answer: { kind, … }", ANSWER, (v) => hasText(v, "kind")) },
        ANSWER,
      ),
      as: PERSON,
    },
    a.answer,
  ),
  grants: a.grants,
  revoke: withArgumentCheck("approvals.revoke", { grant: text("an id of `approvals.grants()`"), reason: why, as: PERSON }, a.revoke),
});

const breaker = text("tool:NAME, model:PROVIDER/NAME or mcp:SERVER");
const checkedBreakers = (b: Breakers): Breakers => ({
  list: b.list,
  set: withArgumentCheck(
    "breakers.set",
    {
      breaker,
      change: objectOf(
        { to: oneOf("open", "half-open", "closed"), forMs: optional(number), reason: why, anyway: optional(flag) },
        "{ to, forMs, reason, anyway }",
      ),
      as: PERSON,
    },
    b.set,
  ),
  reset: withArgumentCheck("breakers.reset", { breaker, reason: why, as: PERSON }, b.reset),
});

const call = text("the id of a call, such as 1.0");
const checkedLetters = (d: DeadLetters): DeadLetters => ({
  list: withArgumentCheck("deadLetters.list", { page }, d.list),
  show: withArgumentCheck("deadLetters.show", { session, call }, d.show),
  dismiss: withArgumentCheck(
    "deadLetters.dismiss",
    { letter: objectOf({ session, call, note: optional(words) }, SEE), as: PERSON },
    d.dismiss,
  ),
});

const known = objectOf({ set: words, value: words, why: words }, "{ set, value, why }");
const checkedKnown = (k: TrustedSets): TrustedSets => ({
  list: withArgumentCheck(
    "known.list",
    { page: optional(objectOf({ set: nullable(words), after: nullable(object), most: optional(number) }, "{ set, after, most }")) },
    k.list,
  ),
  add: withArgumentCheck("known.add", { entry: known, as: PERSON }, k.add),
  remove: withArgumentCheck("known.remove", { entry: known, as: PERSON }, k.remove),
});

const scope = text("all, agent:NAME or tool:NAME");
const said = need(
  "a text, or { text, files }",
  "what a person says",
  (v) => typeof v === "string" || (isObject(v) && typeof v.text === "string"),
);

/** `run` and `resume` check their own arguments: their result reports what is wrong with them. */
export function checkedRuntime(r: Runtime): Runtime {
  const subscribe = ((to: Parameters<Runtime["subscribe"]>[0], from: Parameters<Runtime["subscribe"]>[1]) => {
    const target = need("{ session } or { all: true }", "whom to follow", (v) => isObject(v) && (isText(v.session) || v.all === true));
    const following = optional(
      objectOf({ after: anything, signal: optional(signal), previews: optional(flag) }, "{ after, signal, previews }"),
    );
    assertArguments("subscribe", { to: target, from: following }, to, from);
    return "session" in to ? r.subscribe(to, from) : r.subscribe(to, from);
  }) as Runtime["subscribe"];
  return {
    ...r,
    subscribe,
    sessions: checkedSessions(r.sessions),
    approvals: checkedApprovals(r.approvals),
    breakers: checkedBreakers(r.breakers),
    deadLetters: checkedLetters(r.deadLetters),
    known: checkedKnown(r.known),
    putIntent: withArgumentCheck(
      "putIntent",
      {
        intent: need(
          "a signed intent",
          "`signIntent(person, { id, session, at, wish })` makes one",
          (v) => hasText(v, "id") && hasText(v, "session") && hasText(v, "signature"),
        ),
      },
      r.putIntent,
    ),
    wantPreviews(of) {
      assertArguments("wantPreviews", { session: nullable(session) }, of);
      return r.wantPreviews(of);
    },
    followUp: withArgumentCheck("followUp", { session, said, as: PERSON }, r.followUp),
    halt: withArgumentCheck(
      "halt",
      { scope, reason: why, as: PERSON, how: optional(objectOf({ anyway: optional(flag) }, "{ anyway: true }")) },
      r.halt,
    ),
    resumeWork: withArgumentCheck("resumeWork", { scope, reason: why, as: PERSON }, r.resumeWork),
    unlabel: withArgumentCheck(
      "unlabel",
      { labels: objectOf({ session, labels, why }, "{ session, labels, why }"), as: PERSON },
      r.unlabel,
    ),
    resolve: withArgumentCheck(
      "resolve",
      {
        unknown: objectOf(
          { session, call, as: oneOf("happened", "did-not-happen", "abandon", "reconcile"), note: optional(words) },
          "{ session, call, as, note }",
        ),
        as: PERSON,
      },
      r.resolve,
    ),
    inspect: {
      ...r.inspect,
      sessions: withArgumentCheck("inspect.sessions", { page: sessionPage }, r.inspect.sessions),
      session: withArgumentCheck("inspect.session", { session }, r.inspect.session),
      find: withArgumentCheck("inspect.find", { id: words }, r.inspect.find),
      state: withArgumentCheck("inspect.state", { session }, r.inspect.state),
      events(id) {
        assertArguments("inspect.events", { session }, id);
        return r.inspect.events(id);
      },
    },
  };
}
