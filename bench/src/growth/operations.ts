/** What must cost the same with a million entries as with ten thousand, as people and programs ask for it. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { createPerson, ed25519, openPerson, type Person, type Runtime } from "orgate";
import { coordinate } from "../coordinator.ts";
import { openLarge } from "./large-journal.ts";

/** A journal that is opened, with a server on it. */
export type Served = Readonly<{
  directory: string;
  runtime: Runtime;
  ann: Person;
  get(path: string): Promise<unknown>;
  /** Reads an answer piece by piece, and keeps none of it. */
  drain(path: string): Promise<void>;
  sweep(): Promise<void>;
  close(): Promise<void>;
}>;
export type Operation = Readonly<{ name: string; run(served: Served): Promise<void> }>;

/** Chat, the first page of the console, with the figures that every page shows. */
const FIRST_SCREEN = [
  "/agents?limit=500",
  "/sessions?limit=100&state=running",
  "/sessions?limit=16",
  "/approvals?limit=100",
  "/unknowns?limit=100",
  "/schedules?limit=100&state=stopped",
  "/breakers",
  "/halts",
];

export async function serve(directory: string): Promise<Served> {
  const runtime = await openLarge(directory);
  const ann = await annOf(runtime, join(directory, "people-of-bench"));
  const at = await coordinate({ runtime, ann });
  async function ask(path: string): Promise<Response> {
    const answer = await fetch(`http://127.0.0.1:${at.port}/api/v1${path}`);
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
    return answer;
  }
  return {
    directory,
    runtime,
    ann,
    get: async (path) => (await ask(path)).json(),
    async drain(path) {
      for await (const _ of (await ask(path)).body ?? []) {
        // only read
      }
    },
    sweep: () => at.sessionDriver.sweep("interrupted"),
    async close() {
      await at.leave({ finishMs: 0, landMs: 5_000, answersMs: 500 });
      await runtime.close();
    },
  };
}

/** Certified once: the stream of keys does not grow with what is measured. */
async function annOf(runtime: Runtime, home: string): Promise<Person> {
  if (existsSync(home)) return openPerson(home, "ann", ed25519);
  const ann = createPerson(home, "ann", ed25519);
  await runtime.place.keyring.certifyPerson(ann.name, ann.key.publicKey);
  return ann;
}

const list = (name: string, path: string): Operation => ({ name, run: async ({ get }) => void (await get(path)) });

export const OPERATIONS: readonly Operation[] = [
  { name: "open a project, and close it", run: async ({ directory }) => (await openLarge(directory)).close() },
  { name: "start a server, and stop it", run: async ({ directory }) => (await serve(directory)).close() },
  {
    name: "the console's first screen",
    run: async ({ get }) => {
      for (const path of FIRST_SCREEN) await get(path);
    },
  },
  list("list sessions", "/sessions?limit=100"),
  list("list sessions by agent and state", "/sessions?limit=100&agent=bench&state=waiting"),
  list("search sessions by text", "/sessions?limit=50&text=nobody"),
  list("list approval requests", "/approvals?limit=100"),
  list("status of an agent", "/agents/bench/status"),
  list("history of an agent", "/agents/bench/history"),
  list("metrics", "/metrics"),
  list("newest journal entries", "/journal/entries?limit=50"),
  {
    name: "halt an agent, and lift it",
    async run({ runtime, ann }) {
      await runtime.halt("agent:bench", "to measure", ann);
      await runtime.resumeWork("agent:bench", "measured", ann);
    },
  },
  { name: "look for sessions that nobody drives", run: ({ sweep }) => sweep() },
  { name: "a session of eight calls", run: async ({ runtime }) => void (await runtime.run("bench", "go").result) },
];
