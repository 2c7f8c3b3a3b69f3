import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Decision, defineAgent, defineTool, describeFault, FaultError, type Gate, isFault, tableGate } from "@orgate/core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import * as library from "../index.ts";
import { ed25519, sha256 } from "../node/crypto.ts";
import { createPerson, type Person } from "../store/keyring.ts";
import type { Runtime, RuntimeOptions } from "./api.ts";
import { RUN_OPTIONS, RUNTIME_OPTIONS } from "./front-door.ts";
import { createRuntime } from "./runtime.ts";

const folder = mkdtempSync(join(tmpdir(), "orgate-front-door-"));
const pay = defineTool({
  name: "pay",
  description: "Pays.",
  effects: ["spend"],
  input: { type: "object", properties: {}, additionalProperties: false },
  run: () => void paid.push("paid"),
});
const paid: string[] = [];
const rules = [
  { when: { notCalled: ["pay"] }, calls: [{ tool: "pay" }] },
  { when: {}, say: "done" },
];
const clerk = defineAgent({ name: "clerk", instructions: "Pay.", model: "offline/clerk", tools: [pay], modelOptions: { rules } });
const allow = tableGate([{ id: "all", action: "*", verdict: "allow" }], sha256);
const asks = tableGate(
  [
    { id: "pays", action: "tool:pay", verdict: "ask", say: "pay?" },
    { id: "rest", action: "*", verdict: "allow" },
  ],
  sha256,
);
const options = (name: string, gate: Gate): RuntimeOptions => ({
  directory: join(folder, name),
  agents: [clerk],
  gate,
  principal: { kind: "user", id: "ann" },
  powerCut: "lose-last-moments",
});

let runtime: Runtime;
let ann: Person;
beforeAll(async () => {
  runtime = await createRuntime(options("main", asks));
  ann = createPerson(join(folder, "home"), "ann", ed25519);
});
afterAll(async () => {
  await runtime.close();
  rmSync(folder, { recursive: true, force: true });
});

/** As a program in plain JavaScript calls it: `path` leads to the function. */
function called(on: object, path: string, args: readonly unknown[]): unknown {
  let [self, found]: unknown[] = [null, on];
  for (const name of path.split(".")) [self, found] = [found, Reflect.get(Object(found), name)];
  if (typeof found !== "function") throw new Error(`there is no ${path}`);
  return Reflect.apply(found, self, [...args]);
}

/** The error that a call throws, rejects with, or ends its iteration with. */
async function thrown(call: () => unknown): Promise<unknown> {
  try {
    const came = await call();
    if (typeof came === "object" && came !== null && "result" in came) await came.result;
    else if (typeof came === "object" && came !== null && Symbol.asyncIterator in came)
      for await (const _ of came as AsyncIterable<unknown>);
    return null;
  } catch (error) {
    return error;
  }
}

function expectFault(error: unknown, names: string): void {
  expect(error).toBeInstanceOf(FaultError);
  if (!isFault(error)) return;
  const { message, hint } = describeFault(error.fault);
  expect(message).toContain(names);
  expect(hint).not.toBe("");
}

const NOT_PEOPLE = [
  undefined,
  null,
  "ann",
  { kind: "user", id: "ann" },
  { name: "ann" },
  { name: "ann", key: "k" },
  { name: "", key: {} },
  7,
];
const S = "s_none";
/** Every function that takes a person, with arguments that are right but for the person. */
const BY_PEOPLE: readonly (readonly [string, readonly unknown[]])[] = [
  ["approvals.answer", [{ approval: "a_1", digest: "d", answer: { kind: "approve" } }]],
  ["approvals.revoke", ["g_1", "why"]],
  ["followUp", [S, "more"]],
  ["halt", ["all", "why"]],
  ["resumeWork", ["all", "why"]],
  ["breakers.set", ["tool:pay", { to: "open", reason: "why" }]],
  ["breakers.reset", ["tool:pay", "why"]],
  ["deadLetters.dismiss", [{ session: S, call: "1.0" }]],
  ["known.add", [{ set: "payees", value: "bob", why: "why" }]],
  ["known.remove", [{ set: "payees", value: "bob", why: "why" }]],
  ["unlabel", [{ session: S, labels: ["untrusted"], why: "why" }]],
  ["resolve", [{ session: S, call: "1.0", as: "happened" }]],
];

