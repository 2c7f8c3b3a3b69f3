/** Verifying a journal in a thread of its own: it reads every entry, and whoever serves meanwhile is not to wait for it. */
import { extname } from "node:path";
import { parentPort, Worker, workerData } from "node:worker_threads";
import { headText, problemName, verify } from "@orgate/core/journal";
import { openLook, proof, rootPublicKey } from "./compose.ts";

export type Verified = Readonly<{
  ok: boolean;
  streams: number;
  entries: number;
  commits: number;
  writers: number;
  erased: number;
  head: string;
  /** Sets of policies that sessions name and whose texts were never stored. */
  textless: number;
  problems: readonly string[];
}>;

const MOST_PROBLEMS = 100;

/** `directory`: where the journal lies. `progress` is told how many of about how many entries are done. */
export function verifyAside(directory: string, progress: (entries: number, of: number) => void = () => {}): Promise<Verified> {
  return new Promise((resolve, reject) => {
    // runs from source and compiled alike: the thread's file is this one
    const worker = new Worker(new URL(`./verify-aside${extname(import.meta.url)}`, import.meta.url), { workerData: { verify: directory } });
    worker.on("message", (told: Told) => {
      if (told.kind === "progress") progress(told.entries, told.of);
      else resolve(told.found);
    });
    worker.once("error", reject);
    worker.once("exit", (code) => reject(new Error(`it ended early (${code})`))); // nothing, where it has answered
  });
}

type Told = Readonly<{ kind: "progress"; entries: number; of: number } | { kind: "found"; found: Verified }>;

async function look(directory: string, tell: (told: Told) => void): Promise<Verified> {
  const store = openLook(directory);
  try {
    const of = await store.journal.position();
    const found = verify({
      records: store.records,
      root: rootPublicKey(directory),
      ports: proof,
      head: null,
      progress: (entries) => tell({ kind: "progress", entries, of }),
      torn: null,
    });
    const { streams, entries, commits, writers, erased } = found.counts;
    const problems = found.problems.slice(0, MOST_PROBLEMS).map((problem) => `${problemName(problem)}: ${problem.reason}`);
    const { length: textless } = found.textless;
    return { ok: found.firstBad === null, streams, entries, commits, writers, erased, head: headText(found.head), textless, problems };
  } finally {
    await store.close();
  }
}

const given: unknown = workerData;
if (parentPort !== null && typeof given === "object" && given !== null && "verify" in given)
  parentPort.postMessage({
    kind: "found",
    found: await look(String(given.verify), (told) => parentPort?.postMessage(told)),
  } satisfies Told);
