import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { defineAgent, defineTool, estimateTokens, FaultError, tableGate, writerId } from "@orgate/core";
import { memoryKnowledge, memoryStore } from "@orgate/core/testing";
import { afterEach, describe, expect, test } from "vitest";
import * as z from "zod";
import { sha256 } from "../../node/crypto.ts";
import type { RuntimeOptions } from "../api.ts";
import { createRuntime } from "../runtime.ts";
import { NODE } from "./outside.ts";
import { safeTracer, withOwnCounters } from "./own-ports.ts";
import { type OpenOwnStore, type OwnStore, openOwnStore } from "./own-store.ts";

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});
function options(more: Partial<RuntimeOptions> = {}) {
  const directory = mkdtempSync(join(tmpdir(), "orgate-ports-"));
  folders.push(directory);
  const runs: string[] = [];
  const tool = defineTool({
    name: "note",
    description: "Notes.",
    input: z.strictObject({}),
    run: async () => {
      runs.push("ran");
      return "noted";
    },
  });
  const agent = defineAgent({
    name: "clerk",
    instructions: "Note it.",
    model: "offline/clerk",
    modelOptions: { rules: [{ when: { notCalled: ["note"] }, calls: [{ tool: "note", args: {} }] }, { say: "Done." }] },
    tools: [tool],
    knowledge: true,
  });
  const given: RuntimeOptions = {
    directory,
    agents: [agent],
    gate: tableGate([{ id: "all", action: "*", verdict: "allow" }], sha256),
    principal: { kind: "user", id: "ada" },
    ...more,
  };
  return { given, runs };
}
const inMemory: OpenOwnStore = ({ keyFor }) => {
  const writer = writerId("w1");
  return memoryStore({ writer, hash: sha256, salt: () => randomBytes(16).toString("hex"), ...keyFor(writer) });
};
const fail = (): never => {
  throw new Error("stuck");
};

/** The same port as an instance of a class: methods on the prototype, state in a private field. */
function asInstance<T extends object>(port: T): T {
  class Instance {
    readonly #port = port;
    static partOf(instance: Instance, name: keyof T): unknown {
      return instance.#port[name];
    }
  }
  for (const name of Object.keys(port) as (keyof T)[]) {
    const isMethod = typeof port[name] === "function";
    Object.defineProperty(Instance.prototype, name, {
      [isMethod ? "value" : "get"]: isMethod
        ? function (this: Instance, ...args: unknown[]) {
            return Reflect.apply(Instance.partOf(this, name) as () => unknown, port, args);
          }
        : function (this: Instance) {
            return Instance.partOf(this, name);
          },
    });
  }
  return new Instance() as unknown as T;
}
async function errorOf(work: Promise<unknown>): Promise<string> {
  return work.then(
    () => "nothing was thrown",
    (error: unknown) => (error instanceof Error ? error.message : String(error)),
  );
}