/** Every function that takes an argument: each of these is wrong. */
const WRONG: readonly (readonly [string, readonly (readonly unknown[])[]])[] = [
  [
    "run",
    [
      [],
      [null, "hi"],
      [7, "hi"],
      [{ name: "clerk" }, "hi"],
      ["clerk"],
      ["clerk", 7],
      ["clerk", "hi", null],
      ["clerk", "hi", "x"],
      ["clerk", "hi", { sesion: S }],
      ["clerk", "hi", { session: 7 }],
      ["clerk", "hi", { principal: "ann" }],
      ["clerk", "hi", { labels: "untrusted" }],
      ["clerk", "hi", { signal: {} }],
      ["clerk", "hi", { on: "x" }],
      ["clerk", "hi", { limits: 7 }],
      ["clerk", "hi", { history: {} }],
      ["clerk", "hi", { history: [null] }],
      ["clerk", "hi", { files: 7 }],
      ["clerk", "hi", { files: [null] }],
      ["clerk", "hi", { output: 7 }],
      ["clerk", "hi", { limits: { iterations: "x" } }],
    ],
  ],
  ["complete", [[], [null, "hi"], ["clerk"], ["clerk", "hi", null], ["clerk", "hi", { on: 7 }]]],
  ["resume", [[], [null], [S, null], [S, { on: 7 }], [S, { sginal: 1 }], [S, { maxRestMs: "1 h" }]]],
  ["putIntent", [[], [null], [{}], [{ id: "i" }]]],
  ["followUp", [[], [null, "hi"], [S], [S, 7], [S, { text: 7 }]]],
  [
    "subscribe",
    [[], [null], [{}], [{ session: 7 }], [{ all: true }, null], [{ all: true }, { after: "x" }], [{ all: true }, { signal: 7 }]],
  ],
  ["halt", [[], [7, "why"], ["all"], ["nothing", "why"]]],
  ["resumeWork", [[], [7, "why"], ["all"]]],
  ["unlabel", [[], [null], [{}], [{ session: S }], [{ session: S, labels: [7], why: "w" }]]],
  ["resolve", [[], [null], [{}], [{ session: S, call: "1.0", as: "maybe" }]]],
  [
    "sessions.create",
    [
      [],
      [null],
      ["clerk"],
      [{}],
      [{ agent: 7 }],
      [{ agent: "clerk", id: 7 }],
      [{ agent: "clerk", labels: 7 }],
      [{ agent: "clerk", history: 7 }],
      [{ agent: "clerk", principal: "ann" }],
    ],
  ],
  ["sessions.import", [[], [null], [{ agent: "clerk", history: "x" }], [{ agent: "clerk", history: [7] }]]],
  ["sessions.get", [[], [null], [7]]],
  ["sessions.find", [[], [null], [7]]],
  ["sessions.restore", [[], [null], [7]]],
  ["sessions.list", [[null], [7], [{ state: "asleep" }], [{ most: "x" }], [{ agnet: "clerk" }]]],
  ["sessions.fork", [[], [null], [S, null], [S, { att: 7 }], [S, { principal: 7 }]]],
  ["sessions.close", [[], [null, "why"], [S], [S, 7], [S, "why", "ann"]]],
  ["approvals.list", [[null], [7], [{ after: "x" }], [{ most: -1 }]]],
  ["approvals.show", [[], [null], [7]]],
  [
    "approvals.answer",
    [
      [],
      [null],
      ["a_1"],
      [{}],
      [{ approval: "a_1" }],
      [{ approval: "a_1", digest: "d" }],
      [{ approval: "a_1", digest: "d", answer: "approve" }],
    ],
  ],
  ["approvals.revoke", [[], [7, "why"], ["g_1"]]],
  ["breakers.set", [[], [7], ["tool:pay"], ["tool:pay", { to: "ajar", reason: "w" }]]],
  ["breakers.reset", [[], [7, "why"], ["tool:pay"]]],
  ["deadLetters.list", [[null], [7]]],
  ["deadLetters.show", [[], [S], [S, 7]]],
  ["deadLetters.dismiss", [[], [null], [{}]]],
  ["known.list", [[null], [7], [{ set: 7 }]]],
  ["known.add", [[], [null], [{}], [{ set: "payees", value: 7, why: "w" }]]],
  ["known.remove", [[], [null], [{}]]],
  ["inspect.session", [[], [7]]],
  ["inspect.find", [[], [7]]],
  ["inspect.state", [[], [7]]],
  ["inspect.sessions", [[], [null], [7]]],
  ["inspect.events", [[], [7]]],
  ["wantPreviews", [[7], [{}]]],
];

