/**
 * Looking things up beside the journal (`views.db`), in a thread of its own: nobody who serves waits for it. Nothing is made before somebody asks, and
 * then only as far as it takes a moment; the answer says how much is missing, and asking again brings more.
 */

import { extname } from "node:path";
import { parentPort, Worker, workerData } from "node:worker_threads";
import { type Entry, isSessionStream, type SessionId } from "@orgate/core";
import { errorMessage } from "@orgate/core/vocab";
import { type FacetQuery, hasWords, type UsageRow } from "@orgate/protocol/view";
import { openReadOnlyStore, type ReadOnlyStore } from "../open-read-only.ts";
import { openViews, type UsageAsked, type Views } from "../sqlite/views.ts";
import type { StorePlace } from "../store.ts";

/** `behind`: the number of entries that the view does not have yet. */
export type FoundEntries = Readonly<{ positions: readonly number[]; behind: number }>;
/** `cut`: there was more than is added up at once, and the sums are too small. */
export type UsageFound = Readonly<{ rows: readonly UsageRow[]; behind: number; cut: boolean }>;
export type ViewsWorker = Readonly<{
  find(sought: FacetQuery, before: number, most: number): Promise<FoundEntries>;
  usage(asked: UsageAsked): Promise<UsageFound>;
  /** Sessions of which one of the newest inputs or answers, over all sessions, has all of these words. Erased text is not searched. */
  said(words: readonly string[]): Promise<readonly SessionId[]>;
  close(): Promise<void>;
}>;

type Ask = Readonly<
  | { kind: "find"; sought: FacetQuery; before: number; most: number }
  | { kind: "usage"; asked: UsageAsked }
  | { kind: "said"; words: readonly string[] }
>;
type Answer = Readonly<
  | { kind: "found"; found: FoundEntries }
  | { kind: "used"; used: UsageFound }
  | { kind: "said"; sessions: readonly SessionId[] }
  | { kind: "failed"; error: string }
>;

/** A page waits so long for what is missing. */
const PATIENCE_MS = 1_500;
/** One for each hour, agent and model: a hundred agents with five models each, all of them at work in every hour of five months. */
const MOST_ROWS = 2_000_000;
/** The newest inputs and answers that are searched for words: a search costs the same however long the journal is. */
const MOST_SAID = 500;

/** The thread starts with the first question. */
export function openViewsWorker(place: StorePlace): ViewsWorker {
  let worker: Worker | null = null;
  let next = 0;
  const waiting = new Map<number, Readonly<{ resolve: (answer: Answer) => void; reject: (error: Error) => void }>>();
  const failAll = (error: Error): void => {
    worker = null;
    for (const { reject } of waiting.values()) reject(error);
    waiting.clear();
  };
  const started = (): Worker => {
    if (worker !== null) return worker;
    // runs from source and compiled alike: the thread's file is this one
    const made = new Worker(new URL(`./views-worker${extname(import.meta.url)}`, import.meta.url), { workerData: { views: place } });
    made.on("message", ({ id, answer }: Readonly<{ id: number; answer: Answer }>) => {
      waiting.get(id)?.resolve(answer);
      waiting.delete(id);
    });
    made.on("error", failAll);
    made.on("exit", () => failAll(new Error("the thread has ended")));
    made.unref();
    worker = made;
    return made;
  };
  const ask = (question: Ask): Promise<Answer> =>
    new Promise((resolve, reject) => {
      next += 1;
      const id = next;
      waiting.set(id, { resolve, reject });
      started().postMessage({ id, question });
    });
  const failed = (answer: Answer): Error => new Error(answer.kind === "failed" ? answer.error : "another answer than was asked for");

  return {
    async find(sought, before, most) {
      const answer = await ask({ kind: "find", sought, before, most });
      if (answer.kind !== "found") throw failed(answer);
      return answer.found;
    },
    async usage(asked) {
      const answer = await ask({ kind: "usage", asked });
      if (answer.kind !== "used") throw failed(answer);
      return answer.used;
    },
    async said(words) {
      const answer = await ask({ kind: "said", words });
      if (answer.kind !== "said") throw failed(answer);
      return answer.sessions;
    },
    async close() {
      const last = worker;
      worker = null;
      await last?.terminate();
    },
  };
}

async function serve(place: StorePlace, port: NonNullable<typeof parentPort>): Promise<void> {
  const look = await openReadOnlyStore(place);
  const views = openViews(place.directory);
  let queue: Promise<void> = Promise.resolve();
  const answerTo = async (question: Ask): Promise<Answer> => {
    await views.catchUp(look.journal, PATIENCE_MS);
    if (question.kind === "said") return { kind: "said", sessions: await saidIn(look, views, question.words) };
    const behind = Math.max(0, (await look.journal.position()) - views.position());
    if (question.kind === "find")
      return { kind: "found", found: { positions: views.find(question.sought, question.before, question.most), behind } };
    return { kind: "used", used: { ...views.usage(question.asked, MOST_ROWS), behind } };
  };
  port.on("message", ({ id, question }: Readonly<{ id: number; question: Ask }>) => {
    queue = queue.then(async () => {
      const answer = await answerTo(question).catch((error: unknown): Answer => ({ kind: "failed", error: errorMessage(error) }));
      port.postMessage({ id, answer });
    });
  });
}

async function saidIn({ journal }: Pick<ReadOnlyStore, "journal">, views: Views, words: readonly string[]): Promise<readonly SessionId[]> {
  const found = new Set<SessionId>();
  for (const kind of ["turn.started", "turn.ended"])
    for (const position of views.find({ kind }, Number.MAX_SAFE_INTEGER, MOST_SAID)) {
      const [written] = await journal.tail(position - 1, 1);
      if (written?.kind !== "entry" || !isSessionStream(written.stream) || found.has(written.stream)) continue;
      if (hasWords(textIn(written.entry), words)) found.add(written.stream);
    }
  return [...found];
}

function textIn({ event: e }: Entry): string {
  if (e.kind === "turn.started") return e.input;
  return e.kind === "turn.ended" ? (e.output ?? "") : "";
}

const given: unknown = workerData;
if (parentPort !== null && typeof given === "object" && given !== null && "views" in given)
  await serve(given.views as StorePlace, parentPort);