describe("a journal store of the program's own", () => {
  test("runs agents, and keeps everything that happened", async () => {
    const { given, runs } = options({ store: inMemory });
    const runtime = await createRuntime(given);
    const { ending, session } = await runtime.complete("clerk", "Go.");
    const kinds: string[] = [];
    for await (const { event } of runtime.inspect.events(session)) kinds.push(event.kind);
    expect([ending, runs, kinds.at(0), kinds.at(-1)]).toEqual(["completed", ["ran"], "session.opened", "turn.ended"]);
    await runtime.close();
  });

  test("that throws while it opens is told, and nothing is opened", async () => {
    const { given } = options({ store: () => Promise.reject(new Error("no connection")) });
    expect(await errorOf(createRuntime(given))).toBe("no connection");
  });

  test("that is no store is refused", async () => {
    const { given } = options({ store: (() => ({})) as unknown as OpenOwnStore });
    expect(await errorOf(createRuntime(given))).toContain("it has no `journal` or no `inbox`");
  });

  test("that never opens is given up", async () => {
    const opening = {} as Parameters<OpenOwnStore>[0];
    expect(await errorOf(openOwnStore(() => new Promise(() => {}), opening, 10))).toContain("it was not open within 10 ms");
  });

  test("that opens after it was given up is closed", async () => {
    const [comes, isClosed] = [Promise.withResolvers<OwnStore>(), Promise.withResolvers<void>()];
    expect(await errorOf(openOwnStore(() => comes.promise, {} as Parameters<OpenOwnStore>[0], 10))).toContain(
      "it was not open within 10 ms",
    );
    comes.resolve({ close: async () => isClosed.resolve() } as OwnStore);
    await isClosed.promise;
  });

  test("may be made of classes, like the clock, the ids and the inbox: methods keep their `this`, and no part is left out", async () => {
    let closed = 0;
    const raised: string[] = [];
    class Alarms {
      standing = () => [];
      raise(what: string) {
        raised.push(what);
        return true;
      }
      acknowledge() {
        return [];
      }
    }
    class Disk {
      readonly #store: OwnStore;
      readonly #alarms = new Alarms();
      constructor(store: OwnStore) {
        this.#store = store;
      }
      get journal() {
        return asInstance(this.#store.journal);
      }
      get inbox() {
        return asInstance(this.#store.inbox);
      }
      get alarms() {
        return this.#alarms;
      }
      head() {
        return this.#store === null ? "" : "the head";
      }
      async close() {
        closed += this.#store === null ? 0 : 1;
      }
    }
    const store: OpenOwnStore = async (opening) => new Disk(await inMemory(opening)) as unknown as OwnStore;
    const { given, runs } = options({ store, clock: asInstance(NODE.clock), ids: asInstance(NODE.ids) });
    const runtime = await createRuntime(given);
    const { ending, session } = await runtime.complete("clerk", "Go.");
    expect([ending, runs]).toEqual(["completed", ["ran"]]);
    expect((await runtime.inspect.session(session))?.session).toBe(session);
    expect((await runtime.sessions.get(session))?.session).toBe(session);
    expect(await runtime.inspect.head()).toBe("the head");
    expect(await runtime.approvals.list()).toEqual([]);
    await runtime.place.store.alarms.raise("x", "y");
    await runtime.close();
    expect([closed, raised]).toEqual([1, ["x"]]);
  });

  test.each<[string, Partial<RuntimeOptions>]>([
    ["knowledge that throws", { knowledge: Object.assign(memoryKnowledge(), { close: () => fail() }) }],
    ["knowledge that rejects", { knowledge: Object.assign(memoryKnowledge(), { close: () => Promise.reject(new Error("stuck")) }) }],
    ["a notifier that rejects", { notify: { tell: () => {}, close: () => Promise.reject(new Error("stuck")) } }],
  ])("is closed although %s cannot be closed, and the error is told", async (_, more) => {
    const closed: string[] = [];
    const store: OpenOwnStore = async (opening) => ({ ...(await inMemory(opening)), close: async () => void closed.push("store") });
    const runtime = await createRuntime(options({ store, ...more }).given);
    await runtime.complete("clerk", "Go.");
    expect([await errorOf(runtime.close()), closed]).toEqual(["stuck", ["store"]]);
  });

  test("that takes no more appends stops the run before the tool is run", async () => {
    const store: OpenOwnStore = async (opening) => {
      const { journal, ...rest } = await inMemory(opening);
      const append: typeof journal.append = (batch) =>
        batch.events.some(({ event }) => event.kind === "act.started")
          ? Promise.reject(new FaultError({ kind: "journal-unwritable", detail: "full" }))
          : journal.append(batch);
      return { ...rest, journal: { ...journal, append } };
    };
    const { given, runs } = options({ store });
    const runtime = await createRuntime(given);
    expect(await errorOf(runtime.complete("clerk", "Go."))).toContain("full");
    expect(runs).toEqual([]);
    await runtime.close();
  });

  test.each([undefined, 7_000])("that says %j in place of where it put a batch stops the run before the tool is run", async (place) => {
    const store: OpenOwnStore = async (opening) => {
      const { journal, ...rest } = await inMemory(opening);
      const append = async (batch: Parameters<typeof journal.append>[0]) => {
        const first = await journal.append(batch);
        return batch.events.some(({ event }) => event.kind === "act.started") ? (place as never) : first;
      };
      return { ...rest, journal: { ...journal, append } };
    };
    const { given, runs } = options({ store });
    const runtime = await createRuntime(given);
    expect(await errorOf(runtime.complete("clerk", "Go."))).toContain(`at ${place}`);
    expect(runs).toEqual([]);
    await runtime.close();
  });

  test("says what it cannot do when that is asked of it", async () => {
    const { given } = options({ store: inMemory });
    const runtime = await createRuntime(given);
    await expect(runtime.inspect.head()).rejects.toThrow("this journal store cannot show its head");
    await runtime.close();
  });
});

test("a notifier may be an instance of a class", async () => {
  class Desk {
    readonly told: string[] = [];
    tell({ kind }: Parameters<NonNullable<RuntimeOptions["notify"]>["tell"]>[0]) {
      this.told.push(kind);
    }
    async close() {}
  }
  const notify = new Desk();
  const gate = tableGate(
    [
      { id: "ask", action: "tool:note", verdict: "ask" },
      { id: "all", action: "*", verdict: "allow" },
    ],
    sha256,
  );
  const runtime = await createRuntime(options({ notify, gate }).given);
  await runtime.complete("clerk", "Go.");
  expect(notify.told).toHaveLength(1);
  await runtime.close();
});

describe("a knowledge store of the program's own", () => {
  test("that throws does not end the run", async () => {
    const broken = { ...memoryKnowledge(), search: () => Promise.reject(new Error("gone")) } as unknown as ReturnType<
      typeof memoryKnowledge
    >;
    const { given, runs } = options({ knowledge: broken });
    const runtime = await createRuntime(given);
    const { ending } = await runtime.complete("clerk", "Go.");
    expect([ending, runs]).toEqual(["completed", ["ran"]]);
    await runtime.close();
  });
});

describe("token counters of the program's own", () => {
  test.each([
    [
      "throws",
      () => {
        throw new Error("no");
      },
    ],
    ["counts below zero", () => -1],
    ["counts nothing at all", () => Number.NaN],
    ["counts halves", () => 0.5],
  ])("one that %s is replaced by the estimate", (_, count) => {
    expect(withOwnCounters(() => count)("own/x")("some words")).toBe(estimateTokens("some words"));
  });

  test("a name it does not know is counted as before", () => {
    expect(withOwnCounters(() => null)("estimate")("some words")).toBe(estimateTokens("some words"));
    expect(withOwnCounters(() => (text) => text.length)("own/x")("abc")).toBe(3);
  });
});

describe("a tracer of the program's own", () => {
  test("that throws does not end the run", async () => {
    const tracer = {
      hear: () => {
        throw new Error("no");
      },
      close: () => Promise.reject(new Error("no")),
    };
    const { given, runs } = options({ tracer });
    const runtime = await createRuntime(given);
    expect((await runtime.complete("clerk", "Go.")).ending).toBe("completed");
    expect(runs).toEqual(["ran"]);
    await runtime.close();
  });

  test("that rejects later does not end the process", async () => {
    const { given, runs } = options({ tracer: { hear: async () => Promise.reject(new Error("no")) } });
    const runtime = await createRuntime(given);
    expect((await runtime.complete("clerk", "Go.")).ending).toBe("completed");
    expect(runs).toEqual(["ran"]);
    await runtime.close();
  });

  test("that never closes is not waited for", async () => {
    await safeTracer({ hear: () => {}, close: () => new Promise(() => {}) }, 10)?.close();
  });
});

test.each([
  ["breakers", { "tool:x": { failures: 0 } }, "settings by breaker"],
  ["breakers", { "tool:x": { tries: 3 } }, "settings by breaker"],
  ["breakers", { "tols:x": { failures: 3 } }, "settings by breaker"],
  ["clock", { now: 1 }, "a clock"],
  ["ids", {}, "ids: { session, approval, intent }"],
  ["counters", 3, "a function from a tokenizer's name"],
  ["tracer", {}, "a tracer"],
  ["knowledge", {}, "a knowledge store"],
])("`%s` of another shape is refused before anything is opened", async (name, value, wanted) => {
  const { given } = options({ [name]: value } as Partial<RuntimeOptions>);
  expect(await errorOf(createRuntime(given))).toContain(wanted);
});

test.each([
  [
    "a context plan",
    { context: { kind: "own", plan: "newst" } },
    { contextPlans: { newest: () => null } },
    "there is no context plan `newst`",
  ],
  ["a context plan", { context: { kind: "own", plan: "toString" } }, {}, "there is no context plan `toString`"],
  ["a token counter", { tokenizer: "own/letters" }, { counters: () => null }, "there is no token counter `own/letters`"],
  ["a token counter", { tokenizer: "own/letters" }, {}, "there is no token counter `own/letters`"],
] as const)("an agent that names %s which nobody brings is refused before anything is opened", async (_, setting, ports, wanted) => {
  const { given } = options({ agents: [defineAgent({ name: "clerk", instructions: "x", ...setting })], ...ports });
  expect(await errorOf(createRuntime(given))).toContain(wanted);
});