describe("wrong arguments", () => {
  test.each(BY_PEOPLE)("A-16 %s: whoever is not a person with a key is one fault that says what is needed", async (path, args) => {
    for (const as of NOT_PEOPLE) {
      const error = await thrown(() => called(runtime, path, [...args, as]));
      expectFault(error, `\`${path}\` was called wrongly: \`as\` must be a person with their key`);
      if (isFault(error)) expect(describeFault(error.fault).hint).toContain("openPerson");
    }
  });

  test.each(WRONG)(
    "A-16 %s: each wrong argument is a fault with a message and a next step, never a bare TypeError",
    async (path, wrong) => {
      const kinds = [];
      for (const args of wrong) {
        const error = await thrown(() => called(runtime, path, args));
        if (!isFault(error)) kinds.push([args, String(error)]);
        else expectFault(error, "");
      }
      expect(kinds).toEqual([]);
    },
  );

  test.each([-1, 1.5, "1 h", null])("A-16 resume with maxRestMs: %j names the option", async (maxRestMs) => {
    expectFault(await thrown(() => called(runtime, "resume", [S, { maxRestMs }])), "options.maxRestMs");
  });

  test("A-16 every function of a runtime that takes arguments is in the tables", () => {
    const tabled = new Set([...BY_PEOPLE, ...WRONG].map(([path]) => path));
    const none = ["approvals.grants", "breakers.list", "halts", "park", "close", "inspect.policies", "inspect.head"];
    const functionsOf = (on: object, prefix: string): readonly string[] =>
      Object.entries(on).flatMap(([name, value]) => (typeof value === "function" ? [`${prefix}${name}`] : []));
    const rooms = ["sessions", "approvals", "breakers", "deadLetters", "known", "inspect"] as const;
    const all = [...functionsOf(runtime, ""), ...rooms.flatMap((room) => functionsOf(runtime[room], `${room}.`))];
    expect(all.filter((path) => !tabled.has(path)).sort()).toEqual([...none].sort());
  });

  test.each<readonly [string, unknown, string]>([
    ["nothing", undefined, "options"],
    ["a text", "dir", "options"],
    ["no directory", { ...options("w", allow), directory: undefined }, "options.directory"],
    ["agents by name", { ...options("w", allow), agents: ["clerk"] }, "options.agents[0]"],
    ["one agent", { ...options("w", allow), agents: clerk }, "options.agents"],
    [
      "an agent that nobody defined",
      { ...options("w", allow), agents: [{ name: "a", instructions: "b", model: "c/d" }] },
      "options.agents[0]",
    ],
    ["no gate", { ...options("w", allow), gate: undefined }, "options.gate"],
    ["the promise of a gate", { ...options("w", allow), gate: Promise.resolve(allow) }, "is a promise: `await` it first"],
    ["half a gate", { ...options("w", allow), gate: { decide: () => null } }, "options.gate"],
    ["a principal's name", { ...options("w", allow), principal: "ann" }, "options.principal"],
    ["an unknown surface", { ...options("w", allow), surface: "moon" }, "options.surface"],
    ["a misspelt option", { ...options("w", allow), midleware: [] }, "options.midleware"],
    ["a model that is no function", { ...options("w", allow), model: "x/y" }, "options.model"],
    ["middleware that is no list", { ...options("w", allow), middleware: {} }, "options.middleware"],
    ["a power cut that there is not", { ...options("w", allow), powerCut: "maybe" }, "options.powerCut"],
    ["a sealing that there is not", { ...options("w", allow), sealing: "maybe" }, "options.sealing"],
  ])("A-16 createRuntime with %s names the option", async (_, given, names) => {
    expectFault(await thrown(() => Reflect.apply(createRuntime, null, [given])), names);
  });

  const maker = (name: string): ((...args: readonly unknown[]) => unknown) => {
    const found: unknown = Reflect.get(library, name);
    if (typeof found !== "function") throw new Error(`there is no ${name}`);
    return (...args) => Reflect.apply(found, null, args);
  };
  test.each<readonly [string, readonly (readonly unknown[])[]]>([
    ["cedarPolicies", [[], [null], ["policies"], [{}], [{ directory: "policies" }]]],
    ["tableGate", [[], [null, sha256], [[]]]],
    ["symbiAgents", [[], [null], ["."], [{}]]],
    ["manifestTools", [[], [null], ["."], [{}]]],
    ["fileTools", [[], [null], ["."], [{}]]],
    ["pathGuard", [[], [null], ["."], [{}], [{ root: "." }]]],
    ["openMcp", [[], [null], [{}], [{ servers: {} }]]],
    ["webhook", [[], [null], [{}], [{ url: "x", secret: "s" }], [{ url: "ftp://h/", secret: "s" }], [{ url: "http://127.0.0.1/" }]]],
    ["signIntent", [[], [null, {}], ["ann", {}], [{ name: "ann" }, {}]]],
    ["createPerson", [[], [null, "ann"], [folder, ""], [folder, null]]],
    ["openPerson", [[], [null, "ann"], [folder, ""], [folder, null]]],
    ["defineAgent", [[], [null], ["clerk"], [{}]]],
    ["defineTool", [[], [null], ["pay"], [{}]]],
  ])("A-16 %s: each wrong argument is a fault with a message and a next step", async (name, wrong) => {
    for (const args of wrong) expectFault(await thrown(() => maker(name)(...args)), "");
  });

  test("A-16 right arguments go through: a person answers, and the call runs", async () => {
    const before = paid.length;
    await runtime.place.keyring.certifyPerson("ann", ann.key.publicKey);
    const run = await runtime.run(clerk, "pay").result;
    const [question] = run.questions;
    if (question === undefined) throw new Error("nothing was asked");
    const { approval, digest } = question;
    const { result } = await runtime.approvals.answer({ approval, digest, answer: { kind: "approve" } }, ann);
    expect([result?.ending, paid.length - before]).toEqual(["completed", 1]);
  });
});

