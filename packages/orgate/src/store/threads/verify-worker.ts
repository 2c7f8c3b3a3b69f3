/** Verifies a journal in its own thread: it reads every entry, and a server must not wait for it. */
import { extname } from "node:path";
import { parentPort, workerData } from "node:worker_threads";
import { headText } from "@orgate/core/journal";
import { problemName, verify } from "@orgate/core/proof";
import { runInThread } from "../../node/thread.ts";
import { openSnapshot, PROOF_PORTS, rootPublicKey } from "../open-read-only.ts";

export type Verified = Readonly<{
  ok: boolean;
  streams: number;
  entries: number;
  seals: number;
  writers: number;
  erased: number;
  /** Entries that no seal covers yet. */
  unsealed: number;
  head: string;
  /** Sets of policies that sessions name and whose texts were never stored. */
  textless: number;
  problems: readonly string[];
}>;

const MOST_PROBLEMS = 100;

/** `snapshot`: its folder; `keys`: that of the project's keys. */
export type VerifyPlace = Readonly<{ snapshot: string; keys: string }>;

/** `progress` gets how many of about how many entries are done. Ends when nobody waits (`gone`). */
export async function verifyInWorker(
  place: VerifyPlace,
  progress: (entries: number, of: number) => void,
  gone: AbortSignal,
): Promise<Verified> {
  // runs from source and compiled alike: the thread's file is this one
  const file = new URL(`./verify-worker${extname(import.meta.url)}`, import.meta.url);
  for await (const told of runInThread<Told>(file, { verify: place }, gone).messages) {
    if (told.kind === "found") return told.found;
    progress(told.entries, told.of);
  }
  throw new Error("it ended early");
}

type Told = Readonly<{ kind: "progress"; entries: number; of: number } | { kind: "found"; found: Verified }>;

async function look({ snapshot, keys }: VerifyPlace, tell: (told: Told) => void): Promise<Verified> {
  const store = openSnapshot(snapshot, keys);
  try {
    const of = await store.journal.position();
    const found = verify({
      records: store.records,
      root: rootPublicKey(keys),
      ports: PROOF_PORTS,
      head: null,
      progress: (entries) => tell({ kind: "progress", entries, of }),
      torn: null,
    });
    const { streams, entries, seals, writers, erased, unsealed } = found.counts;
    const rows = found.firstBad === null ? store.wrongRows(Date.now()).map((name) => `${name}: it is not what the entries make of it`) : [];
    const problems = [...found.problems.map((problem) => `${problemName(problem)}: ${problem.reason}`), ...rows].slice(0, MOST_PROBLEMS);
    const { length: textless } = found.textless;
    return {
      ok: problems.length === 0,
      streams,
      entries,
      seals,
      writers,
      erased,
      unsealed,
      head: headText(found.head),
      textless,
      problems,
    };
  } finally {
    await store.close();
  }
}

const given: unknown = workerData;
if (parentPort !== null && typeof given === "object" && given !== null && "verify" in given)
  parentPort.postMessage({
    kind: "found",
    found: await look(given.verify as VerifyPlace, (told) => parentPort?.postMessage(told)),
  } satisfies Told);