describe("the guide's page", () => {
  const page = readFileSync(join(import.meta.dirname, "../../../../docs/guide/library.md"), "utf8");
  test("R-7 it has a row for every option of createRuntime and of a run", () => {
    const rows = [...page.matchAll(/^\| `(\w+)` \|/gm)].map(([, name = ""]) => name);
    expect(rows.toSorted()).toEqual([...Object.keys(RUNTIME_OPTIONS), ...Object.keys(RUN_OPTIONS)].toSorted());
  });
  test("R-7 it names every part of a runtime", () => {
    expect(Object.keys(runtime).filter((name) => !page.includes(`\`${name}`))).toEqual([]);
  });
});

describe("a gate that is not a gate", () => {
  const faulty = (decide: (decision: Decision) => unknown): Gate =>
    ({
      ...allow,
      decide: (...args: Parameters<Gate["decide"]>) => (args[0].kind === "call" ? decide(allow.decide(...args)) : allow.decide(...args)),
    }) as Gate;

  test.each<readonly [string, (decision: Decision) => unknown, string]>([
    ["a promise", (d) => Promise.resolve(d), "the gate answered a promise, and `decide` must answer at once"],
    [
      "a promise that is rejected",
      () => Promise.reject(new Error("down")),
      "the gate answered a promise, and `decide` must answer at once",
    ],
    ["nothing", () => undefined, "the gate's answer is not a decision"],
    ["yes", () => true, "the gate's answer is not a decision"],
    ["a word", () => "allow", "the gate's answer is not a decision"],
    ["a bare verdict", (d) => d.verdict, "the gate's answer is not a decision"],
    ["a verdict of no kind", (d) => ({ ...d, verdict: { kind: "yes", because: [] } }), "the gate's answer is not a decision"],
    ["an ask without questions", (d) => ({ ...d, verdict: { kind: "ask", because: [], asks: [] } }), "the gate's answer is not a decision"],
    ["a denial without a reason", (d) => ({ ...d, verdict: { kind: "deny", because: [] } }), "the gate's answer is not a decision"],
    ["no slice", (d) => ({ ...d, slice: undefined }), "the gate's answer is not a decision"],
  ])("G-3 a gate that answers %s denies, and the journal says why", async (name, decide, says) => {
    const before = paid.length;
    const own = await createRuntime(options(`gate-${name.replaceAll(" ", "-")}`, faulty(decide)));
    try {
      const { ending, events } = await own.complete(clerk, "pay");
      const denials = events.flatMap(({ event }) =>
        event.kind === "gate.decided" && event.verdict.kind === "deny" ? [event.verdict.faults.map(({ message }) => message)] : [],
      );
      expect([ending, paid.length - before, denials]).toEqual(["completed", 0, [[expect.stringContaining(says)]]]);
    } finally {
      await own.close();
    }
  });

  test("G-3 a promise about a person denies what the person wants, and groups that are a promise are none", async () => {
    const gate = {
      ...asks,
      decideFor: (...args: Parameters<Gate["decideFor"]>) => Promise.resolve(asks.decideFor(...args)),
      groupsOf: () => Promise.reject(new Error("down")),
    } as unknown as Gate;
    const own = await createRuntime(options("people", gate));
    try {
      await own.place.keyring.certifyPerson("ann", ann.key.publicKey);
      const refused = await thrown(() => own.halt("all", "stop", ann));
      expect(isFault(refused, "not-permitted") && refused.message).toContain(
        "the gate answered a promise, and `decide` must answer at once",
      );
      const [question] = (await own.run(clerk, "pay").result).questions;
      if (question === undefined) throw new Error("nothing was asked");
      const { approval, digest } = question;
      const answer = await thrown(() => own.approvals.answer({ approval, digest, answer: { kind: "approve" } }, ann));
      expect(isFault(answer, "intent-refused") && answer.message).toContain(
        "the gate answered a promise, and `decide` must answer at once",
      );
    } finally {
      await own.close();
    }
  });
});
